#include "tests/codegen_opencl/syntax/opencl_syntax.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "codegen_cuda/text/kernel_source.h"
#include "codegen_opencl/opencl_dialect.h"
#include "codegen_opencl/opencl_prelude.h"
#include "support/temporary_folder.h"

namespace tcc {

StatusOr<std::string> OpenClTextOf(std::span<const Function> functions, const Target& target) {
  TCC_ASSIGN_OR_RETURN(KernelsSource source, EmitKernels(functions, target, kOpenClDialect));
  return OpenClPrelude(source.text) + source.text;
}

Status CheckOpenClText(const std::string& text) {
  const char* chosen = std::getenv("TCC_TEST_CLANG");
  const std::string compiler = chosen != nullptr && *chosen != '\0' ? chosen : "clang-19";
  TCC_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Make("a text of OpenCL C"));
  const std::string path = folder / "kernels.cl";
  std::ofstream(path) << text;
  // A guard may come to a condition that no thread meets.
  const std::string command = fmt::format(
      "{} -x cl -cl-std=CL1.2 -Wall -Wno-tautological-compare -Werror -fsyntax-only '{}' 2>&1",
      compiler, path);
  FILE* process = popen(command.c_str(), "r");
  if (process == nullptr) return Missing("cannot run {}", compiler);
  std::string said;
  char piece[4096];
  for (size_t count; (count = fread(piece, 1, sizeof(piece), process)) > 0;) {
    said.append(piece, count);
  }
  const int status = pclose(process);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return OkStatus();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return Missing("no {}", compiler);
  return absl::InternalError(
      fmt::format("{} refuses the OpenCL text: {}", compiler, said.substr(0, 4000)));
}

}  // namespace tcc
