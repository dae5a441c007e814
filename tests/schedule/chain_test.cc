// A pointwise convolution in front of a depthwise one.

#include <catch2/catch.hpp>

#include "ir/text/printer.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/limits.h"
#include "tests/programs/point_check.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/satisfies.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

Target Cpu() {
  return *FindTarget("x86-64-v4");
}

// A window of three by three over the clipped sums, `step` apart, without padding.
Function Chain(int64_t step, int64_t rows, int64_t columns) {
  return FunctionOf(fmt::format(R"(
    fn f(X: f32[1, {h}, {w}, 5], W: f32[5, 20] constant, D: f32[3, 3, 20] constant,
         Y: f32[1, {y}, {x}, 20]) tensor {{
      alloc S: f32[1, {h}, {w}, 20]
      alloc E: f32[1, {h}, {w}, 20]
      for n in 0..1 @pw/n {{ for h in 0..{h} @pw/h {{ for w in 0..{w} @pw/w {{ for o in 0..20 @pw/o {{
        for c in 0..5 @pw/c {{
          block pw(n: spatial 1 = n, h: spatial {h} = h, w: spatial {w} = w, o: spatial 20 = o,
                   c: reduce 5 = c) {{
            reduce sum_f32 init (S[n, h, w, o]) with (X[n, h, w, c] * W[c, o])
      }} }} }} }} }} }}
      for n in 0..1 @re/n {{ for h in 0..{h} @re/h {{ for w in 0..{w} @re/w {{ for o in 0..20 @re/o {{
        block re(n: spatial 1 = n, h: spatial {h} = h, w: spatial {w} = w, o: spatial 20 = o) {{
          E[n, h, w, o] = max(S[n, h, w, o], 0.0)
      }} }} }} }} }}
      for n in 0..1 @dw/n {{ for y in 0..{y} @dw/y {{ for x in 0..{x} @dw/x {{ for o in 0..20 @dw/o {{
        for i in 0..3 @dw/i {{ for j in 0..3 @dw/j {{
          block dw(n: spatial 1 = n, y: spatial {y} = y, x: spatial {x} = x, o: spatial 20 = o,
                   i: reduce 3 = i, j: reduce 3 = j) {{
            reduce sum_f32 init (Y[n, y, x, o]) with (E[n, y * {s} + i, x * {s} + j, o] * D[i, j, o])
      }} }} }} }} }} }} }}
    }})",
                                fmt::arg("s", step), fmt::arg("y", rows), fmt::arg("x", columns),
                                fmt::arg("h", (rows - 1) * step + 3),
                                fmt::arg("w", (columns - 1) * step + 3)));
}

}  // namespace

TEST_CASE("a chain of a product and windows over it is right wherever pieces end",
          "[schedule][sketch]") {
  Random random(11);
  for (int64_t step : {1, 2}) {
    Function fn = Chain(step, 5, 7);
    bool chained = false;
    for (const Sketch& sketch : GenerateSketches(fn, Cpu())) {
      if (sketch.name.find("chain") == std::string::npos) continue;
      INFO(Print(sketch.trace));
      chained = chained || Print(sketch.trace).find("compute_at pw") != std::string::npos;
      SymbolicProgram program = WithLimits(Instantiate(fn, sketch.trace).value(), Cpu());
      CHECK(Satisfies(program, sketch.start));
      CHECK(CheckPoint(fn, program, sketch.start, random).message == "");
      for (int point = 0; point < 6; ++point) {
        Decisions decisions = RandomDecisions(sketch.trace, random);
        if (!Satisfies(program, decisions)) continue;
        CHECK(CheckPoint(fn, program, decisions, random).message == "");
      }
    }
    CHECK(chained);
  }
}
