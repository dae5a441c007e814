// Implicit GEMM and split reductions: variants of a task against its direct function, by the
// interpreter and as machine code.

#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "compiler/compile_graph.h"
#include "compiler/kernels.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/variants/variants.h"
#include "ir/analysis/verifier.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/printer.h"
#include "models/zoo/graph_builder.h"
#include "runtime/executor/executor.h"
#include "schedule/sketches/parts/sketch.h"

namespace tcc {
namespace {

using Ints = std::vector<int64_t>;

Graph Passed(Graph graph) {
  REQUIRE(RunGraphPasses(graph).ok());
  return graph;
}

std::vector<Task> TasksOf(const Graph& graph) {
  std::vector<Task> tasks;
  for (const Subgraph& subgraph : FuseGraph(graph)) {
    if (subgraph.kind == SubgraphKind::kKernel) tasks.push_back(BuildTask(graph, subgraph).value());
  }
  return tasks;
}

struct ConvCase {
  std::string name;
  Ints input, weight, output;
  std::map<std::string, Attribute> how;
};

std::vector<ConvCase> ConvCases() {
  return {{"3x3, padded", {2, 5, 7, 6}, {4, 5, 3, 3}, {2, 4, 7, 6}, {{"pads", Ints{1, 1, 1, 1}}}},
          {"strided and dilated",
           {1, 3, 11, 9},
           {2, 3, 3, 2},
           {1, 2, 4, 4},
           {{"strides", Ints{2, 2}}, {"dilations", Ints{2, 1}}}},
          {"1x1, strided", {1, 6, 7, 7}, {5, 6, 1, 1}, {1, 5, 4, 4}, {{"strides", Ints{2, 2}}}},
          {"one channel, one image", {1, 1, 5, 5}, {3, 1, 2, 2}, {1, 3, 4, 4}, {}},
          {"one dimension", {1, 4, 9}, {3, 4, 3}, {1, 3, 9}, {{"pads", Ints{1, 1}}}},
          {"three dimensions",
           {1, 2, 4, 5, 6},
           {3, 2, 2, 3, 3},
           {1, 3, 3, 5, 6},
           {{"pads", Ints{0, 1, 1, 0, 1, 1}}}}};
}

Graph ConvGraph(const ConvCase& c) {
  GraphBuilder builder("conv", 5);
  ValueId x = builder.Input("x", c.input);
  ValueId w = builder.Weight("w", c.weight, 0, 1);
  ValueId y = builder.Emit("y", OpKind::kConv, {x, w}, c.how);
  builder.Output(builder.Relu("r", y), c.output);
  return builder.Take();
}

Graph ReduceGraph(OpKind op, const Ints& input, const Ints& axes, const Ints& output) {
  GraphBuilder builder("reduce", 5);
  ValueId x = builder.Input("x", input);
  ValueId y = builder.Emit("y", op, {x, builder.Ints("axes", axes)}, {{"keepdims", int64_t{0}}});
  builder.Output(y, output);
  return builder.Take();
}

std::vector<Tensor> Arguments(const Function& fn) {
  Random random(3);
  std::vector<Tensor> arguments;
  for (const Buffer& param : fn.params) {
    Ints shape;
    for (const Expr& dim : param.shape) shape.push_back(AsConstant(dim).value());
    arguments.push_back(MakeZeroTensor(param.dtype(), shape));
    for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
      SetElement(arguments.back(), i, random.Normal());
    }
  }
  return arguments;
}

// The largest difference over the largest value.
double Difference(const Tensor& got, const Tensor& want) {
  double largest = 0x1p-100, difference = 0;
  for (int64_t i = 0; i < ElementCount(want.shape).value(); ++i) {
    double a = ElementAsDouble(want, i), b = ElementAsDouble(got, i);
    largest = std::max(largest, std::abs(a));
    difference = std::max(difference, std::isnan(b) ? 1e9 : std::abs(a - b));
  }
  return difference / largest;
}

Tensor Interpreted(const Function& fn) {
  std::vector<Tensor> arguments = Arguments(fn);
  Status status = Interpret(fn, arguments, {}).status();
  INFO(status);
  REQUIRE(status.ok());
  return arguments.back();
}

// Machine code for this CPU, each task that has `variants` variants by that one.
Tensor Compiled(const Graph& graph, size_t variants, size_t variant, const Ints& input) {
  CompileOptions options;
  options.target = *FindTarget("native");
  Graph passed = graph;
  REQUIRE(RunGraphPasses(passed).ok());
  KernelSet kernels =
      MakeKernels(std::array{FusedGraph{passed, FuseGraph(passed), {}}}, options).value();
  CompileOptions compile;
  compile.target = options.target;
  compile.verify = true;
  for (const KernelStages& kernel : kernels.kernels) {
    if (kernel.variants.size() != variants) continue;
    Sketch sketch = FirstSketch(kernel.variants[variant], options.target);
    compile.schedules[kernel.symbol] = {std::move(sketch.trace), std::move(sketch.start), variant};
  }
  REQUIRE(compile.schedules.size() == 1);
  StatusOr<Artefact> artefact = CompileGraph(graph, compile);
  INFO(artefact.status());
  REQUIRE(artefact.ok());
  Module module = Module::FromArtefact(*std::move(artefact)).value();
  Random random(11);
  std::vector<Tensor> inputs = {MakeZeroTensor(kFloat32, input)};
  for (int64_t i = 0; i < ElementCount(input).value(); ++i) {
    SetElement(inputs[0], i, random.Normal());
  }
  return Executor(module).Run(inputs).value()[0];
}

// The variant of the one task that has it computes what the direct one does.
void CheckVariant(const Graph& graph, std::string_view name, const Ints& input) {
  const Target native = *FindTarget("native");
  size_t checked = 0;
  for (const Task& task : TasksOf(Passed(graph))) {
    const Variant* variant = FindVariant(task, name);
    if (!variant) continue;
    ++checked;
    INFO(Print(variant->fn));
    CHECK(Verify(variant->fn).ok());
    CHECK(Difference(Interpreted(variant->fn), Interpreted(task.variants[0].fn)) <= 2e-6);
    size_t count = 0, place = 0;  // among the variants of this CPU
    for (const Variant& other : task.variants) {
      if (other.row && !other.row->needs(native)) continue;
      if (&other == variant) place = count;
      ++count;
    }
    Tensor direct = Compiled(graph, count, 0, input);
    CHECK(Difference(Compiled(graph, count, place, input), direct) <= 2e-6);
  }
  CHECK(checked == 1);
}

}  // namespace

TEST_CASE("implicit GEMM computes the convolution", "[compiler][variants]") {
  for (const ConvCase& c : ConvCases()) {
    INFO(c.name);
    CheckVariant(ConvGraph(c), "implicit_gemm", c.input);
  }
}

TEST_CASE("a convolution of a zero-padded input computes the same and asks nowhere what is inside",
          "[compiler][variants]") {
  std::vector<ConvCase> cases = ConvCases();
  cases.push_back(
      {"padded unevenly, in groups, strided",
       {1, 4, 9, 8},
       {6, 2, 3, 2},
       {1, 6, 5, 4},
       {{"pads", Ints{0, 1, 2, 0}}, {"strides", Ints{2, 2}}, {"group", Attribute(int64_t{2})}}});
  size_t padded = 0;
  for (const ConvCase& c : cases) {
    INFO(c.name);
    for (const Task& task : TasksOf(Passed(ConvGraph(c)))) {
      bool guarded = Print(task.variants[0].fn).find(" where ") != std::string::npos;
      const Variant* variant = FindVariant(task, "zero_padding");
      CHECK((variant != nullptr) == guarded);
      if (!variant) continue;
      ++padded;
      const Function& fn = variant->fn;
      INFO(Print(fn));
      CHECK(Verify(fn).ok());
      CHECK(Print(fn).find(" where ") == std::string::npos);
      CHECK(Difference(Interpreted(fn), Interpreted(task.variants[0].fn)) <= 2e-6);
    }
  }
  CHECK(padded == 4);
}

TEST_CASE("a GPU stages both operands of a padded convolution where loops of three axes are fused",
          "[compiler][variants]") {
  ConvCase c{
      "14x14", {1, 64, 14, 14}, {128, 64, 3, 3}, {1, 128, 14, 14}, {{"pads", Ints{1, 1, 1, 1}}}};
  size_t checked = 0;
  for (const Task& task : TasksOf(Passed(ConvGraph(c)))) {
    const Variant* padded = FindVariant(task, "zero_padding");
    if (!padded) continue;
    ++checked;
    Sketch sketch = FirstSketch(padded->fn, *FindTarget("sm_86"));
    std::string text = Print(sketch.trace);
    INFO(text);
    CHECK(text.find("_padded shared") != std::string::npos);
    CHECK(text.find("] shared ") != std::string::npos);
    CHECK(text.find("pipelined_async") != std::string::npos);
  }
  CHECK(checked == 1);
}

TEST_CASE("implicit GEMM is one product of matrices, its weights made at linking",
          "[compiler][variants]") {
  ConvCase c = ConvCases()[0];
  for (const Task& task : TasksOf(Passed(ConvGraph(c)))) {
    if (task.variants.size() < 2) continue;
    std::string text = Print(task.variants.back().fn);
    INFO(text);
    CHECK(text.find("_columns: f32[84, 45]") != std::string::npos);
    CHECK(text.find("_matrix: f32[45, 4]") != std::string::npos);
    CHECK(text.find("_product: f32[84, 4]") != std::string::npos);
    Sketch sketch = FirstSketch(task.variants.back().fn, *FindTarget("native"));
    CHECK(Print(sketch.trace).find("prepack") != std::string::npos);
  }
}

TEST_CASE("taps are axes of implicit GEMM where their channels fill steps",
          "[compiler][variants]") {
  const ConvCase c{"32 channels, padded unevenly",
                   {2, 32, 6, 5},
                   {3, 32, 3, 2},
                   {2, 3, 6, 5},
                   {{"pads", Ints{2, 0, 0, 1}}}};
  CheckVariant(ConvGraph(c), "implicit_gemm", c.input);
  size_t checked = 0;
  for (const Task& task : TasksOf(Passed(ConvGraph(c)))) {
    const Variant* variant = FindVariant(task, "implicit_gemm");
    if (!variant) continue;
    ++checked;
    std::string text = Print(variant->fn);
    INFO(text);
    CHECK(text.find("_columns: f32[60, 3, 2, 32]") != std::string::npos);
    CHECK(text.find("_matrix: f32[3, 2, 32, 3]") != std::string::npos);
    CHECK(text.find("_product: f32[60, 3]") != std::string::npos);
  }
  CHECK(checked == 1);
}

TEST_CASE("convolutions in groups have no implicit GEMM", "[compiler][variants]") {
  for (int64_t group : {2, 4}) {
    ConvCase c{"groups", {1, 4, 6, 6}, {8, 4 / group, 3, 3}, {1, 8, 4, 4}, {{"group", group}}};
    for (const Task& task : TasksOf(Passed(ConvGraph(c)))) CHECK(task.variants.size() == 1);
  }
}

TEST_CASE("a long reduction in two stages computes the same", "[compiler][variants]") {
  for (OpKind op : {OpKind::kReduceSum, OpKind::kReduceMean, OpKind::kReduceMax}) {
    CheckVariant(ReduceGraph(op, {3, 1000}, {1}, {3}), "split_reduction", {3, 1000});
    CheckVariant(ReduceGraph(op, {5, 331, 2}, {1}, {5, 2}), "split_reduction", {5, 331, 2});
  }
}

TEST_CASE("short reductions and those to many results stay in one stage", "[compiler][variants]") {
  for (const Ints& input : {Ints{3, 100}, Ints{300, 200}}) {
    Graph graph = Passed(ReduceGraph(OpKind::kReduceSum, input, {1}, {input[0]}));
    for (const Task& task : TasksOf(graph)) CHECK(task.variants.size() == 1);
  }
}

}  // namespace tcc
