#include "ir/graph/graph.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

using namespace tcc;

namespace {

Tensor Floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  return MakeTensor(kFloat32, std::move(shape),
                    {reinterpret_cast<const uint8_t*>(values.data()), values.size() * 4});
}

ValueId AddConstant(Graph& graph, const std::string& name, const Tensor& tensor) {
  return graph.AddValue({name, tensor.dtype, ToExprs(tensor.shape), tensor});
}

// x -> Conv(x, w) -> Clip(., absent, hi), with names that need quotes and every kind of attribute.
Graph SmallGraph() {
  Graph graph;
  graph.name = "small net";
  Var batch = ShapeVar("N", 1, 64);
  graph.shape_vars = {batch};
  ValueId x = graph.AddValue({"input", kFloat32, {batch, 3, 4, 4}, {}});
  ValueId w = AddConstant(graph, "layer1.0/w", Floats({1, 3, 1, 1}, {1, 2, 3}));
  ValueId hi = AddConstant(graph, "hi \"\\\n", Floats({}, {6}));
  ValueId c = graph.AddValue({"conv:0", kFloat32, {batch, 1, 4, 4}, {}});
  ValueId y = graph.AddValue({"_", kFloat32, {batch * Expr(16)}, {}});
  Node conv{"conv 1", OpKind::kConv, {x, w, kNoValue}, {c}, {}};
  conv.layout = DataLayout::kChannelsLast;
  conv.attributes = {{"strides", std::vector<int64_t>{1, 1}},
                     {"empty", std::vector<int64_t>{}},
                     {"no_doubles", std::vector<double>{}},
                     {"doubles", std::vector<double>{1, -0.1, 1e300}},
                     {"alpha", 3.0},
                     {"nan", std::numeric_limits<double>::infinity()},
                     {"group", int64_t{-1}},
                     {"mode", std::string("a\"b")},
                     {"value", Floats({2}, {0.1f, -2})}};
  graph.nodes = {conv, {"_", OpKind::kClip, {c, kNoValue, hi}, {y}, {}}};
  graph.inputs = {x};
  graph.outputs = {y, x};
  return graph;
}

}  // namespace

TEST_CASE("every operator's name finds the operator", "[ir][graph]") {
#define TCC_CHECK_NAME(name, ...)            \
  CHECK(ToString(OpKind::k##name) == #name); \
  CHECK(FindOpKind(#name) == OpKind::k##name);
  TCC_OP_KINDS(TCC_CHECK_NAME)
#undef TCC_CHECK_NAME
  CHECK_FALSE(FindOpKind("conv"));
}

TEST_CASE("attributes are read with their fallbacks", "[ir][graph]") {
  Node node{"n", OpKind::kConv, {}, {}, {}};
  node.attributes = {{"group", int64_t{2}},
                     {"alpha", 0.5},
                     {"mode", std::string("edge")},
                     {"pads", std::vector<int64_t>{1, 2}}};
  CHECK(node.Int("group", 1) == 2);
  CHECK(node.Int("axis", -1) == -1);
  CHECK(node.Float("alpha", 1) == 0.5);
  CHECK(node.String("mode", "constant") == "edge");
  CHECK(node.Ints("pads") == std::vector<int64_t>{1, 2});
  CHECK(node.Ints("strides", {1, 1}) == std::vector<int64_t>{1, 1});
}

TEST_CASE("a graph's text parses back to the same text and attributes", "[ir][graph]") {
  Graph graph = SmallGraph();
  std::string text = Print(graph);
  INFO(text);
  StatusOr<Graph> parsed = ParseGraph(text, graph);
  REQUIRE(parsed.status() == OkStatus());
  CHECK(Print(*parsed) == text);

  const Node& conv = parsed->nodes[0];
  CHECK(conv.name == "conv 1");
  CHECK(conv.inputs[2] == kNoValue);
  CHECK(conv.layout == DataLayout::kChannelsLast);
  CHECK(std::get<double>(conv.attributes.at("alpha")) == 3.0);
  CHECK(std::get<std::vector<double>>(conv.attributes.at("no_doubles")).empty());
  CHECK(std::get<std::vector<double>>(conv.attributes.at("doubles"))[1] == -0.1);
  CHECK(std::get<std::string>(conv.attributes.at("mode")) == "a\"b");
  CHECK(std::get<Tensor>(conv.attributes.at("value")).values<float>()[0] == 0.1f);
  CHECK(parsed->value(conv.outputs[0]).name == "conv:0");
  CHECK(parsed->shape_vars.size() == 1);
}

TEST_CASE("the printed form of a node reads like a call", "[ir][graph]") {
  Graph graph;
  graph.name = "g";
  ValueId x = graph.AddValue({"x", kFloat32, ToExprs({1, 8}), {}});
  ValueId y = graph.AddValue({"y", kFloat32, ToExprs({1, 8}), {}});
  graph.nodes = {{"y", OpKind::kSoftmax, {x}, {y}, {{"axis", int64_t{1}}}}};
  graph.inputs = {x};
  graph.outputs = {y};
  CHECK(Print(graph) ==
        "graph g {\n"
        "  input x: f32[1x8]\n"
        "  y = Softmax(x) {axis: 1} : f32[1x8]\n"
        "  return y\n"
        "}\n");
}

TEST_CASE("a cut or garbled text is refused, never read past its end", "[ir][graph]") {
  Graph graph = SmallGraph();
  std::string text = Print(graph);
  for (size_t length = 0; length + 1 < text.size(); ++length) {
    INFO(length);
    REQUIRE_FALSE(ParseGraph(text.substr(0, length), graph).ok());
  }
  CHECK_FALSE(ParseGraph("graph g { y = Nonsense() : f32[] return y }", graph).ok());
  CHECK_FALSE(ParseGraph("graph g { constant unknown: f32[1] return unknown }", graph).ok());
  CHECK_FALSE(ParseGraph("graph g { input x: f32[1] input x: f32[1] return x }", graph).ok());
  CHECK_FALSE(ParseGraph("graph g { input x: f32[99999999999999999999] return x }", graph).ok());
}

TEST_CASE("elements and agreements are part of a graph's text", "[ir][graph]") {
  const std::string text = R"(graph g {
  dim N in 1..64 usual 8
  dim M in 0..9 usual 9
  input x: f32[N, M]
  sizes target: i64[2] = [N * M, 1]
  k = Shape(x) : i64[2] = [N, M]
  y = Reshape(x, target) : f32[N * M, 1]
  return y, k
  agree [N + 1, 2 * M] "node \x22y\x22"
}
)";
  StatusOr<Graph> graph = ParseGraph(text, Graph());
  REQUIRE(graph.status() == OkStatus());
  CHECK(Print(*graph) == text);
  CHECK(graph->shape_vars[0]->usual == 8);
  CHECK(graph->agreements[0].where == "node \"y\"");
  auto refused = [&](const std::string& from, const std::string& to) {
    std::string wrong = text;
    wrong.replace(wrong.find(from), from.size(), to);
    return !ParseGraph(wrong, Graph()).ok();
  };
  CHECK(refused("[N * M, 1]\n", "[N * M]\n"));                 // fewer than the type has
  CHECK(refused("i64[2] = [N, M]", "f32[2] = [N, M]"));        // floats
  CHECK(refused("agree [N + 1, 2 * M]", "agree [K, 2 * M]"));  // not a dimension of the graph
  CHECK(refused("usual 8", "usual 65"));
  CHECK(refused("1..64", "64..1"));
}

TEST_CASE("a graph's text with a sum of one operand is refused", "[ir][graph]") {
  auto message = [](const std::string& node) {
    std::string text = "graph g {\n input x: f32[2]\n y = " + node + " : f32[2]\n return y\n}";
    return Message(ParseGraph(text, Graph()).status());
  };
  CHECK(message("Add(x, x)").empty());
  CHECK(message("Max(x, x, x)").empty());
  using Catch::Matchers::Contains;
  CHECK_THAT(message("Add(x)"), Contains("node 'y' (Add): has 1 inputs; expected 2"));
  CHECK_THAT(message("Max()"), Contains("node 'y' (Max): has 0 inputs; expected at least 1"));
  CHECK_THAT(message("Add(x, _)"), Contains("node 'y' (Add): input 1 is missing"));
}

TEST_CASE("the graph verifier names what is wrong", "[ir][graph]") {
  Graph good = SmallGraph();
  REQUIRE(VerifyGraph(good) == OkStatus());
  auto message = [](const Graph& graph) { return Message(VerifyGraph(graph)); };
  using Catch::Matchers::Contains;

  Graph graph = good;
  std::swap(graph.nodes[0], graph.nodes[1]);
  CHECK_THAT(message(graph), Contains("value 'conv:0' is used before it is defined"));

  graph = good;
  graph.nodes.push_back(graph.nodes[1]);
  CHECK_THAT(message(graph), Contains("value '_' is defined twice"));

  graph = good;
  graph.values[3].name = "input";
  CHECK_THAT(message(graph), Contains("two values are named 'input'"));

  graph = good;
  graph.values[1].shape = ToExprs({3, 1, 1, 1});
  CHECK_THAT(message(graph), Contains("constant 'layer1.0/w' is f32[1x3x1x1]"));

  graph = good;
  graph.values[1].dtype = kInt32;
  CHECK_THAT(message(graph), Contains("constant 'layer1.0/w' is f32[1x3x1x1]"));

  graph = good;
  graph.nodes[1].inputs[0] = 99;
  CHECK_THAT(message(graph), Contains("value 99 of 5"));

  graph = good;
  graph.shape_vars.clear();
  CHECK_THAT(message(graph), Contains("dimension variable 'N' is not the graph's"));

  graph = good;
  graph.inputs.push_back(1);
  CHECK_THAT(message(graph), Contains("value 'layer1.0/w' is defined twice"));

  graph = good;
  graph.outputs.push_back(graph.AddValue({"never", kFloat32, {}, {}}));
  CHECK_THAT(message(graph), Contains("graph output: value 'never' is used before"));
}
