#include <algorithm>
#include <catch2/catch.hpp>

#include "codegen_cuda/cubin/cubin.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/passes.h"
#include "lower/pipeline.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/limits.h"
#include "schedule/space/schedule.h"
#include "schedule/space/space.h"
#include "tests/codegen_cuda/nvrtc_rig.h"
#include "tests/programs/point_check.h"
#include "tests/programs/product_function.h"

using namespace tcc;
using namespace tcc::test;

namespace {

const char* const kTarget = "sm_90a";

Sketch GroupSketch(const Function& fn) {
  Sketch sketch = FirstSketch(fn, GpuTarget(kTarget));
  INFO(sketch.name);
  REQUIRE(sketch.name.find("group_mma") != std::string::npos);
  return sketch;
}

Function LoweredAt(const Function& fn, const Sketch& sketch, const Decisions& decisions) {
  StatusOr<Function> scheduled = Replay(fn, sketch.trace, decisions);
  INFO(scheduled.status());
  REQUIRE(scheduled.ok());
  StatusOr<Function> lowered = RunPipeline(Simplify(*scheduled));
  INFO(lowered.status());
  REQUIRE(lowered.ok());
  return *lowered;
}

void CheckRight(const Function& fn, const Sketch& sketch, const Decisions& decisions,
                Random& random) {
  SymbolicProgram program = Instantiate(fn, sketch.trace).value();
  PointCheckOptions options;
  options.max_instances = 40'000'000;
  options.run_scheduled = [](const Function& scheduled, std::vector<Tensor>& arguments) {
    return RunEmulated(scheduled, GpuTarget(kTarget), arguments);
  };
  INFO(Print(Schedule{.trace = sketch.trace, .decisions = decisions}));
  PointReport report = CheckPoint(fn, program, decisions, random, options);
  INFO(report.message);
  CHECK(report.outcome == PointOutcome::kRight);
}

ProductShape BytesShape(int64_t rows, int64_t columns, int64_t depth) {
  return {.rows = rows,
          .columns = columns,
          .depth = depth,
          .type = "i8",
          .sum = "i32",
          .b = "j, k",
          .rounded = false};
}

// The operands that lie along K and along their rows, of whole tiles and not.
std::vector<ProductShape> SmallShapes() {
  return {
      {.rows = 64, .columns = 128, .depth = 128},
      {.rows = 130, .columns = 40, .depth = 72, .b = "j, k"},
      {.rows = 64, .columns = 96, .depth = 64, .type = "bf16", .a = "k, i"},
      {.rows = 67, .columns = 33, .depth = 136, .type = "bf16", .a = "k, i", .b = "j, k"},
      {.rows = 64, .columns = 64, .depth = 64, .batch = 2},
      {.rows = 64, .columns = 32, .depth = 64, .narrowed = true},
      {.rows = 64, .columns = 16, .depth = 512},
      BytesShape(64, 72, 160),
  };
}

}  // namespace

TEST_CASE("products of four warps are right, interpreted and emulated", "[codegen_cuda][group]") {
  Random random(21);
  for (const ProductShape& shape : SmallShapes()) {
    INFO(shape.type << " A[" << shape.a << "] B[" << shape.b << "] " << shape.rows << " x "
                    << shape.columns << " x " << shape.depth);
    Function fn = ProductFunction(shape);
    Sketch sketch = GroupSketch(fn);
    CheckRight(fn, sketch, sketch.start, random);
    SymbolicProgram program = WithLimits(Instantiate(fn, sketch.trace).value(), GpuTarget(kTarget));
    SearchSpace space = SearchSpace::Create(program).value();
    std::optional<Point> point = space.Sample(random);
    if (point) CheckRight(fn, sketch, space.ToDecisions(*point), random);
  }
}

TEST_CASE("products of four warps run on tensor cores alone, without spills or warnings",
          "[codegen_cuda][group][nvrtc]") {
  const ProductShape shapes[] = {
      {.rows = 512, .columns = 512, .depth = 512},
      {.rows = 1024, .columns = 1024, .depth = 1024, .b = "j, k"},
      {.rows = 2048, .columns = 2048, .depth = 2048},
      {.rows = 2048, .columns = 2048, .depth = 2048, .type = "bf16", .a = "k, i"},
      {.rows = 197, .columns = 768, .depth = 3072, .b = "j, k"},
      BytesShape(1024, 1024, 1024),
  };
  for (const ProductShape& shape : shapes) {
    INFO(shape.type << " A[" << shape.a << "] B[" << shape.b << "] " << shape.rows);
    Function fn = ProductFunction(shape);
    Sketch sketch = GroupSketch(fn);
    std::optional<Cubin> cubin =
        MustCompile(SourceOf({LoweredAt(fn, sketch, sketch.start)}, kTarget), kTarget);
    if (!cubin) return;
    CubinKernel kernel = ReadCubin(cubin->image, GpuTarget(kTarget).sm).value().at(0);
    const SassCounts &all = kernel.facts.all, &loop = kernel.facts.main_loop;
    SassKind kind = shape.type == "i8" ? SassKind::kIgmma : SassKind::kHgmma;
    INFO(loop.total << " instructions a step, " << loop.of(kind) << " products");
    CHECK(loop.of(kind) == 4);
    CHECK(loop.total <= 200);
    CHECK(all.of(SassKind::kHmma) + all.of(SassKind::kImma) == 0);
    CHECK(all.of(SassKind::kLdsm) == 0);
    CHECK(all.of_bf16 == (shape.type == "bf16" ? all.of(kind) : 0));
    CHECK(kernel.facts.load_bytes_widest == 16);
    for (const KernelResources& launch : cubin->kernels) {
      INFO(launch.kernel << ", " << launch.registers << " registers");
      CHECK(launch.spill_stores == 0);
      CHECK(launch.stack_bytes == 0);
      CHECK(launch.warning.empty());
    }
  }
}

TEST_CASE("products of four warps start from tiles that fill multiprocessors once",
          "[codegen_cuda][group]") {
  struct Row {
    int64_t size, rows, columns;
  };
  for (const Row& row : {Row{1024, 64, 128}, {2048, 128, 256}, {4096, 128, 256}}) {
    INFO(row.size);
    Function fn = ProductFunction({.rows = row.size, .columns = row.size, .depth = row.size});
    Sketch sketch = GroupSketch(fn);
    INFO(Print(Schedule{.trace = sketch.trace, .decisions = sketch.start}));
    auto size = [&](const char* name) {
      for (const auto& [variable, value] : sketch.start) {
        if (variable == name) return value;
      }
      return int64_t{1};
    };
    CHECK(16 * size("mm.i.1") == row.rows);
    CHECK(8 * size("mm.j.1") * size("mm.j.2") == row.columns);
  }
}

namespace {

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  for (; at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string Refusal(const Function& lowered, const std::string& target) {
  return Message(EmitCuda(std::vector<Function>{lowered}, GpuTarget(target)).status());
}

}  // namespace

TEST_CASE("products of a step go on while the next step is copied and begun",
          "[codegen_cuda][group]") {
  Function fn = ProductFunction({.rows = 128, .columns = 128, .depth = 512});
  Sketch sketch = GroupSketch(fn);
  for (int stages : {1, 2, 3, 4}) {
    Decisions decisions = sketch.start;
    for (auto& [name, value] : decisions) {
      if (name.ends_with(".stages")) value = stages;
    }
    const std::string text = SourceOf({LoweredAt(fn, sketch, decisions)}, kTarget).text;
    INFO(stages);
    const bool lags = text.find("tcc_group_wait<1>") != std::string::npos;
    CHECK(lags == (stages > 2));
    if (!lags) continue;
    // Behind the last loop the last products are waited for.
    size_t products = text.find("tcc_group_commit();"),
           copies = text.find("tcc_async_copy", products);
    size_t wait = text.find("tcc_group_wait<1>", products);
    CHECK(products < copies);
    CHECK(copies < wait);
    CHECK(text.rfind("tcc_group_wait<0>") > text.rfind("tcc_group_wait<1>"));
  }
}

TEST_CASE("products that no group can run are refused", "[codegen_cuda][group]") {
  Function fn =
      ProductFunction({.rows = 256, .columns = 256, .depth = 128, .b = "j, k", .rounded = false});
  Sketch sketch = GroupSketch(fn);
  Decisions decisions = sketch.start;
  auto set = [&](const std::string& name, int64_t value) {
    for (auto& [key, size] : decisions) {
      if (key.ends_with(name)) size = value;
    }
  };
  set(".i.1", 4);
  set(".j.1", 2);
  set(".j.2", 4);
  Function right = LoweredAt(fn, sketch, decisions);
  CHECK(Refusal(right, kTarget).empty());
  CHECK_THAT(Refusal(right, "sm_80"),
             Catch::Contains("intrinsic 'group_mma_m16n8k16_f16_f32' needs sm_90a"));

  // Neighbouring warps have the same rows and other columns.
  std::string text = Print(sketch.trace);
  text = Replaced(text, "mm/j.1, mm/i.1", "mm/i.1, mm/j.1");
  text = Replaced(text, "mm/j.1 mm/i.1", "mm/i.1 mm/j.1");
  text = Replaced(text, "(j.1*i.1)", "(i.1*j.1)");
  StatusOr<Trace> swapped = ParseTrace(text);
  REQUIRE(swapped.ok());
  Sketch wrong = sketch;
  wrong.trace = *swapped;
  CHECK_THAT(Refusal(LoweredAt(fn, wrong, decisions), kTarget), Catch::Contains("of 'mm.A' lies"));

  wrong.trace = ParseTrace(Replaced(Print(sketch.trace), "choice 4 8", "choice 2 4 8")).value();
  set(".i.1", 2);
  set(".j.1", 1);
  CHECK_THAT(Refusal(LoweredAt(fn, wrong, decisions), kTarget),
             Catch::Contains("a block has 2 warps; expected a multiple of 4"));
}

// The wait names one buffer: with two in its arguments the text did not compile.
TEST_CASE("a wait for products of two sums hands out both", "[codegen_cuda][group][nvrtc]") {
  const std::string product = R"(
      intrinsic group_mma_m16n8k16_f16_f32 {
        for i in 0..16 { for j in 0..8 { for k in 0..16 {
          SUM[i div 8 * 64 + i mod 8 * 4 + j div 2 + j mod 2 * 32] =
              SUM[i div 8 * 64 + i mod 8 * 4 + j div 2 + j mod 2 * 32] +
              f32(A[w * 256 + i * 16 + bit_xor(k div 8, i div 4 mod 2) * 8 + k mod 8]) *
              f32(B[j * 16 + bit_xor(k div 8, j div 4 mod 2) * 8 + k mod 8])
        } } }
      })";
  auto of = [&](const std::string& sum) { return Replaced(product, "SUM", sum); };
  Function fn = MustParse(R"(
fn two(X: f16[1024], Y: f32[128]) lowered {
  for b in 0..1 blockIdx.x {
    for w in 0..4 threadIdx.y {
      alloc C: f32[128] warp
      alloc D: f32[128] warp
      alloc A: f16[1024] shared blocks [0 by 128]
      alloc B: f16[128] shared blocks [0 by 128]
      for l in 0..32 threadIdx.x {
        for r in 0..8 unrolled { A[w * 256 + l * 8 + r] = X[w * 256 + l * 8 + r] }
        if l < 1 { for q in 0..128 { B[q] = X[q] } }
        for z in 0..4 unrolled { C[z * 32 + l] = 0.0 D[z * 32 + l] = 0.0 }
      }
      barrier(shared)
)" + of("C") + of("D") + R"(
      for m in 0..32 threadIdx.x { Y[w * 32 + m] = C[m] + D[m] }
    }
  }
})");
  CudaSource source = SourceOf({CommitProducts(Simplify(UnrollLoops(fn)))}, kTarget);
  CHECK(source.text.find("tcc_group_wait<0>(C);") != std::string::npos);
  CHECK(source.text.find("tcc_group_wait<0>(D);") != std::string::npos);
  MustCompile(source, kTarget);
}
