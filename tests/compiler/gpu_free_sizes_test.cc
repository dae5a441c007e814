// Kernels for GPUs whose sizes are known at run time, from their text on the emulated GPU: threads
// of blocks in two orders, and its detectors of races.

#include <catch2/catch.hpp>

#include "compiler/check/compare_tensors.h"
#include "compiler/check/random_inputs.h"
#include "compiler/compile_graph.h"
#include "compiler/devices/emulated_device.h"
#include "compiler/kernels.h"
#include "ir/text/printer.h"
#include "models/zoo/graph_builder.h"
#include "runtime/executor/executor.h"
#include "tests/compiler/run_compiled.h"
#include "tests/ir/parsed_graph.h"

namespace tcc {
namespace {

using Ints = std::vector<int64_t>;

// Extents of inputs that become free dimensions.
constexpr int64_t kFirst = 1009, kSecond = 503;

// The graph with Shape variables, or these sizes, for the extents kFirst and kSecond of its inputs.
Graph WithExtents(Graph graph, const Expr& first, const Expr& second) {
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.outputs) graph.values[id].shape.clear();
  }
  for (ValueId id : graph.inputs) {
    for (Expr& extent : graph.values[id].shape) {
      if (IsConstant(extent, kFirst)) extent = first;
      if (IsConstant(extent, kSecond)) extent = second;
    }
  }
  for (const Expr& extent : {first, second}) {
    if (const auto* var = extent.as<VarNode>()) graph.shape_vars.emplace_back(var);
  }
  return graph;
}

struct EmulatedModel {
  std::optional<Module> module;
  std::map<std::string, std::string> sketches;  // of kernels, by their first node
  std::map<std::string, std::string> misfits;
  std::map<std::string, bool> has_tensor_cores;
};

// Compiles the graph to text and loads it. Returns nullopt, with a warning, where nothing is
// emulated.
std::optional<EmulatedModel> Emulated(const Graph& graph, const CompileOptions& given) {
  CompileOptions options = given;
  options.gpu_code = GpuCode::kCudaText;
  options.verify = true;
  StatusOr<LoadOptions> load = LoadOptionsFor(options.target, Execution::kEmulator);
  if (!load.ok()) {
    WARN("skipped: nothing is emulated: " << Message(load.status()));
    return std::nullopt;
  }
  EmulatedModel model;
  options.watch = [&](const KernelSet& set) {
    for (const KernelStages& kernel : set.kernels) {
      model.sketches[kernel.nodes[0]] = kernel.sketch;
      model.has_tensor_cores[kernel.nodes[0]] =
          Print(kernel.lowered).find("intrinsic mma") != std::string::npos;
      if (!kernel.misfit.empty()) model.misfits[kernel.nodes[0]] = kernel.misfit;
    }
  };
  StatusOr<Artefact> artefact = CompileGraph(graph, options);
  INFO(artefact.status());
  REQUIRE(artefact.ok());
  load->threads = 1;
  StatusOr<Module> module = Module::FromArtefact(*std::move(artefact), *load);
  INFO(module.status());
  REQUIRE(module.ok());
  model.module = *module;
  return model;
}

// An output for each rule, with one or two free axes.
Graph EveryRule() {
  GraphBuilder net("rules", 5);
  auto emit = [&](const std::string& name, OpKind op, const std::vector<ValueId>& inputs,
                  const std::map<std::string, Attribute>& attributes = {}) {
    net.Output(net.Emit(name, op, inputs, attributes), {});
  };
  ValueId rows = net.Input("rows", {kFirst, 40}), square = net.Input("square", {kFirst, kSecond});
  ValueId image = net.Input("image", {2, 8, kFirst, kSecond});
  ValueId queries = net.Input("queries", {1, 2, kFirst, 16});
  ValueId keys = net.Input("keys", {1, 2, kSecond, 16}),
          long_rows = net.Input("long", {2, kSecond, 1024});
  ValueId across = net.Emit("across", OpKind::kTranspose, {square}, {{"perm", Ints{1, 0}}});
  ValueId zero = net.Constant("zero", MakeZeroTensor(kInt64, {}));
  net.Output(net.Relu("linear", net.Linear("linear.mm", rows, 40, 72, 1)), {});
  emit("gram", OpKind::kMatMul, {square, across});
  const ConvSpec conv{.in = 8, .out = 12, .kernel = 3, .padding = 1};
  net.Output(net.Relu("conv", net.Conv("conv.c", image, conv)), {});
  net.Output(net.MaxPool("pool", image, 3, 2, 1), {});
  net.Output(net.GlobalAveragePool("mean", image), {});
  emit("row_softmax", OpKind::kSoftmax, {rows}, {{"axis", int64_t{-1}}});
  emit("key_softmax", OpKind::kSoftmax, {square}, {{"axis", int64_t{-1}}});
  emit("long_sum", OpKind::kReduceSum, {long_rows, net.Ints("long.axes", {1, 2})});
  emit("key_sum", OpKind::kReduceSum, {keys, net.Ints("keys.axes", {2})});
  emit("largest", OpKind::kArgMax, {square}, {{"axis", int64_t{0}}});
  emit("transpose", OpKind::kTranspose, {keys}, {{"perm", Ints{0, 3, 2, 1}}});
  emit("joined", OpKind::kConcat, {queries, keys}, {{"axis", int64_t{2}}});
  emit("sums", OpKind::kCumSum, {square, zero});
  emit("attention", OpKind::kAttention, {queries, keys, keys});
  return net.Take();
}

// Products for tensor cores.
Graph Products() {
  GraphBuilder net("products", 5);
  ValueId rows = net.Input("rows", {kFirst, 64}), square = net.Input("square", {kFirst, kSecond});
  ValueId across = net.Emit("across", OpKind::kTranspose, {square}, {{"perm", Ints{1, 0}}});
  net.Output(net.Relu("linear", net.Linear("linear.mm", rows, 64, 72, 1)), {});
  net.Output(net.Emit("gram", OpKind::kMatMul, {square, across}), {});
  return net.Take();
}

void CheckAt(const EmulatedModel& model, Executor& executor, const Graph& graph, const Ints& sizes,
             const Tolerance& tolerance = {.rtol = 1e-4, .atol = 1e-5}) {
  INFO("at " << sizes[0] << ", " << sizes[1]);
  std::vector<Tensor> inputs = *RandomInputs(model.module->metadata(), 3, sizes);
  StatusOr<std::vector<Tensor>> got = executor.Run(inputs);
  INFO(got.status());
  REQUIRE(got.ok());
  std::vector<std::string> names;
  for (const TensorInfo& info : model.module->metadata().outputs) names.push_back(info.name);
  const std::vector<Tensor> expected = Expected(WithExtents(graph, sizes[0], sizes[1]), inputs);
  Status difference = CompareOutputs(*got, expected, names, tolerance);
  INFO(difference);
  CHECK(difference.ok());
}

TEST_CASE("every rule for GPUs makes kernels of free sizes that are right at any",
          "[compiler][gpu][free]") {
  const Graph graph = EveryRule();
  const Graph free =
      WithExtents(graph, ShapeVar("N", 1, 1 << 24, 24), ShapeVar("M", 1, 1 << 24, 40));
  auto model = Emulated(free, {.target = *FindTarget("sm_80")});
  if (!model) return;
  const std::map<std::string, std::string> made = {
      {"linear.mm", "tile"},
      {"gram", "tile"},
      {"conv.c", "operand"},  // of its implicit product
      {"pool", "tile"},
      {"mean", "row_reduction"},
      {"row_softmax", "row_reduction"},
      {"key_softmax", "row_reduction"},
      {"long_sum", "row_reduction"},
      {"key_sum", "cross_thread"},
      {"largest", "thread"},
      {"transpose", "map"},
      {"joined", "map, map"},
      {"sums", "thread"},
      {"attention", "attention"}};
  for (const auto& [node, sketch] : made) {
    INFO(node);
    CHECK(model->sketches[node] == sketch);
  }
  // The longest row does not fit into shared memory: exponentials are computed twice.
  REQUIRE(model->misfits.size() == 1);
  CHECK_THAT(
      model->misfits["key_softmax"],
      Catch::Matchers::EndsWith("bytes of shared memory; expected at most 49152 for all sizes"));
  Executor executor(*model->module);
  for (const Ints& sizes : {Ints{1, 1}, Ints{13, 7}, Ints{24, 40}, Ints{5, 67}}) {
    CheckAt(*model, executor, graph, sizes);
  }
}

TEST_CASE("rows of a free length lie in shared memory if the longest one fits",
          "[compiler][gpu][free]") {
  GraphBuilder net("rows", 5);
  ValueId x = net.Input("x", {kFirst, kSecond});
  net.Output(net.Emit("y", OpKind::kSoftmax, {x}, {{"axis", int64_t{-1}}}), {});
  const Graph graph = net.Take();
  const Graph free = WithExtents(graph, ShapeVar("N", 1, 64, 8), ShapeVar("M", 1, 256, 40));
  auto model = Emulated(free, {.target = *FindTarget("sm_80")});
  if (!model) return;
  CHECK(model->misfits.empty());
  Executor executor(*model->module);
  for (const Ints& sizes : {Ints{1, 1}, Ints{5, 37}, Ints{3, 256}}) {
    CheckAt(*model, executor, graph, sizes);
  }
}

TEST_CASE("tensor cores multiply matrices of free sizes", "[compiler][gpu][free]") {
  const Graph graph = Products();
  const Graph free = WithExtents(graph, ShapeVar("N", 1, 4096, 128), ShapeVar("M", 1, 4096, 64));
  auto model = Emulated(free, {.target = *FindTarget("sm_80"), .numeric = NumericMode::kFp16});
  if (!model) return;
  for (const auto& [node, misfit] : model->misfits) UNSCOPED_INFO(node << ": " << misfit);
  CHECK(model->misfits.empty());
  for (const char* node : {"linear.mm", "gram"}) CHECK(model->has_tensor_cores[node]);
  Executor executor(*model->module);
  for (const Ints& sizes : {Ints{1, 1}, Ints{13, 7}, Ints{128, 64}, Ints{37, 67}}) {
    CheckAt(*model, executor, graph, sizes, {.rtol = 1e-2, .atol = 1e-2});
  }
}

TEST_CASE("a grid that a size makes too large is refused in words", "[compiler][gpu][free]") {
  const Graph graph = ParsedGraph(R"(graph rows {
  dim N in 1..100000 usual 8
  input x: f32[N]
  y = Relu(x) : f32[]
  return y
})");
  CompileOptions options{.target = *FindTarget("sm_80")};
  options.schedules["y"] = ParseSchedule("bind y/i blockIdx.y\n").value();
  auto model = Emulated(graph, options);
  if (!model) return;
  Executor executor(*model->module);
  for (int64_t rows : {7, 1, 65536, 7}) {
    StatusOr<std::vector<Tensor>> got =
        executor.Run(*RandomInputs(model->module->metadata(), 3, Ints{rows}));
    CHECK(got.ok() == (rows < 65536));
    if (got.ok()) continue;
    CHECK(got.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK(Message(got.status()) == "y: a grid has 65536 blocks in y; expected at most 65535");
  }
}

TEST_CASE("a schedule with as many threads as a size says is refused for GPUs",
          "[compiler][gpu][free]") {
  const Graph graph = ParsedGraph(R"(graph rows {
  dim N in 1..64 usual 8
  input x: f32[N]
  y = Relu(x) : f32[]
  return y
})");
  CompileOptions options{.target = *FindTarget("sm_80"), .gpu_code = GpuCode::kCudaText};
  options.schedules["y"] = ParseSchedule("bind y/i threadIdx.x\n").value();
  CHECK(Message(CompileGraph(graph, options).status()) ==
        "kernel 'y': step 1 (bind y/i threadIdx.x): nest 'y' has n0 threads a block; expected a "
        "number");
}

}  // namespace
}  // namespace tcc
