// Values that kernels for GPUs hand on in the type that --numeric rounds operands to.

#include "graph/variants/narrow_values.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "compiler/check/check_layers.h"
#include "compiler/check/random_inputs.h"
#include "compiler/compile_graph.h"
#include "compiler/compile_kernels.h"
#include "compiler/describe_model.h"
#include "compiler/devices/emulated_device.h"
#include "compiler/execution_plan.h"
#include "compiler/prepare_weights.h"
#include "graph/passes/edit.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/variants/alias_parts.h"
#include "ir/text/printer.h"
#include "models/zoo/zoo.h"
#include "runtime/artefact/artefact_device.h"
#include "runtime/executor/executor.h"
#include "tests/compiler/random_parts.h"
#include "tests/ir/parsed_graph.h"

namespace tcc {
namespace {

using Names = std::vector<std::string>;
using Sizes = std::vector<int64_t>;

constexpr NumericMode kNarrowModes[] = {NumericMode::kFp16, NumericMode::kBf16, NumericMode::kTf32};

Graph Small(const char* network) {
  return *BuildZoo(network, {.small = true, .seed = 1});
}

FusedGraph Fused(Graph graph, NumericMode numeric, const char* target = "sm_80") {
  const Target machine = *FindTarget(target);
  Status passed = RunGraphPasses(graph, machine.kind);
  INFO(passed);
  REQUIRE(passed.ok());
  return FuseSubgraphs(std::move(graph), machine, numeric);
}

Names NarrowIn(const Graph& graph, NumericMode numeric = NumericMode::kFp16,
               const char* target = "sm_80") {
  const FusedGraph fused = Fused(graph, numeric, target);
  Names names;
  for (const auto& [id, type] : fused.storage.types) {
    CHECK(type == *RowOf(numeric).type);
    names.push_back(fused.graph.value(id).name);
  }
  return names;
}

bool Holds(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Returns the narrow values of a graph of products by w: f32[4x4].
Names NarrowAmong(const std::string& body) {
  const std::string text = "graph products {\n  constant w: f32[4x4]\n";
  return NarrowIn(ParsedGraph(text + body + "}\n", {{"w", Weights({4, 4})}}));
}

TEST_CASE("in a transformer's layer the results of GELU and attention are narrow",
          "[compiler][narrow_values]") {
  const Names names = NarrowIn(Small("bert_base"));
  CHECK(Holds(names, "layer0.gelu"));
  CHECK(Holds(names, "layer0.attention.mix"));
  CHECK(Holds(names, "layer0.join"));
  // The residual addition reads them as well, and attention the product.
  CHECK_FALSE(Holds(names, "layer0.ln1"));
  CHECK_FALSE(Holds(names, "layer0.ln2"));
  for (const std::string& name : names) {
    INFO(name);
    CHECK(name.find("query") == name.npos);
    CHECK(name.find("ln") == name.npos);
  }
}

TEST_CASE("in a bottleneck the values between its convolutions are narrow",
          "[compiler][narrow_values]") {
  const Names names = NarrowIn(Small("resnet50"), NumericMode::kBf16);
  for (const char* block : {"layer1.0", "layer3.2"}) {
    INFO(block);
    CHECK(Holds(names, std::string(block) + ".relu1"));
    CHECK(Holds(names, std::string(block) + ".relu2"));
    CHECK_FALSE(Holds(names, std::string(block) + ".relu"));
    CHECK_FALSE(Holds(names, std::string(block) + ".add"));
  }
}

TEST_CASE("values are narrow on GPUs, in modes with a type", "[compiler][narrow_values]") {
  const Graph graph = Small("resnet18");
  CHECK(NarrowIn(graph, NumericMode::kFp16, "sm_75").size() > 8);
  CHECK(NarrowIn(graph, NumericMode::kTf32) == NarrowIn(graph, NumericMode::kFp16));
  for (NumericMode numeric : {NumericMode::kStrict, NumericMode::k3xTf32}) {
    CHECK(NarrowIn(graph, numeric).empty());
  }
  CHECK(NarrowIn(graph, NumericMode::kBf16, "x86-64-v4").empty());
  CHECK(NarrowIn(graph, NumericMode::kBf16, "reference").empty());
}

TEST_CASE("a value is narrow if every reader rounds it whole", "[compiler][narrow_values]") {
  const std::string product = R"(
  input x: f32[4x4]
  a = Tanh(x) : f32[]
  y = MatMul(a, w) : f32[]
)";
  CHECK(NarrowAmong(product + "  return y\n") == Names{"a"});
  CHECK(NarrowAmong(product + "  z = MatMul(w, a) : f32[]\n  return y, z\n") == Names{"a"});
  CHECK(NarrowAmong(product + "  z = MatMul(a, a) : f32[]\n  return y, z\n") == Names{"a"});
  const std::string square = "  z = Einsum(a, a) {equation: \"ij,ij->i\"} : f32[]\n";
  CHECK(NarrowAmong(product + square + "  return y, z\n").empty());
  CHECK(NarrowAmong(product + "  z = Add(y, a) : f32[]\n  return z\n").empty());
  CHECK(NarrowAmong(product + "  z = Softmax(a) : f32[]\n  return y, z\n").empty());
  CHECK(NarrowAmong(product + "  return y, a\n").empty());
}

TEST_CASE("values that share bytes are narrow together or not at all",
          "[compiler][narrow_values]") {
  const std::string joined = R"(
  input x: f32[4x2]
  a = Tanh(x) : f32[]
  b = Exp(x) : f32[]
  both = Concat(a, b) {axis: 1} : f32[]
  y = MatMul(both, w) : f32[]
)";
  CHECK(NarrowAmong(joined + "  return y\n") == Names{"a", "b", "both"});
  CHECK(NarrowAmong(joined + "  z = Neg(b) : f32[]\n  return y, z\n").empty());
  const std::string viewed = R"(
  input x: f32[2x8]
  constant shape: i64[2]
  a = Tanh(x) : f32[]
  seen = Reshape(a, shape) : f32[]
  y = MatMul(seen, w) : f32[]
)";
  auto narrow = [&](const std::string& rest) {
    return NarrowIn(ParsedGraph("graph viewed {\n  constant w: f32[4x4]\n" + viewed + rest + "}\n",
                                {{"w", Weights({4, 4})}, {"shape", Ints({4, 4})}}));
  };
  CHECK(narrow("  return y\n") == Names{"a", "seen"});
  CHECK(narrow("  z = Neg(a) : f32[]\n  return y, z\n").empty());
}

TEST_CASE("values that a Loop reads or computes are not narrow", "[compiler][narrow_values]") {
  const Graph graph = ParsedGraph(R"(graph looped {
    constant w: f32[4x4]
    constant trips: i64[]
    input x: f32[4x4]
    a = Tanh(x) : f32[]
    last = Loop(trips, _, a) {carried: 1} : f32[]
      body step {
        input i: i64[]
        input c: bool[]
        input sum: f32[]
        constant yes: bool[]
        constant v: f32[4x4]
        t = Tanh(sum) : f32[]
        more = MatMul(t, v) : f32[]
        return yes, more
      }
    y = MatMul(last, w) : f32[]
    z = MatMul(a, w) : f32[]
    return y, z
  })",
                                  {{"w", Weights({4, 4})},
                                   {"v", Weights({4, 4})},
                                   {"trips", ReshapedTensor(Ints({3}), {})},
                                   {"yes", [] {
                                      Tensor yes = MakeZeroTensor(kBool, {});
                                      SetElementInt(yes, 0, 1);
                                      return yes;
                                    }()}});
  CHECK(NarrowIn(graph).empty());
}

TEST_CASE("a sum is rounded behind its reduction, and a narrow operand makes no copy",
          "[compiler][narrow_values]") {
  const FusedGraph fused = Fused(ParsedGraph(R"(graph chain {
    constant w: f32[4x4]
    input x: f32[4x4]
    a = MatMul(x, w) : f32[]
    y = MatMul(a, w) : f32[]
    return y
  })",
                                             {{"w", Weights({4, 4})}}),
                                 NumericMode::kFp16);
  CompileOptions options{.target = *FindTarget("sm_80"), .numeric = NumericMode::kFp16};
  const KernelSet set = CollectKernels({&fused, 1}, options).value();
  REQUIRE(set.tasks.size() == 2);
  const std::string first = Print(set.tasks[0].variants[0].fn);
  const std::string second = Print(set.tasks[1].variants[0].fn);
  INFO(first << second);
  CHECK(first.find("alloc a_f32: f32[4, 4]") != first.npos);
  CHECK(first.find("a[i0, i1] = f16(a_f32[i0, i1])") != first.npos);
  CHECK(second.find("(a: f16[4, 4]") != second.npos);
  CHECK(second.find("f32(a[i, k]) * f32(w_f16[k, j])") != second.npos);
  CHECK(set.tasks[1].numeric == NumericMode::kFp16);
  CHECK(*set.tasks[0].moved_bytes == 64 + 64 + 32);
  CHECK(*set.tasks[1].moved_bytes == 32 + 64 + 64);
}

// The artefact of a graph for an emulated GPU.
Artefact Built(FusedGraph fused, NumericMode numeric) {
  CompileOptions options{.target = *FindTarget("sm_80"), .verify = true};
  options.numeric = numeric;
  options.gpu_code = GpuCode::kCudaText;
  const std::array graphs = {std::move(fused)};
  KernelSet kernels = MakeKernels(graphs, options).value();
  CompiledModule code = CompileKernels(kernels, options).value();
  ExecutionPlan plan = BuildExecutionPlan(graphs, {}, kernels, options.target).value();
  REQUIRE(PrepareWeights(kernels, plan.prepared, 1, {}).ok());
  Artefact artefact;
  artefact.target = options.target.name;
  artefact.device = ArtefactDevice(options.target);
  artefact.kernels = OwnBytes(std::move(code.image));
  artefact.weights = plan.weights;
  artefact.plan = std::move(plan.plan);
  artefact.metadata = DescribeModel(graphs, {}, OutputNames(graphs[0].graph), kernels, code,
                                    options.target, numeric)
                          .value();
  return artefact;
}

// Returns the graph with all values as wide as they are.
FusedGraph AllWide(const FusedGraph& fused) {
  FusedGraph wide = fused;
  wide.subgraphs = FuseGraph(wide.graph, FusionFor(FindTarget("sm_86").value()));
  wide.storage = {
      .parts = AliasParts(wide.graph, wide.subgraphs, FindTarget("sm_80")->BufferAlignment())};
  return wide;
}

// Checks that narrow values change no bit of the results at these sizes.
void CheckSameBits(const Graph& graph, NumericMode numeric, const std::vector<Sizes>& sizes) {
  const FusedGraph fused = Fused(graph, numeric);
  REQUIRE_FALSE(fused.storage.types.empty());
  Artefact narrow = Built(fused, numeric), wide = Built(AllWide(fused), numeric);
  if (std::optional<int64_t> bytes = narrow.plan.arena_bytes.AsConstant()) {
    const int64_t all = *wide.plan.arena_bytes.AsConstant();
    CHECK((numeric == NumericMode::kTf32 ? *bytes == all : *bytes < all));
  }
  StatusOr<LoadOptions> load = LoadOptionsFor(*FindTarget("sm_80"), Execution::kEmulator);
  if (!load.ok()) {
    WARN("skipped: nothing is emulated: " << Message(load.status()));
    return;
  }
  Module narrow_module = Module::FromArtefact(std::move(narrow), *load).value();
  Module wide_module = Module::FromArtefact(std::move(wide), *load).value();
  for (const Sizes& size : sizes) {
    std::vector<Tensor> inputs = *RandomInputs(narrow_module.metadata(), 3, size);
    std::vector<Tensor> got = Executor(narrow_module).Run(inputs).value();
    std::vector<Tensor> expected = Executor(wide_module).Run(inputs).value();
    REQUIRE(got.size() == expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      CHECK(std::ranges::equal(got[i].bytes, expected[i].bytes));
    }
  }
}

TEST_CASE("narrow values change no bit of a network's results", "[compiler][narrow_values][gpu]") {
  for (NumericMode numeric : kNarrowModes) {
    INFO(RowOf(numeric).name);
    CheckSameBits(Small("bert_base"), numeric, {{}});
    CheckSameBits(Small("dqn"), numeric, {{}});
  }
}

TEST_CASE("narrow values of free sizes change no bit, in aliased parts either",
          "[compiler][narrow_values][gpu]") {
  const Graph graph = ParsedGraph(
      R"(graph parts {
    dim N in 0..64 usual 24
    constant left: f32[16x24]
    constant right: f32[16x40]
    constant w: f32[64x8]
    input x: f32[N, 16]
    a = MatMul(x, left) : f32[]
    b = MatMul(x, right) : f32[]
    active = Relu(b) : f32[]
    both = Concat(a, active) {axis: 1} : f32[]
    y = MatMul(both, w) : f32[]
    return y
  })",
      {{"left", Weights({16, 24})}, {"right", Weights({16, 40})}, {"w", Weights({64, 8})}});
  const FusedGraph fused = Fused(graph, NumericMode::kFp16);
  REQUIRE(fused.storage.parts.size() == 2);
  for (const auto& [id, part] : fused.storage.parts) {
    bool first = IsConstant(part.offset, 0);
    CHECK((first || IsConstant(part.offset, 24 * 2)));
    CHECK(IsConstant(part.strides[0], 64));
  }
  for (NumericMode numeric : kNarrowModes) {
    CheckSameBits(graph, numeric, {{0}, {1}, {24}, {33}});
  }
}

TEST_CASE("a kernel that only moves elements moves narrow ones", "[compiler][narrow_values][gpu]") {
  const Graph graph = ParsedGraph(R"(graph turned {
    constant left: f32[16x16]
    constant right: f32[16x24]
    input x: f32[16x32]
    a = Tanh(x) : f32[]
    turned = Transpose(a) {perm: [1, 0]} : f32[]
    y = MatMul(turned, left) : f32[]
    z = MatMul(turned, right) : f32[]
    return y, z
  })",
                                  {{"left", Weights({16, 16})}, {"right", Weights({16, 24})}});
  const FusedGraph fused = Fused(graph, NumericMode::kBf16);
  CompileOptions options{.target = *FindTarget("sm_80"), .numeric = NumericMode::kBf16};
  const KernelSet set = CollectKernels({&fused, 1}, options).value();
  REQUIRE(set.tasks.size() == 4);
  const std::string move = Print(set.tasks[1].variants[0].fn);
  INFO(move);
  CHECK(move.find("turned[i, j] = a[j, i]") != move.npos);
  CHECK(*set.tasks[1].moved_bytes == 2 * 16 * 32 * 2);
  CheckSameBits(graph, NumericMode::kBf16, {{}});
}

TEST_CASE("a check by layers compares narrow values as they are stored",
          "[compiler][narrow_values][gpu]") {
  const Graph model = Small("bert_base");
  CompileOptions options{.target = *FindTarget("sm_80"), .numeric = NumericMode::kFp16};
  options.gpu_code = GpuCode::kCudaText;
  const Artefact artefact = CompileGraph(model, options).value();
  const Notes notes = *NotesOf(artefact);
  auto writes = [&](const char* value) {
    for (const CallNotes& call : notes.calls) {
      for (const OperandNotes& operand : call.writes) {
        if (operand.value == value) return operand.type;
      }
    }
    FAIL("nothing writes " << value);
    return std::optional<DType>();
  };
  CHECK(writes("layer0.gelu") == kFloat16);
  CHECK(writes("layer0.ln1") == std::nullopt);
  StatusOr<LoadOptions> load = LoadOptionsFor(options.target, Execution::kEmulator);
  if (!load.ok()) {
    WARN("skipped: nothing is emulated: " << Message(load.status()));
    return;
  }
  Graph optimized = model;
  REQUIRE(RunGraphPasses(optimized, TargetKind::kGpu).ok());
  Module module = Module::FromArtefact(artefact, *load).value();
  LayerOptions how;
  how.numeric = NumericMode::kFp16;
  StatusOr<std::vector<CheckedCall>> calls =
      CheckLayers(module, optimized, notes, *RandomInputs(module.metadata(), 1), how);
  INFO(calls.status());
  REQUIRE(calls.ok());
  CHECK(calls->size() == notes.calls.size());
  for (const CheckedCall& call : *calls) {
    INFO(call.value);
    CHECK_FALSE(call.differs());
  }
}

}  // namespace
}  // namespace tcc
