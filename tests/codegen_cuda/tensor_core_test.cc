#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "codegen_cuda/cubin/cubin.h"
#include "codegen_cuda/text/prelude.h"
#include "codegen_cuda/text/warp_call.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
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

// As the importer makes it of MatMul on f16, but for a bias.
Function HalfProduct(int64_t rows, int64_t columns, int64_t depth) {
  return ProductFunction({.rows = rows, .columns = columns, .depth = depth});
}

std::string HandTrace() {
  std::ifstream file("bench/traces/gpu/gemm_f16_1024x1024x1024.trace");
  std::ostringstream text;
  text << file.rdbuf();
  REQUIRE(!text.str().empty());
  return text.str();
}

Trace TraceOf(const std::string& text) {
  StatusOr<Trace> trace = ParseTrace(text);
  INFO(trace.status());
  REQUIRE(trace.ok());
  return *trace;
}

Function LoweredProduct(const Function& fn, const std::string& trace) {
  StatusOr<Function> scheduled = Replay(fn, TraceOf(trace), {});
  INFO(scheduled.status());
  REQUIRE(scheduled.ok());
  StatusOr<Function> lowered = RunPipeline(Simplify(*scheduled));
  INFO(lowered.status());
  REQUIRE(lowered.ok());
  return *lowered;
}

std::string Without(std::string text, const std::string& line) {
  size_t at = text.find(line);
  REQUIRE(at != std::string::npos);
  return text.erase(at, text.find('\n', at) - at);
}

// Of all loads of matrices; how many there are.
std::pair<int64_t, int> WorstConflicts(const Function& lowered) {
  int64_t worst = 0;
  int loads = 0;
  Var lane = LoopVar("lane");
  Bounds bounds;
  PreOrder(lowered.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (loop) bounds[loop->var] = {0, AsConstant(loop->extent).value() - 1};
  });
  PreOrder(lowered.body, [&](const Stmt& stmt) {
    const auto* call = stmt.as<IntrinsicCall>();
    if (!call || !call->intrinsic.starts_with("load_matrices")) return;
    StatusOr<LoadMatricesCall> load = ReadLoadMatrices(*call, lane, bounds);
    INFO(load.status());
    REQUIRE(load.ok());
    worst = std::max(worst, RowsPerBank(*load, lane));
    ++loads;
  });
  return {worst, loads};
}

// The launch with the most such instructions.
CubinKernel MostOf(SassKind kind, const std::vector<CubinKernel>& kernels) {
  return *std::ranges::max_element(kernels, [&](const auto& a, const auto& b) {
    return a.facts.all.of(kind) < b.facts.all.of(kind);
  });
}

// Of a product's first sketch at its start and, where it is asked for and there is one, a random
// point.
void CheckSketch(const ProductShape& shape, const std::string& target, Random* random) {
  INFO(target << " " << shape.type << shape.tf32 << " A[" << shape.a << "] B[" << shape.b << "]");
  Function fn = ProductFunction(shape);
  Sketch sketch = WarpProductSketch(fn, target);
  SymbolicProgram program = WithLimits(Instantiate(fn, sketch.trace).value(), GpuTarget(target));
  SearchSpace space = SearchSpace::Create(program).value();
  std::vector<Decisions> points = {sketch.start};
  std::optional<Point> point = random ? space.Sample(*random) : std::nullopt;
  if (point) points.push_back(space.ToDecisions(*point));
  for (const Decisions& decisions : points) {
    INFO(Print(Schedule{.trace = sketch.trace, .decisions = decisions}));
    StatusOr<Function> scheduled = Replay(fn, sketch.trace, decisions);
    REQUIRE(scheduled.ok());
    Function lowered = RunPipeline(Simplify(*scheduled)).value();
    auto [worst, loads] = WorstConflicts(lowered);
    CHECK(worst == 1);
    CHECK(loads > 0);
    std::optional<Cubin> cubin = MustCompile(SourceOf({lowered}, target), target);
    if (!cubin) return;
    SassKind kind = shape.type == "i8" ? SassKind::kImma : SassKind::kHmma;
    CubinKernel kernel = MostOf(kind, ReadCubin(cubin->image, GpuTarget(target).sm).value());
    const SassCounts& all = kernel.facts.all;
    CHECK(all.of(kind) > 0);
    CHECK(all.of_bf16 == (shape.type == "bf16" ? all.of(kind) : 0));
    CHECK(all.of_tf32 == (shape.type.ends_with("f32") ? all.of(kind) : 0));
    CHECK(all.of(SassKind::kLdsm) > 0);
    CHECK(all.of(SassKind::kFfma) == 0);
    if (target != "sm_75" && decisions == sketch.start) {
      CHECK(all.of(SassKind::kLdgsts) > 0);
      CHECK(kernel.facts.load_bytes_widest == 16);
    }
    for (const KernelResources& launch : cubin->kernels) {
      INFO(launch.kernel << ", " << launch.registers << " registers");
      CHECK(launch.spill_stores == 0);
      CHECK(launch.stack_bytes == 0);
    }
  }
}

}  // namespace

TEST_CASE("the hand-written f16 product on tensor cores is right interpreted and emulated",
          "[codegen_cuda][emulator]") {
  Function fn = HalfProduct(128, 256, 96);
  StatusOr<SymbolicProgram> program = Instantiate(fn, TraceOf(HandTrace()));
  INFO(program.status());
  REQUIRE(program.ok());
  Random random(3);
  PointCheckOptions options;
  options.max_instances = 20'000'000;
  options.run_scheduled = [](const Function& scheduled, std::vector<Tensor>& arguments) {
    return RunEmulated(scheduled, GpuTarget("sm_86"), arguments);
  };
  PointReport report = CheckPoint(fn, *program, {}, random, options);
  INFO(report.message);
  CHECK(report.outcome == PointOutcome::kRight);
}

TEST_CASE("the hand-written f16 product keeps tensor cores busy and registers unspilt",
          "[codegen_cuda][nvrtc]") {
  Function lowered = LoweredProduct(HalfProduct(1024, 1024, 1024), HandTrace());
  for (const std::string& target : GpuTargets()) {
    if (target == "sm_75") continue;
    INFO(target);
    std::optional<Cubin> cubin = MustCompile(SourceOf({lowered}, target), target);
    if (!cubin) return;
    StatusOr<std::vector<CubinKernel>> kernels = ReadCubin(cubin->image, GpuTarget(target).sm);
    REQUIRE(kernels.ok());
    REQUIRE(kernels->size() == 1);
    const SassFacts& facts = kernels->at(0).facts;
    // A warp's step of 64 x 32 x 32, whose rows come by four matrices a load.
    CHECK(facts.main_loop.of(SassKind::kHmma) == 4 * 4 * 2);
    CHECK(facts.main_loop.of(SassKind::kLdsm) == (4 + 2) * 2);
    CHECK(facts.main_loop.of(SassKind::kLdgsts) == 4);
    CHECK(facts.load_bytes_widest == 16);
    CHECK(facts.main_loop.total <= 140);
    CHECK(facts.all.of(SassKind::kLdl) == 0);
    CHECK(facts.all.of(SassKind::kStl) == 0);
    CHECK(cubin->kernels[0].spill_stores == 0);
    CHECK(cubin->kernels[0].spill_loads == 0);
  }
}

TEST_CASE("rows of matrices meet in no bank where tiles are swizzled", "[codegen_cuda]") {
  Function fn = HalfProduct(128, 128, 64);
  auto [worst, loads] = WorstConflicts(LoweredProduct(fn, HandTrace()));
  CHECK(worst == 1);
  CHECK(loads > 10);
  CHECK(WorstConflicts(LoweredProduct(fn, Without(HandTrace(), "swizzle mm.a"))).first == 4);
  CHECK(WorstConflicts(LoweredProduct(fn, Without(HandTrace(), "swizzle mm.b"))).first == 8);
}

TEST_CASE("a launch says how many rows of a matrix meet in a bank", "[codegen_cuda]") {
  auto rows_per_bank = [](const Function& fn, const std::string& trace) {
    Function lowered = LoweredProduct(fn, trace);
    StatusOr<CudaSource> source = EmitCuda({&lowered, 1}, GpuTarget("sm_86"));
    INFO(Message(source.status()));
    REQUIRE(source.ok());
    return source->plans.at(0).launches.at(0).rows_per_bank;
  };
  Function fn = HalfProduct(128, 128, 64);
  CHECK(rows_per_bank(fn, HandTrace()) == 1);
  CHECK(rows_per_bank(fn, Without(HandTrace(), "swizzle mm.a")) == 4);
  CHECK(rows_per_bank(fn, Without(HandTrace(), "swizzle mm.b")) == 8);
}

TEST_CASE("what cannot be done by lanes is refused, never shuffled", "[codegen_cuda]") {
  auto refusal = [](const std::string& trace, const std::string& target) {
    Function lowered = LoweredProduct(HalfProduct(128, 128, 64), trace);
    return Message(EmitCuda(std::vector<Function>{lowered}, GpuTarget(target)).status());
  };
  CHECK(refusal(HandTrace(), "sm_75") ==
        "kernel 'f': intrinsic 'mma_m16n8k16_f16_f32' needs sm_80");
  std::string columns_first = HandTrace();
  size_t at = columns_first.find("fuse out/i.2 out/j.1");
  columns_first.replace(at, columns_first.size(),
                        "reorder [out/j.1, out/i.2]\nfuse out/j.1 out/i.2\n"
                        "bind out/(j.1*i.2) threadIdx.x\nunroll out/i.0\n"
                        "unroll out/j.0\nunroll out/i.1\nunroll out/j.2\n");
  CHECK_THAT(refusal(columns_first, "sm_86"),
             Catch::Contains("which is no register of the thread"));
  CHECK_THAT(refusal(Without(HandTrace(), "tensorize mm/i.3"), "sm_86"),
             Catch::Contains("kernel 'f': "));
}

TEST_CASE("a fragment that is shifted is found", "[codegen_cuda][emulator]") {
  Function fn = HalfProduct(128, 128, 32);
  Function lowered = LoweredProduct(fn, HandTrace());
  CudaSource right = SourceOf({lowered});
  Random random(5);
  std::vector<Tensor> arguments = RandomArguments(fn, random);
  std::vector<Tensor> expected = RunInterpreter(fn, arguments).value();
  std::pair<const char*, const char*> mistakes[] = {
      {"mm_af_[1], mm_bf_[2]", "mm_af_[1], mm_bf_[1]"},
      {"mm_af_[0] = tcc_load_matrix<4>(mm_a_, ", "mm_af_[0] = tcc_load_matrix<4>(mm_a_, 8 + "},
      {"mm_bf_[0].v[1] = ", "mm_bf_[0].v[0] = "},
      {"tcc_load_matrix_transposed<4>", "tcc_load_matrix<4>"},
      {"S[3].v[1] = 0.0f", "S[3].v[0] = 0.0f"},
  };
  for (const auto& [text, wrong] : mistakes) {
    INFO(text);
    CudaSource source = right;
    size_t at = source.text.find(text, CudaPrelude().size());
    REQUIRE(at != std::string::npos);
    source.text.replace(at, std::string(text).size(), wrong);
    StatusOr<EmulatedProgram> program = EmulatedProgram::Compile({lowered}, source);
    INFO(program.status());
    REQUIRE(program.ok());
    std::vector<Tensor> got = arguments;
    Status status = program->Run(0, got, {});
    CHECK((!status.ok() || !FirstDifference(got, expected).empty()));
  }
}

TEST_CASE("sketches of products use tensor cores without spills or conflicts of banks",
          "[codegen_cuda][nvrtc]") {
  const ProductShape shapes[] = {
      {.rows = 512, .columns = 512, .depth = 256},
      {.rows = 197, .columns = 768, .depth = 768, .type = "bf16", .b = "j, k"},
      {.rows = 256, .columns = 384, .depth = 512, .a = "k, i"},
      {.rows = 256,
       .columns = 384,
       .depth = 512,
       .type = "i8",
       .sum = "i32",
       .b = "j, k",
       .rounded = false},
  };
  Random random(9);
  for (const std::string& target : GpuTargets()) {
    for (const ProductShape& shape : shapes) {
      if (target == "sm_75" && shape.type != "f16") continue;
      CheckSketch(shape, target, &random);
    }
  }
}

TEST_CASE("sketches of f32 products rounded to tf32 use tensor cores without spills",
          "[codegen_cuda][nvrtc]") {
  const ProductShape shapes[] = {
      {.rows = 512, .columns = 256, .depth = 512, .type = "f32", .tf32 = "tf32"},
      {.rows = 256, .columns = 384, .depth = 512, .type = "f32", .b = "j, k", .tf32 = "tf32"},
      {.rows = 512, .columns = 512, .depth = 512, .type = "f32", .tf32 = "3xtf32"},
      {.rows = 512, .columns = 256, .depth = 512, .type = "tf32", .b = "j, k"},
      {.rows = 512, .columns = 512, .depth = 512, .type = "tf32", .b = "j, k", .tf32 = "tf32 of a"},
      {.rows = 256, .columns = 512, .depth = 512, .type = "tf32", .b = "j, k", .tf32 = "tf32 of b"},
  };
  Random random(9);
  for (const std::string& target : GpuTargets()) {
    if (target == "sm_75") continue;
    for (const ProductShape& shape : shapes) CheckSketch(shape, target, &random);
  }
}

TEST_CASE("sketches of products of bytes use tensor cores of sm_75", "[codegen_cuda][nvrtc]") {
  ProductShape shape{.type = "i8", .sum = "i32", .b = "j, k", .rounded = false};
  Random random(9);
  for (int64_t rows : {64, 197, 1024}) {
    shape.rows = rows;
    shape.columns = 512;
    shape.depth = 512;
    CheckSketch(shape, "sm_75", &random);
  }
}

TEST_CASE("sketches of long products use tensor cores in parts", "[codegen_cuda][nvrtc]") {
  const ProductShape shapes[] = {
      {.rows = 64, .columns = 256, .depth = 4096},
      {.rows = 49, .columns = 512, .depth = 4608, .type = "f32", .b = "j, k", .tf32 = "tf32"},
      {.rows = 128,
       .columns = 128,
       .depth = 4096,
       .type = "i8",
       .sum = "i32",
       .b = "j, k",
       .rounded = false},
  };
  for (const std::string& target : GpuTargets()) {
    for (const ProductShape& shape : shapes) {
      if (target == "sm_75" && shape.type == "f32") continue;
      std::string name = WarpProductSketch(ProductFunction(shape), target).name;
      CHECK(name.starts_with("mma_split_k"));
      CheckSketch(shape, target, nullptr);
    }
  }
}

TEST_CASE("an operand that is staged in a narrower type is converted once, in pairs",
          "[codegen_cuda][nvrtc]") {
  for (const char* type : {"f16", "bf16"}) {
    for (int64_t rows : {197, 512}) {  // with and without rows that are not there
      ProductShape shape{
          .rows = rows, .columns = 512, .depth = 512, .type = type, .narrowed = true};
      Function fn = ProductFunction(shape);
      for (const std::string& target : GpuTargets()) {
        if (target == "sm_75") continue;
        INFO(target << " " << type << " " << rows);
        Sketch sketch = WarpProductSketch(fn, target);
        Function scheduled = Replay(fn, sketch.trace, sketch.start).value();
        Function lowered = RunPipeline(Simplify(scheduled)).value();
        std::optional<Cubin> cubin = MustCompile(SourceOf({lowered}, target), target);
        if (!cubin) return;
        CubinKernel kernel =
            MostOf(SassKind::kHmma, ReadCubin(cubin->image, GpuTarget(target).sm).value());
        const SassCounts& loop = kernel.facts.main_loop;
        // Each load brings four floats.
        CHECK(loop.of(SassKind::kLdg) > 0);
        CHECK(loop.of(SassKind::kF2fp) == 2 * loop.of(SassKind::kLdg));
        CHECK(loop.of(SassKind::kF2f) == 0);
      }
    }
  }
}

// Of a warp's 64 x 32 a step: 16 + 8 words for 48 products, each split by eight instructions or so.
TEST_CASE("an operand is split in two once a fragment, however many products use it",
          "[codegen_cuda][nvrtc]") {
  ProductShape shape{.rows = 2048, .columns = 2048, .depth = 512, .type = "f32", .tf32 = "3xtf32"};
  Function fn = ProductFunction(shape);
  for (const char* target : {"sm_80", "sm_86", "sm_90a"}) {
    Sketch sketch = WarpProductSketch(fn, target);
    Function scheduled = Replay(fn, sketch.trace, sketch.start).value();
    Function lowered = RunPipeline(Simplify(scheduled)).value();
    std::optional<Cubin> cubin = MustCompile(SourceOf({lowered}, target), target);
    if (!cubin) return;
    CubinKernel kernel = ReadCubin(cubin->image, GpuTarget(target).sm).value().at(0);
    const SassCounts& loop = kernel.facts.main_loop;
    INFO(target << " " << loop.total << " instructions, " << loop.of(SassKind::kHmma) << " HMMA");
    CHECK(loop.of(SassKind::kHmma) > 0);
    CHECK(loop.total < loop.of(SassKind::kHmma) * 7);
  }
}

TEST_CASE("an operand is rounded to tf32 once a fragment, however many products use it",
          "[codegen_cuda][nvrtc]") {
  ProductShape shape{.rows = 2048, .columns = 2048, .depth = 512, .type = "f32", .tf32 = "tf32"};
  Function fn = ProductFunction(shape);
  Sketch sketch = WarpProductSketch(fn, "sm_80");
  Function scheduled = Replay(fn, sketch.trace, sketch.start).value();
  Function lowered = RunPipeline(Simplify(scheduled)).value();
  std::optional<Cubin> cubin = MustCompile(SourceOf({lowered}, "sm_80"), "sm_80");
  if (!cubin) return;
  CubinKernel kernel = ReadCubin(cubin->image, 80).value().at(0);
  const SassCounts& loop = kernel.facts.main_loop;
  // Of a warp's 64 x 32 a step: 16 + 8 words, rounded by two instructions each, for 16 products.
  CHECK(loop.of(SassKind::kHmma) > 0);
  CHECK(loop.total < loop.of(SassKind::kHmma) * 8);
}

// For the 32 products of a warp's 64 x 32 and k = 16, both operands take 96 instructions to round,
// the one that two warps round 32.
TEST_CASE("operands of tf32 are not rounded in the loop, a single f32 one by two warps",
          "[codegen_cuda][nvrtc]") {
  struct Row {
    const char* tf32;
    int64_t roundings;  // the most of 32 products
  };
  for (const Row& row : {Row{"", 0}, Row{"tf32 of a", 32}, Row{"tf32 of b", 32}}) {
    Function fn = ProductFunction({.rows = 4096,
                                   .columns = 4096,
                                   .depth = 4096,
                                   .type = "tf32",
                                   .b = "j, k",
                                   .rounded = false,
                                   .tf32 = row.tf32});
    for (const char* target : {"sm_80", "sm_90a"}) {
      INFO(target << " " << row.tf32);
      Sketch sketch = WarpProductSketch(fn, target);
      Function scheduled = Replay(fn, sketch.trace, sketch.start).value();
      Function lowered = RunPipeline(Simplify(scheduled)).value();
      std::optional<Cubin> cubin = MustCompile(SourceOf({lowered}, target), target);
      if (!cubin) return;
      CHECK(cubin->kernels.at(0).spill_stores == 0);
      CubinKernel kernel = ReadCubin(cubin->image, GpuTarget(target).sm).value().at(0);
      const SassCounts& loop = kernel.facts.main_loop;
      INFO(loop.total << " instructions, " << loop.of(SassKind::kHmma) << " HMMA");
      CHECK(loop.of(SassKind::kHmma) > 0);
      // The products, two other instructions for each, and the roundings.
      CHECK(32 * loop.total < loop.of(SassKind::kHmma) * (32 + 64 + row.roundings));
    }
  }
}

// Of a warp's 64 x 32 a step of 128 bytes: 64 products, 24 loads of matrices and the copies, whose
// addresses differ by constants.
TEST_CASE("addresses of swizzled rows take few instructions of a product's loop",
          "[codegen_cuda][nvrtc]") {
  for (const char* b : {"k, j", "j, k"}) {
    Function fn = ProductFunction({.rows = 1024, .columns = 1024, .depth = 1024, .b = b});
    for (const char* target : {"sm_80", "sm_86", "sm_90a"}) {
      INFO(target << " B[" << b << "]");
      Sketch sketch = WarpProductSketch(fn, target);
      Function scheduled = Replay(fn, sketch.trace, sketch.start).value();
      Function lowered = RunPipeline(Simplify(scheduled)).value();
      std::optional<Cubin> cubin = MustCompile(SourceOf({lowered}, target), target);
      if (!cubin) return;
      CubinKernel kernel = ReadCubin(cubin->image, GpuTarget(target).sm).value().at(0);
      const SassCounts& loop = kernel.facts.main_loop;
      const int64_t work =
          loop.of(SassKind::kHmma) + loop.of(SassKind::kLdsm) + loop.of(SassKind::kLdgsts);
      INFO(loop.total << " instructions, " << loop.of(SassKind::kHmma) << " HMMA");
      CHECK(loop.of(SassKind::kHmma) > 0);
      CHECK(2 * loop.total < 5 * work);
    }
  }
}
