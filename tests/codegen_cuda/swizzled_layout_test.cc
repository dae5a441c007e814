#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <regex>

#include "codegen_cuda/text/launch.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/layout.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "lower/pipeline.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/schedule.h"
#include "tests/codegen_cuda/nvrtc_rig.h"
#include "tests/programs/point_check.h"
#include "tests/programs/product_function.h"

using namespace tcc;
using namespace tcc::test;

namespace {

// A matrix as the descriptor of a wgmma says it (PTX ISA, "matrix descriptor" and "canonical
// layouts"); `rows` runs along M or N. Here the stride of 8 rows, or of 8 k across, is always 8
// times the span.
struct Descriptor {
  int64_t span;              // 128, 64 or 32 bytes: the mode
  bool along_k;              // else rows of the matrix are neighbours, and the transpose bit is set
  int64_t bytes;             // of an element
  int64_t panel_stride = 0;  // from one span along the row to the next one
};

// Returns the address of a cell in an array that begins at 0, by the hardware's rule: 16 bytes are
// a unit; 8 rows of a span are a pattern; the 1, 2 or 3 bits of the address from bit 4 on are XORed
// with the bits from bit 7 on. The start address goes on by 32 bytes for each instruction along k,
// within a span, and to the next panel after it.
int64_t Decoded(const Descriptor& d, int64_t row, int64_t k) {
  int64_t address = 0;
  if (d.along_k) {
    const int64_t instruction = k * d.bytes / 32, of_span = d.span / 32;
    const int64_t start = instruction / of_span * d.panel_stride + instruction % of_span * 32;
    const int64_t unit = k * d.bytes % 32;
    address = start + row / 8 * (8 * d.span) + row % 8 * d.span + unit;
  } else {
    const int64_t along = row * d.bytes;
    address =
        along / d.span * d.panel_stride + along % d.span + k / 8 * (8 * d.span) + k % 8 * d.span;
  }
  const int64_t mask = d.span / 16 - 1;
  return address ^ ((address >> 7 & mask) << 4);
}

struct Staged {
  std::string type, layout;
  int64_t rows = 0, columns = 0;
};

Function ScheduledStart(const Function& fn, const Sketch& sketch, const Decisions& decisions) {
  StatusOr<Function> scheduled = Replay(fn, sketch.trace, decisions);
  INFO(scheduled.status());
  REQUIRE(scheduled.ok());
  return Simplify(*scheduled);
}

// Returns the tile of an operand that a step of the reduction stages.
Staged StagedTile(const Function& scheduled, const std::string& name) {
  const std::string text = Print(scheduled);
  const std::regex declared("alloc " + name +
                            ": (\\w+)\\[[^\\]]*\\] shared window \\[[^\\]]*\\] size "
                            "\\[(\\d+), (\\d+)\\] versions \\d+ (strides .*)");
  std::smatch match;
  INFO(text);
  REQUIRE(std::regex_search(text, match, declared));
  return {match[1], match[4], std::stoll(match[2]), std::stoll(match[3])};
}

// Returns a tile's copy to shared memory, lowered.
Function CopyOf(const Staged& tile) {
  const std::string text = fmt::format(R"(
fn copy(A: {0}[{1}, {2}], B: {0}[{1}, {2}]) scheduled {{
  for b in 0..1 blockIdx.x @"b" {{
    alloc T: {0}[{1}, {2}] shared {3}
    for i in 0..{1} @t/i {{ for j in 0..{2} @t/j {{
      block t(i: spatial {1} = i, j: spatial {2} = j) {{ T[i, j] = A[i, j] }}
    }} }}
    for i_1 in 0..{1} @u/i {{ for j_1 in 0..{2} @u/j {{
      block u(i: spatial {1} = i_1, j: spatial {2} = j_1) {{ B[i, j] = T[i, j] }}
    }} }}
  }}
}})",
                                       tile.type, tile.rows, tile.columns, tile.layout);
  StatusOr<Function> fn = ParseFunction(text);
  INFO(text << fn.status());
  REQUIRE(fn.ok());
  StatusOr<Function> lowered = RunPipeline(*fn);
  INFO(lowered.status());
  REQUIRE(lowered.ok());
  return *lowered;
}

// Checks where each cell lies, and to what the buffer is aligned.
void CheckDecoded(const Staged& tile, const Descriptor& descriptor) {
  INFO(tile.type << "[" << tile.rows << ", " << tile.columns << "] " << tile.layout);
  Function lowered = CopyOf(tile);
  const Store* store = nullptr;
  std::vector<Var> loops;
  PreOrder(lowered.body, [&](const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>(); loop && !IsBlockIdx(loop->for_kind)) {
      if (!store) loops.push_back(loop->var);
    }
    if (!store) store = stmt.as<Store>();
    if (const auto* allocate = stmt.as<Allocate>()) {
      CHECK(SharedAlignment(allocate->buffer) == 8 * descriptor.span);
    }
  });
  REQUIRE(store != nullptr);
  REQUIRE(loops.size() == 2);
  Assignment at;
  PreOrder(lowered.body, [&](const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) at[loop->var] = 0;
  });
  int64_t wrong = 0;
  for (int64_t i = 0; i < tile.rows; ++i) {
    for (int64_t j = 0; j < tile.columns; ++j) {
      at[loops[0]] = i;
      at[loops[1]] = j;
      const int64_t address = EvaluateInt(store->indices[0], at).value() * descriptor.bytes;
      wrong +=
          address != (descriptor.along_k ? Decoded(descriptor, i, j) : Decoded(descriptor, j, i));
    }
  }
  CHECK(wrong == 0);
}

// The operands of products in shared memory, at the start of their sketches.
struct Form {
  const char* what;
  ProductShape shape;
  std::string staged;
  Descriptor descriptor;
  int64_t longer = 1;  // how many times as long a step is as at the start
};

std::vector<Form> Forms() {
  const ProductShape large{.rows = 1024, .columns = 1024, .depth = 1024};
  auto with = [&](auto change) {
    ProductShape shape = large;
    change(shape);
    return shape;
  };
  auto bytes = with([](ProductShape& shape) {
    shape.type = "i8";
    shape.sum = "i32";
    shape.b = "j, k";
    shape.rounded = false;
  });
  auto words = with([](ProductShape& shape) {
    shape.type = "f32";
    shape.b = "j, k";
    shape.tf32 = "tf32";
  });
  auto brief = [&](int64_t depth) { return with([&](ProductShape& s) { s.depth = depth; }); };
  ProductShape few{.rows = 16, .columns = 8192, .depth = 64, .a = "k, i"};
  return {
      {"f16 along k", large, "mm.A", {128, true, 2}},
      {"bf16 along k", with([](auto& s) { s.type = "bf16"; }), "mm.A", {128, true, 2}},
      {"tf32 along k", words, "mm.A", {128, true, 4}},
      {"tf32 along k", words, "mm.B", {128, true, 4}},
      {"s8 along k", bytes, "mm.A", {128, true, 1}},
      {"s8 along k", bytes, "mm.B", {128, true, 1}},
      {"64 bytes along k", brief(32), "mm.A", {64, true, 2}},
      {"32 bytes along k", brief(16), "mm.A", {32, true, 2}},
      {"panels along k", large, "mm.A", {128, true, 2, -1}, 2},
      {"panels of words along k", words, "mm.B", {128, true, 4, -1}, 2},
      {"panels along n", large, "mm.B", {128, false, 2, -1}},
      {"panels along n, two steps", large, "mm.B", {128, false, 2, -1}, 2},
      {"panels along m", with([](auto& s) { s.a = "k, i"; }), "mm.A", {128, false, 2, -1}},
      {"64 bytes along n", few, "mm.B", {64, false, 2, -1}},
      {"32 bytes along m", few, "mm.A", {32, false, 2, -1}},
  };
}

Decisions WithLongerSteps(Decisions decisions, int64_t times) {
  decisions.at("mm.k.1") *= times;
  return decisions;
}

}  // namespace

TEST_CASE("staged operands lie as the descriptors of tensor cores say", "[codegen_cuda][layout]") {
  for (Form form : Forms()) {
    INFO(form.what);
    Function fn = ProductFunction(form.shape);
    Sketch sketch = FirstSketch(fn, GpuTarget("sm_90a"));
    Function scheduled = ScheduledStart(fn, sketch, WithLongerSteps(sketch.start, form.longer));
    Staged tile = StagedTile(scheduled, form.staged);
    Descriptor& descriptor = form.descriptor;
    // One panel follows another: all of its rows along k, or its k across.
    if (descriptor.panel_stride < 0) descriptor.panel_stride = tile.rows * descriptor.span;
    if (descriptor.along_k) {
      CHECK(tile.columns * descriptor.bytes == descriptor.span * form.longer);
    }
    CheckDecoded(tile, descriptor);
  }
}

TEST_CASE("swizzled tiles begin where their swizzle does, and no rows of theirs meet in a bank",
          "[codegen_cuda][layout]") {
  for (const std::string& target : GpuTargets()) {
    for (const Form& form : Forms()) {
      if (target == "sm_75" && form.shape.type != "f16" && form.shape.type != "i8") continue;
      INFO(target << " " << form.what);
      Function fn = ProductFunction(form.shape);
      Sketch sketch = WarpProductSketch(fn, target);
      Function scheduled = ScheduledStart(fn, sketch, sketch.start);
      Function lowered = RunPipeline(scheduled).value();
      StatusOr<LaunchBodies> bodies = FindLaunches(lowered, GpuTarget(target));
      INFO(bodies.status());
      REQUIRE(bodies.ok());
      const LaunchBody& launch = bodies->launches.at(0);
      REQUIRE(launch.shared.size() == 2);
      int64_t bytes = 0;
      for (size_t i = 0; i < 2; ++i) {
        const Buffer& buffer = launch.shared[i];
        CHECK(SharedAlignment(buffer) >= 256);
        CHECK(launch.places.offsets[i] % SharedAlignment(buffer) == 0);
        bytes += SharedCells(buffer) * buffer.dtype().bytes();
      }
      CHECK(launch.launch.static_shared_bytes == 0);
      CHECK(launch.launch.dynamic_shared_bytes == bytes);
      CudaSource source = SourceOf({lowered}, target);
      CHECK(source.plans.at(0).launches.at(0).rows_per_bank == 1);
    }
  }
}

TEST_CASE("products of swizzled tiles are right on the emulator", "[codegen_cuda][emulator]") {
  const ProductShape shapes[] = {
      {.rows = 64, .columns = 64, .depth = 200},
      {.rows = 40, .columns = 72, .depth = 96, .type = "bf16", .a = "k, i", .b = "j, k"},
      {.rows = 16, .columns = 32, .depth = 40, .a = "k, i"},
      {.rows = 33, .columns = 40, .depth = 72, .type = "f32", .b = "j, k", .tf32 = "tf32"},
      {.rows = 33, .columns = 40, .depth = 72, .type = "tf32", .b = "j, k"},
      {.rows = 64, .depth = 100, .type = "tf32", .a = "k, i", .constant = true},
      {.rows = 128, .columns = 64, .depth = 72, .type = "tf32", .b = "j, k", .tf32 = "tf32 of a"},
      {.rows = 40, .columns = 40, .type = "tf32", .a = "k, i", .b = "j, k", .tf32 = "tf32 of b"},
      {.rows = 32,
       .columns = 32,
       .depth = 300,
       .type = "i8",
       .sum = "i32",
       .b = "j, k",
       .rounded = false},
  };
  Random random(21);
  for (const char* target : {"sm_75", "sm_86"}) {
    PointCheckOptions options{.max_instances = 20'000'000};
    options.run_scheduled = [&](const Function& scheduled, std::vector<Tensor>& arguments) {
      return RunEmulated(scheduled, GpuTarget(target), arguments);
    };
    for (const ProductShape& shape : shapes) {
      if (target == std::string("sm_75") && shape.type != "f16" && shape.type != "i8") continue;
      Function fn = ProductFunction(shape);
      Sketch sketch = FirstSketch(fn, GpuTarget(target));
      SymbolicProgram program = Instantiate(fn, sketch.trace).value();
      for (int64_t longer : {1, 2}) {
        Decisions decisions = WithLongerSteps(sketch.start, longer);
        INFO(target << " " << Print(Schedule{.trace = sketch.trace, .decisions = decisions}));
        PointReport report = CheckPoint(fn, program, decisions, random, options);
        INFO(report.message);
        CHECK(report.outcome == PointOutcome::kRight);
      }
    }
  }
}
