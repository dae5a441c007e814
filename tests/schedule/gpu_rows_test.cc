#include "schedule/sketches/gpu/gpu_rules.h"

#include <catch2/catch.hpp>

#include "ir/analysis/accesses.h"
#include "ir/text/printer.h"
#include "schedule/space/limits.h"
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

std::vector<SketchState> WaysOf(const Function& fn) {
  return ScheduleThreadRows(SketchState(fn), *BlocksOf(fn.body)[0], Gpu());
}

// Sums of rows and of squared differences from them, a normalization with a scale.
Function LayerNorm(int64_t rows, int64_t columns) {
  return FunctionOf(fmt::format(R"(
    fn norm(X: f32[{m}, {n}], G: f32[{n}], Y: f32[{m}, {n}]) tensor {{
      alloc S: f32[{m}]
      alloc V: f32[{m}]
      for i in 0..{m} @sum/i {{ for t in 0..{n} @sum/t {{
        block sum(i: spatial {m} = i, t: reduce {n} = t) {{ reduce sum_f32 init (S[i]) with (X[i, t]) }}
      }} }}
      for i in 0..{m} @var/i {{ for t in 0..{n} @var/t {{
        block var(i: spatial {m} = i, t: reduce {n} = t) {{
          reduce sum_f32 init (V[i]) with ((X[i, t] - S[i] / {n}.0) * (X[i, t] - S[i] / {n}.0)) }}
      }} }}
      for i in 0..{m} @out/i {{ for j in 0..{n} @out/j {{
        block out(i: spatial {m} = i, j: spatial {n} = j) {{
          Y[i, j] = (X[i, j] - S[i] / {n}.0) / sqrt(V[i] / {n}.0 + 1.0) * G[j] }}
      }} }}
    }})",
                                fmt::arg("m", rows), fmt::arg("n", columns)));
}

Function RowSums(int64_t rows, int64_t columns) {
  return FunctionOf(fmt::format(R"(
    fn sums(X: f32[{m}, {n}], Y: f32[{m}]) tensor {{
      for i in 0..{m} @y/i {{ for r in 0..{n} @y/r {{
        block y(i: spatial {m} = i, r: reduce {n} = r) {{ reduce sum_f32 init (Y[i]) with (X[i, r]) }}
      }} }}
    }})",
                                fmt::arg("m", rows), fmt::arg("n", columns)));
}

// The mean over two trailing axes, and what is done with it.
Function PlaneMean(int64_t planes, int64_t rows, int64_t columns) {
  return FunctionOf(fmt::format(R"(
    fn mean(X: f32[{c}, {h}, {w}], Y: f32[{c}]) tensor {{
      alloc S: f32[{c}]
      for c in 0..{c} @sum/c {{ for h in 0..{h} @sum/h {{ for w in 0..{w} @sum/w {{
        block sum(c: spatial {c} = c, h: reduce {h} = h, w: reduce {w} = w) {{
          reduce sum_f32 init (S[c]) with (X[c, h, w]) }}
      }} }} }}
      for c in 0..{c} @out/c {{ block out(c: spatial {c} = c) {{ Y[c] = S[c] * 0.5 }} }}
    }})",
                                fmt::arg("c", planes), fmt::arg("h", rows),
                                fmt::arg("w", columns)));
}

// A map in front whose values the rows are made of.
Function ScaledSoftmax(int64_t rows, int64_t columns) {
  std::string text = Print(SoftmaxByBlocks(rows, columns));
  std::string map = fmt::format(
      "alloc Z: f32[{0}, {1}]\n for i in 0..{0} @z/i {{ for j in 0..{1} @z/j {{ block z(i: spatial "
      "{0} = i, j: spatial {1} = j) {{ Z[i, j] = X[i, j] * 0.125 }} }} }}\n",
      rows, columns);
  size_t begin = text.find("tensor {") + 8;
  std::string body = text.substr(begin);
  for (size_t at = 0; (at = body.find("X[", at)) != std::string::npos; ++at) body[at] = 'Z';
  return FunctionOf(text.substr(0, begin) + map + body);
}

Function ArgMax(int64_t rows, int64_t columns) {
  return FunctionOf(fmt::format(R"(
    fn arg(X: f32[{m}, {n}], Y: i64[{m}]) tensor {{
      alloc B: f32[{m}]
      for i in 0..{m} @y/i {{ for r in 0..{n} @y/r {{
        block y(i: spatial {m} = i, r: reduce {n} = r) {{
          reduce argmax_first_f32 init (B[i], Y[i]) with (X[i, r], r) }}
      }} }}
    }})",
                                fmt::arg("m", rows), fmt::arg("n", columns)));
}

Function SumOfAll(int64_t count) {
  return FunctionOf(fmt::format(R"(
    fn all(X: f32[{n}], Y: f32[1]) tensor {{
      for r in 0..{n} @y/r {{
        block y(r: reduce {n} = r) {{ reduce sum_f32 init (Y[0]) with (X[r]) }}
      }}
    }})",
                                fmt::arg("n", count)));
}

// Every way at its start and at random points, whatever the target allows.
void CheckPoints(const Function& fn) {
  Random random(5);
  std::vector<SketchState> ways = WaysOf(fn);
  REQUIRE_FALSE(ways.empty());
  for (const SketchState& way : ways) {
    CHECK(way.Next() == nullptr);
    const Sketch& sketch = way.sketch();
    INFO(Print(sketch.trace));
    SymbolicProgram program = Instantiate(fn, sketch.trace).value();
    PointCheckOptions options{.max_instances = 3'000'000};
    CHECK(CheckPoint(fn, program, sketch.start, random, options).message == "");
    for (int point = 0; point < 6; ++point) {
      Decisions decisions = RandomDecisions(sketch.trace, random);
      if (!Satisfies(program, decisions)) continue;
      CHECK(CheckPoint(fn, program, decisions, random, options).message == "");
    }
  }
}

}  // namespace

TEST_CASE("rows on a GPU are one launch, the elements between kept or made again",
          "[schedule][rows]") {
  Function fn = SoftmaxByBlocks(2364, 197);
  std::vector<SketchState> ways = WaysOf(fn);
  REQUIRE(ways.size() == 2);
  for (const SketchState& way : ways) {
    CHECK(way.Next() == nullptr);
    SymbolicProgram program = WithLimits(Instantiate(fn, way.sketch().trace).value(), Gpu());
    CHECK(Satisfies(program, way.sketch().start));
    CHECK(ResourcesOf(program.fn, Gpu()).size() == 1);
    for (const Buffer& buffer : DeclaredBuffers(program.fn)) {
      if (buffer.var->name == "m" || buffer.var->name == "s") CHECK(buffer.scope == Scope::kLocal);
      if (buffer.var->name == "e") CHECK(buffer.scope == Scope::kShared);
    }
  }
  CHECK(BlocksOf(ways[0].fn().body).size() == 4);
  CHECK(BlocksOf(ways[1].fn().body).size() == 3);
}

TEST_CASE("rows too long for shared memory are made again where they are read",
          "[schedule][rows]") {
  std::vector<SketchState> ways = WaysOf(SoftmaxByBlocks(8, 50000));
  REQUIRE(ways.size() == 1);
  CHECK(BlocksOf(ways[0].fn().body).size() == 3);
}

TEST_CASE("rows of a GPU are right at all sizes", "[schedule][rows]") {
  CheckPoints(SoftmaxByBlocks(9, 197));
  CheckPoints(SoftmaxByBlocks(3, 64));
  CheckPoints(SoftmaxFunction(7, 50));
  CheckPoints(ScaledSoftmax(5, 36));
  CheckPoints(LayerNorm(6, 100));
  CheckPoints(PlaneMean(5, 7, 12));
  CheckPoints(ArgMax(5, 130));
  CheckPoints(SumOfAll(1000));
}

TEST_CASE("a few long rows are reduced in parts, which a second launch adds up",
          "[schedule][rows]") {
  Random random(5);
  auto scheduled = [](const Function& fn) {
    return ScheduleLongRows(SketchState(fn), *BlocksOf(fn.body)[0], Gpu());
  };
  for (const Function& fn : {RowSums(3, 33000), SumOfAll(33013), PlaneMean(2, 220, 150)}) {
    std::optional<SketchState> state = scheduled(fn);
    REQUIRE(state);
    CHECK(FirstSketch(fn, Gpu()).trace.steps.size() >= state->sketch().trace.steps.size());
    const Sketch& sketch = state->sketch();
    INFO(Print(sketch.trace));
    SymbolicProgram program = Instantiate(fn, sketch.trace).value();
    CHECK(Satisfies(WithLimits(program, Gpu()), sketch.start));
    PointCheckOptions options{.max_instances = 3'000'000};
    CHECK(CheckPoint(fn, program, sketch.start, random, options).message == "");
    for (int point = 0; point < 3; ++point) {
      Decisions decisions = RandomDecisions(sketch.trace, random);
      if (!Satisfies(program, decisions)) continue;
      CHECK(CheckPoint(fn, program, decisions, random, options).message == "");
    }
  }
  CHECK_FALSE(scheduled(RowSums(3, 400)));
  CHECK_FALSE(scheduled(RowSums(1000, 40000)));
}

TEST_CASE("a sketch of rows starts within the limits of every GPU", "[schedule][rows]") {
  for (auto [rows, columns] : {std::array{1, 8},
                               {12, 768},
                               {197, 768},
                               {2364, 197},
                               {64, 4096},
                               {1, 100000},
                               {3, 11},
                               {100000, 16}}) {
    INFO(rows << " x " << columns);
    Function fn = LayerNorm(rows, columns);
    for (const Sketch& sketch : GenerateSketches(fn, Gpu())) {
      CHECK(sketch.name == "row_reduction");
      SymbolicProgram program = WithLimits(Instantiate(fn, sketch.trace).value(), Gpu());
      CHECK(Satisfies(program, sketch.start));
    }
  }
}

TEST_CASE("a thread of a GPU that computes a sum or a pool alone adds in a register",
          "[schedule][sketch]") {
  const std::string loops =
      "fn f(A: f32[6, 9], C: f32[6, 4]) tensor { for i in 0..6 @s/i { for j in 0..4 @s/j { "
      "for k in 0..3 @s/k { block s(i: spatial 6 = i, j: spatial 4 = j, k: reduce 3 = k) { ";
  for (const char* body : {"reduce sum_f32 init (C[i, j]) with (A[i, j + k])",
                           "reduce max_f32 init (C[i, j]) with (A[i, j * 2 + k])"}) {
    Function fn = FunctionOf(loops + body + " } } } } }");
    SymbolicProgram program = Instantiate(fn, FirstSketch(fn, Gpu()).trace).value();
    INFO(Print(program.fn));
    std::vector<Ref<Block>> blocks = BlocksOf(program.fn.body);
    auto sum =
        std::ranges::find_if(blocks, [](const Ref<Block>& block) { return block->name == "s"; });
    REQUIRE(sum != blocks.end());
    CHECK(FindBuffer(program.fn, WritesOf(**sum)[0].buffer)->scope == Scope::kLocal);
  }
}
