#include <catch2/catch.hpp>

#include "models/onnx/import_onnx.h"
#include "tests/models/onnx_bytes.h"

using namespace tcc;
using namespace tcc::onnx_bytes;
using Catch::Matchers::Contains;

namespace {

StatusOr<Graph> Import(const std::vector<NodeSpec>& nodes) {
  return ImportOnnxBytes(AsSpan(ModelOf({.nodes = nodes,
                                         .inputs = {InputOf("x", kOnnxFloat, {"3"})},
                                         .outputs = {"y"},
                                         .opset = 18})));
}

bool KnownResult(const std::vector<NodeSpec>& nodes) {
  StatusOr<Graph> graph = Import(nodes);
  INFO(graph.status());
  REQUIRE(graph.ok());
  const Tensor* result = graph->ConstantOf(graph->outputs[0]);
  REQUIRE(result != nullptr);
  CHECK(result->dtype == kBool);
  CHECK(result->shape.empty());
  return ElementAsInt(*result, 0) != 0;
}

NodeSpec Empty() {
  Wire type = Wire().Sub(1, Wire().Varint(1, kOnnxFloat));
  return {.op = "Optional",
          .outputs = {"o"},
          .attributes = {Wire().Bytes(1, "type").Varint(20, 13).Sub(14, type)}};
}

}  // namespace

TEST_CASE("a tensor has an element, and nothing has none", "[models][import]") {
  CHECK(KnownResult({{.op = "OptionalHasElement", .inputs = {"x"}, .outputs = {"y"}}}));
  CHECK_FALSE(KnownResult({{.op = "OptionalHasElement", .outputs = {"y"}}}));
  CHECK_FALSE(KnownResult({{.op = "OptionalHasElement", .inputs = {""}, .outputs = {"y"}}}));
  CHECK_FALSE(
      KnownResult({Empty(), {.op = "OptionalHasElement", .inputs = {"o"}, .outputs = {"y"}}}));
}

TEST_CASE("a branch that is taken may give an empty optional", "[models][import]") {
  ModelSpec none{.nodes = {Empty()}, .outputs = {"o"}};
  ModelSpec some{.nodes = {{.op = "Optional", .inputs = {"x"}, .outputs = {"s"}}},
                 .outputs = {"s"}};
  for (int64_t value : {0, 1}) {
    Wire condition =
        TensorAttr("value", RawTensor("", kOnnxBool, {}, std::string(1, static_cast<char>(value))));
    CHECK(KnownResult({{.op = "Constant", .outputs = {"c"}, .attributes = {condition}},
                       {.op = "If",
                        .inputs = {"c"},
                        .outputs = {"taken"},
                        .attributes = {GraphAttr("then_branch", GraphOf(some)),
                                       GraphAttr("else_branch", GraphOf(none))}},
                       {.op = "OptionalHasElement", .inputs = {"taken"}, .outputs = {"y"}}}) ==
          (value == 1));
  }
}

TEST_CASE("the element of an optional tensor is the tensor", "[models][import]") {
  NodeSpec get{.op = "OptionalGetElement", .inputs = {"o"}, .outputs = {"y"}};
  StatusOr<Graph> graph = Import({{.op = "Optional", .inputs = {"x"}, .outputs = {"o"}}, get});
  REQUIRE(graph.status() == OkStatus());
  for (const Node& node : graph->nodes) CHECK(node.op == OpKind::kIdentity);
  CHECK(graph->value(graph->outputs[0]).name == "y");
  CHECK(graph->value(graph->outputs[0]).dtype == kFloat32);
  get.inputs = {"x"};
  CHECK(Import({get}).status() == OkStatus());
}

TEST_CASE("an empty optional gives no element and is no output", "[models][import]") {
  NodeSpec get{.op = "OptionalGetElement", .inputs = {"o"}, .outputs = {"y"}};
  CHECK_THAT(Message(Import({Empty(), get}).status()),
             Contains("node 'y' (OptionalGetElement): the optional is empty"));
  NodeSpec output = Empty();
  output.outputs = {"y"};
  CHECK_THAT(Message(Import({output}).status()), Contains("output 'y' is an empty optional"));
}
