#include <catch2/catch.hpp>

#include "compiler/check/check_layers.h"
#include "compiler/check/random_inputs.h"
#include "compiler/compile_graph.h"
#include "graph/passes/graph_pipeline.h"
#include "models/zoo/zoo.h"
#include "runtime/executor/executor.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

// A network of the zoo whose first input has `batch` rows.
Graph AtBatch(const std::string& network, int64_t batch) {
  Graph graph = BuildZoo(network, {.small = true}).value();
  graph.values[graph.inputs[0]].shape[0] = batch;
  for (ValueId id : graph.outputs) graph.values[id].shape.clear();
  return graph;
}

// The network at several batches N.
SizedModel AtBatches(const std::string& network, const std::vector<int64_t>& batches) {
  SizedModel model;
  model.listed.dims = {"N"};
  for (int64_t batch : batches) {
    model.graphs.push_back(AtBatch(network, batch));
    model.listed.sizes.push_back({batch});
  }
  const Graph& graph = model.graphs[0];
  model.listed.dim_of.resize(graph.inputs.size());
  model.listed.dim_of[0].resize(graph.value(graph.inputs[0]).shape.size());
  model.listed.dim_of[0][0] = 0;
  return model;
}

Artefact CompiledAt(SizedModel model, int threads = 1) {
  CompileOptions options{.target = *FindTarget("native"), .threads = threads, .verify = true};
  StatusOr<Artefact> artefact = CompileModel(std::move(model), options);
  INFO(artefact.status());
  REQUIRE(artefact.ok());
  CHECK(VerifyArtefact(*artefact) == OkStatus());
  return *std::move(artefact);
}

TEST_CASE("an artefact for listed sizes gives the bits of the artefacts for one",
          "[compiler][sizes]") {
  for (const char* network : {"dqn", "resnet18", "dcgan"}) {
    INFO(network);
    const Artefact artefact = CompiledAt(AtBatches(network, {1, 4}));
    Executor executor(Loaded(artefact));
    size_t most_weights = 0;
    for (int64_t batch : {4, 1, 4}) {
      Module alone = Loaded(Compiled(AtBatch(network, batch), "native"));
      most_weights = std::max(most_weights, alone.artefact().weights.bytes.size());
      std::vector<Tensor> inputs = *RandomInputs(alone.metadata(), 7);
      StatusOr<std::vector<Tensor>> got = executor.Run(inputs);
      INFO(got.status());
      REQUIRE(got.ok());
      std::vector<Tensor> expected = Executor(alone).Run(inputs).value();
      CHECK(got->at(0).shape == expected[0].shape);
      CHECK(std::ranges::equal(got->at(0).bytes, expected[0].bytes));
    }
    // The weights are there once; Winograd's transforms of them differ by the size.
    if (std::string(network) == "dqn") {
      CHECK(artefact.weights.bytes.size() <= most_weights + most_weights / 10);
    }
    StatusOr<std::vector<int64_t>> size = SizeWith(artefact.metadata, {});
    CHECK(*size == std::vector<int64_t>{1});
    Metadata other = artefact.metadata;
    other.sizes = {{3}};
    other.shape_variables[0] = {"N", 3, 3, 3};
    const std::string& input = artefact.metadata.inputs[0].name;
    CHECK(Message(executor.Run(*RandomInputs(other, 7)).status()) ==
          fmt::format("input '{}': dimension N is 3; expected 1 or 4", input));
  }
}

TEST_CASE("an artefact for listed sizes is the same for any number of threads",
          "[compiler][sizes]") {
  std::vector<uint8_t> once = ArtefactBytes(CompiledAt(AtBatches("resnet18", {2, 1})));
  CHECK(ArtefactBytes(CompiledAt(AtBatches("resnet18", {2, 1}), 3)) == once);
}

TEST_CASE("one arena serves all listed sizes, as large as the size at hand needs",
          "[compiler][sizes]") {
  const Artefact artefact = CompiledAt(AtBatches("dqn", {1, 4}));
  RunSizesByShape sizes(artefact.plan);
  for (int64_t batch : {1, 4}) {
    Artefact alone = Compiled(AtBatch("dqn", batch), "native");
    CHECK(sizes.For(std::vector<int64_t>{batch}).value()->arena_bytes ==
          alone.plan.arena_bytes.AsConstant());
  }
}

TEST_CASE("kernels that are the same at two sizes are there once", "[compiler][sizes]") {
  const Artefact one = Compiled(AtBatch("dqn", 2), "native");
  SizedModel model = AtBatches("dqn", {2, 3});
  model.graphs[1] = AtBatch("dqn", 2);  // as if nothing depended on the size
  const Artefact both = CompiledAt(std::move(model));
  CHECK(both.metadata.kernels.size() == one.metadata.kernels.size());
  CHECK(both.weights.bytes.size() == one.weights.bytes.size());
  for (size_t i = 0; i < one.metadata.kernels.size(); ++i) {
    CHECK(both.metadata.kernels[i].nodes == one.metadata.kernels[i].nodes);
  }
}

TEST_CASE("the notes tell of each listed size, and its layers are checked by them",
          "[compiler][sizes]") {
  Module module = Loaded(CompiledAt(AtBatches("dqn", {1, 4})));
  StatusOr<Notes> notes = NotesOf(module.artefact());
  INFO(notes.status());
  REQUIRE(notes.ok());
  REQUIRE(notes->others.size() == 1);
  CHECK(notes->others[0].after.types.at("x") == "f32[4x4x44x44]");
  CHECK_FALSE(notes->others[0].arena.empty());
  for (size_t size : {size_t{0}, size_t{1}}) {
    const int64_t batch = size == 0 ? 1 : 4;
    Graph graph = AtBatch("dqn", batch);
    REQUIRE(RunGraphPasses(graph, TargetKind::kCpu).ok());
    std::vector<Tensor> inputs = *RandomInputs(module.metadata(), 1, std::vector<int64_t>{batch});
    StatusOr<std::vector<CheckedCall>> calls = CheckLayers(module, graph, *notes, inputs, {});
    INFO(calls.status());
    REQUIRE(calls.ok());
    auto of_size = std::ranges::count(notes->calls, size, &CallNotes::graph);
    CHECK(std::ssize(*calls) == of_size);
    for (const CheckedCall& call : *calls) CHECK_FALSE(call.differs());
  }
}

TEST_CASE("an output whose rank depends on the size is refused", "[compiler][sizes]") {
  SizedModel model = AtBatches("dqn", {1, 4});
  Graph& graph = model.graphs[1];
  Value list{.name = "axes", .dtype = kInt64, .shape = ToExprs({1})};
  list.constant = MakeZeroTensor(kInt64, {1});
  ValueId axes = graph.AddValue(std::move(list));
  ValueId deep = graph.AddValue({.name = "deep", .dtype = kFloat32});
  graph.nodes.push_back({.name = "deep",
                         .op = OpKind::kUnsqueeze,
                         .inputs = {graph.outputs[0], axes},
                         .outputs = {deep}});
  graph.outputs[0] = deep;
  Status status = CompileModel(std::move(model), {.target = *FindTarget("native")}).status();
  CHECK(absl::IsUnimplemented(status));
  CHECK(Message(status) ==
        "output 'q' has rank 2 at one listed size and 3 at another; expected one");
}

TEST_CASE("formulas select by the listed size", "[compiler][sizes]") {
  std::vector<SizeExpr> dims;
  for (int64_t d = 0; d < 3; ++d) dims.push_back(SizeExpr::Variable(d));
  std::vector<std::vector<int64_t>> sizes;
  std::vector<SizeExpr> values;
  for (size_t i = 0; i < kMaxSizes; ++i) {
    const auto n = static_cast<int64_t>(i);
    sizes.push_back({n / 4, n % 4 + 1, 7});
    values.push_back(n * n + 3);
  }
  const SizeExpr number = NumberOfSize(dims, sizes, OtherSizes::kNone);
  const SizeExpr extent = ExtentBySize(dims, sizes, values);
  const SizeExpr by_number = SelectByNumber(SizeExpr::Variable(0), values);
  // With one more graph for all other sizes.
  const SizeExpr general_number = NumberOfSize(dims, sizes, OtherSizes::kFirst);
  std::vector<SizeExpr> general_values = values;
  general_values.insert(general_values.begin(), Combine(SizeOp::kMul, dims[0], dims[1]));
  const SizeExpr general_extent = ExtentBySize(dims, sizes, general_values);
  for (const SizeExpr& formula : {number, extent, by_number, general_number, general_extent}) {
    CHECK(CheckSizeExpr(formula, 3) == OkStatus());
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto n = static_cast<int64_t>(i);
    CHECK(Evaluate(number, sizes[i]).value() == n);
    CHECK(Evaluate(general_number, sizes[i]).value() == n + 1);
    CHECK(Evaluate(extent, sizes[i]).value() == n * n + 3);
    CHECK(Evaluate(general_extent, sizes[i]).value() == n * n + 3);
    CHECK(Evaluate(by_number, std::vector<int64_t>{n, 0, 0}).value() == n * n + 3);
  }
  const std::vector<int64_t> other = {5, 9, 7};
  CHECK(Evaluate(number, other).value() == -1);
  CHECK(Evaluate(general_number, other).value() == 0);
  CHECK(Evaluate(general_extent, other).value() == 45);
  std::vector<std::vector<int64_t>> two = {{1, 5}, {4, 6}};
  CHECK(ExtentBySize(dims, two, std::vector<SizeExpr>{8, 8}) == SizeExpr(8));
  CHECK(ExtentBySize(dims, two, std::vector<SizeExpr>{5, 6}) == SizeExpr::Variable(1));
  CHECK(ExtentBySize(dims, two, std::vector<SizeExpr>{dims[1], dims[1], dims[1]}) == dims[1]);
}

}  // namespace
}  // namespace tcc
