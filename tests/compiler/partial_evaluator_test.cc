#include "compiler/partial_evaluator.h"

#include <catch2/catch.hpp>

#include "models/onnx/import_onnx.h"
#include "support/wanted_option.h"
#include "tests/models/onnx_bytes.h"

using namespace tcc;
using namespace tcc::onnx_bytes;
using Catch::Matchers::Contains;

namespace {

Wire Int(const std::string& name, int64_t value) {
  return RawTensor(name, kOnnxInt64, {}, RawBytes<int64_t>({value}));
}

// y = sr == 16000 ? Relu(x) : a branch of another type with an operator that does not exist. The
// nodes compute 'c'.
ModelSpec Rated(const std::vector<NodeSpec>& nodes) {
  ModelSpec then_graph{.nodes = {{.op = "Relu", .inputs = {"x"}, .outputs = {"t"}}},
                       .outputs = {"t"}};
  ModelSpec else_graph{.nodes = {{.op = "NoSuch", .inputs = {"x"}, .outputs = {"e"}},
                                 {.op = "Shape", .inputs = {"e"}, .outputs = {"s"}}},
                       .outputs = {"s", "e"}};
  ModelSpec spec{.nodes = nodes,
                 .inputs = {InputOf("x", kOnnxFloat, {"2", "3"}), InputOf("sr", kOnnxInt64, {})},
                 .outputs = {"y"},
                 .initializers = {Int("rate", 16000), Int("two", 2)}};
  spec.nodes.push_back({.op = "If",
                        .inputs = {"c"},
                        .outputs = {"y"},
                        .attributes = {GraphAttr("then_branch", GraphOf(then_graph)),
                                       GraphAttr("else_branch", GraphOf(else_graph))}});
  return spec;
}

std::vector<NodeSpec> IsRate() {
  return {{.op = "Equal", .inputs = {"sr", "rate"}, .outputs = {"c"}}};
}

StatusOr<Graph> Import(const ModelSpec& spec, ImportOptions options = {}) {
  options.facts_of = PartialEvaluator();
  return ImportOnnxBytes(AsSpan(ModelOf(spec)), options);
}

Tensor Rate(int64_t value) {
  Tensor tensor = MakeZeroTensor(kInt64, {});
  SetElementInt(tensor, 0, value);
  return tensor;
}

void CheckTaken(const StatusOr<Graph>& graph) {
  INFO(graph.status());
  REQUIRE(graph.ok());
  CHECK(graph->nodes.back().op == OpKind::kRelu);
  CHECK(graph->value(graph->outputs[0]).name == "y");
}

}  // namespace

TEST_CASE("a bound sampling rate chooses the branch, and the other one may hold anything",
          "[compiler][partial_evaluator]") {
  CheckTaken(Import(Rated(IsRate()), {.binds = {{"sr", Rate(16000)}}}));
  StatusOr<Graph> other = Import(Rated(IsRate()), {.binds = {{"sr", Rate(8000)}}});
  CHECK(other.status().code() == absl::StatusCode::kUnimplemented);
  CHECK_THAT(Message(other.status()), Contains("NoSuch"));
}

TEST_CASE("the static shape of a computed value chooses the branch",
          "[compiler][partial_evaluator]") {
  CheckTaken(Import(Rated({{.op = "Transpose", .inputs = {"x"}, .outputs = {"moved"}},
                           {.op = "Shape", .inputs = {"moved"}, .outputs = {"shape"}},
                           {.op = "Size", .inputs = {"shape"}, .outputs = {"rank"}},
                           {.op = "Equal", .inputs = {"rank", "two"}, .outputs = {"c"}}})));
}

TEST_CASE("a second condition uses what the first one found", "[compiler][partial_evaluator]") {
  // The rank is computed for both; the second condition also needs the shape that it came from.
  ModelSpec spec = Rated({{.op = "Transpose", .inputs = {"x"}, .outputs = {"moved"}},
                          {.op = "Shape", .inputs = {"moved"}, .outputs = {"shape"}},
                          {.op = "Size", .inputs = {"shape"}, .outputs = {"rank"}},
                          {.op = "Equal", .inputs = {"rank", "two"}, .outputs = {"c"}}});
  NodeSpec second = spec.nodes.back();
  second.inputs = {"d"};
  second.outputs = {"z"};
  spec.nodes.push_back({.op = "ReduceMin",
                        .inputs = {"shape"},
                        .outputs = {"least"},
                        .attributes = {IntAttr("keepdims", 0)}});
  spec.nodes.push_back({.op = "Equal", .inputs = {"least", "rank"}, .outputs = {"d"}});
  spec.nodes.push_back(second);
  spec.outputs.push_back("z");
  StatusOr<Graph> graph = Import(spec);
  INFO(graph.status());
  REQUIRE(graph.ok());
  for (const Node& node : graph->nodes) CHECK(node.bodies.empty());
}

TEST_CASE("branches of other types ask for the input that the condition is computed from",
          "[compiler][partial_evaluator]") {
  ModelSpec spec = Rated(IsRate());
  ModelSpec other{.nodes = {{.op = "Shape", .inputs = {"x"}, .outputs = {"n"}}}, .outputs = {"n"}};
  spec.nodes.back().attributes[1] = GraphAttr("else_branch", GraphOf(other));
  Status status = Import(spec).status();
  CHECK(status.code() == absl::StatusCode::kUnimplemented);
  CHECK_THAT(Message(status), Contains("the condition is computed from 'sr' at run time"));
  CHECK(WantedOptions(status) == std::vector<WantedOption>{{Option::kBinds, "sr"}});
}
