#include "schedule/sketches/parts/row_reduction.h"

#include <catch2/catch.hpp>

#include "ir/text/printer.h"
#include "schedule/sketches/parts/sketch.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"
#include "tests/schedule/tensor_functions.h"

using namespace tcc;

namespace {

bool IsRow(const std::string& text) {
  Function fn = FunctionOf(text);
  return IsRowReduction(fn, *BlocksOf(fn.body)[0]);
}

Target Avx512() {
  return FindTarget("x86-64-v4").value();
}

}  // namespace

TEST_CASE("a reduction along contiguous memory is one of rows", "[schedule][rows]") {
  auto sum = [](const std::string& shape, const std::string& index) {
    return "fn f(X: f32[" + shape +
           "], Y: f32[64]) tensor { for i in 0..64 @s/i { for t in 0..32 "
           "@s/t { block s(i: spatial 64 = i, t: reduce 32 = t) { reduce sum_f32 init (Y[i]) with "
           "(X[" +
           index + "]) } } } }";
  };
  CHECK(IsRow(sum("64, 32", "i, t")));
  CHECK(IsRow(sum("64, 40", "i, t + 3")));
  CHECK_FALSE(IsRow(sum("32, 64", "t, i")));
  CHECK_FALSE(IsRow(sum("64, 64", "i, t * 2")));
  // Windows overlap: lanes along the next window read whole vectors, too.
  CHECK_FALSE(IsRow(sum("64, 96", "0, i + t")));
  // Every row is the same: registers can be used again.
  CHECK_FALSE(IsRow(sum("1, 32", "0, t")));
  CHECK_FALSE(IsRow(MatmulText(8, 32, 64, "")));
}

TEST_CASE("a product with one column is a reduction of rows", "[schedule][rows]") {
  CHECK(IsRow(MatmulText(64, 1, 64, "")));
  CHECK_FALSE(IsRow(MatmulText(64, 2, 64, "")));
  for (int64_t rows : {2, 13, 64}) {
    Function fn = FunctionOf(MatmulText(rows, 1, 77, ""));
    bool in_lanes = true;
    for (const Sketch& sketch : GenerateSketches(fn, Avx512())) {
      CHECK((Print(sketch.trace).find(".lanes") != std::string::npos) == in_lanes);
      CheckStepResult(fn, Print(sketch.trace), sketch.start);
      in_lanes = false;  // tiles are the other way
    }
    CHECK_FALSE(in_lanes);
  }
  // A column of a matrix that has others is gathered.
  CHECK_FALSE(IsRow(R"(
    fn f(X: f32[64, 32], V: f32[32, 3], Y: f32[64]) tensor {
      for i in 0..64 @s/i { for t in 0..32 @s/t {
        block s(i: spatial 64 = i, t: reduce 32 = t) {
          reduce sum_f32 init (Y[i]) with (X[i, t] * V[t, 1]) } } } })"));
}

TEST_CASE("rows may be cut out where data says, and end in dimensions of one cell",
          "[schedule][rows]") {
  auto sum = [](int64_t kept, const std::string& index) {
    return "fn f(X: f32[64, 640, " + std::to_string(kept) +
           "], P: i64[64], Y: f32[64]) tensor { for i in 0..64 @s/i { for t in 0..32 @s/t { "
           "block s(i: spatial 64 = i, t: reduce 32 = t) { reduce sum_f32 init (Y[i]) with (X[" +
           index + "]) } } } }";
  };
  CHECK(IsRow(sum(1, "i, t, 0")));
  CHECK_FALSE(IsRow(sum(2, "i, t, 0")));
  CHECK(IsRow(sum(1, "P[i], t, 0")));
  // From where data says, which may be another row's.
  CHECK_FALSE(IsRow(sum(1, "0, P[i] + t, 0")));
}

TEST_CASE("softmax works on a row while it is in the cache", "[schedule][rows]") {
  Function fn = SoftmaxByBlocks(64, 197);
  std::optional<SketchState> state = ScheduleRows(SketchState(fn), *BlocksOf(fn.body)[0], Avx512());
  REQUIRE(state);
  for (const char* block : {"max", "exp", "sum", "out"}) {
    INFO(block);
    CHECK(state->IsDone(block));
    Path path = FindBlock(state->fn(), block).value();
    CHECK(LoopsOn(path)[0]->key == "out/i.0");
  }
  CHECK(state->Next() == nullptr);
}

TEST_CASE("rows that somebody else reads are scheduled one reduction at a time",
          "[schedule][rows]") {
  Function fn = FunctionOf(R"(
    fn two(X: f32[64, 32], M: f32[64], Y: f32[64, 32]) tensor {
      for i in 0..64 @max/i { for t in 0..32 @max/t {
        block max(i: spatial 64 = i, t: reduce 32 = t) {
          reduce max_f32 init (M[i]) with (X[i, t]) } } }
      for i in 0..64 @out/i { for j in 0..32 @out/j {
        block out(i: spatial 64 = i, j: spatial 32 = j) { Y[i, j] = X[i, j] - M[i] } } }
    })");
  std::optional<SketchState> state = ScheduleRows(SketchState(fn), *BlocksOf(fn.body)[0], Avx512());
  REQUIRE(state);
  CHECK(state->IsDone("max"));
  CHECK_FALSE(state->IsDone("out"));
}

TEST_CASE("long rows have several accumulators", "[schedule][rows]") {
  Function fn = SoftmaxByBlocks(4, 2050);
  Sketch sketch = FirstSketch(fn, Avx512());
  std::string trace = Print(sketch.trace);
  INFO(trace);
  CHECK(trace.find("max.registers") != std::string::npos);
  CheckStepResult(fn, trace, sketch.start);
}

TEST_CASE("short rows are done a few at a time", "[schedule][rows]") {
  for (int64_t rows : {1, 2, 3, 4, 7, 13}) {
    for (int64_t columns : {8, 31, 197, 300}) {
      Function fn = SoftmaxByBlocks(rows, columns);
      Sketch sketch = FirstSketch(fn, Avx512());
      CheckStepResult(fn, Print(sketch.trace), sketch.start);
    }
  }
}
