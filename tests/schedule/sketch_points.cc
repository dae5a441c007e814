#include "tests/schedule/sketch_points.h"

#include <catch2/catch.hpp>

#include "tests/programs/point_check.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/satisfies.h"

namespace tcc::test {

void CheckSketchAtPoints(const Function& fn, const Sketch& sketch, uint64_t seed) {
  Random random(seed);
  INFO("\n" << Print(sketch.trace));
  SymbolicProgram program = Instantiate(fn, sketch.trace).value();
  CHECK(CheckPoint(fn, program, sketch.start, random, {}).message.empty());
  for (int point = 0; point < 6; ++point) {
    Decisions decisions = RandomDecisions(sketch.trace, random);
    if (!Satisfies(program, decisions)) continue;
    CHECK(CheckPoint(fn, program, decisions, random, {}).message.empty());
  }
}

}  // namespace tcc::test
