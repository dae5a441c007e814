#include "tests/codegen_cuda/as_interpreted.h"

#include <catch2/catch.hpp>

#include "tests/codegen_cuda/emulated/emulated_program.h"
#include "tests/codegen_cuda/nvrtc_rig.h"
#include "tests/programs/compare_programs.h"

namespace tcc::test {

void CheckAsInterpreted(const std::string& text) {
  Function fn = MustParse(text);
  Random random(1);
  std::vector<Tensor> arguments = RandomArguments(fn, random);
  StatusOr<std::vector<Tensor>> expected = RunInterpreter(fn, arguments);
  INFO(Message(expected.status()) << KernelsOf(SourceOf({fn})));
  REQUIRE(expected.ok());
  Status status = RunEmulated(fn, GpuTarget("sm_86"), arguments);
  INFO(Message(status));
  REQUIRE(status.ok());
  CHECK(FirstDifference(arguments, *expected) == "");
}

}  // namespace tcc::test
