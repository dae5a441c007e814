#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "ir/text/printer.h"
#include "lower/pipeline.h"
#include "schedule/sketches/parts/sketch.h"
#include "tests/programs/compare_programs.h"
#include "tests/schedule/step_check.h"

// The index of the largest or smallest element, whose partial results schedules combine in other
// orders than that of the elements.
using namespace tcc;

namespace {

struct Shape {
  int64_t rows, depth, columns;
};

Function ArgBest(const std::string& combiner, const Shape& shape) {
  if (shape.columns == 1) {
    return FunctionOf(fmt::format(R"(
      fn arg(X: f32[{m}, {k}], Y: i64[{m}]) tensor {{
        alloc B: f32[{m}]
        for i in 0..{m} @y/i {{ for r in 0..{k} @y/r {{
          block y(i: spatial {m} = i, r: reduce {k} = r) {{
            reduce {combiner} init (B[i], Y[i]) with (X[i, r], r) }}
        }} }}
      }})",
                                  fmt::arg("m", shape.rows), fmt::arg("k", shape.depth),
                                  fmt::arg("combiner", combiner)));
  }
  return FunctionOf(fmt::format(R"(
    fn arg(X: f32[{m}, {k}, {n}], Y: i64[{m}, {n}]) tensor {{
      alloc B: f32[{m}, {n}]
      for i in 0..{m} @y/i {{ for j in 0..{n} @y/j {{ for r in 0..{k} @y/r {{
        block y(i: spatial {m} = i, j: spatial {n} = j, r: reduce {k} = r) {{
          reduce {combiner} init (B[i, j], Y[i, j]) with (X[i, r, j], r) }}
      }} }} }}
    }})",
                                fmt::arg("m", shape.rows), fmt::arg("k", shape.depth),
                                fmt::arg("n", shape.columns), fmt::arg("combiner", combiner)));
}

// Few values, so that most are there many times; now and then what has an order of its own.
float ElementOfFew(Random& random, bool with_nan) {
  int64_t value = random.Between(-2, 2);
  if (value == -2) return -std::numeric_limits<float>::infinity();
  if (with_nan && random.Between(0, 40) == 0) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(value);
}

// NaN is better than all else, as numpy has it.
bool IsBetter(float a, float b, bool largest) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  return largest ? a > b : a < b;
}

int64_t IndexOfBest(const std::vector<float>& row, bool largest, bool last) {
  int64_t best = 0;
  for (int64_t r = 1; r < static_cast<int64_t>(row.size()); ++r) {
    bool replaces =
        last ? !IsBetter(row[best], row[r], largest) : IsBetter(row[r], row[best], largest);
    if (replaces) best = r;
  }
  return best;
}

void CheckIndices(const Function& fn, const Shape& shape, bool largest, bool last) {
  Sketch sketch = FirstSketch(fn, FindTarget("x86-64-v3").value());
  INFO(Print(fn) << Print(sketch.trace));
  CHECK(sketch.name != "outer");
  Function scheduled = Replay(fn, sketch.trace, sketch.start).value();
  Function lowered = RunPipeline(scheduled, {}).value();
  for (bool with_nan : {false, true}) {
    Random random(3);
    std::vector<Tensor> arguments = RandomArguments(fn, random);
    std::vector<std::vector<float>> rows(shape.rows * shape.columns);
    for (int64_t i = 0; i < shape.rows; ++i) {
      for (int64_t r = 0; r < shape.depth; ++r) {
        for (int64_t j = 0; j < shape.columns; ++j) {
          float value = ElementOfFew(random, with_nan && (i + j) % 2 == 0);
          SetElement(arguments[0], (i * shape.depth + r) * shape.columns + j, value);
          rows[i * shape.columns + j].push_back(value);
        }
      }
    }
    for (const Function& got : {scheduled, lowered}) {
      Tensor indices = RunInterpreter(got, arguments).value()[1];
      for (size_t row = 0; row < rows.size(); ++row) {
        INFO("row " << row);
        REQUIRE(ElementAsInt(indices, static_cast<int64_t>(row)) ==
                IndexOfBest(rows[row], largest, last));
      }
    }
  }
}

}  // namespace

TEST_CASE("among equal elements the first, or the last, is found in lanes, columns and parts",
          "[schedule][rows][columns][parts]") {
  for (Shape shape : {Shape{5, 67, 1}, Shape{3, 300, 1}, Shape{4, 21, 19}, Shape{1, 49'152, 1},
                      Shape{1, 6001, 7}}) {
    for (bool largest : {true, false}) {
      for (bool last : {true, false}) {
        std::string combiner =
            fmt::format("{}_{}_f32", largest ? "argmax" : "argmin", last ? "last" : "first");
        CheckIndices(ArgBest(combiner, shape), shape, largest, last);
      }
    }
  }
}
