#include <catch2/catch.hpp>

#include "codegen_cuda/cubin/cubin.h"
#include "codegen_cuda/cuda_backend.h"
#include "codegen_cuda/text/prelude.h"
#include "models/zoo/zoo.h"
#include "tests/codegen_cuda/nvrtc_rig.h"

// Kernels that wait themselves for the launch before (griddepcontrol.wait).
namespace tcc::test {
namespace {

constexpr std::string_view kWait = "tcc_wait_for_launch_before();";

size_t Count(std::string_view text, std::string_view piece) {
  size_t count = 0;
  for (size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + 1)) ++count;
  return count;
}

std::vector<CubinKernel> Read(const Cubin& cubin) {
  StatusOr<std::vector<CubinKernel>> kernels = ReadCubin(cubin.image, 90);
  INFO(Message(kernels.status()));
  REQUIRE(kernels.ok());
  return *kernels;
}

TEST_CASE("for sm_90a every kernel of every small network waits once, for older archs none does",
          "[codegen_cuda][dependent_launch]") {
  for (const std::string& name : ZooNames()) {
    CudaSource source = SourceOf(KernelsOfNetwork(name, "sm_90a"), "sm_90a");
    const std::string text = KernelsOf(source);
    size_t launches = 0;
    for (const LaunchPlan& plan : source.plans) {
      for (const Launch& launch : plan.launches) {
        INFO(name << " " << launch.kernel);
        CHECK(launch.waits);
        const size_t begin = text.find("KERNEL(" + launch.kernel + ",");
        const size_t end = text.find("TCC_END_KERNEL(" + launch.kernel + ")");
        CHECK(Count(text.substr(begin, end - begin), kWait) == 1);
        ++launches;
      }
    }
    CHECK(launches > 0);
    CHECK(Count(text, kWait) == launches);
  }
  CudaSource older = SourceOf(KernelsOfNetwork("dqn", "sm_89"), "sm_89");
  CHECK(Count(KernelsOf(older), kWait) == 0);
  CHECK_FALSE(older.plans[0].launches[0].waits);
}

TEST_CASE("the machine code of kernels waits once and ahead of every access",
          "[codegen_cuda][dependent_launch][nvrtc]") {
  for (const std::string name : {"dqn", "lstm_lm"}) {
    std::optional<Cubin> cubin =
        MustCompile(SourceOf(KernelsOfNetwork(name, "sm_90a"), "sm_90a"), "sm_90a");
    if (!cubin) return;
    for (const CubinKernel& kernel : Read(*cubin)) {
      INFO(name << " " << kernel.name);
      CHECK(kernel.facts.all.of(SassKind::kAcqbulk) == 1);
      CHECK(kernel.facts.waits);
    }
  }
}

// The rows are bodies of a kernel from x to y, and whether its code waits first.
TEST_CASE(
    "a kernel that accesses memory before it waits, or does not wait in every thread, is not "
    "taken for one that waits",
    "[codegen_cuda][dependent_launch][nvrtc]") {
  struct Row {
    std::string_view body;
    bool waits;
  };
  const Row rows[] = {
      {"tcc_wait_for_launch_before(); y[i] = x[i];", true},
      {"y[i] = x[i];", false},
      {"y[i + 128] = 0.0f; tcc_wait_for_launch_before(); y[i] = x[i];", false},
      {"if (x[i] > 0.0f) tcc_wait_for_launch_before(); y[i] = x[i];", false},
      {"if (i < 7) tcc_wait_for_launch_before(); y[i] = x[i];", false},
      {"tcc_wait_for_launch_before(); y[i] = x[i]; tcc_wait_for_launch_before(); y[i + 1] = 0.0f;",
       false},
  };
  if (!FindNvrtc()) return;
  for (const Row& row : rows) {
    const std::string text = std::string(CudaPrelude()) +
                             "TCC_KERNEL(k, 128)(TCC_INPUT(float, x), TCC_OUTPUT(float, y)) {\n"
                             "  const int i = tcc_thread_x();\n  " +
                             std::string(row.body) + "\n}\nTCC_END_KERNEL(k)\n";
    StatusOr<Cubin> cubin = CompileOnce(text, "sm_90a");
    INFO(row.body << " " << Message(cubin.status()));
    REQUIRE(cubin.ok());
    CHECK(Read(*cubin).at(0).facts.waits == row.waits);
  }
}

TEST_CASE("a program says of each launch whether it waits", "[codegen_cuda][dependent_launch]") {
  Function fn = MustParse(
      "fn f(X: f32[128], Y: f32[128]) lowered { for t in 0..128 threadIdx.x { Y[t] = X[t] } }");
  auto waits = [&](const std::string& target, GpuCode code) {
    StatusOr<CompiledModule> compiled =
        MakeCudaBackend(GpuTarget(target), {.code = code})->Compile({.kernels = {fn}}, {});
    INFO(Message(compiled.status()));
    REQUIRE(compiled.ok());
    return ParseGpuProgram(compiled->image)->kernels.at(0).launches.at(0).waits;
  };
  CHECK(waits("sm_90a", GpuCode::kCudaText));
  CHECK_FALSE(waits("sm_89", GpuCode::kCudaText));
  if (!FindNvrtc()) return;
  CHECK(waits("sm_90a", GpuCode::kCubin));
  CHECK_FALSE(waits("sm_89", GpuCode::kCubin));
}

}  // namespace
}  // namespace tcc::test
