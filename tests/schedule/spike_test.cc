#include <catch2/catch.hpp>

#include "ir/analysis/verifier.h"
#include "ir/expr/compare.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "tests/programs/point_check.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/spike_programs.h"

using namespace tcc;

TEST_CASE("every spike is the same program by Substitute and by Replay, before and after lowering",
          "[schedule][spike]") {
  for (size_t index = 0; index < SpikeCount(); ++index) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
      Random random(1000 * index + seed);
      SpikeProgram spike = BuildSpike(index, random);
      StatusOr<SymbolicProgram> program = Instantiate(spike.fn, spike.trace);
      INFO(spike.name << " seed " << seed);
      INFO((program.ok() ? "" : Message(program.status())));
      REQUIRE(program.ok());
      PointReport report =
          CheckPoint(spike.fn, *program, RandomDecisions(spike.trace, random), random);
      INFO(report.message);
      CHECK(report.outcome != PointOutcome::kWrong);
    }
  }
}
