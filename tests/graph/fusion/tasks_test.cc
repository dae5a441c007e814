#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/passes/graph_pipeline.h"
#include "graph/variants/interpret_graph.h"
#include "graph/variants/task.h"
#include "ir/analysis/verifier.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

std::vector<std::string> KernelNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const Subgraph& subgraph : FuseGraph(graph)) {
    if (subgraph.kind == SubgraphKind::kKernel) names.push_back(subgraph.name);
  }
  return names;
}

std::vector<Task> TasksOf(const Graph& graph) {
  std::vector<Task> tasks;
  for (const Subgraph& subgraph : FuseGraph(graph)) {
    if (subgraph.kind == SubgraphKind::kView) continue;
    StatusOr<Task> task = BuildTask(graph, subgraph);
    REQUIRE(task.ok());
    Status status = Verify(task->variants[0].fn);
    INFO(Message(status));
    CHECK(status.ok());
    tasks.push_back(*task);
  }
  return tasks;
}

Graph Prepared(const TestGraph& builder) {
  Graph graph = builder.Build();
  Status status = RunGraphPasses(graph);
  INFO(Message(status));
  REQUIRE(status.ok());
  return graph;
}

ValueId Conv(TestGraph& builder, const std::string& name, ValueId x, int64_t channels) {
  ValueId w = builder.Constant(name + ".w", RandomF32({channels, channels, 3, 3}, name.size()));
  ValueId b = builder.Constant(name + ".b", RandomF32({channels}, 7));
  return builder.Add(name, OpKind::kConv, {x, w, b}, {{"pads", Ints{1, 1, 1, 1}}});
}

}  // namespace

TEST_CASE("a task knows which inputs are constants of the graph", "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 4, 5, 5});
  builder.Output(builder.Add("relu", OpKind::kRelu, {Conv(builder, "conv", x, 4)}));
  Graph graph = Prepared(builder);
  int constants = 0;
  for (const Task& task : TasksOf(graph)) {
    for (size_t i = 0; i < task.inputs.size(); ++i) {
      bool weight = graph.value(task.inputs[i]).name.starts_with("conv.");
      CHECK(task.variants[0].fn.params[i].scope == (weight ? Scope::kConstant : Scope::kGlobal));
      constants += weight;
    }
  }
  CHECK(constants == 2);  // weight and bias
}

TEST_CASE("a residual block becomes two tasks", "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 4, 5, 5});
  ValueId conv1 = Conv(builder, "conv1", x, 4);
  ValueId relu1 = builder.Add("relu1", OpKind::kRelu, {conv1});
  ValueId conv2 = Conv(builder, "conv2", relu1, 4);
  ValueId sum = builder.Add("sum", OpKind::kAdd, {conv2, x});
  builder.Output(builder.Add("relu2", OpKind::kRelu, {sum}));
  Graph graph = Prepared(builder);
  CHECK(KernelNames(graph) == std::vector<std::string>{"x_repacked_repack", "conv1_relu",
                                                       "conv2_add_relu", "relu2_out_repack"});

  std::vector<Task> tasks = TasksOf(graph);
  const Task& last = tasks[2];
  CHECK(last.nodes == std::vector<std::string>{"conv2", "sum", "relu2"});
  CHECK(last.inputs.size() == 4);  // activation, weight, bias, what is added
  // The sum, and one map for bias, addition and relu.
  CHECK(BlocksOf(last.variants[0].fn.body).size() == 2);
  // A multiply-add a tap; bias, addition and relu.
  CHECK(last.flops == 100 * (2 * 36 + 3));
}

TEST_CASE("of two convolutions that are added the later one takes the sum", "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 4, 5, 5});
  ValueId main = Conv(builder, "main", x, 4);
  ValueId side = Conv(builder, "other", x, 4);
  builder.Output(builder.Add("sum", OpKind::kAdd, {main, side}));
  Graph graph = Prepared(builder);
  CHECK(KernelNames(graph) ==
        std::vector<std::string>{"x_repacked_repack", "main", "other_add", "sum_out_repack"});
}

TEST_CASE("a value that is read outside is not fused away", "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2, 3});
  ValueId gemm =
      builder.Add("gemm", OpKind::kGemm, {x, builder.Constant("w", RandomF32({3, 3}, 1))});
  builder.Output(builder.Add("relu", OpKind::kRelu, {gemm}));
  builder.Output(gemm);
  Graph graph = Prepared(builder);
  CHECK(KernelNames(graph) == std::vector<std::string>{"gemm", "relu"});
}

TEST_CASE("a diamond of element-wise nodes is fused whole", "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2, 3});
  ValueId gemm =
      builder.Add("gemm", OpKind::kGemm, {x, builder.Constant("w", RandomF32({3, 3}, 1))});
  ValueId gate = builder.Add("gate", OpKind::kTanh, {gemm});
  builder.Output(builder.Add("gated", OpKind::kMul, {gemm, gate}));
  Graph graph = Prepared(builder);
  CHECK(KernelNames(graph) == std::vector<std::string>{"gemm_tanh_mul"});
  CHECK(BlocksOf(TasksOf(graph)[0].variants[0].fn.body).size() == 2);
}

TEST_CASE("a path through another reduction is not fused across", "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2, 3});
  ValueId e = builder.Add("e", OpKind::kExp, {x});
  ValueId total =
      builder.Add("total", OpKind::kReduceSum, {e, builder.Constant("axes", I64({1}, {1}))},
                  {{"keepdims", int64_t{1}}});
  builder.Output(builder.Add("share", OpKind::kDiv, {e, total}));
  Graph graph = Prepared(builder);
  CHECK(KernelNames(graph) == std::vector<std::string>{"e", "total", "share"});
  StatusOr<std::vector<Tensor>> result = InterpretGraph(graph, {F32({2, 3}, {0, 0, 0, 0, 0, 0})});
  REQUIRE(result.ok());
  CHECK(ValuesOf((*result)[0])[0] == Approx(1.0 / 3));
}

TEST_CASE("element-wise nodes of one shape join, others stay apart", "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {3});
  ValueId a = builder.Add("a", OpKind::kExp, {x});
  ValueId b = builder.Add("b", OpKind::kNeg, {a});
  ValueId wide = builder.Input("wide", kFloat32, {2, 3});
  builder.Output(builder.Add("c", OpKind::kAdd, {b, wide}));
  Graph graph = Prepared(builder);
  CHECK(KernelNames(graph) == std::vector<std::string>{"a_neg", "c"});
}

TEST_CASE("views are not kernels", "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2, 1, 3});
  ValueId flat = builder.Add("flat", OpKind::kFlatten, {x}, {{"axis", int64_t{1}}});
  ValueId swapped = builder.Add("swap", OpKind::kTranspose, {x}, {{"perm", Ints{1, 0, 2}}});
  builder.Output(builder.Add("a", OpKind::kExp, {flat}));
  builder.Output(builder.Add("b", OpKind::kExp, {swapped}));
  Graph graph = Prepared(builder);
  CHECK(KernelNames(graph) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("every node stands in one subgraph, after what it reads", "[graph][fusion]") {
  TestGraph builder;
  ValueId value = builder.Input("x", kFloat32, {1, 4, 6, 6});
  for (int i = 0; i < 6; ++i) {
    ValueId left = Conv(builder, fmt::format("left{}", i), value, 4);
    ValueId active = builder.Add(fmt::format("relu{}", i), OpKind::kRelu, {left});
    ValueId right = Conv(builder, fmt::format("right{}", i), active, 4);
    ValueId other = i % 2 == 0 ? value : active;
    value = builder.Add(fmt::format("sum{}", i), OpKind::kAdd, {other, right});
    if (i == 3)
      value =
          builder.Add("silu", OpKind::kMul, {value, builder.Add("s", OpKind::kSigmoid, {value})});
  }
  builder.Output(value);
  Graph graph = Prepared(builder);
  std::vector<bool> ready(graph.values.size(), false);
  for (ValueId id : graph.inputs) ready[id] = true;
  for (size_t id = 0; id < graph.values.size(); ++id) {
    if (graph.values[id].constant) ready[id] = true;
  }
  std::vector<int> seen(graph.nodes.size(), 0);
  for (const Subgraph& subgraph : FuseGraph(graph)) {
    for (ValueId input : subgraph.inputs) CHECK(ready[input]);
    for (ValueId output : subgraph.outputs) ready[output] = true;
    for (int n : subgraph.nodes) ++seen[n];
  }
  CHECK(std::ranges::all_of(seen, [](int times) { return times == 1; }));
  TasksOf(graph);
}

TEST_CASE("halves are not rounded between the nodes of a kernel, but where a Cast says so",
          "[graph][fusion]") {
  // 2049 is no f16.
  TestGraph halves;
  ValueId x = halves.Input("x", kFloat16, {1});
  ValueId y = halves.Input("y", kFloat16, {1});
  ValueId sum = halves.Add("sum", OpKind::kAdd, {x, y});
  halves.Output(halves.Add("rest", OpKind::kSub, {sum, x}));
  StatusOr<std::vector<Tensor>> result =
      InterpretGraph(Prepared(halves), {Of(kFloat16, {1}, {2048}), Of(kFloat16, {1}, {1})});
  REQUIRE(result.ok());
  CHECK(ValuesOf((*result)[0])[0] == 1);

  TestGraph casts;
  x = casts.Input("x", kFloat32, {1});
  y = casts.Input("y", kFloat32, {1});
  sum = casts.Add("sum", OpKind::kAdd, {x, y});
  ValueId narrow = casts.Add("narrow", OpKind::kCast, {sum}, {{"to", std::string("f16")}});
  ValueId wide = casts.Add("wide", OpKind::kCast, {narrow}, {{"to", std::string("f32")}});
  casts.Output(casts.Add("rest", OpKind::kSub, {wide, x}));
  Graph graph = Prepared(casts);
  CHECK(KernelNames(graph).size() == 1);
  result = InterpretGraph(graph, {F32({1}, {2048}), F32({1}, {1})});
  REQUIRE(result.ok());
  CHECK(ValuesOf((*result)[0])[0] == 0);
}

// Its axis of one image was read at 0, which no scheduling rule took for the image's own: sums went
// through memory.
TEST_CASE("what follows the convolution of a single image is scheduled with it",
          "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 4, 5, 5});
  ValueId conv = Conv(builder, "conv", x, 4);
  ValueId scaled =
      builder.Add("half", OpKind::kMul, {conv, builder.Constant("c", F32({1}, {0.5}))});
  builder.Output(builder.Add("relu", OpKind::kRelu, {scaled}));
  int fused = 0;
  for (const Task& task : TasksOf(Prepared(builder))) {
    for (const Ref<Block>& block : BlocksOf(task.variants[0].fn.body)) {
      fused += EpilogueOf(task.variants[0].fn, *block) != nullptr ? 1 : 0;
    }
  }
  CHECK(fused == 1);
}
