#include <catch2/catch.hpp>

#include "models/onnx/import_onnx.h"
#include "tests/models/onnx_bytes.h"

using namespace tcc;
using namespace tcc::onnx_bytes;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

StatusOr<Graph> Import(const ModelSpec& spec, const std::vector<Wire>& functions = {}) {
  Wire model = Wire();
  model.bytes = ModelOf(spec);
  for (const Wire& function : functions) model.Sub(25, function);
  return ImportOnnxBytes(AsSpan(model.bytes));
}

Graph Imported(const ModelSpec& spec, const std::vector<Wire>& functions = {}) {
  StatusOr<Graph> graph = Import(spec, functions);
  INFO(graph.status());
  REQUIRE(graph.ok());
  return *graph;
}

std::string ErrorOf(const ModelSpec& spec, const std::vector<Wire>& functions = {}) {
  StatusOr<Graph> graph = Import(spec, functions);
  return graph.ok() ? "no error" : Message(graph.status());
}

struct FunctionSpec {
  std::string name;
  std::vector<std::string> inputs = {}, outputs = {}, attributes = {};
  std::vector<NodeSpec> nodes = {};
  std::vector<Wire> defaults = {};
  int64_t opset = 17;
};

Wire FunctionOf(const FunctionSpec& spec) {
  Wire function = Wire().Bytes(1, spec.name).Bytes(10, "own");
  for (const std::string& name : spec.inputs) function.Bytes(4, name);
  for (const std::string& name : spec.outputs) function.Bytes(5, name);
  for (const std::string& name : spec.attributes) function.Bytes(6, name);
  for (const NodeSpec& node : spec.nodes) function.Sub(7, NodeOf(node));
  for (const Wire& attribute : spec.defaults) function.Sub(11, attribute);
  return function.Sub(9, Wire().Bytes(1, "").Varint(2, static_cast<uint64_t>(spec.opset)));
}

Wire Reference(const std::string& name, int type, const std::string& argument) {
  return Wire().Bytes(1, name).Varint(20, static_cast<uint64_t>(type)).Bytes(21, argument);
}

// y = c ? x + w : -outer, where outer = Relu(x) is computed in the main graph.
ModelSpec Branch() {
  ModelSpec then_graph{.nodes = {{.op = "Add", .inputs = {"x", "w"}, .outputs = {"sum"}}},
                       .outputs = {"sum"}};
  ModelSpec else_graph{.nodes = {{.op = "Neg", .inputs = {"outer"}, .outputs = {"neg"}}},
                       .outputs = {"neg"}};
  return {.nodes = {{.op = "If",
                     .inputs = {"c"},
                     .outputs = {"y"},
                     .attributes = {GraphAttr("then_branch", GraphOf(then_graph)),
                                    GraphAttr("else_branch", GraphOf(else_graph))}},
                    {.op = "Relu", .inputs = {"x"}, .outputs = {"outer"}}},
          .inputs = {InputOf("c", kOnnxBool, {}), InputOf("x", kOnnxFloat, {"3"})},
          .outputs = {"y"},
          .initializers = {Floats("w", {3}, {1, 2, 3})}};
}

// Adds x to a sum of s for each of the slices of x.
ModelSpec StepGraph() {
  return {.nodes = {{.op = "Add", .inputs = {"s", "x_t"}, .outputs = {"next"}},
                    {.op = "Mul", .inputs = {"next", "k"}, .outputs = {"scaled"}}},
          .inputs = {InputOf("s", kOnnxFloat, {"2"}), InputOf("x_t", kOnnxFloat, {"2"})},
          .outputs = {"next", "scaled"}};
}

ModelSpec ScanModel(const ModelSpec& step, const std::vector<Wire>& attributes) {
  std::vector<Wire> all = {GraphAttr("body", GraphOf(step)), IntAttr("num_scan_inputs", 1)};
  all.insert(all.end(), attributes.begin(), attributes.end());
  return {.nodes = {{.op = "Scan",
                     .inputs = {"s", "x"},
                     .outputs = {"last", "all"},
                     .attributes = all,
                     .name = "scan"}},
          .inputs = {InputOf("s", kOnnxFloat, {"2"}), InputOf("x", kOnnxFloat, {"2", "7"}),
                     InputOf("k", kOnnxFloat, {"2"})},
          .outputs = {"last", "all"}};
}

}  // namespace

TEST_CASE("what branches read of the graph around becomes operands, constants copies",
          "[models][import]") {
  CHECK(Print(Imported(Branch())) ==
        "graph test {\n"
        "  input c: bool[]\n"
        "  input x: f32[3]\n"
        "  constant w: f32[3]\n"
        "  outer = Relu(x) : f32[]\n"
        "  y = If(c, x, outer) : f32[]\n"
        "    body test {\n"
        "      input x: f32[]\n"
        "      input unused.2: f32[]\n"
        "      constant w: f32[3]\n"
        "      sum = Add(x, w) : f32[]\n"
        "      return sum\n"
        "    }\n"
        "    body test {\n"
        "      input unused.1: f32[]\n"
        "      input outer: f32[]\n"
        "      neg = Neg(outer) : f32[]\n"
        "      return neg\n"
        "    }\n"
        "  return y\n"
        "}\n");
}

TEST_CASE("constants of a branch share the bytes of the graph around", "[models][import]") {
  Graph graph = Imported(Branch());
  const Graph& body = graph.nodes[1].bodies[0];
  const uint8_t* outside = nullptr;
  const uint8_t* inside = nullptr;
  for (const Value& value : graph.values) {
    if (value.name == "w") outside = value.constant->bytes.data();
  }
  for (const Value& value : body.values) {
    if (value.name == "w") inside = value.constant->bytes.data();
  }
  CHECK(outside != nullptr);
  CHECK(outside == inside);
}

// Branch(), with `condition` as an initializer and in the branch that it leaves out operators that
// do not exist, other types and another number of results.
ModelSpec ConstantBranch(bool condition) {
  ModelSpec spec = Branch();
  ModelSpec dead{.nodes = {{.op = "NoSuch", .inputs = {"x"}, .outputs = {"a"}},
                           {.op = "Shape", .inputs = {"a"}, .outputs = {"b"}}},
                 .outputs = {"b", "a"}};
  spec.nodes[0].attributes[condition ? 1 : 0] =
      GraphAttr(condition ? "else_branch" : "then_branch", GraphOf(dead));
  spec.inputs.erase(spec.inputs.begin());
  spec.initializers.push_back(RawTensor("c", kOnnxBool, {}, condition ? "\1" : std::string(1, 0)));
  return spec;
}

TEST_CASE("an If of a constant condition never looks at the other branch", "[models][import]") {
  Graph taken = Imported(ConstantBranch(true));
  REQUIRE(taken.nodes.size() == 1);
  CHECK(taken.nodes[0].op == OpKind::kAdd);
  CHECK(taken.value(taken.outputs[0]).name == "y");
  Graph other = Imported(ConstantBranch(false));
  REQUIRE(other.nodes.size() == 2);
  CHECK(other.nodes[1].op == OpKind::kNeg);
  CHECK(other.value(other.outputs[0]).name == "y");
}

TEST_CASE("branches nested in one that is taken see its names, and results that are not its own",
          "[models][import]") {
  ModelSpec inner{.nodes = {{.op = "Mul", .inputs = {"sum", "outer"}, .outputs = {"p"}}},
                  .outputs = {"p", "w", "x"}};
  ModelSpec dead{.nodes = {{.op = "NoSuch", .outputs = {"p"}}}, .outputs = {"p"}};
  ModelSpec then_graph{.nodes = {{.op = "Add", .inputs = {"x", "w"}, .outputs = {"sum"}},
                                 {.op = "If",
                                  .inputs = {"c"},
                                  .outputs = {"r", "weight", "same"},
                                  .attributes = {GraphAttr("then_branch", GraphOf(inner)),
                                                 GraphAttr("else_branch", GraphOf(dead))}}},
                       .outputs = {"r", "weight", "same"}};
  ModelSpec spec = ConstantBranch(true);
  spec.nodes[0].attributes[0] = GraphAttr("then_branch", GraphOf(then_graph));
  spec.nodes[0].outputs = {"y", "", "z"};
  spec.outputs = {"y", "z"};
  Graph graph = Imported(spec);
  CHECK(graph.value(graph.outputs[0]).name == "y");
  CHECK(graph.value(graph.outputs[1]).name == "z");
  // Add, Relu, Mul and a copy of the input; the constant needs none.
  CHECK(graph.nodes.size() == 4);
  for (const Node& node : graph.nodes) CHECK(node.bodies.empty());
  spec.nodes[0].outputs = {"y", "", "z", "more"};
  CHECK_THAT(ErrorOf(spec), Contains("has 4 outputs; its body gives 3"));
}

TEST_CASE("unsupported operators of a branch that may run are all listed", "[models][import]") {
  ModelSpec spec = Branch();
  ModelSpec inner{.nodes = {{.op = "NoSuch", .inputs = {"x"}, .outputs = {"t"}},
                            {.op = "NorThis", .inputs = {"t"}, .outputs = {"z"}}},
                  .outputs = {"z"}};
  spec.nodes[0].attributes[1] = GraphAttr("else_branch", GraphOf(inner));
  StatusOr<Graph> graph = Import(spec);
  CHECK(graph.status().code() == absl::StatusCode::kUnimplemented);
  CHECK_THAT(Message(graph.status()), StartsWith("2 of the model's 5 nodes are not supported:") &&
                                          Contains("NoSuch") && Contains("NorThis"));
}

TEST_CASE("branches of other types are unsupported where the condition is computed",
          "[models][import]") {
  ModelSpec spec = Branch();
  ModelSpec other{.nodes = {{.op = "Shape", .inputs = {"x"}, .outputs = {"n"}}}, .outputs = {"n"}};
  spec.nodes[0].attributes[1] = GraphAttr("else_branch", GraphOf(other));
  StatusOr<Graph> graph = Import(spec);
  CHECK(graph.status().code() == absl::StatusCode::kUnimplemented);
  CHECK_THAT(Message(graph.status()), Contains("then_branch gives (f32), else_branch (i64)") &&
                                          Contains("expected a constant condition"));
}

TEST_CASE("a Scan becomes a Loop that scans", "[models][import]") {
  Graph graph = Imported(ScanModel(
      StepGraph(), {IntsAttr("scan_input_axes", {-1}), IntsAttr("scan_output_directions", {1})}));
  const Node& loop = graph.nodes[0];
  CHECK(loop.op == OpKind::kLoop);
  CHECK(loop.Ints("scan_input_axes") == std::vector<int64_t>{-1});
  CHECK(loop.Ints("scan_output_directions") == std::vector<int64_t>{1});
  CHECK(loop.Int("carried", -1) == 1);
  REQUIRE(loop.inputs.size() == 5);
  CHECK(loop.inputs[0] == kNoValue);
  CHECK(graph.value(loop.inputs[4]).name == "k");
}

TEST_CASE("a Scan of opset 8 loops over its batch", "[models][import]") {
  ModelSpec spec = ScanModel(StepGraph(), {});
  spec.opset = 8;
  spec.nodes[0].inputs = {"", "s", "x"};
  Graph graph = Imported(spec);
  const Node& batch = graph.nodes[0];
  CHECK(batch.Ints("scan_input_axes").size() == 2);
  CHECK(batch.Ints("scan_output_axes").size() == 2);
  CHECK(batch.bodies[0].nodes[0].op == OpKind::kLoop);
  spec.nodes[0].inputs = {"lengths", "s", "x"};
  spec.inputs.push_back(InputOf("lengths", kOnnxInt64, {"2"}));
  CHECK_THAT(ErrorOf(spec), Contains("'scan'") && Contains("sequence_lens"));
}

TEST_CASE("a body with other numbers of inputs than its node is refused", "[models][import]") {
  ModelSpec step = StepGraph();
  step.inputs.erase(step.inputs.begin());
  CHECK_THAT(ErrorOf(ScanModel(step, {})), Contains("'scan' (Scan)") && Contains("1 inputs"));
  CHECK_THAT(ErrorOf(ScanModel(StepGraph(), {IntsAttr("scan_input_axes", {0, 0})})),
             Contains("'scan_input_axes' has 2 entries; expected 1"));
  ModelSpec spec = ScanModel(StepGraph(), {});
  spec.nodes[0].attributes[1] = IntAttr("num_scan_inputs", 3);
  CHECK_THAT(ErrorOf(spec), Contains("num_scan_inputs is 3"));
  spec.nodes[0].attributes.erase(spec.nodes[0].attributes.begin());
  CHECK_THAT(ErrorOf(spec), Contains("attribute 'body' is missing"));
}

TEST_CASE("a name that neither body nor graphs around define is refused", "[models][import]") {
  ModelSpec spec = Branch();
  spec.nodes.pop_back();
  CHECK_THAT(ErrorOf(spec), Contains("'outer' is not defined"));
  // Through its body, the If reads what it computes.
  spec = Branch();
  spec.nodes[1].inputs = {"y"};
  CHECK_THAT(ErrorOf(spec), Contains("the graph has a cycle"));
}

TEST_CASE("what is not supported inside bodies and functions is listed", "[models][import]") {
  ModelSpec inner{.nodes = {{.op = "NoSuch", .inputs = {"x"}, .outputs = {"z"}}}, .outputs = {"z"}};
  ModelSpec spec = Branch();
  spec.nodes[0].attributes[0] = GraphAttr("then_branch", GraphOf(inner));
  spec.nodes.push_back({.op = "F", .inputs = {"x"}, .outputs = {"u"}, .domain = "own"});
  spec.outputs.push_back("u");
  Wire function = FunctionOf({.name = "F",
                              .inputs = {"a"},
                              .outputs = {"b"},
                              .nodes = {{.op = "NorThis", .inputs = {"a"}, .outputs = {"b"}}}});
  Wire uncalled = FunctionOf({.name = "G", .nodes = {{.op = "Whatever"}}});
  std::string error = ErrorOf(spec, {function, uncalled});
  CHECK_THAT(error, Contains("NoSuch") && Contains("NorThis"));
  CHECK_THAT(error, !Contains("Whatever"));
}

TEST_CASE("a call becomes its function's nodes, attributes and defaults put in",
          "[models][import]") {
  Wire inner = FunctionOf({.name = "Leak",
                           .inputs = {"a"},
                           .outputs = {"b"},
                           .attributes = {"slope"},
                           .nodes = {{.op = "LeakyRelu",
                                      .inputs = {"a"},
                                      .outputs = {"b"},
                                      .attributes = {Reference("alpha", 1, "slope")}}}});
  Wire outer = FunctionOf({.name = "Twice",
                           .inputs = {"v"},
                           .outputs = {"r"},
                           .nodes = {{.op = "Leak",
                                      .inputs = {"v"},
                                      .outputs = {"t"},
                                      .attributes = {Reference("slope", 1, "by")},
                                      .domain = "own"},
                                     {.op = "Leak",
                                      .inputs = {"t"},
                                      .outputs = {"r"},
                                      .attributes = {FloatAttr("slope", 0.5f)},
                                      .domain = "own"}},
                           .defaults = {FloatAttr("by", 0.25f)}});
  ModelSpec spec{.nodes = {{.op = "Twice", .inputs = {"x"}, .outputs = {"y"}, .domain = "own"}},
                 .inputs = {InputOf("x", kOnnxFloat, {"3"})},
                 .outputs = {"y"}};
  Graph graph = Imported(spec, {inner, outer});
  REQUIRE(graph.nodes.size() == 2);
  CHECK(graph.nodes[0].Float("alpha", 0) == 0.25);
  CHECK(graph.nodes[1].Float("alpha", 0) == 0.5);
  CHECK(graph.value(graph.outputs[0]).name == "y");
  spec.nodes[0].attributes = {FloatAttr("by", 0.75f)};
  CHECK(Imported(spec, {inner, outer}).nodes[0].Float("alpha", 0) == 0.75);
  spec.nodes[0].attributes = {FloatAttr("of", 0.75f)};
  CHECK_THAT(ErrorOf(spec, {inner, outer}), Contains("no attribute 'of'"));
}

TEST_CASE("a function sees nothing of the graph that calls it", "[models][import]") {
  Wire function = FunctionOf({.name = "F",
                              .inputs = {"a"},
                              .outputs = {"b"},
                              .nodes = {{.op = "Add", .inputs = {"a", "x"}, .outputs = {"b"}}}});
  ModelSpec spec{.nodes = {{.op = "F", .inputs = {"x"}, .outputs = {"y"}, .domain = "own"}},
                 .inputs = {InputOf("x", kOnnxFloat, {"3"})},
                 .outputs = {"y"}};
  CHECK_THAT(ErrorOf(spec, {function}), Contains("input 'x' is not defined"));
}

TEST_CASE("a function that calls itself is refused", "[models][import]") {
  auto calls = [](const std::string& name, const std::string& other) {
    return FunctionOf(
        {.name = name,
         .inputs = {"a"},
         .outputs = {"b"},
         .nodes = {{.op = other, .inputs = {"a"}, .outputs = {"b"}, .domain = "own"}}});
  };
  ModelSpec spec{.nodes = {{.op = "F", .inputs = {"x"}, .outputs = {"y"}, .domain = "own"}},
                 .inputs = {InputOf("x", kOnnxFloat, {"3"})},
                 .outputs = {"y"}};
  CHECK_THAT(ErrorOf(spec, {calls("F", "F")}), Contains("function 'F' calls itself"));
  CHECK_THAT(ErrorOf(spec, {calls("F", "G"), calls("G", "F")}), Contains("calls itself"));
}

TEST_CASE("functions that double each other's calls end at a budget", "[models][import]") {
  std::vector<Wire> functions;
  for (int i = 0; i < 40; ++i) {
    std::string next = i == 39 ? "Relu" : "F" + std::to_string(i + 1);
    std::string domain = i == 39 ? "" : "own";
    functions.push_back(
        FunctionOf({.name = "F" + std::to_string(i),
                    .inputs = {"a"},
                    .outputs = {"c"},
                    .nodes = {{.op = next, .inputs = {"a"}, .outputs = {"b"}, .domain = domain},
                              {.op = next, .inputs = {"b"}, .outputs = {"c"}, .domain = domain}}}));
  }
  ModelSpec spec{.nodes = {{.op = "F0", .inputs = {"x"}, .outputs = {"y"}, .domain = "own"}},
                 .inputs = {InputOf("x", kOnnxFloat, {"3"})},
                 .outputs = {"y"}};
  CHECK_THAT(ErrorOf(spec, functions), Contains("more than 200000 nodes"));
}

TEST_CASE("branches nest 64 deep, and no deeper", "[models][import]") {
  auto nested = [](int depth) {
    ModelSpec graph{.nodes = {{.op = "Relu", .inputs = {"x"}, .outputs = {"r0"}}},
                    .outputs = {"r0"}};
    ModelSpec other{.nodes = {{.op = "Neg", .inputs = {"x"}, .outputs = {"n"}}}, .outputs = {"n"}};
    for (int i = 1; i <= depth; ++i) {
      std::string result = "r" + std::to_string(i);
      graph = {.nodes = {{.op = "If",
                          .inputs = {"c"},
                          .outputs = {result},
                          .attributes = {GraphAttr("then_branch", GraphOf(graph)),
                                         GraphAttr("else_branch", GraphOf(other))}}},
               .outputs = {result}};
    }
    graph.inputs = {InputOf("c", kOnnxBool, {}), InputOf("x", kOnnxFloat, {"3"})};
    return graph;
  };
  CHECK(ErrorOf(nested(64)) == "no error");
  CHECK_THAT(ErrorOf(nested(65)), Contains("nested more than 64 deep"));
}
