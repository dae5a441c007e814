#include "schedule/sketches/cpu/cpu_rules.h"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "schedule/sketches/parts/sketch.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"
#include "tests/schedule/tensor_functions.h"

using namespace tcc;

namespace {

Target Avx2() {
  return FindTarget("x86-64-v3").value();
}

// Y[i] = sum of X[index] over r < m and t < n, for i < rows.
Function Sum(int64_t rows, int64_t m, int64_t n, const std::string& shape,
             const std::string& index) {
  return FunctionOf(fmt::format(R"(
    fn f(X: f32[{shape}], Y: f32[{rows}]) tensor {{
      for i in 0..{rows} @y/i {{ for r in 0..{m} @y/r {{ for t in 0..{n} @y/t {{
        block y(i: spatial {rows} = i, r: reduce {m} = r, t: reduce {n} = t) {{
          reduce sum_f32 init (Y[i]) with (X[{index}]) }}
      }} }} }}
    }})",
                                fmt::arg("rows", rows), fmt::arg("m", m), fmt::arg("n", n),
                                fmt::arg("shape", shape), fmt::arg("index", index)));
}

Function SumOfRows(int64_t rows, int64_t m, int64_t n) {
  return Sum(rows, m, n, fmt::format("{}, {}, {}", rows, m, n), "i, r, t");
}

Function SumOfColumns(int64_t columns, int64_t m, int64_t n) {
  return Sum(columns, m, n, fmt::format("{}, {}, {}", m, n, columns), "r, t, i");
}

std::optional<SketchState> InParts(const Function& fn) {
  return ScheduleReductionParts(SketchState(fn), *BlocksOf(fn.body)[0], Avx2());
}

// Iterations of loops in parallel at the start of the first sketch.
int64_t ParallelIterations(const Function& fn) {
  Sketch sketch = FirstSketch(fn, Avx2());
  Function scheduled = Simplify(Replay(fn, sketch.trace, sketch.start).value());
  int64_t most = 0;
  PreOrder(scheduled.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (!loop || loop->for_kind != ForKind::kParallel) return;
    most = std::max(most, AsConstant(loop->extent).value());
  });
  return most;
}

}  // namespace

TEST_CASE("a sum of all elements runs in parallel", "[schedule][parts]") {
  CHECK(ParallelIterations(SumOfRows(1, 1, 1 << 21)) == 64);
  CHECK(ParallelIterations(SumOfRows(1, 2048, 1024)) == 64);
  CHECK(ParallelIterations(SumOfRows(1, 7, 1 << 18)) == 64);
  CHECK(ParallelIterations(SumOfRows(3, 90, 3000)) >= 24);
  CHECK_FALSE(InParts(SumOfRows(1, 1, 50'257)));  // vectors would be masked
}

TEST_CASE("a sum of a few columns runs in parallel", "[schedule][parts]") {
  CHECK(ParallelIterations(SumOfColumns(8, 65'536, 1)) == 32);
  CHECK(ParallelIterations(SumOfColumns(100, 256, 256)) == 64);
  CHECK(ParallelIterations(SumOfColumns(13, 4, 40'000)) >= 32);
}

TEST_CASE("products that use operands again are left to tiles", "[schedule][parts]") {
  CHECK_FALSE(InParts(FunctionOf(MatmulText(4, 7, 40'003, ""))));
}

TEST_CASE("short reductions and many results are no work for parts", "[schedule][parts]") {
  CHECK_FALSE(InParts(SumOfRows(1, 1, 20'000)));
  CHECK_FALSE(InParts(SumOfRows(8, 1, 1 << 20)));
  CHECK_FALSE(InParts(SumOfColumns(512, 65'536, 1)));
  CHECK_FALSE(InParts(Sum(4, 1, 1 << 16, "1048576", "i * 3 + t")));  // windows
}

TEST_CASE("reductions in parts are right for sizes that do and do not divide",
          "[schedule][parts]") {
  for (const Function& fn :
       {SumOfRows(1, 1, 32'768), SumOfRows(1, 1, 49'152), SumOfRows(1, 3, 20'001),
        SumOfRows(2, 37, 1003), SumOfRows(1, 5, 8000), SumOfColumns(8, 4096, 1),
        SumOfColumns(11, 71, 61), SumOfColumns(65, 3, 301), SumOfColumns(9, 2, 2001)}) {
    INFO(Print(fn));
    CHECK(InParts(fn));
    Sketch sketch = FirstSketch(fn, Avx2());
    CheckStepResult(fn, Print(sketch.trace), sketch.start);
  }
}

TEST_CASE("softmax of one long row is shared by threads, its maps too", "[schedule][parts]") {
  Function fn = SoftmaxByBlocks(1, 1 << 16);
  Sketch sketch = FirstSketch(fn, Avx2());
  CHECK(sketch.name == "parts, map, parts, map");
  Function scheduled = Simplify(Replay(fn, sketch.trace, sketch.start).value());
  for (const char* block : {"max.part", "exp", "sum.part", "out"}) {
    INFO(block);
    std::vector<Ref<For>> loops = LoopsOn(FindBlock(scheduled, block).value());
    CHECK(loops[0]->for_kind == ForKind::kParallel);
    CHECK(AsConstant(loops[0]->extent).value_or(0) > 1);
  }
}
