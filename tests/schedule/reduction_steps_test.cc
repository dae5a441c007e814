#include <catch2/catch.hpp>

#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"
#include "ir/text/parser.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/limits.h"
#include "schedule/space/space.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/rfactor_tile.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/sketch_points.h"

using namespace tcc;

namespace {

Target Cpu() {
  return FindTarget("x86-64-v4").value();
}

bool HasSteps(const Sketch& sketch) {
  return std::ranges::any_of(sketch.trace.steps, [](const Step& step) {
    const auto* tile = step.as<RFactorTile>();
    return tile && tile->form == TileForm::kNested;
  });
}

// The one sketch whose reduction is in steps, and that there is one.
Sketch InSteps(const Function& fn) {
  std::vector<Sketch> sketches = GenerateSketches(fn, Cpu());
  CHECK(std::ranges::count_if(sketches, HasSteps) == 1);
  return *std::ranges::find_if(sketches, HasSteps);
}

Function WithConstant(Function fn, size_t param) {
  fn.params[param].scope = Scope::kConstant;
  return fn;
}

// A product with rows of B, and what is done to each result.
Function RowsAndRectifier(int64_t rows, int64_t columns, int64_t depth) {
  return ParseFunction(fmt::format(R"(
fn product(A: f32[{m}, {k}], B: f32[{n}, {k}], D: f32[{n}], Y: f32[{m}, {n}]) tensor {{
  alloc C: f32[{m}, {n}]
  for i in 0..{m} @mm/i {{ for j in 0..{n} @mm/j {{ for k in 0..{k} @mm/k {{
    block mm(i: spatial {m} = i, j: spatial {n} = j, k: reduce {k} = k) {{
      reduce sum_f32 init (C[i, j]) with (A[i, k] * B[j, k])
    }}
  }} }} }}
  for i in 0..{m} @relu/i {{ for j in 0..{n} @relu/j {{
    block relu(i: spatial {m} = i, j: spatial {n} = j) {{ Y[i, j] = max(C[i, j] + D[j], 0.0) }}
  }} }}
}})",
                                   fmt::arg("m", rows), fmt::arg("n", columns),
                                   fmt::arg("k", depth)))
      .value();
}

Function LongConvolution() {
  ConvShape shape;
  shape.height = 4;
  shape.kernel_w = 3;
  shape.stride = 1;
  shape.width = 3;
  shape.channels = 120;
  shape.filters = 17;
  shape.pad = 1;
  return ConvFunction(shape);
}

// What the constraint of this name asks for: an amount, less what there is.
int64_t ExcessOf(const SymbolicProgram& program, const std::string& part, const Decisions& at) {
  for (const Constraint& constraint : program.constraints) {
    if (constraint.why.find(part) == std::string::npos) continue;
    Assignment values;
    for (const Var& var : program.fn.vars) values[var] = at.at(var->name);
    return EvaluateInt(constraint.expr, values).value();
  }
  FAIL("no constraint says '" << part << "'");
  return 0;
}

}  // namespace

TEST_CASE("a long reduction whose operands are used again gets a sketch in steps",
          "[schedule][sketch]") {
  auto has_steps = [](const Function& fn) {
    std::vector<Sketch> sketches = GenerateSketches(fn, Cpu());
    return std::ranges::any_of(sketches, HasSteps);
  };
  CHECK(has_steps(MatmulFunction(512, 512, 4096)));
  CHECK(has_steps(WithConstant(MatmulFunction(512, 512, 4096), 1)));
  CHECK(has_steps(LongConvolution()));
  CHECK_FALSE(has_steps(MatmulFunction(512, 512, 512)));
  CHECK_FALSE(has_steps(MatmulFunction(1, 512, 4096)));
}

TEST_CASE("products of very long rows start in steps: in one chain 2 of 262144 sums were wrong",
          "[schedule][sketch]") {
  CHECK(HasSteps(FirstSketch(MatmulFunction(16, 32, 4096), Cpu())));
  CHECK(HasSteps(FirstSketch(WithConstant(MatmulFunction(16, 32, 11008), 1), Cpu())));
  CHECK_FALSE(HasSteps(FirstSketch(MatmulFunction(16, 32, 2048), Cpu())));
}

TEST_CASE("a reduction in steps is right at its start and elsewhere", "[schedule][sketch]") {
  // Nothing divides anything; the operand of the columns varies, is packed, or is copied; the
  // results are read again, or are those of the function.
  Function product = MatmulFunction(11, 37, 1031);
  test::CheckSketchAtPoints(product, InSteps(product), 1);
  Function packed = WithConstant(product, 1);
  test::CheckSketchAtPoints(packed, InSteps(packed), 2);
  Function rows = RowsAndRectifier(9, 35, 1030);
  test::CheckSketchAtPoints(rows, InSteps(rows), 3);
  Function convolution = LongConvolution();
  test::CheckSketchAtPoints(convolution, InSteps(convolution), 4);
}

TEST_CASE("a step of the reduction copies its own part of a panel", "[schedule][sketch]") {
  Sketch sketch = InSteps(RowsAndRectifier(64, 64, 2048));
  bool copies = std::ranges::any_of(sketch.trace.steps, [](const Step& step) {
    const auto* copy = step.as<ComputeAt>();
    return copy && copy->block == "mm.step.B" && copy->loop == "mm/k.0";
  });
  CHECK(copies);
}

TEST_CASE("a reduction in steps adds up its results where nothing else needs them",
          "[schedule][sketch]") {
  auto buffers = [](const Function& fn) {
    Function scheduled = Instantiate(fn, InSteps(fn).trace).value().fn;
    std::vector<std::string> names;
    for (const Buffer& buffer : DeclaredBuffers(scheduled)) names.push_back(buffer.var->name);
    return names;
  };
  CHECK(buffers(MatmulFunction(16, 32, 2048)) ==
        std::vector<std::string>{"A", "B", "C", "mm.step"});
}

TEST_CASE("of a reduction in steps a tile's operands fit L1, and those of all tiles L2",
          "[schedule][limits]") {
  Function fn = WithConstant(MatmulFunction(512, 512, 4096), 1);
  Sketch sketch = InSteps(fn);
  Target target = Cpu();
  SymbolicProgram program = WithLimits(Instantiate(fn, sketch.trace).value(), target);
  Decisions at = {{"mm.i.1", 16}, {"mm.i.2", 8},  {"mm.j.1", 2},
                  {"mm.j.2", 2},  {"mm.j.3", 16}, {"mm.k.1", 256}};
  // Rows of A, columns of B, partial results and those that they are added to.
  int64_t tile = (8 * 256 + 256 * 32 + 2 * 8 * 32) * 4;
  CHECK(ExcessOf(program, "'mm.step': a tile's step of the reduction fits L1", at) ==
        tile - target.l1_bytes);
  int64_t step = (128 * 256 + 256 * 64 + 128 * 64 + 8 * 32) * 4;
  CHECK(ExcessOf(program, "'mm.step': a step of the reduction fits L2", at) ==
        step - target.l2_bytes);
  SearchSpace space = SearchSpace::Create(program).value();
  CHECK(space.IsLegal(space.ToPoint(sketch.start)));
  Decisions longer = sketch.start;
  longer["mm.k.1"] = 2048;
  CHECK_FALSE(space.IsLegal(space.ToPoint(longer)));
}
