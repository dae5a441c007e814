#include <catch2/catch.hpp>
#include <map>

#include "codegen_cuda/cubin/cubin.h"
#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "schedule/sketches/gpu/gpu_rules.h"
#include "schedule/space/limits.h"
#include "schedule/space/resources.h"
#include "tests/codegen_cuda/nvrtc_rig.h"
#include "tests/programs/compare_programs.h"
#include "tests/programs/few_rows_programs.h"
#include "tests/programs/point_check.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/satisfies.h"
#include "tests/programs/spike_programs.h"

// Products of few rows: their schedules, and these as CUDA text.
using namespace tcc;
using namespace tcc::test;

namespace {

std::optional<SketchState> Scheduled(const Function& fn, const std::string& target = "sm_90a") {
  return ScheduleFewRows(SketchState(fn), *BlocksOf(fn.body)[0], GpuTarget(target));
}

// The start and random points, whatever the target allows.
void CheckPoints(const Function& fn) {
  Random random(5);
  std::optional<SketchState> state = Scheduled(fn);
  REQUIRE(state);
  CHECK(state->Next() == nullptr);
  const Sketch sketch = state->sketch();
  INFO(Print(sketch.trace));
  SymbolicProgram program = Instantiate(fn, sketch.trace).value();
  CHECK(ResourcesOf(program.fn, GpuTarget("sm_90a")).size() == 1);
  PointCheckOptions options{.max_instances = 3'000'000};
  CHECK(CheckPoint(fn, program, sketch.start, random, options).message == "");
  for (int point = 0; point < 4; ++point) {
    Decisions decisions = RandomDecisions(sketch.trace, random);
    if (!Satisfies(program, decisions)) continue;
    CHECK(CheckPoint(fn, program, decisions, random, options).message == "");
  }
}

// The thread blocks of a launch of the start, and their threads.
std::pair<int64_t, int64_t> LaunchOf(const Function& fn, const std::string& target) {
  Sketch sketch = FirstSketch(fn, GpuTarget(target));
  INFO(Print(sketch.trace));
  CHECK(sketch.name == "few_rows");
  Function scheduled = Simplify(Replay(fn, sketch.trace, sketch.start).value());
  std::map<ForKind, int64_t> extents;
  PreOrder(scheduled.body, [&](const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) {
      extents[loop->for_kind] = std::max(extents[loop->for_kind], AsConstant(loop->extent).value());
    }
  });
  return {extents[ForKind::kBlockIdxX],
          extents[ForKind::kThreadIdxX] * extents[ForKind::kThreadIdxY]};
}

// With whole vectors and without, terms that parts divide or not, batches and epilogues.
std::vector<FewRowsShape> Shapes() {
  std::vector<FewRowsShape> shapes;
  for (int64_t rows = 1; rows <= 8; ++rows) {
    shapes.push_back({.rows = rows, .columns = 4 * rows + 5, .terms = 64 + rows, .epilogue = true});
  }
  shapes.push_back({.rows = 8, .columns = 36, .terms = 200});
  shapes.push_back({.rows = 1, .columns = 800, .terms = 200, .epilogue = true});
  shapes.push_back({.rows = 3, .columns = 12, .terms = 70, .batch = 2, .map = true});
  return shapes;
}

std::vector<Function> Lowered(const std::string& target) {
  std::vector<Function> functions;
  for (const FewRowsShape& shape : Shapes()) {
    std::vector<Function> sketches = LoweredSketches(FewRowsProduct(shape), target);
    REQUIRE_FALSE(sketches.empty());
    functions.push_back(sketches[0]);
    functions.back().name = "few" + std::to_string(functions.size());
  }
  return functions;
}

}  // namespace

TEST_CASE("few rows are right at every number of rows, and with tails",
          "[codegen_cuda][few_rows]") {
  for (int64_t rows = 1; rows <= 8; ++rows) {
    for (auto [columns, terms] : {std::pair(7, 65), {36, 77}, {33, 128}}) {
      INFO(rows << " rows, " << columns << " columns, " << terms << " terms");
      CheckPoints(FewRowsProduct({.rows = rows, .columns = columns, .terms = terms}));
    }
  }
}

TEST_CASE("few rows take epilogues, batches, other axes of terms and padding",
          "[codegen_cuda][few_rows]") {
  CheckPoints(FewRowsProduct({.rows = 3, .columns = 20, .terms = 70, .epilogue = true}));
  CheckPoints(FewRowsProduct({.rows = 2, .columns = 12, .terms = 66, .batch = 3}));
  CheckPoints(ConvFunction({.height = 1, .width = 2, .channels = 64, .filters = 12, .pad = 1}));
}

TEST_CASE("a map that makes an operand of few rows is computed where it is read",
          "[codegen_cuda][few_rows]") {
  Function fn = FewRowsProduct({.rows = 2, .columns = 9, .terms = 70, .map = true});
  CHECK(BlocksOf(fn.body).size() == 2);
  CheckPoints(fn);
  std::optional<SketchState> state = Scheduled(fn);
  for (const Ref<Block>& block : BlocksOf(state->fn().body)) CHECK(block->name != "scaled");
}

TEST_CASE("few rows start with a line of columns a thread block, or fewer to keep a GPU busy",
          "[codegen_cuda][few_rows]") {
  struct Row {
    int64_t rows, terms, columns;
    std::pair<int64_t, int64_t> launch;  // thread blocks, threads
  };
  // Of 132 multiprocessors: at least 0.8 of a wave, or 32 bytes of a row a block, or blocks that
  // stream less than 32 KiB.
  for (const Row& row : {Row{1, 200, 800, {25, 320}},
                         {1, 4096, 4096, {128, 256}},
                         {8, 4096, 4096, {128, 256}},
                         {1, 2048, 1000, {125, 256}},
                         {1, 512, 1000, {125, 256}},
                         {1, 3136, 512, {64, 448}},
                         {1, 768, 768, {96, 256}},
                         {1, 4096, 32000, {1000, 256}}}) {
    INFO(row.rows << " x " << row.terms << " x " << row.columns);
    Function fn = FewRowsProduct({.rows = row.rows, .columns = row.columns, .terms = row.terms});
    CHECK(LaunchOf(fn, "sm_90a") == row.launch);
  }
}

TEST_CASE("few rows start within the limits of every GPU", "[codegen_cuda][few_rows]") {
  for (const char* target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a"}) {
    for (auto [rows, columns, terms] :
         {std::array{1, 4, 64}, {8, 5, 100000}, {7, 100000, 64}, {8, 1000, 2048}, {3, 801, 201}}) {
      INFO(target << " " << rows << " x " << terms << " x " << columns);
      Function fn = FewRowsProduct({.rows = rows, .columns = columns, .terms = terms});
      Sketch sketch = Scheduled(fn, target).value().sketch();
      SymbolicProgram program =
          WithLimits(Instantiate(fn, sketch.trace).value(), GpuTarget(target));
      CHECK(Satisfies(program, sketch.start));
    }
  }
}

TEST_CASE("products of many rows, few columns or terms, and weights by columns are no few rows",
          "[codegen_cuda][few_rows]") {
  CHECK(Scheduled(MatmulFunction(8, 40, 100)));
  CHECK_FALSE(Scheduled(MatmulFunction(9, 40, 100)));
  CHECK_FALSE(Scheduled(MatmulFunction(8, 3, 100)));
  CHECK_FALSE(Scheduled(MatmulFunction(8, 40, 63)));
  CHECK_FALSE(Scheduled(MustParse(R"(
    fn f(A: f32[2, 100], B: f32[40, 100], C: f32[2, 40]) tensor {
      for i in 0..2 @mm/i { for j in 0..40 @mm/j { for k in 0..100 @mm/k {
        block mm(i: spatial 2 = i, j: spatial 40 = j, k: reduce 100 = k) {
          reduce sum_f32 init (C[i, j]) with (A[i, k] * B[j, k]) }
      } } }
    })")));
}

TEST_CASE("few rows run as interpreted, in one launch", "[codegen_cuda][few_rows]") {
  std::vector<Function> lowered = Lowered("sm_90a");
  StatusOr<EmulatedProgram> program = EmulatedProgram::Compile(lowered, GpuTarget("sm_90a"));
  REQUIRE(program.ok());
  Random random(3);
  for (size_t i = 0; i < lowered.size(); ++i) {
    INFO(Print(lowered[i]));
    CHECK(program->source().plans[i].launches.size() == 1);
    std::vector<Tensor> arguments = RandomArguments(lowered[i], random);
    std::vector<Tensor> want = RunInterpreter(lowered[i], arguments).value();
    Status status = program->Run(i, arguments, {});
    INFO(Message(status));
    REQUIRE(status.ok());
    CHECK(FirstDifference(arguments, want) == "");
  }
}

TEST_CASE("few rows compile for every GPU without spills and local memory",
          "[codegen_cuda][nvrtc][few_rows]") {
  for (const std::string& target : GpuTargets()) {
    std::optional<Cubin> cubin = MustCompile(SourceOf(Lowered(target), target), target);
    if (!cubin) return;
    for (const KernelResources& kernel : cubin->kernels) {
      INFO(target << " " << kernel.kernel);
      CHECK(kernel.spill_stores == 0);
      CHECK(kernel.spill_loads == 0);
      CHECK(kernel.stack_bytes == 0);
    }
  }
}

TEST_CASE("a launch of one block a multiprocessor asks for its registers, a larger one does not",
          "[codegen_cuda][few_rows]") {
  auto asks = [](int64_t columns) {
    Function fn = FewRowsProduct({.rows = 1, .columns = columns, .terms = 4096});
    std::string text = SourceOf({LoweredSketches(fn, "sm_90a")[0]}, "sm_90a").text;
    bool has_one = text.find("\nTCC_ONE_BLOCK_KERNEL(") != std::string::npos;
    CHECK((text.find("\nTCC_KERNEL(") != std::string::npos) != has_one);
    return has_one;
  };
  CHECK(asks(132 * 32));
  CHECK_FALSE(asks(133 * 32));
}
