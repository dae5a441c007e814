#include <catch2/catch.hpp>

#include "models/onnx/import_onnx.h"
#include "models/onnx/onnx_known_rank.h"
#include "tests/models/onnx_bytes.h"

using namespace tcc;
using namespace tcc::onnx_bytes;
using Catch::Matchers::Contains;

namespace {

// One node over x: f32[2x3x8x8] and the given initializers; its first output is y.
StatusOr<Graph> Import(int64_t opset, const NodeSpec& node,
                       const std::vector<Wire>& initializers = {}) {
  return ImportOnnxBytes(AsSpan(ModelOf({.nodes = {node},
                                         .inputs = {InputOf("x", kOnnxFloat, {"2", "3", "8", "8"})},
                                         .outputs = {node.outputs[0]},
                                         .initializers = initializers,
                                         .opset = opset})));
}

Graph Normal(int64_t opset, const NodeSpec& node, const std::vector<Wire>& initializers = {}) {
  StatusOr<Graph> graph = Import(opset, node, initializers);
  INFO(node.op << " of opset " << opset);
  REQUIRE(graph.status() == OkStatus());
  return *graph;
}

std::string ErrorOf(int64_t opset, const NodeSpec& node,
                    const std::vector<Wire>& initializers = {}) {
  StatusOr<Graph> graph = Import(opset, node, initializers);
  return graph.ok() ? "no error" : Message(graph.status());
}

std::vector<int64_t> IntsOf(const Graph& graph, size_t input) {
  auto values = graph.ConstantOf(graph.nodes[0].inputs.at(input))->values<int64_t>();
  return {values.begin(), values.end()};
}

using Extents = std::vector<int64_t>;

}  // namespace

TEST_CASE("the rank behind every function of scalars is known", "[models][normalize]") {
  for (const ScalarKind& kind : kScalarKinds) {
    INFO(ToString(kind.op));
    Graph graph;
    ValueId vector = graph.AddValue({"vector", kFloat32, ToExprs({3}), {}});
    ValueId matrix = graph.AddValue({"matrix", kFloat32, ToExprs({2, 3}), {}});
    ValueId result = graph.AddValue({"result", kFloat32, {}, {}});
    graph.inputs = {vector, matrix};
    Node node{"node", kind.op, {vector}, {result}, {}};
    if (kind.most > 1) node.inputs.push_back(matrix);
    graph.nodes = {node};
    CHECK(KnownRank(graph, result) == (kind.most > 1 ? 2u : 1u));
  }
}

TEST_CASE("bounds of Clip become inputs", "[models][normalize]") {
  Graph graph = Normal(9, {"Clip", {"x"}, {"y"}, {FloatAttr("min", 0), FloatAttr("max", 6)}});
  CHECK(graph.nodes[0].attributes.empty());
  CHECK(graph.ConstantOf(graph.nodes[0].inputs.at(1))->values<float>()[0] == 0);
  CHECK(graph.ConstantOf(graph.nodes[0].inputs.at(2))->values<float>()[0] == 6);

  graph = Normal(9, {"Clip", {"x"}, {"y"}, {FloatAttr("max", 6)}});
  CHECK(graph.nodes[0].inputs.at(1) == kNoValue);
  CHECK(Normal(9, {"Clip", {"x"}, {"y"}}).nodes[0].inputs.size() == 1);

  graph = Normal(13, {"Clip", {"x", "", "hi"}, {"y"}}, {Floats("hi", {}, {6})});
  CHECK(graph.nodes[0].inputs.size() == 3);
  CHECK(Normal(13, {"Clip", {"x", "", ""}, {"y"}}).nodes[0].inputs.size() == 1);
  CHECK_THAT(ErrorOf(13, {"Clip", {"x"}, {"y"}, {FloatAttr("min", 0)}}),
             Contains("Clip with attribute 'min'"));
}

TEST_CASE("axes become inputs", "[models][normalize]") {
  Wire axes = Ints("axes", {1, 2});
  struct Case {
    const char* op;
    int64_t last;  // opset of the attribute
  };
  for (const Case& row : {Case{"Squeeze", 12},
                          {"Unsqueeze", 12},
                          {"ReduceSum", 12},
                          {"ReduceMean", 17},
                          {"ReduceMax", 17},
                          {"ReduceProd", 17}}) {
    INFO(row.op);
    Graph old = Normal(row.last, {row.op, {"x"}, {"y"}, {IntsAttr("axes", {1, 2})}});
    CHECK(IntsOf(old, 1) == Extents{1, 2});
    CHECK_FALSE(old.nodes[0].attributes.contains("axes"));
    CHECK(IntsOf(Normal(row.last + 1, {row.op, {"x", "axes"}, {"y"}}, {axes}), 1) == Extents{1, 2});
    CHECK_THAT(ErrorOf(row.last, {row.op, {"x", "axes"}, {"y"}}, {axes}),
               Contains("axes as an input"));
    CHECK_FALSE(Import(row.last + 1, {row.op, {"x"}, {"y"}, {IntsAttr("axes", {1})}}).ok());
  }
  CHECK(Normal(13, {"ReduceSum", {"x"}, {"y"}}).nodes[0].Int("keepdims", 7) == 1);
  CHECK_THAT(ErrorOf(13, {"Unsqueeze", {"x"}, {"y"}}), Contains("axes are missing"));
}

TEST_CASE("Slice and Pad take their bounds as inputs", "[models][normalize]") {
  Graph graph =
      Normal(9, {"Slice",
                 {"x"},
                 {"y"},
                 {IntsAttr("starts", {1}), IntsAttr("ends", {2}), IntsAttr("axes", {3})}});
  CHECK(IntsOf(graph, 1) == Extents{1});
  CHECK(IntsOf(graph, 2) == Extents{2});
  CHECK(IntsOf(graph, 3) == Extents{3});
  CHECK_THAT(ErrorOf(10, {"Slice", {"x"}, {"y"}}), Contains("starts or ends are missing"));
  CHECK_THAT(ErrorOf(9, {"Slice", {"x"}, {"y"}, {IntsAttr("starts", {1})}}),
             Contains("'starts' or 'ends' is missing"));

  graph = Normal(
      10,
      {"Pad", {"x"}, {"y"}, {IntsAttr("pads", {0, 0, 1, 1, 0, 0, 1, 1}), FloatAttr("value", 2)}});
  CHECK(IntsOf(graph, 1).size() == 8);
  CHECK(graph.ConstantOf(graph.nodes[0].inputs.at(2))->values<float>()[0] == 2);
  CHECK(graph.nodes[0].String("mode", "") == "constant");
  CHECK_THAT(ErrorOf(13, {"Pad", {"x"}, {"y"}}), Contains("pads are missing"));
  CHECK_THAT(ErrorOf(10, {"Pad", {"x"}, {"y"}, {IntsAttr("pads", {}), StringAttr("mode", "odd")}}),
             Contains("mode 'odd'"));
}

TEST_CASE("parts may differ where the model says how many there are", "[models][normalize]") {
  CHECK(Normal(18, {"Split", {"x"}, {"y", "z"}, {IntAttr("num_outputs", 2)}})
            .nodes[0]
            .attributes.contains("num_outputs"));
  CHECK_FALSE(Normal(13, {"Split", {"x"}, {"y", "z"}}).nodes[0].attributes.contains("num_outputs"));
  CHECK_THAT(ErrorOf(18, {"Split", {"x"}, {"y", "z"}, {IntAttr("num_outputs", 3)}}),
             Contains("num_outputs is 3; it has 2 outputs"));
}

TEST_CASE("Softmax before opset 13 sees a matrix", "[models][normalize]") {
  Graph graph = Normal(12, {"Softmax", {"x"}, {"y"}, {IntAttr("axis", 2)}});
  REQUIRE(graph.nodes.size() == 4);
  CHECK(graph.nodes[0].op == OpKind::kShape);
  CHECK(graph.nodes[1].op == OpKind::kFlatten);
  CHECK(graph.nodes[1].Int("axis", 0) == 2);
  CHECK(graph.nodes[2].op == OpKind::kSoftmax);
  CHECK(graph.nodes[2].Int("axis", 0) == 1);
  CHECK(graph.nodes[3].op == OpKind::kReshape);
  CHECK(graph.nodes[3].outputs == graph.outputs);

  CHECK(Normal(12, {"Softmax", {"x"}, {"y"}}).nodes[1].Int("axis", 0) == 1);
  CHECK(Normal(12, {"Softmax", {"x"}, {"y"}, {IntAttr("axis", 3)}}).nodes.size() == 1);
  CHECK(Normal(12, {"Softmax", {"x"}, {"y"}, {IntAttr("axis", -1)}}).nodes.size() == 1);
  graph = Normal(13, {"LogSoftmax", {"x"}, {"y"}});
  CHECK(graph.nodes.size() == 1);
  CHECK(graph.nodes[0].Int("axis", 0) == -1);
}

TEST_CASE("Dropout is the identity and its mask is true", "[models][normalize]") {
  Graph graph = Normal(13, {"Dropout", {"x"}, {"y", "mask"}});
  REQUIRE(graph.nodes.size() == 3);
  CHECK(graph.nodes[1].op == OpKind::kConstantOfShape);
  CHECK(graph.value(graph.nodes[1].outputs[0]).dtype == kBool);
  CHECK(graph.nodes[2].inputs.size() == 1);
  CHECK(graph.nodes[2].outputs == graph.outputs);
  CHECK(Normal(7, {"Dropout", {"x"}, {"y"}, {FloatAttr("ratio", 0.5)}}).nodes.size() == 1);
  // Models of those years list a mask that nobody reads.
  graph = Normal(7, {"Dropout", {"x"}, {"y", "mask"}, {FloatAttr("ratio", 0.5)}});
  REQUIRE(graph.nodes.size() == 3);
  CHECK(graph.value(graph.nodes[1].outputs[0]).dtype == kFloat32);

  Wire ratio = Floats("ratio", {}, {0.5});
  Wire none = Floats("ratio", {}, {0});
  Wire off = RawTensor("training", kOnnxBool, {}, std::string(1, '\0'));
  Wire on = RawTensor("training", kOnnxBool, {}, "\x01");
  NodeSpec dropout{"Dropout", {"x", "ratio", "training"}, {"y"}};
  CHECK(Normal(13, dropout, {ratio, off}).nodes.size() == 1);
  CHECK(Normal(13, dropout, {none, on}).nodes.size() == 1);
  CHECK(Import(13, dropout, {ratio, on}).status().code() == absl::StatusCode::kUnimplemented);
}

TEST_CASE("Cast and CastLike name the type", "[models][normalize]") {
  Graph graph = Normal(13, {"Cast", {"x"}, {"y"}, {IntAttr("to", kOnnxInt64)}});
  CHECK(graph.nodes[0].String("to", "") == "i64");
  CHECK(graph.value(graph.outputs[0]).dtype == kInt64);
  graph = Normal(20, {"CastLike", {"x", "like"}, {"y"}}, {Ints("like", {1})});
  CHECK(graph.nodes[0].op == OpKind::kCast);
  CHECK(graph.nodes[0].inputs.size() == 1);
  CHECK(graph.value(graph.outputs[0]).dtype == kInt64);
  CHECK(Import(13, {"Cast", {"x"}, {"y"}, {IntAttr("to", kOnnxString)}}).status().code() ==
        absl::StatusCode::kUnimplemented);
}

TEST_CASE("the results of comparisons, Shape and ConstantOfShape have their types",
          "[models][normalize]") {
  auto type = [](const Graph& graph) { return graph.value(graph.outputs[0]).dtype; };
  CHECK(type(Normal(13, {"Less", {"x", "x"}, {"y"}})) == kBool);
  CHECK(type(Normal(13, {"Shape", {"x"}, {"y"}})) == kInt64);
  Wire shape = Ints("shape", {2, 2});
  Graph graph = Normal(13, {"ConstantOfShape", {"shape"}, {"y"}}, {shape});
  CHECK(type(graph) == kFloat32);
  CHECK(std::get<Tensor>(graph.nodes[0].attributes.at("value")).values<float>()[0] == 0);
  Wire value = TensorAttr("value", Ints("", {7}));
  CHECK(type(Normal(13, {"ConstantOfShape", {"shape"}, {"y"}, {value}}, {shape})) == kInt64);
  Wire two = TensorAttr("value", Ints("", {7, 8}));
  CHECK_THAT(ErrorOf(13, {"ConstantOfShape", {"shape"}, {"y"}, {two}}, {shape}),
             Contains("expected one element"));
}

TEST_CASE("windows have every extent filled in", "[models][normalize]") {
  Wire weight = Floats("w", {4, 3, 3, 2}, std::vector<float>(72));
  const Node conv = Normal(13, {"Conv", {"x", "w"}, {"y"}}, {weight}).nodes[0];
  CHECK(conv.Ints("kernel_shape") == Extents{3, 2});
  CHECK(conv.Ints("strides") == Extents{1, 1});
  CHECK(conv.Ints("dilations") == Extents{1, 1});
  CHECK(conv.Ints("pads") == Extents{0, 0, 0, 0});
  CHECK(conv.Int("group", 0) == 1);

  const Node valid =
      Normal(13, {"Conv", {"x", "w"}, {"y"}, {StringAttr("auto_pad", "VALID")}}, {weight}).nodes[0];
  CHECK(valid.String("auto_pad", "") == "NOTSET");
  CHECK(valid.Ints("pads") == Extents{0, 0, 0, 0});
  const Node same =
      Normal(13, {"Conv", {"x", "w"}, {"y"}, {StringAttr("auto_pad", "SAME_UPPER")}}, {weight})
          .nodes[0];
  CHECK_FALSE(same.attributes.contains("pads"));

  const Node pool =
      Normal(13, {"MaxPool", {"x"}, {"y"}, {IntsAttr("kernel_shape", {2, 2})}}).nodes[0];
  CHECK(pool.Ints("strides") == Extents{1, 1});
  CHECK(pool.Int("ceil_mode", 7) == 0);
}

TEST_CASE("windows that cannot be are refused", "[models][normalize][hostile]") {
  std::vector<Wire> weight = {Floats("w", {4, 3, 3, 3}, std::vector<float>(108))};
  auto error = [&](const Wire& attribute) {
    return ErrorOf(13, {"Conv", {"x", "w"}, {"y"}, {attribute}, "c"}, weight);
  };
  CHECK_THAT(error(IntsAttr("strides", {1, 0})), Contains("node 'c' (Conv): strides has entry 0"));
  CHECK_THAT(error(IntsAttr("strides", {1})), Contains("strides has 1 entries; expected 2"));
  CHECK_THAT(error(IntsAttr("dilations", {1, -1})), Contains("dilations has entry -1"));
  CHECK_THAT(error(IntsAttr("pads", {0, 0, 0, -1})), Contains("pads has entry -1"));
  CHECK_THAT(error(IntsAttr("strides", {1LL << 40, 1})), Contains("strides has entry"));
  CHECK_THAT(error(IntsAttr("kernel_shape", {3, 4})), Contains("kernel_shape is 3x4"));
  CHECK_THAT(error(IntAttr("group", 0)), Contains("group is 0"));
  CHECK_THAT(error(IntAttr("group", 3)), Contains("group 3 does not divide its 4 output channels"));
  CHECK_THAT(error(StringAttr("auto_pad", "odd")), Contains("auto_pad 'odd'"));
  CHECK_THAT(ErrorOf(13, {"MaxPool", {"x"}, {"y"}, {IntsAttr("kernel_shape", {0, 2})}}),
             Contains("kernel_shape has entry 0"));
  CHECK_THAT(ErrorOf(13, {"MaxPool", {"x"}, {"y"}}), Contains("'kernel_shape' is missing"));
  CHECK_THAT(ErrorOf(13, {"Relu", {"x"}, {"y", "i"}}), Contains("Relu with output 1"));
}

TEST_CASE("a batch normalization trains by attribute or by its outputs", "[models][normalize]") {
  std::vector<Wire> parameters = {Floats("s", {3}, {1, 1, 1})};
  auto node = [](const std::vector<std::string>& outputs, const std::vector<Wire>& attributes) {
    return NodeSpec{"BatchNormalization", {"x", "s", "s", "s", "s"}, outputs, attributes};
  };
  Wire trains = IntAttr("training_mode", 1);
  Wire test = IntAttr("is_test", 1);
  CHECK(Normal(14, node({"y", "m", "v"}, {trains}), parameters).nodes[0].Int("training_mode", 0) ==
        1);
  CHECK(Normal(9, node({"y"}, {}), parameters).nodes[0].attributes.size() == 1);
  CHECK(Normal(6, node({"y"}, {test}), parameters).nodes[0].attributes.size() == 1);
  CHECK_THAT(ErrorOf(14, node({"y", "m"}, {}), parameters), Contains("without training_mode"));
  CHECK_THAT(ErrorOf(9, node({"y", "m"}, {}), parameters),
             Contains("training before opset 14 is not supported; expected a model that was "
                      "exported for inference"));
  CHECK_THAT(ErrorOf(6, node({"y"}, {}), parameters), Contains("training before opset 14"));
}

TEST_CASE("an operand of opset 6 is aligned where its axis says", "[models][normalize]") {
  std::vector<Wire> three = {Floats("b", {3}, {1, 2, 3})};
  NodeSpec add{"Add", {"x", "b"}, {"y"}, {IntAttr("broadcast", 1), IntAttr("axis", 1)}};
  Graph graph = Normal(6, add, three);
  CHECK(graph.nodes.back().op == OpKind::kAdd);
  CHECK(graph.nodes.back().attributes.empty());
  CHECK(graph.nodes[graph.nodes.size() - 2].op == OpKind::kReshape);
  CHECK(Normal(6, {"Add", {"x", "x"}, {"y"}}).nodes.size() == 1);
  CHECK(Normal(6, {"PRelu", {"x", "b"}, {"y"}}, three).nodes.back().op == OpKind::kPRelu);
  CHECK(Normal(7, {"PRelu", {"x", "b"}, {"y"}}, three).nodes.size() == 1);
  CHECK_THAT(ErrorOf(7, add, three), Contains("Add with attribute"));
}

TEST_CASE("Sum and Mean become additions", "[models][normalize]") {
  CHECK(Normal(13, {"Sum", {"x"}, {"y"}}).nodes[0].op == OpKind::kIdentity);
  CHECK(Normal(13, {"Sum", {"x", "x"}, {"y"}}).nodes[0].op == OpKind::kAdd);
  Graph three = Normal(13, {"Sum", {"x", "x", "x"}, {"y"}});
  CHECK(three.nodes.size() == 3);
  CHECK(three.nodes[1].op == OpKind::kAdd);
  Graph mean = Normal(13, {"Mean", {"x", "x"}, {"y"}});
  REQUIRE(mean.nodes.size() == 3);
  CHECK(mean.nodes[1].op == OpKind::kDiv);
  CHECK(mean.ConstantOf(mean.nodes[1].inputs[1])->values<float>()[0] == 2);
}

TEST_CASE("normalizations name the type of their statistics", "[models][normalize]") {
  std::vector<Wire> scale = {Floats("s", {8}, std::vector<float>(8))};
  NodeSpec layer{"LayerNormalization", {"x", "s"}, {"y", "mean"}, {IntAttr("stash_type", 11)}};
  Graph graph = Normal(17, layer, scale);
  CHECK(graph.nodes[0].String("stash_type", "") == "f64");
  CHECK(graph.value(graph.nodes[0].outputs[1]).dtype == kFloat64);
  layer.attributes = {IntAttr("stash_type", 7)};
  CHECK_THAT(ErrorOf(17, layer, scale), Contains("stash_type 7"));
}

TEST_CASE("operators of ONNX Runtime become ONNX's", "[models][normalize]") {
  std::vector<Wire> scale = {Floats("s", {8}, std::vector<float>(8))};
  auto normal = [&](const std::string& op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs) {
    return Normal(17, {op, inputs, outputs, {}, "", "com.microsoft"}, scale);
  };
  const Node swish = normal("QuickGelu", {"x"}, {"y"}).nodes[0];
  CHECK(swish.op == OpKind::kSwish);
  CHECK(swish.Float("alpha", 0) == Approx(1.702));
  CHECK(normal("FastGelu", {"x", "s"}, {"y"}).nodes[1].String("approximate", "") == "tanh");
  CHECK(normal("BiasGelu", {"x", "s"}, {"y"}).nodes[1].String("approximate", "") == "none");

  Graph skip = normal("SkipLayerNormalization", {"x", "x", "s", "s", "s"}, {"y", "", "", "sum"});
  REQUIRE(skip.nodes.size() == 4);
  CHECK(skip.nodes[2].op == OpKind::kIdentity);
  CHECK(skip.nodes[3].op == OpKind::kLayerNormalization);
  CHECK(skip.nodes[3].inputs.size() == 3);
  CHECK(skip.nodes[3].outputs.size() == 1);
  CHECK(skip.nodes[3].Int("axis", 0) == -1);
  Graph simple = normal("SkipSimplifiedLayerNormalization", {"x", "x", "s"}, {"y"});
  CHECK(simple.nodes[1].op == OpKind::kRMSNormalization);
  CHECK(simple.nodes[1].inputs.size() == 2);
}

TEST_CASE("a refusal names the operator of the model, not what it becomes", "[models][normalize]") {
  auto error = [](const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<Wire>& attributes) {
    std::vector<Wire> scale = {Floats("s", {8}, std::vector<float>(8))};
    return ErrorOf(17, {op, inputs, {"y"}, attributes, "n", "com.microsoft"}, scale);
  };
  CHECK_THAT(
      error("MatMulNBits", {"x", "s", "s"},
            {IntAttr("K", 32), IntAttr("N", 1), IntAttr("block_size", 16), IntAttr("bits", 3)}),
      Contains("node 'n' (com.microsoft.MatMulNBits): attribute 'bits' is 3"));
  CHECK_THAT(error("FusedGemm", {"x", "x"}, {StringAttr("activation", "Odd")}),
             Contains("node 'n' (com.microsoft.FusedGemm): attribute 'activation' is 'Odd'"));
  CHECK_THAT(ErrorOf(13, {"Upsample", {"x"}, {"y"}, {}, "n"}), Contains("node 'n' (Upsample)"));
}

TEST_CASE("a cross entropy is a loss over a softmax", "[models][normalize]") {
  NodeSpec node{"SoftmaxCrossEntropyLoss", {"x", "t"}, {"y", "log"}};
  std::vector<Wire> target = {RawTensor("t", kOnnxInt64, {2, 8, 8}, std::string(1024, '\0'))};
  Graph graph = Normal(13, node, target);
  REQUIRE(graph.nodes.size() == 2);
  CHECK(graph.nodes[0].op == OpKind::kLogSoftmax);
  CHECK(graph.nodes[0].Int("axis", 0) == 1);
  CHECK(graph.nodes[1].inputs[0] == graph.nodes[0].outputs[0]);
}

TEST_CASE("a Resize of opset 10 rounds places up where it shrinks, an Upsample down",
          "[models][normalize]") {
  std::vector<Wire> scales = {Floats("s", {4}, {1, 1, 0.5, 2})};
  auto mode = [](const Graph& graph) { return graph.nodes[0].String("nearest_mode", ""); };
  CHECK(mode(Normal(10, {"Resize", {"x", "s"}, {"y"}}, scales)) == "simple");
  CHECK(mode(Normal(9, {"Upsample", {"x", "s"}, {"y"}}, scales)) == "floor");
  CHECK_THAT(ErrorOf(11, {"Resize", {"x", "", "s"}, {"y"}, {StringAttr("nearest_mode", "simple")}},
                     scales),
             Contains("nearest_mode is 'simple'"));
}
