#include "schedule/sketches/cpu/column_reduction.h"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "ir/text/printer.h"
#include "schedule/sketches/parts/sketch.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

Target Avx2() {
  return FindTarget("x86-64-v3").value();
}

// (log of) the sum of exponentials along the middle axis, as (maximum, sum).
Function ExponentialsAlongMiddle(int64_t rows, int64_t depth, int64_t columns,
                                 const std::string& index = "i, t, j") {
  return FunctionOf(fmt::format(R"(
    fn f(X: f32[{m}, {k}, {n}], M: f32[{m}, {n}], S: f32[{m}, {n}]) tensor {{
      for i in 0..{m} @y/i {{ for j in 0..{n} @y/j {{ for t in 0..{k} @y/t {{
        block y(i: spatial {m} = i, j: spatial {n} = j, t: reduce {k} = t) {{
          reduce softmax_f32 init (M[i, j], S[i, j]) with (X[{index}], 1.0) }}
      }} }} }}
    }})",
                                fmt::arg("m", rows), fmt::arg("k", depth), fmt::arg("n", columns),
                                fmt::arg("index", index)));
}

const Block& Only(const Function& fn) {
  return *BlocksOf(fn.body)[0];
}

std::optional<size_t> Columns(const Function& fn) {
  return ColumnsOf(fn, Only(fn));
}

}  // namespace

TEST_CASE("columns are the last axis of results where operands have neighbours along it",
          "[schedule][columns]") {
  CHECK(Columns(ExponentialsAlongMiddle(8, 8, 8)) == 1);
  CHECK(Columns(ExponentialsAlongMiddle(8, 8, 1)) == std::nullopt);
  CHECK(Columns(ExponentialsAlongMiddle(1, 8, 1)) == std::nullopt);
  CHECK(Columns(ExponentialsAlongMiddle(8, 8, 8, "i, j, t")) == std::nullopt);
  CHECK(Columns(ExponentialsAlongMiddle(8, 8, 8, "i, t, j * 1")) == 1);
  CHECK(Columns(ExponentialsAlongMiddle(8, 8, 8, "i, t, 7 - j")) == std::nullopt);
}

TEST_CASE("columns may be followed by dimensions of one cell", "[schedule][columns]") {
  auto maximum = [](int64_t kept, const std::string& index) {
    return FunctionOf(fmt::format(R"(
      fn f(X: f32[8, 16, {}], M: f32[16], S: f32[16]) tensor {{
        for j in 0..16 @y/j {{ for t in 0..8 @y/t {{
          block y(j: spatial 16 = j, t: reduce 8 = t) {{
            reduce softmax_f32 init (M[j], S[j]) with (X[{}], 1.0) }}
        }} }}
      }})",
                                  kept, index));
  };
  CHECK(Columns(maximum(1, "t, j, 0")) == 0);
  CHECK(Columns(maximum(2, "t, j, 1")) == std::nullopt);
}

TEST_CASE("a tuple along a middle axis is reduced in vectors of the last one",
          "[schedule][columns]") {
  Function fn = ExponentialsAlongMiddle(4, 70, 48);
  std::optional<SketchState> state = ScheduleColumns(SketchState(fn), Only(fn), Avx2());
  REQUIRE(state);
  CHECK(state->Next() == nullptr);
  std::vector<Ref<For>> loops = LoopsOn(FindBlock(state->fn(), "y").value());
  REQUIRE(loops.size() >= 4);
  CHECK(loops.back()->key == "y/j.2");
  CHECK(loops.back()->for_kind == ForKind::kVectorized);
  CHECK(loops[loops.size() - 3]->key == "y/t");
  Sketch sketch = FirstSketch(fn, Avx2());
  CHECK(sketch.name == "columns");
}

TEST_CASE("tuples in columns are right for sizes that do and do not divide",
          "[schedule][columns]") {
  for (int64_t columns : {2, 7, 8, 31, 64}) {
    for (int64_t depth : {1, 13}) {
      Function fn = ExponentialsAlongMiddle(3, depth, columns);
      Sketch sketch = FirstSketch(fn, Avx2());
      CheckStepResult(fn, Print(sketch.trace), sketch.start);
    }
  }
}
