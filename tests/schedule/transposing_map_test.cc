#include "schedule/sketches/cpu/cpu_rules.h"

#include <absl/strings/str_replace.h>

#include <catch2/catch.hpp>

#include "ir/analysis/accesses.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "schedule/sketches/gpu/gpu_rules.h"
#include "schedule/space/bank_conflicts.h"
#include "schedule/space/limits.h"
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

std::optional<SketchState> TiledForThreads(const Function& fn) {
  return TileTransposingForThreads(SketchState(fn), *BlocksOf(fn.body)[0]);
}

// At the sketch's start and at random points.
void CheckPoints(const Function& fn, const std::optional<SketchState>& state) {
  INFO(Print(fn));
  REQUIRE(state);
  CHECK(state->Next()->name == "y");
  test::CheckSketchAtPoints(fn, state->sketch(), 3);
}

void CheckPoints(const Function& fn) {
  CheckPoints(fn, Tiled(fn));
}
void CheckPointsOfThreads(const Function& fn) {
  CheckPoints(fn, TiledForThreads(fn));
}

// "y/i.0 4 serial; ", for each loop round a block.
std::string LoopsRound(const Function& fn, const std::string& block) {
  std::string text;
  for (const Ref<For>& loop : LoopsOn(FindBlock(fn, block).value())) {
    text += fmt::format("{} {} {}; ", loop->key, Print(Simplify(loop->extent)),
                        ToString(loop->for_kind));
  }
  return text;
}

// How often the banks are asked for what a warp reads of its tile (WarpPasses).
int64_t PassesOf(const SketchState& state) {
  const Function& fn = state.fn();
  const auto& block = *FindBlock(fn, "y").value().back().as<Block>();
  return WarpPasses(fn, "y", ReadsOf(block).at(0), state.sketch().start).value();
}

}  // namespace

TEST_CASE("a map that reads across its last axis transposes tiles of the operand",
          "[schedule][transposing]") {
  Function fn = Transpose(64, 48, "X[j, i] + B[i, j]");
  std::optional<SketchState> state = Tiled(fn);
  REQUIRE(state);
  Function scheduled = Replay(fn, state->sketch().trace, state->sketch().start).value();
  CHECK(LoopsRound(scheduled, "y.X") ==
        "y/i.0 4 serial; y/j.0 6 serial; y.X/ax0 8 unrolled; y.X/ax1 16 vectorized; ");
  CHECK(LoopsRound(scheduled, "y.X.t") ==
        "y/i.0 4 serial; y/j.0 6 serial; y.X.t/i 16 unrolled; y.X.t/j 8 unrolled; ");
  CHECK(LoopsRound(scheduled, "y") ==
        "y/i.0 4 serial; y/j.0 6 serial; y/i.1 16 unrolled; y/j.1 8 vectorized; ");
}

TEST_CASE("transposed tiles are the first sketch of a CPU, and rows of gathered vectors the second",
          "[schedule][transposing]") {
  Function fn = Transpose(64, 48, "X[j, i]");
  std::vector<Sketch> sketches = GenerateSketches(fn, FindTarget("x86-64-v3").value());
  REQUIRE(sketches.size() == 2);
  auto transposes = [](const Sketch& sketch) {
    return Print(sketch.trace).find("\nreindex ") != std::string::npos;
  };
  CHECK(transposes(sketches[0]));
  CHECK_FALSE(transposes(sketches[1]));
}

TEST_CASE("maps that read along their last axis, or have little to transpose, are not tiled so",
          "[schedule][transposing]") {
  CHECK_FALSE(Tiled(Map(64, 48, "64, 48", "X[i, j]")));
  CHECK_FALSE(Tiled(Map(64, 48, "48", "X[j]")));
  CHECK_FALSE(Tiled(Map(64, 48, "64", "X[i]")));
  // No axis along which memory is contiguous.
  CHECK_FALSE(Tiled(Map(64, 48, "64, 96", "X[i, 2 * j]")));
  // Too few to transpose.
  CHECK_FALSE(Tiled(Transpose(64, 3, "X[j, i]")));
  CHECK_FALSE(Tiled(Transpose(3, 64, "X[j, i]")));
  // One operand both along and across.
  CHECK_FALSE(Tiled(Transpose(48, 48, "X[j, i] + X[i, j]")));
}

TEST_CASE("transposed tiles are right at all sizes", "[schedule][transposing]") {
  for (auto [rows, columns] : {std::pair{4, 4}, {64, 48}, {13, 31}, {7, 64}, {33, 5}}) {
    CheckPoints(Transpose(rows, columns, "X[j, i]"));
    CheckPoints(Transpose(rows, columns, "max(X[j, i], 0.0) * B[i, j]"));
  }
  CheckPoints(Transpose(20, 37, "exp(X[j, i]) * tanh(B[i, j])"));
  CheckPoints(ImageTranspose("3, 18, 13", "b, j, i"));
  CheckPoints(ImageTranspose("18, 3, 13", "j, b, i"));
  CheckPoints(ImageTranspose("18, 3, 13, 1", "j, b, i, 0"));
}

TEST_CASE("threads copy a tile of a transposed operand along its memory, and read it across",
          "[schedule][transposing]") {
  Function fn = Transpose(64, 48, "X[j, i] + B[i, j]");
  std::optional<SketchState> state = TiledForThreads(fn);
  REQUIRE(state);
  Function scheduled = Replay(fn, state->sketch().trace, state->sketch().start).value();
  CHECK(LoopsRound(scheduled, "y.X") ==
        "y/(i.0*j.0) 4 blockIdx.x; y.X/(ax0*ax1).0 4 serial; y.X/(ax0*ax1).1 256 threadIdx.x; ");
  CHECK(LoopsRound(scheduled, "y") ==
        "y/(i.0*j.0) 4 blockIdx.x; y/(i.2*j.1) 256 threadIdx.x; y/i.1 4 unrolled; ");
}

TEST_CASE("threads of a warp read transposed tiles of every type from different banks",
          "[schedule][transposing]") {
  for (const char* type : {"f32", "f16", "bf16", "i32", "i8", "u8"}) {
    INFO(type);
    std::string text = absl::StrReplaceAll(Print(Transpose(256, 256, "X[j, i]")), {{"f32", type}});
    std::optional<SketchState> state = TiledForThreads(FunctionOf(text));
    REQUIRE(state);
    CHECK(PassesOf(*state) == 1);
  }
}

TEST_CASE(
    "transposed tiles are the first sketch of a GPU, and threads of single elements the second",
    "[schedule][transposing]") {
  std::vector<Sketch> sketches =
      GenerateSketches(Transpose(64, 48, "X[j, i]"), FindTarget("sm_86").value());
  REQUIRE(sketches.size() == 2);
  CHECK(Print(sketches[0].trace).find("cache_read X [y] shared") != std::string::npos);
  CHECK(Print(sketches[1].trace).find("cache_read") == std::string::npos);
  CHECK_FALSE(TiledForThreads(Map(64, 48, "64, 48", "X[i, j]")));
  // Too few to transpose.
  CHECK_FALSE(TiledForThreads(Transpose(64, 7, "X[j, i]")));
  CHECK_FALSE(TiledForThreads(Transpose(7, 64, "X[j, i]")));
}

TEST_CASE("transposed tiles of threads are right at all sizes", "[schedule][transposing]") {
  for (auto [rows, columns] : {std::pair{8, 8}, {64, 48}, {13, 31}, {9, 64}, {33, 17}}) {
    CheckPointsOfThreads(Transpose(rows, columns, "X[j, i]"));
    CheckPointsOfThreads(Transpose(rows, columns, "max(X[j, i], 0.0) * B[i, j]"));
  }
  CheckPointsOfThreads(ImageTranspose("3, 18, 13", "b, j, i"));
  CheckPointsOfThreads(ImageTranspose("18, 3, 13", "j, b, i"));
  CheckPointsOfThreads(ImageTranspose("18, 3, 13, 1", "j, b, i, 0"));
}
