#include "compiler/check/check_layers.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "compiler/check/random_inputs.h"
#include "compiler/compile_graph.h"
#include "compiler/devices/emulated_device.h"
#include "graph/passes/graph_pipeline.h"
#include "models/zoo/zoo.h"
#include "support/random.h"
#include "tests/compiler/random_graph.h"
#include "tests/compiler/run_compiled.h"
#include "tests/ir/parsed_graph.h"

namespace tcc {
namespace {

struct Checked {
  Notes notes;
  std::vector<CheckedCall> calls;
};

StatusOr<std::vector<CheckedCall>> Check(const Graph& model, Artefact artefact, const Notes& notes,
                                         NumericMode numeric) {
  Graph graph = model;
  TCC_RETURN_IF_ERROR(RunGraphPasses(graph, FindTarget(artefact.target)->kind));
  Module module = Loaded(std::move(artefact));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, RandomInputs(module.metadata(), 1));
  LayerOptions options;
  options.numeric = numeric;
  return CheckLayers(module, graph, notes, inputs, options);
}

Checked CheckWell(const Graph& model, const Artefact& artefact,
                  NumericMode numeric = NumericMode::kStrict) {
  StatusOr<Notes> notes = NotesOf(artefact);
  INFO(notes.status());
  REQUIRE(notes.ok());
  StatusOr<std::vector<CheckedCall>> calls = Check(model, artefact, *notes, numeric);
  INFO(calls.status());
  REQUIRE(calls.ok());
  return {*std::move(notes), *std::move(calls)};
}

// Returns the nodes of the first call that differs; none if no kernel does.
std::vector<std::string> FirstToDiffer(const Checked& checked) {
  auto first = std::ranges::find_if(checked.calls, &CheckedCall::differs);
  if (first == checked.calls.end()) return {};
  return checked.notes.calls[first->call].nodes;
}

// Returns the place of the weights that the call alone reads; nothing if it shares all.
std::optional<std::pair<int64_t, int64_t>> OwnWeights(const Plan& plan, const PlanCall& call) {
  for (BufferId id : call.buffers) {
    const PlanBuffer& buffer = plan.buffers[id];
    if (buffer.kind != BufferKind::kWeight || !buffer.offset.AsConstant()) continue;
    int64_t begin = *buffer.offset.AsConstant(), bytes = *buffer.bytes.AsConstant();
    auto overlaps = [&](BufferId other) {
      const PlanBuffer& b = plan.buffers[other];
      return b.kind == BufferKind::kWeight && b.offset.AsConstant() &&
             *b.offset.AsConstant() < begin + bytes &&
             begin < *b.offset.AsConstant() + *b.bytes.AsConstant();
    };
    int readers = 0;
    for (const PlanCall* reader : CallsIn(plan.body)) {
      readers += std::ranges::any_of(reader->buffers, overlaps);
    }
    if (readers == 1 && bytes >= 64) return std::pair(begin, bytes);
  }
  return std::nullopt;
}

// Returns the artefact, written and read again, with other signs of the floats at a place of the
// weights.
Artefact WithFault(const Artefact& artefact, std::pair<int64_t, int64_t> place) {
  Artefact spoilt = artefact;
  std::vector<uint8_t> weights(artefact.weights.bytes.begin(), artefact.weights.bytes.end());
  for (int64_t at = place.first + 3; at < place.first + place.second; at += 4) weights[at] ^= 0x80;
  spoilt.weights = OwnBytes(std::move(weights));
  std::string path = std::filesystem::temp_directory_path() /
                     fmt::format("tcc_check_layers_test_{}.tcc", ::getpid());
  REQUIRE(WriteArtefact(spoilt, path).ok());
  StatusOr<Artefact> read = ReadArtefact(path);
  std::filesystem::remove(path);
  REQUIRE(read.ok());
  return *read;
}

TEST_CASE("a planted fault is named by its kernel's nodes, wherever it is",
          "[compiler][check_layers]") {
  for (const char* network : {"resnet18", "bert_base", "lstm_lm"}) {
    Graph graph = *BuildZoo(network, {.small = true, .seed = 1});
    Artefact artefact = Compiled(graph, "native");
    Checked right = CheckWell(graph, artefact);
    INFO(network);
    CHECK(FirstToDiffer(right).empty());
    CHECK(right.calls.size() == right.notes.calls.size());
    std::vector<const PlanCall*> calls = CallsIn(artefact.plan.body);
    int planted = 0, in_loops = 0;
    for (size_t i = 0; i < calls.size(); i += network == std::string("lstm_lm") ? 1 : 4) {
      std::optional<std::pair<int64_t, int64_t>> place = OwnWeights(artefact.plan, *calls[i]);
      if (!place) continue;
      const std::vector<std::string>& nodes = right.notes.calls[i].nodes;
      INFO(fmt::format("call {}: {}", i, nodes[0]));
      CHECK(FirstToDiffer(CheckWell(graph, WithFault(artefact, *place))) == nodes);
      ++planted;
      in_loops += right.notes.calls[i].within.empty() ? 0 : 1;
    }
    CHECK(planted >= 3);
    CHECK((in_loops > 0) == (network == std::string("lstm_lm")));
  }
}

TEST_CASE("no kernel differs by what a numeric mode rounds", "[compiler][check_layers]") {
  for (const char* network : {"resnet18", "bert_base", "lstm_lm"}) {
    Graph graph = *BuildZoo(network, {.small = true, .seed = 1});
    for (const char* mode : {"3xtf32", "tf32", "bf16", "fp16"}) {
      INFO(network << " " << mode);
      NumericMode numeric = *FindNumericMode(mode);
      Artefact artefact = Compiled(graph, *FindTarget("native"), 1, numeric);
      CHECK(FirstToDiffer(CheckWell(graph, artefact, numeric)).empty());
    }
  }
}

TEST_CASE("an error that a kernel inherits is not its own", "[compiler][check_layers]") {
  Graph graph = *BuildZoo("resnet18", {.small = true, .seed = 1});
  Artefact artefact = Compiled(graph, "native");
  size_t first = 1;
  std::vector<const PlanCall*> calls = CallsIn(artefact.plan.body);
  Checked checked =
      CheckWell(graph, WithFault(artefact, *OwnWeights(artefact.plan, *calls[first])));
  REQUIRE(checked.calls.at(first).differs());
  const CheckedCall& heir = checked.calls.at(first + 3);
  CHECK(heir.total.different > 0);
  REQUIRE(heir.own.has_value());
  CHECK(heir.own->different == 0);
  CHECK_FALSE(checked.calls.at(0).own.has_value());
}

TEST_CASE("values that lie in others are compared by their strides", "[compiler][check_layers]") {
  Graph graph = ParsedGraph(R"(graph parts {
  input x: f32[2x3x5]
  input y: f32[2x3x5]
  a = Tanh(x) : f32[2x3x5]
  b = Exp(y) : f32[2x3x5]
  both = Concat(a, b) {axis: 2} : f32[2x3x10]
  z = Neg(both) : f32[2x3x10]
  return z
})");
  for (const char* target : {"native", "reference"}) {
    Artefact artefact = Compiled(graph, target);
    Checked checked = CheckWell(graph, artefact);
    CHECK(FirstToDiffer(checked).empty());
    REQUIRE(checked.calls.size() == 3);
    CHECK(checked.notes.calls[1].writes[0].strides == std::vector<int64_t>{30, 10, 1});
    for (const CheckedCall& call : checked.calls) CHECK(call.total.elements >= 30);

    // A wrong place is a wrong result.
    Notes elsewhere = checked.notes;
    elsewhere.calls[1].writes[0].strides = {30, 10, 0};
    StatusOr<std::vector<CheckedCall>> calls =
        Check(graph, artefact, elsewhere, NumericMode::kStrict);
    REQUIRE(calls.ok());
    CHECK((*calls)[1].differs());
  }
}

TEST_CASE("a call that writes what others have not is compared whole", "[compiler][check_layers]") {
  // The input is copied into its part of the Concat; the other operand is computed in place.
  Graph graph = ParsedGraph(R"(graph parts {
  input x: f32[2x3x5]
  b = Exp(x) : f32[2x3x5]
  both = Concat(x, b) {axis: 2} : f32[2x3x10]
  z = Neg(both) : f32[2x3x10]
  return z
})");
  Artefact artefact = Compiled(graph, "native");
  Checked checked = CheckWell(graph, artefact);
  CHECK(FirstToDiffer(checked).empty());
  REQUIRE(checked.notes.calls.size() == 3);
  CHECK_FALSE(checked.notes.calls[1].writes_all);
  CHECK(checked.calls[1].total.elements == 60);
}

TEST_CASE("no kernel of random graphs differs", "[compiler][check_layers]") {
  Random random(5);
  for (int i = 0; i < 30; ++i) {
    Graph graph = RandomGraph(random, {.nodes = 12, .outputs = 2});
    INFO(Print(graph));
    Checked checked = CheckWell(graph, Compiled(graph, i % 2 == 0 ? "native" : "reference"));
    CHECK(FirstToDiffer(checked).empty());
  }
}

TEST_CASE("the kernels of an emulated GPU are compared as well", "[compiler][check_layers]") {
  StatusOr<LoadOptions> load = LoadOptionsFor(*FindTarget("sm_86"), Execution::kEmulator);
  if (!load.ok()) {
    WARN("skipped: nothing is emulated: " << Message(load.status()));
    return;
  }
  Graph graph = *BuildZoo("dqn", {.small = true, .seed = 1});
  CompileOptions options{.target = *FindTarget("sm_86")};
  options.gpu_code = GpuCode::kCudaText;
  StatusOr<Artefact> artefact = CompileGraph(graph, options);
  REQUIRE(artefact.ok());
  Notes notes = *NotesOf(*artefact);
  Graph optimized = graph;
  REQUIRE(RunGraphPasses(optimized, TargetKind::kGpu).ok());
  size_t at = 2;
  auto place = OwnWeights(artefact->plan, *CallsIn(artefact->plan.body)[at]);
  REQUIRE(place);
  for (bool wrong : {false, true}) {
    StatusOr<Module> module =
        Module::FromArtefact(wrong ? WithFault(*artefact, *place) : *artefact, *load);
    REQUIRE(module.ok());
    StatusOr<std::vector<CheckedCall>> calls =
        CheckLayers(*module, optimized, notes, *RandomInputs(module->metadata(), 1), {});
    REQUIRE(calls.ok());
    std::vector<std::string> expected;
    if (wrong) expected = notes.calls[at].nodes;
    CHECK(FirstToDiffer({notes, *calls}) == expected);
  }
}

TEST_CASE("notes that do not fit the model are refused", "[compiler][check_layers]") {
  Graph graph = *BuildZoo("dqn", {.small = true, .seed = 1});
  Artefact artefact = Compiled(graph, "native");
  const Notes notes = *NotesOf(artefact);
  auto refusal = [&](const std::function<void(Notes&)>& change) {
    Notes changed = notes;
    change(changed);
    return Message(Check(graph, artefact, changed, NumericMode::kStrict).status());
  };
  CHECK(refusal([](Notes&) {}).empty());
  CHECK(refusal([](Notes& n) {
          n.after.nodes[1].name = "other";
        }).find("node 1 of the optimized graph is 'other' (") != std::string::npos);
  CHECK(refusal([](Notes& n) { n.after.nodes[1].inputs[0] = "other"; }).find(", reads 'other'") !=
        std::string::npos);
  CHECK(refusal([](Notes& n) {
          n.after.nodes[1].outputs[0] = "other";
        }).find(", writes 'other' in its notes and '") != std::string::npos);
  CHECK(refusal([](Notes& n) {
          n.after.nodes.pop_back();
        }).find("the nodes of the optimized graph are ") != std::string::npos);
  CHECK(refusal([](Notes& n) {
          n.after.inputs[0] = "other";
        }).find("the inputs are 'other' in its notes and '") != std::string::npos);
  CHECK(refusal([](Notes& n) {
          n.after.types.begin()->second = "f32[1]";
        }).find("' is f32[1] in its notes and ") != std::string::npos);
  CHECK(refusal([](Notes& n) { n.calls[0].writes[0].value = "nosuch"; }) ==
        "notes: the model has no value 'nosuch'");
  CHECK(refusal([](Notes& n) { n.calls[0].within = {{0, 7}}; }) == "notes: node 0 has no body 7");
  CHECK(refusal([](Notes& n) { n.calls[0].writes[0].shape.push_back(2); }).starts_with("notes: '"));
  CHECK(refusal([](Notes& n) {
          OperandNotes& operand = n.calls[0].writes[0];
          operand.strides.assign(operand.shape.size(), int64_t{1} << 40);
        }).find(" bytes; its buffer has ") != std::string::npos);
}

}  // namespace
}  // namespace tcc
