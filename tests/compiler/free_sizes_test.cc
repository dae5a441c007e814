#include <catch2/catch.hpp>

#include "compiler/check/random_inputs.h"
#include "compiler/compile_graph.h"
#include "compiler/execution_plan.h"
#include "compiler/free_memory_plan.h"
#include "compiler/notes.h"
#include "compiler/shape_checks.h"
#include "graph/passes/graph_pipeline.h"
#include "ir/expr/evaluate.h"
#include "models/zoo/zoo.h"
#include "runtime/executor/binding.h"
#include "runtime/executor/executor.h"
#include "tests/compiler/random_graph.h"
#include "tests/compiler/run_compiled.h"
#include "tests/ir/parsed_graph.h"

namespace tcc {
namespace {

using Sizes = std::vector<int64_t>;

// The graph with other extents of its inputs along axis 0, and what follows from them open.
Graph WithBatch(Graph graph, const Expr& batch) {
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.outputs) graph.values[id].shape.clear();
  }
  for (ValueId id : graph.inputs) graph.values[id].shape[0] = batch;
  if (batch.as<VarNode>()) graph.shape_vars = {Var(batch.as<VarNode>())};
  return graph;
}

// The graph with these extents for its free dimensions.
Graph Bound(Graph graph, const Sizes& sizes) {
  for (ValueId id : graph.inputs) {
    for (Expr& extent : graph.values[id].shape) {
      for (size_t i = 0; i < sizes.size(); ++i) {
        if (extent.same_as(graph.shape_vars[i])) extent = sizes[i];
      }
    }
  }
  graph.shape_vars.clear();
  return graph;
}

std::vector<Tensor> Outputs(Executor& executor, const std::vector<Tensor>& inputs) {
  StatusOr<std::vector<Tensor>> outputs = executor.Run(inputs);
  INFO(outputs.status());
  REQUIRE(outputs.ok());
  return *std::move(outputs);
}

void CheckSameBits(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i].shape == expected[i].shape);
    CHECK(std::ranges::equal(got[i].bytes, expected[i].bytes));
  }
}

// Runs one artefact of a graph at each of these sizes of its free dimensions, against the graph
// with these bound, on the reference target.
void CheckAtSizes(const Graph& graph, const std::vector<Sizes>& all) {
  Module module = Loaded(Compiled(graph, "reference"));
  INFO(Print(graph) << ToString(module.artefact().plan));
  Executor executor(module);
  for (const Sizes& sizes : all) {
    std::vector<Tensor> inputs = *RandomInputs(module.metadata(), 3, sizes);
    Executor bound(Loaded(Compiled(Bound(graph, sizes), "reference")));
    CheckSameBits(Outputs(executor, inputs), Outputs(bound, inputs));
  }
}

TEST_CASE("one artefact with a free batch gives the bits of those with a known one",
          "[compiler][free_sizes]") {
  Random random(23);
  Var n = ShapeVar("N", 1, 64, 8);
  for (int round = 0; round < 40; ++round) {
    Random own = random.Fork();
    Graph graph = RandomGraph(own, {.nodes = 3 + round % 9, .outputs = 1 + round % 3, .batch = 13});
    CheckAtSizes(WithBatch(std::move(graph), n), {{8}, {1}, {3}, {11}});
  }
}

constexpr const char* kSoftmax = R"(graph softmax {
  dim B in 1..8 usual 2
  dim S in 1..64 usual 16
  input x: f32[B, S, 5]
  input y: f32[B, 5, S]
  scores = MatMul(x, y) : f32[]
  p = Softmax(scores) {axis: 2} : f32[]
  z = MatMul(p, x) : f32[]
  both = Concat(z, x) {axis: 1} : f32[]
  return both, p
})";

TEST_CASE("extents along reductions, and sums of extents, may be free", "[compiler][free_sizes]") {
  const Graph graph = ParsedGraph(kSoftmax);
  CheckAtSizes(graph, {{2, 16}, {1, 1}, {3, 7}, {8, 31}});
  const Artefact artefact = Compiled(graph, "reference");
  const Metadata& metadata = artefact.metadata;
  CHECK(metadata.UsualSizes() == Sizes{2, 16});
  CHECK(TypeText(metadata.inputs[1], metadata) == "f32[Bx5xS]");
  CHECK(TypeText(metadata.outputs[0], metadata) == "f32[Bx(S * 2)x5]");
  // Reports are of the usual sizes.
  const KernelInfo& product = metadata.kernels[0];
  CHECK(product.flops == 2 * 2 * 16 * 16 * 5);
  REQUIRE_FALSE(product.shape_args.empty());
  for (const SizeRange& range : product.shape_args) CHECK(range.low <= range.high);
}

constexpr const char* kPast = R"(graph past {
  dim P in 0..8 usual 4
  dim Q in 0..8 usual 2
  dim S in 1..8 usual 3
  input past: f32[P, 4]
  input more: f32[Q, 4]
  input x: f32[S, 4]
  joined = Concat(past, more, x) {axis: 0} : f32[]
  old = Softmax(past) {axis: 1} : f32[]
  sum = Add(old, old) : f32[]
  return joined, sum
})";

TEST_CASE("extents may be 0", "[compiler][free_sizes]") {
  CheckAtSizes(ParsedGraph(kPast), {{4, 2, 3}, {0, 2, 3}, {4, 0, 1}, {0, 0, 2}, {1, 1, 8}});
}

constexpr const char* kLoop = R"(graph running {
  dim N in 1..9 usual 4
  input x: f32[N, 3]
  constant n: i64[]
  last, all = Loop(n, _, x) {carried: 1, scan_output_axes: [0]} : f32[], f32[]
    body step {
      input i: i64[]
      input c: bool[]
      input x: f32[N, 3]
      constant yes: bool[]
      next = Add(x, x) : f32[]
      return yes, next, x
    }
  return last, all
})";

Tensor Scalar(DType dtype, int64_t number) {
  Tensor tensor = MakeZeroTensor(dtype, {});
  SetElementInt(tensor, 0, number);
  return tensor;
}

TEST_CASE("a loop carries and stacks values of free size", "[compiler][free_sizes]") {
  Graph graph = ParsedGraph(kLoop, {{"n", Scalar(kInt64, 5)}, {"yes", Scalar(kBool, 1)}});
  CheckAtSizes(graph, {{4}, {1}, {9}});
}

TEST_CASE("a run whose sizes break an agreement is refused before anything is written",
          "[compiler][free_sizes]") {
  Graph graph = ParsedGraph(R"(graph sum {
  dim N in 1..64 usual 8
  dim M in 1..64 usual 8
  input x: f32[N, 4]
  input y: f32[M, 4]
  a = Relu(x) : f32[N, 4]
  b = Relu(y) : f32[M, 4]
  return a, b
  agree [N - N mod 2, M] "node 'add' (Add): dimension 0 of 'x' and 'y'"
})");
  Module module = Loaded(Compiled(graph, "reference"));
  Executor executor(module);
  Outputs(executor, *RandomInputs(module.metadata(), 1, Sizes{5, 4}));
  std::vector<Tensor> inputs = *RandomInputs(module.metadata(), 1, Sizes{5, 5});
  std::vector<Tensor> outputs;
  for (int64_t rows : {5, 4}) {
    outputs.push_back(MakeZeroTensor(kFloat32, {rows, 4}));
    SetElement(outputs.back(), 0, 7);
  }
  Status status = executor.RunInto(inputs, outputs);
  CHECK(absl::IsInvalidArgument(status));
  CHECK(Message(status) ==
        "node 'add' (Add): dimension 0 of 'x' and 'y' are (N - N mod 2) and M, which have to be "
        "equal; where one is always 1, compile the model with it bound, e.g. --dim M=1");
  for (const Tensor& output : outputs) CHECK(output.values<float>()[0] == 7);
}

TEST_CASE("the checks of a plan come before memory for outputs", "[compiler][free_sizes]") {
  Tensor pads = MakeZeroTensor(kInt64, {4});
  SetElementInt(pads, 0, -4);
  Module module = Loaded(Compiled(ParsedGraph(R"(graph cut {
  dim S in 1..64 usual 8
  input x: f32[S, 1]
  constant pads: i64[4]
  y = Pad(x, pads) : f32[]
  return y
})",
                                              {{"pads", pads}}),
                                  "reference"));
  Executor executor(module);
  CHECK(Outputs(executor, {MakeZeroTensor(kFloat32, {5, 1})})[0].shape == Sizes{1, 1});
  Status status = executor.Run(std::vector{MakeZeroTensor(kFloat32, {2, 1})}).status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK(Message(status) == "node 'y' (Pad): dimension 0 of 'y' is (S - 4), which is negative here");
  // A caller may ask for the shape without a run.
  const Metadata& metadata = module.metadata();
  CHECK(Message(ShapeOf(metadata.outputs[0], metadata, Sizes{2}).status()) ==
        "dimension 0 of 'y' is (S - 4), which is -2 for S=2");
}

TEST_CASE("agreements and extents that may be negative are checked, known ones are not",
          "[compiler][free_sizes]") {
  Graph graph = ParsedGraph(R"(graph checked {
  dim S in 1..64 usual 8
  dim T in 4..64 usual 8
  input x: f32[S, T]
  cut = Slice(x) : f32[S - 4, T - 4]
  more = Slice(x) : f32[S - 4, S + T]
  return cut, more
  agree [S, 2 * T] "node 'r' (Reshape): lengths"
  agree [S, 2 * T] "node 'q' (Reshape): lengths"
  agree [T, T] "node 's' (Reshape): lengths"
})");
  std::vector<std::string> messages;
  for (const ShapeCheck& check : ShapeChecksOf(graph)) messages.push_back(check.message);
  CHECK(messages ==
        std::vector<std::string>{
            "node 'r' (Reshape): lengths are S and (2 * T), which have to be equal; where one is "
            "always 1, compile the model with it bound, e.g. --dim S=1",
            "node 'cut' (Slice): dimension 0 of 'cut' is (S - 4), which is negative here"});
}

// A model with a free batch, and bodies of its own for some batches.
SizedModel WithListed(const Graph& graph, const Sizes& batches) {
  SizedModel model;
  model.graphs.push_back(WithBatch(graph, ShapeVar("N", 1, 64, 8)));
  model.listed.dims = {"N"};
  for (int64_t batch : batches) {
    model.graphs.push_back(WithBatch(graph, batch));
    model.listed.sizes.push_back({batch});
  }
  for (ValueId id : graph.inputs) {
    model.listed.dim_of.emplace_back(graph.value(id).shape.size());
    model.listed.dim_of.back()[0] = 0;
  }
  return model;
}

TEST_CASE("bodies for listed sizes stand beside the one for all others", "[compiler][free_sizes]") {
  Random random(5);
  const Graph graph = RandomGraph(random, {.nodes = 12, .outputs = 2, .batch = 13});
  CompileOptions options{.target = *FindTarget("reference"), .threads = 1, .verify = true};
  options.notes = true;
  StatusOr<Artefact> artefact = CompileModel(WithListed(graph, {4, 1}), options);
  INFO(artefact.status());
  REQUIRE(artefact.ok());
  CHECK(VerifyArtefact(*artefact) == OkStatus());
  CHECK(artefact->metadata.sizes.empty());
  const auto& choice = std::get<PlanSwitch>(artefact->plan.body.at(0).op);
  CHECK(choice.bodies.size() == 3);
  StatusOr<Notes> notes = NotesOf(*artefact);
  INFO(notes.status());
  REQUIRE(notes.ok());
  CHECK(notes->others.size() == 2);
  RunSizesByShape sizes(artefact->plan);
  Module module = Loaded(*artefact);
  Executor executor(module);
  for (int64_t batch : {4, 1, 3, 9}) {
    std::vector<Tensor> inputs = *RandomInputs(module.metadata(), 3, Sizes{batch});
    Artefact alone = Compiled(WithBatch(graph, batch), "reference");
    int64_t arena = alone.plan.arena_bytes.AsConstant().value();
    Executor bound(Loaded(std::move(alone)));
    CheckSameBits(Outputs(executor, inputs), Outputs(bound, inputs));
    std::shared_ptr<const RunSizes> run = sizes.For(Sizes{batch}).value();
    int64_t body = Evaluate(choice.which, run->variables).value();
    CHECK(body == (batch == 4 ? 1 : batch == 1 ? 2 : 0));
    if (body > 0) CHECK(run->arena_bytes == arena);
  }
}

TEST_CASE("a free dimension beside listed ones is refused where no other size is served",
          "[compiler][free_sizes]") {
  const Graph graph = ParsedGraph(kSoftmax);
  SizedModel model;
  model.graphs = {Bound(graph, {2}), Bound(graph, {4})};
  model.graphs[0].shape_vars = model.graphs[1].shape_vars = {graph.shape_vars[1]};
  model.listed = {.dims = {"B"}, .sizes = {{2}, {4}}, .dim_of = {{0, {}, {}}, {0, {}, {}}}};
  Status status = CompileModel(std::move(model), {.target = *FindTarget("reference")}).status();
  CHECK(absl::IsUnimplemented(status));
  CHECK(Message(status).starts_with("at B=2: inputs have free dimensions: 'x' (S), 'y' (S)"));
}

TEST_CASE("listed sizes within a range are imported beside the model with free dimensions",
          "[compiler][free_sizes]") {
  auto import_model = [](const ImportOptions& options) -> StatusOr<Graph> {
    Graph graph = ParsedGraph("graph g { input x: f32[1x2] y = Relu(x) : f32[] return y }");
    auto given = options.dims.find("N");
    if (given == options.dims.end()) {
      const DimRange& range = options.ranges.at("N");
      return WithBatch(std::move(graph), ShapeVar("N", *range.low, *range.high, *range.usual));
    }
    CHECK_FALSE(options.ranges.contains("N"));
    options.given_dim("x", 0, "N");
    return WithBatch(std::move(graph), given->second);
  };
  ImportOptions options;
  options.ranges["N"] = {.low = 1, .high = 8, .usual = 4};
  const std::vector<DimSizes> at = {{{"N", 2}}, {{"N", 8}}};
  StatusOr<SizedModel> model = ImportAtSizes(import_model, options, at);
  INFO(model.status());
  REQUIRE(model.ok());
  REQUIRE(model->graphs.size() == 3);
  CHECK(model->graphs[0].shape_vars.size() == 1);
  CHECK(model->listed.sizes == std::vector<Sizes>{{2}, {8}});
  const std::vector<DimSizes> beyond = {{{"N", 2}}, {{"N", 9}}};
  CHECK(Message(ImportAtSizes(import_model, options, beyond).status()) ==
        "size N=9 is outside the range 1..8 of dimension 'N'");
}

// Returns the arena of a plan at the usual sizes, as a multiple of what PlanMemory needs for
// buffers of these sizes.
double ArenaRatio(Graph graph) {
  CompileOptions options{.target = *FindTarget("reference")};
  Sizes usual;
  for (const Var& var : graph.shape_vars) usual.push_back(var->usual);
  Status status = RunGraphPasses(graph);
  INFO(status);
  REQUIRE(status.ok());
  const FusedGraph fused = FuseSubgraphs(std::move(graph), options.target, options.numeric);
  StatusOr<KernelSet> kernels = MakeKernels({&fused, 1}, options);
  INFO(kernels.status());
  REQUIRE(kernels.ok());
  StatusOr<ExecutionPlan> plan = BuildExecutionPlan({&fused, 1}, {}, *kernels, options.target);
  INFO(plan.status());
  REQUIRE(plan.ok());
  std::vector<LiveBuffer> live;
  for (const ArenaValue& value : plan->arena[0]) {
    live.push_back({value.bytes, value.first, value.last});
  }
  const int64_t arena = RunSizesByShape(plan->plan).For(usual).value()->arena_bytes;
  return static_cast<double>(arena) / static_cast<double>(PlanMemory(live).arena_bytes);
}

// An encoder of two layers over free batch B and length S.
Graph Encoder() {
  std::string text = R"(graph encoder {
  dim B in 1..32 usual 4
  dim S in 1..512 usual 128
  input x0: f32[B, S, 64]
  constant heads: i64[4]
  constant flat: i64[3]
  constant square: f32[64x64]
  constant up: f32[64x256]
  constant down: f32[256x64]
)";
  for (int i : {0, 1}) {
    for (const char* part : {"q", "k", "v"}) {
      text += fmt::format(R"(
  {0}{1} = MatMul(x{1}, square) : f32[]
  {0}r{1} = Reshape({0}{1}, heads) {{allowzero: 0}} : f32[]
  {0}t{1} = Transpose({0}r{1}) {{perm: [{2}]}} : f32[])",
                          part, i, part[0] == 'k' ? "0, 2, 3, 1" : "0, 2, 1, 3");
    }
    text += fmt::format(R"(
  s{0} = MatMul(qt{0}, kt{0}) : f32[]
  p{0} = Softmax(s{0}) {{axis: 3}} : f32[]
  z{0} = MatMul(p{0}, vt{0}) : f32[]
  zt{0} = Transpose(z{0}) {{perm: [0, 2, 1, 3]}} : f32[]
  zr{0} = Reshape(zt{0}, flat) {{allowzero: 0}} : f32[]
  o{0} = MatMul(zr{0}, square) : f32[]
  a{0} = Add(x{0}, o{0}) : f32[]
  u{0} = MatMul(a{0}, up) : f32[]
  g{0} = Relu(u{0}) : f32[]
  d{0} = MatMul(g{0}, down) : f32[]
  x{1} = Add(a{0}, d{0}) : f32[])",
                        i, i + 1);
  }
  auto list = [](const Sizes& values) {
    Tensor tensor = MakeZeroTensor(kInt64, {std::ssize(values)});
    for (size_t i = 0; i < values.size(); ++i) {
      SetElementInt(tensor, static_cast<int64_t>(i), values[i]);
    }
    return tensor;
  };
  return ParsedGraph(text + "\n  return x2\n}", {{"heads", list({0, 0, 4, 16})},
                                                 {"flat", list({0, 0, 64})},
                                                 {"square", MakeZeroTensor(kFloat32, {64, 64})},
                                                 {"up", MakeZeroTensor(kFloat32, {64, 256})},
                                                 {"down", MakeZeroTensor(kFloat32, {256, 64})}});
}

TEST_CASE("an arena of free sizes is no larger than one of known sizes at the usual ones",
          "[compiler][free_sizes]") {
  const Var n = ShapeVar("N", 1, 64, 8);
  for (const char* network : {"dqn", "resnet18", "resnet50", "mobilenet_v2", "r3d_18", "dcgan"}) {
    INFO(network);
    CHECK(ArenaRatio(WithBatch(BuildZoo(network, {.small = true}).value(), n)) <= 1);
  }
  CHECK(ArenaRatio(Encoder()) <= 1);
}

TEST_CASE("buffers of free size that are live together never overlap", "[compiler][free_sizes]") {
  const Var n = ShapeVar("N", 1, 64, 8), m = ShapeVar("M", 0, 64, 16);
  Random random(31);
  for (int round = 0; round < 60; ++round) {
    std::vector<FreeBuffer> buffers;
    std::vector<LiveBuffer> usual;
    for (int64_t i = 0; i < 3 + round % 20; ++i) {
      const Expr by[] = {Expr(1), n, m, n * m};
      Expr bytes = by[random.Below(4)] * Expr(random.Between(1, 300));
      int64_t first = random.Between(0, 20);
      LiveBuffer live{AtUsual(bytes).value(), first, first + random.Between(0, 5)};
      buffers.push_back({bytes, live});
      usual.push_back(live);
    }
    FreeMemoryPlan plan = PlanFreeMemory(buffers, [&](const std::vector<Expr>& formulas) {
      Expr maximum = formulas[0];
      for (const Expr& formula : formulas) maximum = MaxOf(maximum, formula);
      return maximum;
    });
    CHECK(AtUsual(plan.arena_bytes).value() <= PlanMemory(usual).arena_bytes);
    for (const Sizes& at : {Sizes{8, 16}, {1, 0}, {64, 1}, {3, 64}}) {
      const Assignment sizes = {{n, at[0]}, {m, at[1]}};
      auto value = [&](const Expr& formula) { return EvaluateInt(formula, sizes).value(); };
      for (size_t i = 0; i < buffers.size(); ++i) {
        const int64_t begin = value(plan.offsets[i]), end = begin + value(buffers[i].bytes);
        CHECK(begin % kArenaAlignment == 0);
        CHECK(end <= value(plan.arena_bytes));
        for (size_t j = 0; j < i; ++j) {
          const LiveBuffer &a = usual[i], &b = usual[j];
          if (a.first > b.last || b.first > a.last) continue;
          const int64_t other = value(plan.offsets[j]), its_end = other + value(buffers[j].bytes);
          CHECK((end <= other || its_end <= begin));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tcc
