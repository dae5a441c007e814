#include <catch2/catch.hpp>

#include "codegen_llvm/assemble_text.h"
#include "codegen_llvm/jit.h"
#include "codegen_llvm/llvm_backend.h"
#include "codegen_llvm/toolchain.h"

namespace tcc {
namespace {

void CheckMessage(const Status& status) {
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK_THAT(Message(status), Catch::Contains("no LLVM") && Catch::Contains("'x86-64-v3'") &&
                                  Catch::Contains("sm_"));
}

TEST_CASE("without LLVM every way to code for a CPU names the target and those that are left",
          "[codegen_llvm]") {
  Target target = *FindTarget("x86-64-v3");
  CHECK_FALSE(HasLlvm());
  CheckMessage(MakeLlvmBackend(target)->Compile({}, {}).status());
  CheckMessage(MakeLlvmBackend(target)->Emit({}, "asm").status());
  CheckMessage(AssembleText("", "asm", target));
  CheckMessage(Jit({}, target).status());
}

}  // namespace
}  // namespace tcc
