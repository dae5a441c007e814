#include "schedule/sketches/parts/sketch.h"
#include "ir/analysis/accesses.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/prefetch.h"
#include "schedule/steps/prepack.h"
#include "schedule/steps/rfactor_tile.h"
#include "schedule/steps/rolling_buffer.h"
#include "schedule/steps/split.h"
#include "schedule/steps/transform_layout.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/space/resources.h"
#include "tests/programs/point_check.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/satisfies.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

Target Gpu() {
  return FindTarget("sm_86").value();
}

Target Cpu() {
  return FindTarget("x86-64-v4").value();
}

std::string TextOf(const SymbolicProgram& program) {
  std::string text = Print(program.fn);
  for (const Constraint& row : program.constraints) text += "\n" + Print(row.expr) + row.why;
  return text;
}

struct Case {
  std::string name;
  Function fn;
};

// The operands are constants of the model.
Function WithConstants(Function fn) {
  for (Buffer& param : fn.params) {
    if (!Writes(fn.body, param.var)) param.scope = Scope::kConstant;
  }
  return fn;
}

// A filter for each channel, with padding.
Function DepthwiseFunction() {
  return ParseFunction(R"(
fn depthwise(X: f32[4, 9, 6], W: f32[3, 3, 6], Y: f32[4, 9, 6]) tensor {
  for y in 0..4 @dw/y { for x in 0..9 @dw/x { for c in 0..6 @dw/c {
    for ky in 0..3 @dw/ky { for kx in 0..3 @dw/kx {
      block dw(y: spatial 4 = y, x: spatial 9 = x, c: spatial 6 = c,
               ky: reduce 3 = ky, kx: reduce 3 = kx)
          where (1 <= y + ky && y + ky < 5 && 1 <= x + kx && x + kx < 10) {
        reduce sum_f32 init (Y[y, x, c]) with (X[y + ky - 1, x + kx - 1, c] * W[ky, kx, c])
      }
    } }
  } } }
})")
      .value();
}

// The same over an image that is brought to another scale and offset first, with bigger steps down.
Function NormalizedWindowFunction(int64_t stride, int64_t width = 9) {
  return ParseFunction(fmt::format(R"(
fn normalized(X: f32[17, {w}, 6], S: f32[6], W: f32[3, 3, 6], Y: f32[{rows}, {w}, 6]) tensor {{
  alloc T: f32[17, {w}, 6]
  for y in 0..17 @norm/y {{ for x in 0..{w} @norm/x {{ for c in 0..6 @norm/c {{
    block norm(y: spatial 17 = y, x: spatial {w} = x, c: spatial 6 = c) {{
      T[y, x, c] = max(X[y, x, c] * S[c] - 0.5, 0.0)
    }}
  }} }} }}
  for y in 0..{rows} @dw/y {{ for x in 0..{w} @dw/x {{ for c in 0..6 @dw/c {{
    for ky in 0..3 @dw/ky {{ for kx in 0..3 @dw/kx {{
      block dw(y: spatial {rows} = y, x: spatial {w} = x, c: spatial 6 = c,
               ky: reduce 3 = ky, kx: reduce 3 = kx)
          where (1 <= y * {stride} + ky && y * {stride} + ky < 18 && 1 <= x + kx && x + kx <= {w}) {{
        reduce sum_f32 init (Y[y, x, c])
            with (T[y * {stride} + ky - 1, x + kx - 1, c] * W[ky, kx, c])
      }}
    }} }}
  }} }} }}
}})",
                                   fmt::arg("stride", stride), fmt::arg("rows", 16 / stride + 1),
                                   fmt::arg("w", width)))
      .value();
}

// One reduction loop, and no filter.
Function PoolFunction() {
  return ParseFunction(R"(
fn pool(X: f32[19, 5], Y: f32[9, 5]) tensor {
  for x in 0..9 @max/x { for c in 0..5 @max/c { for k in 0..3 @max/k {
    block max(x: spatial 9 = x, c: spatial 5 = c, k: reduce 3 = k) {
      reduce max_f32 init (Y[x, c]) with (X[x * 2 + k, c])
    }
  } } }
})")
      .value();
}

// A product with rows of B, for each of some batches; the matrix may serve all of them.
enum class Matrices { kOne, kOfBatches };
Function ProductOfRows(int64_t batches, int64_t rows, int64_t columns, int64_t depth,
                       Matrices matrices = Matrices::kOfBatches) {
  bool is_one = matrices == Matrices::kOne;
  return ParseFunction(fmt::format(R"(
fn product(A: f32[{b}, {m}, {k}], B: f32[{extents}{n}, {k}], C: f32[{b}, {m}, {n}]) tensor {{
  for b in 0..{b} @mm/b {{ for i in 0..{m} @mm/i {{ for j in 0..{n} @mm/j {{ for k in 0..{k} @mm/k {{
    block mm(b: spatial {b} = b, i: spatial {m} = i, j: spatial {n} = j, k: reduce {k} = k) {{
      reduce sum_f32 init (C[b, i, j]) with (A[b, i, k] * B[{indices}j, k])
    }}
  }} }} }} }}
}})",
                                   fmt::arg("b", batches), fmt::arg("m", rows),
                                   fmt::arg("n", columns), fmt::arg("k", depth),
                                   fmt::arg("extents", is_one ? "" : fmt::format("{}, ", batches)),
                                   fmt::arg("indices", is_one ? "" : "b, ")))
      .value();
}

// Copies in panels that are made whenever the function runs.
int64_t PanelsOf(const Sketch& sketch) {
  int64_t panels = 0;
  for (const Step& step : sketch.trace.steps) {
    panels += (step.as<TransformLayout>() != nullptr);
    panels -= (step.as<Prepack>() != nullptr);
  }
  return panels;
}

// The channels of an image move behind its pixels.
Function RepackFunction() {
  return ParseFunction(R"(
fn repack(X: f32[3, 5, 7], Y: f32[5, 7, 3]) tensor {
  for y in 0..5 @copy/y { for x in 0..7 @copy/x { for c in 0..3 @copy/c {
    block copy(y: spatial 5 = y, x: spatial 7 = x, c: spatial 3 = c) { Y[y, x, c] = X[c, y, x] }
  } } }
})")
      .value();
}

std::vector<Case> Cases() {
  ConvShape conv;
  conv.height = 7;
  conv.width = 6;
  conv.channels = 3;
  conv.filters = 5;
  conv.pad = 1;
  ConvShape strided = conv;
  strided.stride = 2;
  strided.dilation = 2;
  ConvShape wide = conv;
  wide.filters = 64;
  return {{"matmul by a constant", WithConstants(MatmulFunction(3, 96, 5))},
          {"convolution by a constant", WithConstants(ConvFunction(wide))},
          {"matmul", MatmulFunction(7, 11, 5)},
          {"products of rows", ProductOfRows(2, 33, 19, 7)},
          {"products of rows of one matrix", ProductOfRows(3, 20, 37, 5, Matrices::kOne)},
          {"matmul of one row", MatmulFunction(1, 13, 9)},
          {"convolution", ConvFunction(conv)},
          {"strided convolution", ConvFunction(strided)},
          {"depthwise convolution", DepthwiseFunction()},
          {"depthwise convolution of a map", NormalizedWindowFunction(1)},
          {"strided depthwise convolution of a map", NormalizedWindowFunction(2)},
          {"maximum pooling", PoolFunction()},
          {"repack", RepackFunction()},
          {"matmul of a long reduction", MatmulFunction(5, 7, 300)},
          {"softmax", SoftmaxFunction(5, 13)},
          {"two readers", TwoReadersFunction(9)},
          {"empty reduction", EmptyReductionFunction(3)}};
}

// A program whose sizes satisfy what the steps ask for.
SymbolicProgram ProgramOfSketch(const Function& fn, const Sketch& sketch) {
  StatusOr<SymbolicProgram> program = Instantiate(fn, sketch.trace);
  INFO(Print(sketch.trace));
  REQUIRE(program.status() == OkStatus());
  return *program;
}

// Whether the point unrolls into no more than a test can wait for.
bool IsQuick(const SymbolicProgram& program, const Target& target, const Decisions& decisions) {
  constexpr int64_t kMaxStatements = 500;
  Assignment values;
  for (const Var& var : program.fn.vars) values[var] = decisions.at(var->name);
  for (const NestResources& nest : ResourcesOf(program.fn, target)) {
    if (EvaluateInt(nest.statements, values).value() > kMaxStatements) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every sketch starts from a legal point and is right there and elsewhere",
          "[schedule][sketch]") {
  Random random(7);
  for (const Case& c : Cases()) {
    std::vector<Sketch> sketches = GenerateSketches(c.fn, Gpu());
    for (Sketch& sketch : GenerateSketches(c.fn, Cpu())) sketches.push_back(std::move(sketch));
    for (const Sketch& sketch : sketches) {
      INFO(c.name << ": " << sketch.name << "\n" << Print(sketch.trace));
      StatusOr<Trace> parsed = ParseTrace(Print(sketch.trace));
      CHECK((parsed.ok() && Print(*parsed) == Print(sketch.trace)));
      // It brings its trace's program along.
      CHECK(TextOf(Instantiate(c.fn, sketch).value()) ==
            TextOf(Instantiate(c.fn, sketch.trace).value()));
      SymbolicProgram program = ProgramOfSketch(c.fn, sketch);
      CHECK(Satisfies(program, sketch.start));
      CHECK(CheckPoint(c.fn, program, sketch.start, random).message == "");
      for (int point = 0; point < 10; ++point) {
        Decisions decisions = RandomDecisions(sketch.trace, random);
        if (!Satisfies(program, decisions) || !IsQuick(program, Gpu(), decisions)) continue;
        PointReport report = CheckPoint(c.fn, program, decisions, random);
        CHECK(report.message == "");
      }
    }
  }
}

TEST_CASE("a CPU sketch packs the constants that a register tile reads", "[schedule][sketch]") {
  for (const Case& c : Cases()) {
    bool constant = c.name.ends_with("by a constant");
    for (const Sketch& sketch : GenerateSketches(c.fn, Cpu())) {
      INFO(c.name << ": " << sketch.name << "\n" << Print(sketch.trace));
      int packed = 0;
      for (const Step& step : sketch.trace.steps) packed += (step.as<Prepack>() != nullptr);
      CHECK(packed == (constant ? 1 : 0));
    }
  }
}

TEST_CASE("the first CPU sketch of several packed panels prefetches the next",
          "[schedule][sketch]") {
  Function fn = MatmulFunction(20, 200, 9);
  for (Scope scope : {Scope::kGlobal, Scope::kConstant}) {
    fn.params[1].scope = scope;
    std::vector<Sketch> sketches = GenerateSketches(fn, Cpu());
    std::vector<int> prefetches;
    for (const Sketch& sketch : sketches) {
      prefetches.push_back(0);
      for (const Step& step : sketch.trace.steps) {
        prefetches.back() += (step.as<Prefetch>() != nullptr);
      }
    }
    bool is_packed = scope == Scope::kConstant;
    CHECK(prefetches[0] == (is_packed ? 1 : 0));
    CHECK(std::accumulate(prefetches.begin(), prefetches.end(), 0) == (is_packed ? 2 : 0));
  }
}

// Y[i, j] (+)= X[i, c] * W[j, c] with windows of `taps` rows.
Function ConvolutionOfRows(int64_t rows, int64_t width, int64_t in, int64_t out, int64_t taps) {
  return ParseFunction(fmt::format(R"(
fn conv(X: f32[{p}, {x}, {i}], W: f32[{k}, {i}, {o}] constant, Y: f32[{y}, {x}, {o}]) tensor {{
  for y in 0..{y} @conv/y {{ for x in 0..{x} @conv/x {{ for o in 0..{o} @conv/o {{
    for k in 0..{k} @conv/k {{ for i in 0..{i} @conv/i {{
      block conv(y: spatial {y} = y, x: spatial {x} = x, o: spatial {o} = o,
                 k: reduce {k} = k, i: reduce {i} = i) {{
        reduce sum_f32 init (Y[y, x, o]) with (X[y + k, x, i] * W[k, i, o])
      }}
    }} }}
  }} }} }}
}})",
                                   fmt::arg("p", rows + taps - 1), fmt::arg("y", rows),
                                   fmt::arg("x", width), fmt::arg("i", in), fmt::arg("o", out),
                                   fmt::arg("k", taps)))
      .value();
}

// A filter of `taps` rows for each channel.
Function ColumnwiseWindow(int64_t rows, int64_t channels, int64_t taps) {
  return ParseFunction(fmt::format(R"(
fn dw(X: f32[{p}, {c}], W: f32[{k}, {c}] constant, Y: f32[{y}, {c}]) tensor {{
  for y in 0..{y} @dw/y {{ for c in 0..{c} @dw/c {{ for k in 0..{k} @dw/k {{
    block dw(y: spatial {y} = y, c: spatial {c} = c, k: reduce {k} = k) {{
      reduce sum_f32 init (Y[y, c]) with (X[y + k, c] * W[k, c])
    }}
  }} }} }}
}})",
                                   fmt::arg("p", rows + taps - 1), fmt::arg("y", rows),
                                   fmt::arg("c", channels), fmt::arg("k", taps)))
      .value();
}

// Pieces of the columns that threads share, where the sketch starts.
int64_t ColumnPieces(const Sketch& sketch, const std::string& columns, int64_t extent) {
  int64_t piece = 1;
  for (int level : {1, 2, 3}) {
    auto size = sketch.start.find(fmt::format("{}.{}", columns, level));
    if (size != sketch.start.end()) piece *= size->second;
  }
  return (extent + piece - 1) / piece;
}

TEST_CASE("a product of few rows prefetches no panel in its first sketch", "[schedule][sketch]") {
  Function fn = MatmulFunction(4, 200, 9);
  fn.params[1].scope = Scope::kConstant;
  const Sketch first = GenerateSketches(fn, Cpu())[0];
  for (const Step& step : first.trace.steps) CHECK_FALSE(step.as<Prefetch>());
}

TEST_CASE("few rows of a long reduction go in steps first, each of which prefetches the next",
          "[schedule][sketch]") {
  auto first = [](int64_t rows) {
    Function fn = MatmulFunction(rows, 256, 2048);
    fn.params[1].scope = Scope::kConstant;
    Sketch sketch = GenerateSketches(fn, Cpu())[0];
    std::pair<bool, bool> has;
    for (const Step& step : sketch.trace.steps) {
      has.first = has.first || step.as<RFactorTile>();
      has.second = has.second || step.as<Prefetch>();
    }
    return has;
  };
  CHECK(first(20) == std::pair(true, true));
  CHECK(first(100) == std::pair(false, true));
}

TEST_CASE("rows of a tile are the axis with most values where the last has few",
          "[schedule][sketch]") {
  // The batch comes after the sequence, or has weights of its own.
  auto product = [](const char* weights, const char* index) {
    return ParseFunction(fmt::format(R"(
fn mm(A: f32[40, 2, 32], W: f32[{}] constant, C: f32[40, 2, 64]) tensor {{
  for t in 0..40 @mm/t {{ for b in 0..2 @mm/b {{ for j in 0..64 @mm/j {{ for k in 0..32 @mm/k {{
    block mm(t: spatial 40 = t, b: spatial 2 = b, j: spatial 64 = j, k: reduce 32 = k) {{
      reduce sum_f32 init (C[t, b, j]) with (A[t, b, k] * W[{}])
    }}
  }} }} }} }}
}})",
                                     weights, index))
        .value();
  };
  auto rows = [](const Function& fn) {
    const Sketch first = GenerateSketches(fn, Cpu())[0];
    for (const Step& step : first.trace.steps) {
      const auto* split = step.as<Split>();
      if (split && split->factors.size() == 2) return split->loop;
    }
    return LoopRef();
  };
  CHECK(rows(product("32, 64", "k, j")) == "mm/t");
  CHECK(rows(product("2, 32, 64", "b, k, j")) == "mm/t");
  CHECK(rows(product("40, 32, 64", "t, k, j")) == "mm/b");
}

TEST_CASE("threads share rows where activations outweigh weights, and columns elsewhere",
          "[schedule][sketch]") {
  auto all = [](const Function& fn, const std::string& columns, int64_t extent) {
    std::set<int64_t> pieces;
    for (const Sketch& sketch : GenerateSketches(fn, Cpu())) {
      pieces.insert(ColumnPieces(sketch, columns, extent));
    }
    return pieces;
  };
  auto first = [](const Function& fn, const std::string& columns, int64_t extent) {
    return ColumnPieces(FirstSketch(fn, Cpu()), columns, extent);
  };
  SECTION("convolutions, in every order of tiles") {
    CHECK(all(ConvolutionOfRows(28, 28, 64, 128, 3), "conv.o", 128) == std::set<int64_t>{1});
    CHECK(first(ConvolutionOfRows(7, 7, 512, 512, 1), "conv.o", 512) == 512 / 32);
    // Too few rows for threads, or more weights than the second cache holds.
    CHECK(first(ConvolutionOfRows(1, 48, 16, 512, 1), "conv.o", 512) > 1);
    CHECK(first(ConvolutionOfRows(128, 64, 512, 512, 3), "conv.o", 512) > 1);
  }
  SECTION("products") {
    CHECK(all(MatmulFunction(2048, 128, 64), "mm.j", 128) == std::set<int64_t>{1});
    CHECK(first(MatmulFunction(64, 512, 512), "mm.j", 512) == 512 / 32);
  }
  SECTION("products of long sums, in steps") {
    CHECK(first(MatmulFunction(4096, 64, 4096), "mm.j", 64) == 1);
    CHECK(first(MatmulFunction(64, 512, 4096), "mm.j", 512) == 512 / 32);
  }
  SECTION("products of a batch") {
    CHECK(first(ProductOfRows(16, 128, 64, 16), "mm.j", 64) == 1);
    CHECK(first(ProductOfRows(16, 2, 512, 64), "mm.j", 512) == 512 / 32);
  }
  SECTION("windows with a filter for each channel, pools") {
    CHECK(all(ColumnwiseWindow(512, 256, 3), "dw.c", 256) == std::set<int64_t>{1});
    CHECK(first(ColumnwiseWindow(16, 4096, 24), "dw.c", 4096) == 4096 / 16);
  }
}

TEST_CASE("a CPU sketch copies what lanes would gather, another does not", "[schedule][sketch]") {
  for (Matrices matrices : {Matrices::kOne, Matrices::kOfBatches}) {
    Function fn = ProductOfRows(2, 33, 19, 7, matrices);
    std::vector<Sketch> sketches = GenerateSketches(fn, Cpu());
    CHECK(PanelsOf(sketches.front()) == 1);
    CHECK(PanelsOf(sketches.back()) == 0);
    CHECK(Print(FirstSketch(fn, Cpu()).trace) == Print(sketches.front().trace));
    // Who uses a panel makes it, unless others use it, too.
    bool is_placed = std::ranges::any_of(
        sketches[0].trace.steps, [](const Step& step) { return step.as<ComputeAt>() != nullptr; });
    CHECK(is_placed == (matrices == Matrices::kOfBatches));
  }
  // One tile reads it, and it stays near.
  CHECK(PanelsOf(FirstSketch(ProductOfRows(2, 3, 64, 8), Cpu())) == 0);
  CHECK(PanelsOf(FirstSketch(ProductOfRows(2, 3, 64, 1024), Cpu())) == 1);
  // Nothing reads it again.
  CHECK(PanelsOf(FirstSketch(ProductOfRows(2, 1, 64, 1024), Cpu())) == 0);
}

TEST_CASE("one CPU sketch copies a large matrix whose columns are neighbours",
          "[schedule][sketch]") {
  Target cpu = Cpu();
  auto panels = [&](const Function& fn) {
    std::vector<int64_t> counts;
    for (const Sketch& sketch : GenerateSketches(fn, cpu)) counts.push_back(PanelsOf(sketch));
    return counts;
  };
  CHECK(panels(MatmulFunction(512, 512, 512)) == std::vector<int64_t>{0, 0, 1});
  CHECK(panels(MatmulFunction(16, 512, 512)) == std::vector<int64_t>{0, 0});
  Function fn = MatmulFunction(112, 64, 8);
  CHECK(panels(fn) == std::vector<int64_t>{0, 0});
  cpu.l1_bytes = 1024;
  CHECK(panels(fn) == std::vector<int64_t>{0, 0, 1});
  Sketch sketch = GenerateSketches(fn, cpu).back();
  CheckStepResult(fn, Print(sketch.trace), sketch.start);
}

TEST_CASE("a constant may have the name that a sketch gives to a write-back",
          "[schedule][sketch]") {
  for (const char* name : {"out", "init"}) {
    Function fn = ParseFunction(fmt::format(R"(
fn mm(A: f32[5, 9], {name}: f32[9, 96] constant, C: f32[5, 96]) tensor {{
  for i in 0..5 @mm/i {{ for j in 0..96 @mm/j {{ for k in 0..9 @mm/k {{
    block mm(i: spatial 5 = i, j: spatial 96 = j, k: reduce 9 = k) {{
      reduce sum_f32 init (C[i, j]) with (A[i, k] * {name}[k, j])
    }}
  }} }} }}
}})",
                                            fmt::arg("name", name)))
                      .value();
    Sketch sketch = FirstSketch(fn, Cpu());
    CheckStepResult(fn, Print(sketch.trace), sketch.start);
  }
}

TEST_CASE("a CPU sketch unrolls windows that have a filter for each channel",
          "[schedule][sketch]") {
  for (const Sketch& sketch : GenerateSketches(DepthwiseFunction(), Cpu())) {
    Function fn = ProgramOfSketch(DepthwiseFunction(), sketch).fn;
    for (const char* taps : {"dw/ky", "dw/kx"}) {
      CHECK(LoopAt(FindLoop(fn, taps).value())->for_kind == ForKind::kUnrolled);
    }
  }
  for (const Sketch& sketch : GenerateSketches(ConvFunction({}), Cpu())) {
    for (const Step& step : sketch.trace.steps) CHECK_FALSE((step.as<Partition>() != nullptr));
  }
}

TEST_CASE("one CPU sketch keeps rows of a map that windows slide over", "[schedule][sketch]") {
  auto rolling = [](int64_t stride, int64_t width = 9) {
    std::vector<bool> rolls;
    for (const Sketch& sketch : GenerateSketches(NormalizedWindowFunction(stride, width), Cpu())) {
      rolls.push_back(std::ranges::any_of(sketch.trace.steps, [](const Step& step) {
        return (step.as<RollingBuffer>() != nullptr);
      }));
    }
    return rolls;
  };
  for (int64_t stride : {1, 2}) {
    std::vector<bool> rolls = rolling(stride);
    REQUIRE_FALSE(rolls.empty());
    CHECK_FALSE(rolls.front());
    CHECK(std::ranges::count(rolls, true) == 1);
  }
  // The first where the whole map would go through memory.
  std::vector<bool> large = rolling(1, 100'000);
  CHECK(large.front());
  CHECK(std::ranges::count(large, true) == 1);
  // Windows four rows apart share none.
  std::vector<bool> apart = rolling(4);
  CHECK(std::ranges::count(apart, true) == 0);
}

TEST_CASE("a CPU sketch gathers no vectors of three", "[schedule][sketch]") {
  for (const Sketch& sketch : GenerateSketches(RepackFunction(), Cpu())) {
    for (const Step& step : sketch.trace.steps) CHECK_FALSE((step.as<Vectorize>() != nullptr));
  }
}

TEST_CASE("a sketch for a GPU leaves no launch unbound", "[schedule][sketch]") {
  for (const Case& c : Cases()) {
    std::vector<Sketch> sketches = GenerateSketches(c.fn, Gpu());
    REQUIRE_FALSE(sketches.empty());
    for (const Sketch& sketch : sketches) {
      Function fn = ProgramOfSketch(c.fn, sketch).fn;
      INFO(c.name << ": " << sketch.name << "\n" << Print(fn));
      for (const Ref<Block>& block : BlocksOf(fn.body)) {
        bool blocks = false, threads = block->iters.empty();
        for (const Ref<For>& loop : LoopsOn(FindBlock(fn, block->name).value())) {
          blocks = blocks || IsBlockIdx(loop->for_kind);
          threads = threads || IsThreadIdx(loop->for_kind);
        }
        CHECK(blocks);
        CHECK(threads);
      }
    }
  }
}

TEST_CASE("a block without instances has a sketch that leaves it alone", "[schedule][sketch]") {
  Function fn = TwoReadersFunction(0);
  for (const Target& target : {Gpu(), Cpu()}) {
    std::vector<Sketch> sketches = GenerateSketches(fn, target);
    REQUIRE(sketches.size() == 1);
    CHECK(sketches[0].trace.steps.empty());
  }
}

TEST_CASE("a tile for a GPU has virtual threads and stages of its copies as free sizes",
          "[schedule][sketch]") {
  Function fn = MatmulFunction(64, 48, 32);
  for (const char* name : {"sm_75", "sm_86"}) {
    std::vector<Sketch> sketches = GenerateSketches(fn, FindTarget(name).value());
    REQUIRE_FALSE(sketches.empty());
    SymbolicProgram program = ProgramOfSketch(fn, sketches[0]);
    std::string text = Print(program.trace);
    INFO(text);
    for (const char* size : {"tile mm.i.1 1 8", "tile mm.j.1 1 8", "tile mm.k.0.stages 1 "}) {
      CHECK(text.find(size) != std::string::npos);
    }
    CHECK(text.find("bind mm/(i.1*j.1) vthread") != std::string::npos);
    bool async = name == std::string("sm_86");
    CHECK(text.find(async ? "stages pipelined_async" : "stages pipelined\n") != std::string::npos);
    Random random(3);
    Decisions decisions = sketches[0].start;
    for (int64_t stages : {1, 2}) {
      decisions["mm.i.1"] = 2;
      decisions["mm.j.1"] = 3;
      decisions["mm.k.0.stages"] = stages;
      CHECK(CheckPoint(fn, program, decisions, random).message == "");
    }
  }
}

TEST_CASE("a tile for a GPU may leave gaps between rows of its operands", "[schedule][sketch]") {
  Function fn = MatmulFunction(64, 64, 32);
  Sketch sketch = FirstSketch(fn, Gpu());
  INFO(Print(sketch.trace));
  // Two rows of threads read one column of A, 4 rows apart; all read one row of B.
  CHECK(sketch.start.at("mm.A.rows") == 8);
  CHECK_FALSE(sketch.start.contains("mm.B.rows"));
  SymbolicProgram program = ProgramOfSketch(fn, sketch);
  Random random(3);
  for (int64_t cells : {1, 2, 8}) {
    Decisions decisions = sketch.start;
    decisions["mm.A.rows"] = cells;
    CHECK(CheckPoint(fn, program, decisions, random).message == "");
  }
}

TEST_CASE("a long reduction to few results gets a sketch that splits it over thread blocks",
          "[schedule][sketch]") {
  auto has_split = [](const Function& fn) {
    for (const Sketch& sketch : GenerateSketches(fn, Gpu())) {
      if (sketch.name.find("split_k") != std::string::npos) return true;
    }
    return false;
  };
  CHECK(has_split(MatmulFunction(9, 7, 300)));
  CHECK_FALSE(has_split(MatmulFunction(2048, 1024, 300)));
  CHECK_FALSE(has_split(MatmulFunction(9, 7, 100)));
}

TEST_CASE("windows slide where neighbours share operands", "[schedule][sketch]") {
  auto has_window = [](const std::string& index, int64_t steps) {
    Function fn = FunctionOf(fmt::format(
        "fn f(A: f32[100], C: f32[4]) tensor {{ for i in 0..4 @s/i {{ for k in 0..{0} @s/k {{ "
        "block s(i: spatial 4 = i, k: reduce {0} = k) {{ "
        "reduce sum_f32 init (C[i]) with (A[{1}]) }} }} }} }}",
        steps, index));
    return HasWindow(*BlocksOf(fn.body)[0]);
  };
  CHECK(has_window("i + k", 3));
  CHECK(has_window("i * 2 + k", 3));
  CHECK(has_window("i * 4 + k * 2", 3));
  CHECK_FALSE(has_window("i * 3 + k", 3));
  CHECK_FALSE(has_window("i * 16 + k", 16));
  CHECK_FALSE(has_window("i", 3));
}
