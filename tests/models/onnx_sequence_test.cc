#include <catch2/catch.hpp>

#include "models/onnx/import_onnx.h"
#include "tests/models/onnx_bytes.h"

using namespace tcc;
using namespace tcc::onnx_bytes;
using Catch::Matchers::Contains;

namespace {

// tests/cli/sequences_test.py compares results; here no shapes are inferred.
StatusOr<Graph> Import(const std::vector<NodeSpec>& nodes,
                       const std::vector<Wire>& initializers = {}) {
  return ImportOnnxBytes(AsSpan(ModelOf({.nodes = nodes,
                                         .inputs = {InputOf("x", kOnnxFloat, {"3", "4"})},
                                         .outputs = {"y"},
                                         .initializers = initializers})));
}

Wire Scalar(const std::string& name, int64_t value) {
  return RawTensor(name, kOnnxInt64, {}, RawBytes<int64_t>({value}));
}

NodeSpec Split(const std::vector<std::string>& inputs, const std::vector<Wire>& attributes = {}) {
  return {.op = "SplitToSequence", .inputs = inputs, .outputs = {"s"}, .attributes = attributes};
}

const NodeSpec kAt{.op = "SequenceAt", .inputs = {"s", "p"}, .outputs = {"y"}};

std::vector<OpKind> KindsOf(const Graph& graph) {
  std::vector<OpKind> kinds;
  for (const Node& node : graph.nodes) kinds.push_back(node.op);
  return kinds;
}

}  // namespace

TEST_CASE("a split by a list needs no shape, and keepdims does not matter to it",
          "[models][import]") {
  StatusOr<Graph> graph = Import({Split({"x", "parts"}, {IntAttr("keepdims", 0)}), kAt},
                                 {Ints("parts", {1, 2}), Scalar("p", -1)});
  REQUIRE(graph.status() == OkStatus());
  CHECK(KindsOf(*graph) == std::vector{OpKind::kSplit, OpKind::kIdentity});
  const Node& split = graph->nodes[0];
  REQUIRE(split.outputs.size() == 2);
  CHECK(graph->nodes[1].inputs[0] == split.outputs[1]);
  CHECK(graph->value(graph->outputs[0]).name == "y");
}

TEST_CASE("a split into parts of one extent is refused where no shapes are inferred",
          "[models][import]") {
  Status status = Import({Split({"x"}), kAt}, {Scalar("p", 0)}).status();
  CHECK(status.code() == absl::StatusCode::kUnimplemented);
  CHECK_THAT(Message(status), Contains("node 's' (SplitToSequence): the number of parts of 'x' is "
                                       "not known: the import infers no shapes"));
}

TEST_CASE("the length of a sequence is a constant, and no node is left of the sequence",
          "[models][import]") {
  StatusOr<Graph> graph =
      Import({{.op = "SequenceConstruct", .inputs = {"x", "x", "x"}, .outputs = {"s"}},
              {.op = "SequenceErase", .inputs = {"s"}, .outputs = {"t"}},
              {.op = "SequenceLength", .inputs = {"t"}, .outputs = {"y"}}});
  REQUIRE(graph.status() == OkStatus());
  CHECK(graph->nodes.empty());
  const Tensor* length = graph->ConstantOf(graph->outputs[0]);
  REQUIRE(length != nullptr);
  CHECK(length->shape.empty());
  CHECK(ElementAsInt(*length, 0) == 2);
}

TEST_CASE("a part without any element is refused", "[models][import]") {
  Status status = Import({Split({"x", "part"}), kAt}, {Scalar("part", 0), Scalar("p", 0)}).status();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(Message(status), Contains("parts of 0 elements; expected 1 or more"));
}

TEST_CASE("a chain of inserts ends before its sequences fill the memory", "[models][import]") {
  std::vector<std::string> first(4096, "x");
  std::vector<NodeSpec> nodes = {{.op = "SequenceConstruct", .inputs = first, .outputs = {"s0"}}};
  for (int i = 0; i < 5000; ++i) {
    nodes.push_back({.op = "SequenceErase",
                     .inputs = {"s" + std::to_string(i)},
                     .outputs = {"t" + std::to_string(i)}});
    nodes.push_back({.op = "SequenceInsert",
                     .inputs = {"t" + std::to_string(i), "x"},
                     .outputs = {"s" + std::to_string(i + 1)}});
  }
  nodes.push_back({.op = "SequenceLength", .inputs = {"s5000"}, .outputs = {"y"}});
  Status status = Import(nodes).status();
  CHECK(status.code() == absl::StatusCode::kUnimplemented);
  CHECK_THAT(Message(status), Contains("the model's sequences have more than 16777216 elements"));
}
