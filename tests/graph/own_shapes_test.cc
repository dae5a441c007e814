#include "graph/variants/own_shapes.h"

#include <catch2/catch.hpp>

#include "graph/ops/build_loop_nest.h"
#include "graph/passes/infer_shapes.h"
#include "graph/passes/to_tensor_exprs.h"
#include "graph/variants/stage_parts.h"
#include "graph/variants/task.h"
#include "ir/analysis/canonical.h"
#include "ir/analysis/verifier.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/substitute.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/printer.h"
#include "support/random.h"
#include "tests/graph/one_node.h"

namespace tcc {
namespace {

using Shape = std::vector<Expr>;
using Catch::Matchers::Contains;

Buffer BufferOf(const std::string& name, Shape shape) {
  Buffer buffer;
  buffer.var = BufferVar(name, kFloat32);
  buffer.shape = std::move(shape);
  return buffer;
}

Expr At(const Buffer& buffer, std::vector<Expr> indices) {
  return Make<Load>(buffer.var, std::move(indices));
}

// The program of one stage.
TensorProgram ProgramOf(std::vector<Buffer> inputs, const ComputeExpr& stage,
                        std::vector<Var> vars) {
  TensorProgram program;
  program.name = "p";
  program.inputs = std::move(inputs);
  program.outputs = stage.outputs;
  program.shape_vars = std::move(vars);
  program.stages = {stage};
  return program;
}

// y = x.
TensorProgram CopyOf(const Shape& shape, std::vector<Var> vars) {
  Buffer x = BufferOf("x", shape);
  ComputeExpr stage = StageOver(BufferOf("y", shape));
  stage.values = {At(x, stage.indices[0])};
  return ProgramOf({x}, stage, std::move(vars));
}

OwnShapes Own(const TensorProgram& program) {
  return WithOwnShapes({program});
}

std::vector<std::string> TextsOf(const std::vector<Expr>& exprs) {
  std::vector<std::string> texts;
  for (const Expr& expr : exprs) texts.push_back(Print(expr));
  return texts;
}

std::vector<std::string> ArgumentsOf(const OwnShapes& own) {
  return TextsOf(own.arguments);
}

using Texts = std::vector<std::string>;

const Var& OnlyVar(const OwnShapes& own) {
  REQUIRE(own.arguments.size() == 1);
  return own.forms[0].shape_vars[0];
}

// The results of a function at numbers for its variables; inputs are random.
std::vector<double> ResultsAt(Function fn, const std::vector<int64_t>& values) {
  Assignment numbers;
  for (size_t i = 0; i < fn.vars.size(); ++i) numbers[fn.vars[i]] = values[i];
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < fn.params.size(); ++i) {
    std::vector<int64_t> shape;
    for (const Expr& dim : fn.params[i].shape) shape.push_back(EvaluateInt(dim, numbers).value());
    arguments.push_back(i + 1 < fn.params.size() ? RandomF32(shape, i + 1)
                                                 : MakeZeroTensor(kFloat32, shape));
  }
  StatusOr<InterpretReport> report = Interpret(fn, arguments, {.var_values = values});
  INFO(Print(fn) << Message(report.status()));
  REQUIRE(report.ok());
  return ValuesOf(arguments.back());
}

// Checks that the program over its own variables, at the values of their arguments, gives what
// `before` gives at these sizes of the graph's variables.
void CheckSameResultsAt(const Function& before, const OwnShapes& own, const Assignment& sizes) {
  std::vector<int64_t> values, own_values;
  for (const Var& var : before.vars) values.push_back(sizes.at(var));
  std::vector<Var> zeros;
  for (size_t i = 0; i < own.arguments.size(); ++i) {
    const int64_t value = EvaluateInt(own.arguments[i], sizes).value();
    const Var& var = own.forms[0].shape_vars[i];
    if (value == 0 && std::ranges::count(own.may_be_zero, i) > 0) {
      zeros.push_back(var);
      continue;
    }
    CHECK(value >= var->low);
    CHECK(value <= var->high);
    own_values.push_back(value);
  }
  std::vector<double> expected = ResultsAt(before, values);
  std::optional<TensorProgram> program = AtZero(own.forms[0], zeros);
  CHECK((program.has_value() || expected.empty()));
  if (!program) return;
  Function after = BuildLoopNest(*program);
  after.vars = program->shape_vars;
  INFO(Print(after));
  REQUIRE(Verify(after) == OkStatus());
  CHECK(ResultsAt(after, own_values) == expected);
}

// Checks the same at `points` random sizes of at most 6.
void CheckSameResults(const TensorProgram& program, Random& random, int points) {
  OwnShapes own = Own(program);
  for (const Var& var : own.forms[0].shape_vars) {
    CHECK(std::ranges::count(program.shape_vars, var) == 0);
  }
  Function before = BuildLoopNest(program);
  INFO(Print(before));
  for (int point = 0; point < points; ++point) {
    Assignment sizes;
    for (const Var& var : program.shape_vars) {
      sizes[var] = random.Between(var->low, std::min<int64_t>(var->high, 6));
    }
    CheckSameResultsAt(before, own, sizes);
  }
}

// A graph of one kernel over free dimensions.
class FreeGraph {
 public:
  FreeGraph() : b(ShapeVar("B", 1, 64, 8)), s(ShapeVar("S", 1, 512)), p(ShapeVar("P", 0, 512)) {}

  ValueId Input(const std::string& name, const Shape& shape) {
    ValueId id = builder.Input(name, kFloat32, std::vector<int64_t>(shape.size(), 1));
    shapes_.emplace_back(id, shape);
    return id;
  }

  Graph Build(ValueId output) {
    builder.Output(output);
    Graph graph = builder.Build();
    graph.shape_vars = {b, s, p};
    for (const auto& [id, shape] : shapes_) graph.values[id].shape = shape;
    Status status = InferShapes(graph);
    INFO(Message(status));
    REQUIRE(status.ok());
    return graph;
  }

  TestGraph builder;
  Var b, s, p;

 private:
  std::vector<std::pair<ValueId, Shape>> shapes_;
};

TensorProgram ProgramOf(const Graph& graph) {
  std::vector<Subgraph> subgraphs = FuseGraph(graph);
  REQUIRE(subgraphs.size() == 1);
  return ToTensorExprs(graph, subgraphs[0]).value().program;
}

// relu(q k + mask), with the mask broadcast over heads.
Graph MaskedScores() {
  FreeGraph net;
  Expr keys = net.p + net.s;
  ValueId q = net.Input("q", {net.b, 12, net.s, 4});
  ValueId k = net.Input("k", {net.b, 12, 4, keys});
  ValueId mask = net.Input("mask", {net.b, 1, net.s, keys});
  ValueId scores = net.builder.Add("scores", OpKind::kMatMul, {q, k});
  ValueId masked = net.builder.Add("masked", OpKind::kAdd, {scores, mask});
  return net.Build(net.builder.Add("relu", OpKind::kRelu, {masked}));
}

Graph Joined() {
  FreeGraph net;
  ValueId past = net.Input("past", {net.p, 3});
  ValueId fresh = net.Input("fresh", {net.s, 3});
  return net.Build(
      net.builder.Add("joined", OpKind::kConcat, {past, fresh}, {{"axis", int64_t{0}}}));
}

// out[h] = sum over k of x[2 h + k - 1], inside x
TensorProgram StridedWindow() {
  Var height = ShapeVar("H", 1, 1 << 12, 224);
  Buffer x = BufferOf("x", {height});
  ComputeExpr stage = StageOver(BufferOf("y", {FloorDivide(height - 1, 2) + 1}));
  Axis k{IterationVar("k"), 3};
  stage.reduce_axes = {k};
  Expr row = stage.axes[0].var * 2 + k.var - 1;
  stage.predicate = BothOf(Expr(0) <= row, row < height);
  stage.combiner = SumCombiner(kFloat32);
  stage.values = {At(x, {row})};
  return ProgramOf({x}, stage, {height});
}

// rows[i, j] = x[i div S, i mod S, j]
TensorProgram FlatRows(const Expr& rows, const Var& b, const Var& s) {
  Buffer x = BufferOf("x", {b, s, 3});
  ComputeExpr stage = StageOver(BufferOf("rows", {rows, 3}));
  Expr i = stage.axes[0].var;
  stage.values = {At(x, {FloorDivide(i, s), FloorModulo(i, s), stage.axes[1].var})};
  return ProgramOf({x}, stage, {b, s});
}

}  // namespace

TEST_CASE("each formula of an extent becomes a variable of the kernel", "[graph][own_shapes]") {
  Graph graph = MaskedScores();
  Task task = BuildTask(graph, FuseGraph(graph)[0]).value();
  CHECK(TextsOf(task.shape_arguments) == Texts{"B", "S", "P + S"});
  CHECK(task.may_be_zero.empty());
  const Function& fn = task.variants[0].fn;
  CHECK(TextsOf(fn.params[0].shape) == Texts{"n0", "12", "n1", "4"});
  CHECK(TextsOf(fn.params[1].shape) == Texts{"n0", "12", "4", "n2"});
  CHECK(TextsOf(fn.params[2].shape) == Texts{"n0", "1", "n1", "n2"});
  CHECK(TextsOf(fn.params[3].shape) == Texts{"n0", "12", "n1", "n2"});
  CHECK(Verify(fn) == OkStatus());
}

TEST_CASE("operands that are joined keep extents of their own", "[graph][own_shapes]") {
  OwnShapes own = Own(ProgramOf(Joined()));
  CHECK(ArgumentsOf(own) == Texts{"P", "S", "P + S"});
  std::string text = Print(BuildLoopNest(own.forms[0]));
  INFO(text);
  CHECK_THAT(text, Contains("n0 + ") || Contains("+ n0"));
}

TEST_CASE("the rows of a flattened batch stay a product", "[graph][own_shapes]") {
  Var b = ShapeVar("B", 1, 64, 8), s = ShapeVar("S", 1, 512), p = ShapeVar("P", 1, 512);
  OwnShapes own = Own(FlatRows(b * s, b, s));
  CHECK(ArgumentsOf(own) == Texts{"B", "S"});
  CHECK(TextsOf(own.forms[0].outputs[0].shape) == Texts{"n0 * n1", "3"});

  // The normal form of a product of a sum.
  OwnShapes expanded = Own(CopyOf({b * p * 2 + b * s * 2, b, p + s}, {b, s, p}));
  CHECK(ArgumentsOf(expanded) == Texts{"B", "P + S"});
  CHECK(TextsOf(expanded.forms[0].inputs[0].shape) == Texts{"n0 * n1 * 2", "n0", "n1"});

  OwnShapes alone = Own(CopyOf({b * s, 3}, {b, s}));
  CHECK(ArgumentsOf(alone) == Texts{"B * S"});
}

TEST_CASE("a window's tests compare with the variable of the image", "[graph][own_shapes]") {
  OwnShapes own = Own(StridedWindow());
  CHECK(ArgumentsOf(own) == Texts{"H", "(H + 1) div 2"});
  std::string text = Print(BuildLoopNest(own.forms[0]));
  INFO(text);
  CHECK_THAT(text, Contains("k - 1 < n0"));
}

TEST_CASE("a size that is no extent is a variable as well", "[graph][own_shapes]") {
  Var s = ShapeVar("S", 1, 512), p = ShapeVar("P", 0, 512);
  TensorProgram program = CopyOf({s}, {s, p});
  auto& stage = std::get<ComputeExpr>(program.stages[0]);
  stage.values = {CastTo(kFloat32, stage.axes[0].var + p)};
  OwnShapes own = Own(program);
  CHECK(ArgumentsOf(own) == Texts{"S", "P"});
  CHECK(own.may_be_zero.empty());
  CHECK(own.forms[0].shape_vars[1]->low == 0);
  CHECK(own.forms[0].shape_vars[1]->high == 1024);
}

TEST_CASE("a kernel over its own sizes gives the same results", "[graph][own_shapes]") {
  Random random(1);
  Var b = ShapeVar("B", 1, 64, 8), s = ShapeVar("S", 1, 512);
  for (const TensorProgram& program :
       {ProgramOf(MaskedScores()), ProgramOf(Joined()), StridedWindow(), FlatRows(b * s, b, s)}) {
    CheckSameResults(program, random, 8);
  }
}

TEST_CASE("random kernels over their own sizes give the same results", "[graph][own_shapes]") {
  Random random(2);
  for (int i = 0; i < 150; ++i) {
    FreeGraph net;
    const Expr extents[] = {net.b,     net.s,         net.p + net.s,
                            net.s * 2, net.b * net.s, FloorDivide(net.s - 1, 2) + 1,
                            Expr(3)};
    auto draw = [&] { return extents[random.Below(std::size(extents))]; };
    Shape shape = {draw(), draw(), draw()};
    ValueId x = net.Input("x", shape);
    ValueId y = kNoValue;
    switch (random.Below(5)) {
      case 0: {
        Shape other = shape;
        for (Expr& dim : other) {
          if (random.OneIn(2)) dim = 1;
        }
        y = net.builder.Add("y", OpKind::kAdd, {x, net.Input("z", other)});
        break;
      }
      case 1: {
        Shape other = shape;
        other[1] = draw();
        y = net.builder.Add("y", OpKind::kConcat, {x, net.Input("z", other)},
                            {{"axis", int64_t{1}}});
        break;
      }
      case 2:
        y = net.builder.Add("y", OpKind::kTranspose, {x}, {{"perm", Ints{2, 0, 1}}});
        break;
      case 3:
        y = net.builder.Add("y", OpKind::kReduceMax,
                            {x, net.builder.Constant("axes", I64({1}, {1}))},
                            {{"keepdims", int64_t{0}}, {"noop_with_empty_axes", int64_t{0}}});
        break;
      default:
        y = net.builder.Add("y", OpKind::kSoftmax, {x}, {{"axis", int64_t{2}}});
    }
    CheckSameResults(ProgramOf(net.Build(y)), random, 2);
  }
}

TEST_CASE("layers that differ in formulas alone share a kernel", "[graph][own_shapes]") {
  auto key = [](const Expr& rows, const std::vector<Var>& vars) {
    Function fn = BuildLoopNest(Own(CopyOf({rows, 64}, vars)).forms[0]);
    return FunctionKey(fn);
  };
  Var s = ShapeVar("S", 1, 1000, 128), t = ShapeVar("T", 2, 2000, 256);
  Var longer = ShapeVar("S", 1, 1000, 200), wider = ShapeVar("S", 1, 1025, 128);
  CHECK(key(s, {s}) == key(FloorDivide(t, 2), {t}));
  CHECK(key(s, {s}) != key(longer, {longer}));
  CHECK(key(s, {s}) != key(wider, {wider}));
}

TEST_CASE("ranges of a kernel's sizes begin at 1 or 2 and end at a power of 4",
          "[graph][own_shapes]") {
  struct Case {
    int64_t low, high, usual;  // of the graph's variable
    int64_t own_low, own_high, own_usual;
  };
  const Case cases[] = {
      {1, 32, 8, 1, 64, 8}, {1, 64, 8, 1, 64, 8},           {5, 100, 7, 2, 256, 7},
      {1, 2, 1, 1, 4, 2},   {2, 1 << 24, 2, 2, 1 << 24, 2}, {1, 1 << 30, 100, 1, 1 << 30, 100},
  };
  for (const Case& c : cases) {
    INFO(c.low << ".." << c.high << ":" << c.usual);
    Var s = ShapeVar("S", c.low, c.high, c.usual);
    OwnShapes own = Own(CopyOf({s}, {s}));
    CHECK(OnlyVar(own)->low == c.own_low);
    CHECK(OnlyVar(own)->high == c.own_high);
    CHECK(OnlyVar(own)->usual == c.own_usual);
  }
}

TEST_CASE("a size with one value is a number", "[graph][own_shapes]") {
  Var s = ShapeVar("S", 7, 7, 7), b = ShapeVar("B", 1, 64, 8);
  OwnShapes own = Own(CopyOf({s, b, s * b}, {s, b}));
  CHECK(ArgumentsOf(own) == Texts{"B"});
  CHECK(TextsOf(own.forms[0].inputs[0].shape) == Texts{"7", "n0", "n0 * 7"});
}

TEST_CASE("rounded ranges keep buffers within 32-bit indices", "[graph][own_shapes]") {
  Var s = ShapeVar("S", 1, 2000000, 128), b = ShapeVar("B", 1, 2000, 8);
  OwnShapes small = Own(CopyOf({s, 1000}, {s}));
  CHECK(OnlyVar(small)->high == 2000000);
  OwnShapes large = Own(CopyOf({b, s, 1000}, {b, s}));
  CHECK(large.forms[0].shape_vars[0]->high == 4096);
  CHECK(large.forms[0].shape_vars[1]->high == 1 << 22);
}

TEST_CASE("sizes of one kernel have different usual values", "[graph][own_shapes]") {
  Var b = ShapeVar("B", 1, 64, 8), c = ShapeVar("C", 1, 64, 8), s = ShapeVar("S", 1, 64, 9);
  auto usuals = [](const OwnShapes& own) {
    std::vector<int64_t> values;
    for (const Var& var : own.forms[0].shape_vars) values.push_back(var->usual);
    return values;
  };
  CHECK(usuals(Own(CopyOf({b, c, s}, {b, c, s}))) == Ints{8, 16, 9});
  Var x = ShapeVar("X", 1, 4, 2), y = ShapeVar("Y", 1, 4, 2), z = ShapeVar("Z", 1, 4, 1);
  Var w = ShapeVar("W", 1, 4, 4);
  CHECK(usuals(Own(CopyOf({x, y, z, w}, {x, y, z, w}))) == Ints{2, 3, 4, 4});
}

TEST_CASE("a size that may be 0 is told and excluded", "[graph][own_shapes]") {
  Var p = ShapeVar("P", 0, 512), q = ShapeVar("Q", 0, 512), r = ShapeVar("R", 0, 512);
  Var s = ShapeVar("S", 1, 512);
  OwnShapes own = Own(CopyOf({s, p, p + s}, {p, s}));
  CHECK(ArgumentsOf(own) == Texts{"S", "P", "P + S"});
  CHECK(own.may_be_zero == std::vector<size_t>{1});
  for (const Var& var : own.forms[0].shape_vars) CHECK(var->low == 1);

  OwnShapes many = Own(CopyOf({s, p, q, r}, {p, q, r, s}));
  CHECK(many.may_be_zero.empty());
  CHECK(many.forms[0].shape_vars[0]->low == 1);
  for (size_t i = 1; i < 4; ++i) CHECK(many.forms[0].shape_vars[i]->low == 0);
}

TEST_CASE("a kernel with a size of 0 does what is left", "[graph][own_shapes]") {
  OwnShapes own = Own(ProgramOf(Joined()));
  CHECK(own.may_be_zero == std::vector<size_t>{0});
  std::optional<TensorProgram> joined = AtZero(own.forms[0], {own.forms[0].shape_vars[0]});
  REQUIRE(joined);
  CHECK(joined->stages.size() == 1);
  CHECK(TextsOf(joined->inputs[0].shape) == Texts{"0", "3"});

  // A sum over rows that are not there is 0.
  Var p = ShapeVar("P", 0, 512), s = ShapeVar("S", 1, 512);
  Buffer x = BufferOf("x", {p, s});
  ComputeExpr sum = StageOver(BufferOf("y", {s}));
  sum.reduce_axes = {{IterationVar("k"), p}};
  sum.combiner = SumCombiner(kFloat32);
  sum.values = {At(x, {sum.reduce_axes[0].var, sum.axes[0].var})};
  TensorProgram program = ProgramOf({x}, sum, {p, s});
  OwnShapes summed = Own(program);
  CheckSameResultsAt(BuildLoopNest(program), summed, {{p, 0}, {s, 3}});

  OwnShapes copied = Own(CopyOf({s, p}, {p, s}));
  CHECK_FALSE(AtZero(copied.forms[0], {copied.forms[0].shape_vars[1]}));
}

TEST_CASE("a task has a case for each set of sizes that may be 0", "[graph][own_shapes]") {
  FreeGraph net;
  Var q = ShapeVar("Q", 0, 512);
  ValueId past = net.Input("past", {net.p, 3});
  ValueId fresh = net.Input("fresh", {q, 3});
  Graph graph =
      net.Build(net.builder.Add("joined", OpKind::kConcat, {past, fresh}, {{"axis", int64_t{0}}}));
  graph.shape_vars.push_back(q);
  Task task = BuildTask(graph, FuseGraph(graph)[0]).value();
  // Their sum may be 0, too, which makes three: the kernel takes sizes from 0 on.
  CHECK(TextsOf(task.shape_arguments) == Texts{"P", "Q", "P + Q"});
  CHECK(task.may_be_zero.empty());
  CHECK(task.zero_cases.empty());

  Graph joined = Joined();
  task = BuildTask(joined, FuseGraph(joined)[0]).value();
  CHECK(task.may_be_zero == std::vector<size_t>{0});
  REQUIRE(task.zero_cases.size() == 1);
  const Task& none = task.zero_cases[0];
  CHECK(none.inputs == task.inputs);
  CHECK(TextsOf(none.shape_arguments) == Texts{"S", "P + S"});
  REQUIRE(none.variants.size() == 1);
  CHECK(Verify(none.variants[0].fn) == OkStatus());
  CHECK(none.variants[0].fn.params.size() == 3);
}

TEST_CASE("two sizes may be 0 at once", "[graph][own_shapes]") {
  FreeGraph net;
  Var q = ShapeVar("Q", 0, 512);
  ValueId a = net.Input("a", {net.p, 3}), b = net.Input("b", {q, 3}),
          c = net.Input("c", {net.s, 3});
  Graph graph =
      net.Build(net.builder.Add("joined", OpKind::kConcat, {a, b, c}, {{"axis", int64_t{0}}}));
  graph.shape_vars.push_back(q);
  TensorProgram program = ProgramOf(graph);
  OwnShapes own = Own(program);
  CHECK(own.may_be_zero == std::vector<size_t>{0, 1});
  for (int64_t rows : {0, 2}) {
    for (int64_t others : {0, 1}) {
      CheckSameResultsAt(BuildLoopNest(program), own, {{net.p, rows}, {q, others}, {net.s, 3}});
    }
  }
  Task task = BuildTask(graph, FuseGraph(graph)[0]).value();
  REQUIRE(task.zero_cases.size() == 3);
  CHECK(task.zero_cases[0].shape_arguments.size() == 3);
  CHECK(TextsOf(task.zero_cases[2].shape_arguments).front() == "S");
}

TEST_CASE("a program without free extents stays as it is", "[graph][own_shapes]") {
  Var s = ShapeVar("S", 1, 512);
  TensorProgram program = CopyOf({3, 4}, {s});
  OwnShapes own = Own(program);
  CHECK(own.arguments.empty());
  CHECK(own.forms[0].shape_vars.empty());
  CHECK(AlphaEqual(BuildLoopNest(own.forms[0]), BuildLoopNest(program)));
}

TEST_CASE("forms of one computation have the same sizes", "[graph][own_shapes]") {
  Var b = ShapeVar("B", 1, 64, 8), s = ShapeVar("S", 1, 512);
  TensorProgram other = CopyOf({b, s}, {b, s});
  other.intermediates.push_back(BufferOf("scratch", {s, CeilDivide(s, 4)}));
  OwnShapes own = WithOwnShapes({CopyOf({b, s}, {b, s}), other});
  CHECK(ArgumentsOf(own) == Texts{"B", "S", "ceildiv(S, 4)"});
  CHECK(own.forms[0].shape_vars == own.forms[1].shape_vars);
  CHECK(TextsOf(own.forms[1].intermediates[0].shape) == Texts{"n1", "n2"});
}

}  // namespace tcc
