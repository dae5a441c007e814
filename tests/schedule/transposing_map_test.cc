#include "schedule/transposing_map.h"

#include <catch2/catch.hpp>

#include "ir/printer.h"
#include "ir/simplify.h"
#include "schedule/limits.h"
#include "tests/schedule/sketch_points.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

// Y[i, j] = `value`, and another operand of the same shape.
Function Map(int64_t rows, int64_t columns, const std::string& shape, const std::string& value) {
  return FunctionOf(fmt::format(R"(
    fn map(X: f32[{s}], B: f32[{m}, {n}], Y: f32[{m}, {n}]) tensor {{
      for i in 0..{m} @y/i {{ for j in 0..{n} @y/j {{
        block y(i: spatial {m} = i, j: spatial {n} = j) {{ Y[i, j] = {v} }}
      }} }}
    }})",
                                fmt::arg("s", shape), fmt::arg("m", rows), fmt::arg("n", columns),
                                fmt::arg("v", value)));
}

Function Transpose(int64_t rows, int64_t columns, const std::string& value) {
  return Map(rows, columns, fmt::format("{}, {}", columns, rows), value);
}

// Axes of an image in the order that `from` tells of those of the result: "b, j, i".
Function ImageTranspose(const std::string& shape, const std::string& from) {
  return FunctionOf(fmt::format(R"(
    fn map(X: f32[{}], Y: f32[3, 13, 18]) tensor {{
      for b in 0..3 @y/b {{ for i in 0..13 @y/i {{ for j in 0..18 @y/j {{
        block y(b: spatial 3 = b, i: spatial 13 = i, j: spatial 18 = j) {{
          Y[b, i, j] = X[{}] * 2.0
        }}
      }} }} }}
    }})",
                                shape, from));
}

std::optional<SketchState> Tiled(const Function& fn) {
  return TileTransposing(SketchState(fn), *BlocksOf(fn.body)[0], FindTarget("x86-64-v4").value());
}

// At the sketch's start and at random points.
void CheckPoints(const Function& fn) {
  std::optional<SketchState> state = Tiled(fn);
  INFO(Print(fn));
  REQUIRE(state);
  CHECK(state->Next()->name == "y");
  test::CheckSketchAtPoints(fn, state->sketch(), 3);
}

}  // namespace

TEST_CASE("a map that reads across its last axis turns tiles of the operand",
          "[schedule][transposing]") {
  Function fn = Transpose(64, 48, "X[j, i] + B[i, j]");
  std::optional<SketchState> state = Tiled(fn);
  REQUIRE(state);
  Function scheduled = Replay(fn, state->sketch().trace, state->sketch().start).value();
  auto kinds = [&](const std::string& block) {
    std::string text;
    for (const Ref<For>& loop : LoopsOn(FindBlock(scheduled, block).value())) {
      text += fmt::format("{} {} {}; ", loop->key, Print(Simplify(loop->extent)),
                          ToString(loop->for_kind));
    }
    return text;
  };
  CHECK(kinds("y.X") ==
        "y/i.0 4 serial; y/j.0 6 serial; y.X/ax0 8 unrolled; y.X/ax1 16 vectorized; ");
  CHECK(kinds("y.X.t") ==
        "y/i.0 4 serial; y/j.0 6 serial; y.X.t/i 16 unrolled; y.X.t/j 8 unrolled; ");
  CHECK(kinds("y") == "y/i.0 4 serial; y/j.0 6 serial; y/i.1 16 unrolled; y/j.1 8 vectorized; ");
}

TEST_CASE("turned tiles are the first sketch of a CPU, and rows of gathered vectors the second",
          "[schedule][transposing]") {
  Function fn = Transpose(64, 48, "X[j, i]");
  std::vector<Sketch> sketches = GenerateSketches(fn, FindTarget("x86-64-v3").value());
  REQUIRE(sketches.size() == 2);
  auto turns = [](const Sketch& sketch) {
    return Print(sketch.trace).find("\nreindex ") != std::string::npos;
  };
  CHECK(turns(sketches[0]));
  CHECK_FALSE(turns(sketches[1]));
}

TEST_CASE("maps that read along their last axis, or have nothing to turn, have no turned tile",
          "[schedule][transposing]") {
  CHECK_FALSE(Tiled(Map(64, 48, "64, 48", "X[i, j]")));
  CHECK_FALSE(Tiled(Map(64, 48, "48", "X[j]")));
  CHECK_FALSE(Tiled(Map(64, 48, "64", "X[i]")));
  // No axis along which memory is contiguous.
  CHECK_FALSE(Tiled(Map(64, 48, "64, 96", "X[i, 2 * j]")));
  // Too few to turn.
  CHECK_FALSE(Tiled(Transpose(64, 3, "X[j, i]")));
  CHECK_FALSE(Tiled(Transpose(3, 64, "X[j, i]")));
  // One operand both along and across.
  CHECK_FALSE(Tiled(Transpose(48, 48, "X[j, i] + X[i, j]")));
}

TEST_CASE("turned tiles are right at all sizes", "[schedule][transposing]") {
  for (auto [rows, columns] : {std::pair{4, 4}, {64, 48}, {13, 31}, {7, 64}, {33, 5}}) {
    CheckPoints(Transpose(rows, columns, "X[j, i]"));
    CheckPoints(Transpose(rows, columns, "max(X[j, i], 0.0) * B[i, j]"));
  }
  CheckPoints(Transpose(20, 37, "exp(X[j, i]) * tanh(B[i, j])"));
  CheckPoints(ImageTranspose("3, 18, 13", "b, j, i"));
  CheckPoints(ImageTranspose("18, 3, 13", "j, b, i"));
  CheckPoints(ImageTranspose("18, 3, 13, 1", "j, b, i, 0"));
}
