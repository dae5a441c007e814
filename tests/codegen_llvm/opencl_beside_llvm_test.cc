#include <unistd.h>

#include <cstdlib>

#include "ir/text/parser.h"
#include "runtime/opencl/opencl_driver.h"
#include "support/temporary_folder.h"
#include "tests/codegen_llvm/kernel_rig.h"
#include "tests/runtime/opencl/opencl_artefacts.h"

namespace tcc::test {
namespace {

// Compiles y = x + x by our LLVM, in memory and as a shared object, which LLD links.
void CompileAndRun(const std::string& name) {
  StatusOr<Function> fn = ParseFunction(fmt::format(
      "fn {}(A: f32[64], B: f32[64]) lowered {{ for i in 0..64 {{ B[i] = A[i] + A[i] }} }}", name));
  INFO(fn.status());
  REQUIRE(fn.ok());
  std::vector<float> x(64, 3), y(64, 0);
  RunOn(*fn, x, y);
  CHECK(y == std::vector<float>(64, 6));
}

// Fails if there is no device.
Status FindAnyDevice() {
  TCC_ASSIGN_OR_RETURN(const OpenClDriver driver, OpenOpenClDriver());
  return FindOpenClDevice(driver, 0).status();
}

TEST_CASE("an OpenCL driver with an LLVM of its own compiles between two uses of ours",
          "[codegen_llvm][opencl]") {
  if (const Status status = FindAnyDevice(); !status.ok()) {
    WARN("SKIP: " << Message(status) << "; install pocl-opencl-icd and ocl-icd-libopencl1");
    return;
  }
  CompileAndRun("before");
  // Folders that are empty, and a text that no cache knows, so that the driver does compile.
  StatusOr<TemporaryFolder> folder = TemporaryFolder::Make("a test");
  REQUIRE(folder.ok());
  REQUIRE(setenv("TCC_CACHE_DIR", folder->path().c_str(), 1) == 0);
  const std::string line = fmt::format("// {} {}\n", getpid(), folder->path());
  StatusOr<Executor> executor = MakeExecutor(Changed(DynamicArtefact(), [&](GpuProgram& program) {
    std::vector<uint8_t>& code = program.images[0].code;
    code.insert(code.end(), line.begin(), line.end());
  }));
  unsetenv("TCC_CACHE_DIR");
  INFO(executor.status());
  REQUIRE(executor.ok());
  CHECK(RunOne(*executor, {Floats({3}, {1, 1, 1})}).value() == std::vector<double>{1, 2, 3});
  CompileAndRun("after");
  CHECK(RunOne(*executor, {Floats({200}, std::vector<double>(200, 1))}).value().back() == 200);
}

}  // namespace
}  // namespace tcc::test
