#include "models/onnx/import_onnx.h"

#include <catch2/catch.hpp>

#include "support/random.h"
#include "tests/models/onnx_bytes.h"

using namespace tcc;
using namespace tcc::onnx_bytes;
using Catch::Matchers::Contains;

namespace {

StatusOr<Graph> Import(const ModelSpec& spec, const ImportOptions& options = {}) {
  return ImportOnnxBytes(AsSpan(ModelOf(spec)), options);
}

std::string ErrorOf(const ModelSpec& spec, const ImportOptions& options = {}) {
  StatusOr<Graph> graph = Import(spec, options);
  return graph.ok() ? "no error" : Message(graph.status());
}

// y = Relu(x + w), x of 2x3.
ModelSpec AddRelu() {
  return {.nodes = {{.op = "Add", .inputs = {"x", "w"}, .outputs = {"sum"}, .name = "add"},
                    {.op = "Relu", .inputs = {"sum"}, .outputs = {"y"}, .name = "act"}},
          .inputs = {InputOf("x", kOnnxFloat, {"2", "3"})},
          .outputs = {"y"},
          .initializers = {Floats("w", {3}, {1, 2, 3})}};
}

ModelSpec OfDims(const std::vector<std::string>& dims) {
  ModelSpec spec = AddRelu();
  spec.inputs = {InputOf("x", kOnnxFloat, dims)};
  return spec;
}

}  // namespace

TEST_CASE("a small model becomes the graph it says", "[models][import]") {
  StatusOr<Graph> graph = Import(AddRelu());
  REQUIRE(graph.status() == OkStatus());
  CHECK(Print(*graph) ==
        "graph test {\n"
        "  input x: f32[2x3]\n"
        "  constant w: f32[3]\n"
        "  sum = Add(x, w) : f32[] @add\n"
        "  y = Relu(sum) : f32[] @act\n"
        "  return y\n"
        "}\n");
  CHECK(graph->ConstantOf(1)->values<float>()[2] == 3);
}

TEST_CASE("nodes out of order are sorted, in order they stay", "[models][import]") {
  ModelSpec spec = AddRelu();
  std::swap(spec.nodes[0], spec.nodes[1]);
  StatusOr<Graph> graph = Import(spec);
  REQUIRE(graph.status() == OkStatus());
  CHECK(graph->nodes[0].name == "add");

  spec = AddRelu();
  spec.nodes.push_back({.op = "Neg", .inputs = {"x"}, .outputs = {"z"}});
  spec.outputs.push_back("z");
  graph = Import(spec);
  REQUIRE(graph.status() == OkStatus());
  CHECK(graph->nodes[2].op == OpKind::kNeg);
}

TEST_CASE("a graph that is no graph is refused with the node's name", "[models][import][hostile]") {
  ModelSpec spec = AddRelu();
  spec.nodes[0].inputs[0] = "y";
  CHECK_THAT(ErrorOf(spec), Contains("'add' (Add) depends on its own result"));

  spec = AddRelu();
  spec.nodes[0].inputs = {"sum", "w"};
  CHECK_THAT(ErrorOf(spec), Contains("'add' (Add) depends on its own result"));

  spec = AddRelu();
  spec.nodes[1].inputs = {"nowhere"};
  CHECK_THAT(ErrorOf(spec), Contains("node 'act' (Relu): input 'nowhere' is not defined"));

  spec = AddRelu();
  spec.nodes[1].outputs = {"sum"};
  CHECK_THAT(ErrorOf(spec), Contains("node 'act' (Relu): value 'sum' is defined twice"));

  spec = AddRelu();
  spec.nodes[1].outputs = {"w"};
  CHECK_THAT(ErrorOf(spec), Contains("node 'act' (Relu): value 'w' is defined twice"));

  spec = AddRelu();
  spec.initializers.push_back(spec.initializers[0]);
  CHECK_THAT(ErrorOf(spec), Contains("initializer 'w' is defined twice"));

  spec = AddRelu();
  spec.inputs.push_back(spec.inputs[0]);
  CHECK_THAT(ErrorOf(spec), Contains("input 'x' is defined twice"));

  spec = AddRelu();
  spec.outputs = {"nowhere"};
  CHECK_THAT(ErrorOf(spec), Contains("output 'nowhere' is not defined"));

  spec = AddRelu();
  spec.nodes[0].outputs = {};
  spec.nodes[1].inputs = {"x"};
  CHECK_THAT(ErrorOf(spec), Contains("node 'add' (Add)") || Contains("node 'Add' (Add)"));

  spec = AddRelu();
  spec.nodes[0].inputs = {"x"};
  CHECK_THAT(ErrorOf(spec), Contains("node 'add' (Add) has 1 inputs; expected 2 to 2"));

  spec = AddRelu();
  spec.nodes[0].inputs = {"x", ""};
  CHECK_THAT(ErrorOf(spec), Contains("node 'add' (Add): input 1 is missing"));

  spec = AddRelu();
  spec.opset = 0;
  CHECK_THAT(ErrorOf(spec), Contains("imports no opset of the default domain"));
  CHECK(Import(spec).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("nodes without names and names used twice are told apart", "[models][import]") {
  ModelSpec spec = AddRelu();
  spec.nodes[0].name = spec.nodes[1].name = "";
  StatusOr<Graph> graph = Import(spec);
  REQUIRE(graph.status() == OkStatus());
  CHECK(graph->nodes[0].name == "sum");

  spec.nodes[0].name = spec.nodes[1].name = "same";
  graph = Import(spec);
  REQUIRE(graph.status() == OkStatus());
  CHECK(graph->nodes[0].name == "same");
  CHECK(graph->nodes[1].name == "same_2");
}

TEST_CASE("an attribute of another type is refused with both types", "[models][import][hostile]") {
  ModelSpec spec = AddRelu();
  spec.nodes[1] = {.op = "Softmax",
                   .inputs = {"sum"},
                   .outputs = {"y"},
                   .attributes = {FloatAttr("axis", 1)},
                   .name = "act"};
  CHECK_THAT(ErrorOf(spec),
             Contains("node 'act' (Softmax): attribute 'axis' is FLOAT; expected INT"));
  spec.nodes[1].attributes = {IntAttr("axis", 1), IntAttr("axis", 1)};
  CHECK_THAT(ErrorOf(spec), Contains("attribute 'axis' is given twice"));
  spec.nodes[1] = {.op = "Concat", .inputs = {"sum"}, .outputs = {"y"}, .name = "act"};
  CHECK_THAT(ErrorOf(spec), Contains("node 'act' (Concat): attribute 'axis' is missing"));
}

TEST_CASE("an attribute's text that a terminal would act on is refused",
          "[models][import][hostile]") {
  ModelSpec spec = AddRelu();
  spec.opset = 20;
  for (const std::string& text : {std::string("\0one", 4), std::string("x\n\x1b[31m"),
                                  std::string("me\x7fn"), std::string("\xe1\xe1")}) {
    spec.nodes[1] = {.op = "Gelu",
                     .inputs = {"sum"},
                     .outputs = {"y"},
                     .attributes = {StringAttr("approximate", text)},
                     .name = "act"};
    CHECK_THAT(ErrorOf(spec), Contains("node 'act' (Gelu): attribute 'approximate' is not UTF-8 or "
                                       "holds control characters"));
  }
}

TEST_CASE("operands of types that do not go together are refused", "[models][import][hostile]") {
  ModelSpec spec = AddRelu();
  spec.initializers = {Ints("w", {1, 2, 3})};
  CHECK_THAT(ErrorOf(spec), Contains("node 'add' (Add): input 1 ('w') is i64; expected f32"));

  spec = AddRelu();
  spec.nodes[0] = {.op = "Reshape", .inputs = {"x", "w"}, .outputs = {"sum"}, .name = "view"};
  CHECK_THAT(ErrorOf(spec), Contains("node 'view' (Reshape): input 1 ('w') is f32; expected i64"));
}

TEST_CASE("every unsupported operator comes in one list, before tensors are read",
          "[models][import]") {
  ModelSpec body{
      .nodes = {{.op = "Erf", .inputs = {"a"}, .outputs = {"b"}},
                {.op = "NoSuchOperator", .inputs = {"b"}, .outputs = {"c"}, .name = "deep"}},
      .outputs = {"c"}};
  ModelSpec spec = AddRelu();
  spec.initializers = {ExternalTensor("w", {3}, {{"location", "/etc/passwd"}})};
  for (int i = 0; i < 5; ++i) {
    spec.nodes.push_back({.op = "NGramRepeatBlock",
                          .inputs = {"x"},
                          .outputs = {"g" + std::to_string(i)},
                          .domain = "com.microsoft"});
    spec.outputs.push_back("g" + std::to_string(i));
  }
  spec.outputs.insert(spec.outputs.end(), {"i", "s"});
  spec.nodes.push_back({.op = "If",
                        .inputs = {"x"},
                        .outputs = {"i"},
                        .attributes = {GraphAttr("then_branch", GraphOf(body))},
                        .name = "branch"});
  spec.nodes.push_back({.op = "Softmax",
                        .inputs = {"x"},
                        .outputs = {"s"},
                        .attributes = {IntAttr("banana", 1)},
                        .name = "soft"});
  StatusOr<Graph> graph = Import(spec);
  REQUIRE(graph.status().code() == absl::StatusCode::kUnimplemented);
  CHECK(Message(graph.status()) ==
        "7 of the model's 11 nodes are not supported:\n"
        "  com.microsoft.NGramRepeatBlock: 5 nodes: 'g0', 'g1', 'g2', ...\n"
        "  Softmax with attribute 'banana': 1 node: 'soft'\n"
        "  NoSuchOperator: 1 node: 'deep'\n"
        "  1 of the model's 8 outputs needs none of them: 'y'");
}

TEST_CASE("a model of other domains alone is unsupported, not malformed", "[models][import]") {
  ModelSpec spec = AddRelu();
  spec.opset = 0;
  spec.nodes = {{.op = "Binarizer", .inputs = {"x"}, .outputs = {"y"}, .domain = "ai.onnx.ml"}};
  CHECK(Import(spec).status().code() == absl::StatusCode::kUnimplemented);
  CHECK_THAT(ErrorOf(spec), Contains("ai.onnx.ml.Binarizer: 1 node: 'y'"));
}

TEST_CASE("opsets that are too new or too old for an operator are unsupported",
          "[models][import]") {
  ModelSpec spec = AddRelu();
  spec.opset = 13;
  spec.nodes = {{.op = "HardSwish", .inputs = {"x"}, .outputs = {"y"}}};
  CHECK_THAT(ErrorOf(spec), Contains("HardSwish of opset 13 (read from opset 14 on): 1 node: 'y'"));
  spec.opset = 1000;
  CHECK_THAT(ErrorOf(spec), Contains("opset 1000 (the newest that is read is"));
}

TEST_CASE("subgraphs nested without end are refused", "[models][import][hostile]") {
  Wire graph = GraphOf({.nodes = {{.op = "Erf", .inputs = {"a"}, .outputs = {"b"}}}});
  for (int depth = 0; depth < 100; ++depth) {
    graph = GraphOf({.nodes = {{.op = "If",
                                .inputs = {"a"},
                                .outputs = {"b"},
                                .attributes = {GraphAttr("then_branch", graph)}}}});
  }
  ModelSpec spec = AddRelu();
  spec.nodes.push_back({.op = "If",
                        .inputs = {"x"},
                        .outputs = {"i"},
                        .attributes = {GraphAttr("then_branch", graph)}});
  CHECK_THAT(ErrorOf(spec), Contains("subgraphs are nested more than"));
}

TEST_CASE("a named dimension is one variable wherever it stands", "[models][import][shapes]") {
  ModelSpec spec = OfDims({"N", "P+S"});
  spec.inputs.push_back(InputOf("mask", kOnnxFloat, {"P+S", "", "N"}));
  spec.outputs.push_back("mask");
  StatusOr<Graph> graph = Import(spec);
  REQUIRE(graph.status() == OkStatus());
  REQUIRE(graph->shape_vars.size() == 3);
  CHECK(graph->shape_vars[0]->name == "N");
  CHECK(graph->shape_vars[1]->name == "P_S");
  CHECK(graph->shape_vars[2]->name == "mask_1");
  CHECK(graph->value(0).shape[1].same_as(graph->value(1).shape[0]));
  CHECK(graph->value(0).shape[0].same_as(graph->value(1).shape[2]));
}

TEST_CASE("dimensions are bound by name, by shape and by value", "[models][import][shapes]") {
  ModelSpec spec = OfDims({"N", "3"});
  spec.inputs.push_back(InputOf("mask", kOnnxFloat, {"N", ""}));

  StatusOr<Graph> graph = Import(spec, {.dims = {{"N", 5}, {"mask_1", 7}}});
  REQUIRE(graph.status() == OkStatus());
  CHECK(graph->shape_vars.empty());
  CHECK(StaticShape(graph->value(0)) == std::vector<int64_t>{5, 3});
  CHECK(StaticShape(graph->value(1)) == std::vector<int64_t>{5, 7});

  graph = Import(spec, {.shapes = {{"mask", {4, 6}}}});
  REQUIRE(graph.status() == OkStatus());
  CHECK(StaticShape(graph->value(0)) == std::vector<int64_t>{4, 3});

  graph = Import(spec, {.binds = {{"mask", MakeZeroTensor(kFloat32, {2, 9})}}});
  REQUIRE(graph.status() == OkStatus());
  CHECK(graph->inputs.size() == 1);
  CHECK(StaticShape(graph->value(0)) == std::vector<int64_t>{2, 3});
  CHECK(graph->value(1).name == "mask");
  CHECK(graph->ConstantOf(1) != nullptr);
}

TEST_CASE("options that do not fit the model are usage errors", "[models][import][shapes]") {
  ModelSpec spec = OfDims({"N", "3"});
  auto usage = [&](const ImportOptions& options) {
    CHECK(Import(spec, options).status().code() == absl::StatusCode::kFailedPrecondition);
    return ErrorOf(spec, options);
  };
  CHECK_THAT(usage({.dims = {{"M", 1}}}), Contains("no dimension is named 'M'; there are N"));
  CHECK_THAT(usage({.dims = {{"N", -1}}}), Contains("'N' is -1"));
  CHECK_THAT(usage({.shapes = {{"z", {1}}}}), Contains("no input is named 'z'; there are x"));
  CHECK_THAT(usage({.shapes = {{"x", {1}}}}), Contains("input 'x' has rank 2; shape 1 was given"));
  CHECK_THAT(usage({.shapes = {{"x", {1, 4}}}}), Contains("dimension 1 of input 'x' is 3"));
  CHECK_THAT(usage({.dims = {{"N", 2}}, .shapes = {{"x", {1, 3}}}}),
             Contains("dimension 'N' is given as 2 and as 1"));
  CHECK_THAT(usage({.binds = {{"x", MakeZeroTensor(kInt64, {1, 3})}}}),
             Contains("input 'x' is f32; i64[1x3] was given"));
  CHECK_THAT(usage({.shapes = {{"x", {1, 3}}}, .binds = {{"x", MakeZeroTensor(kFloat32, {1, 3})}}}),
             Contains("both a shape and a value"));
  spec = AddRelu();
  CHECK_THAT(usage({.dims = {{"N", 1}}}), Contains("all of them are fixed"));
}

TEST_CASE("a negative extent is a dimension without a name", "[models][import][shapes]") {
  ModelSpec spec = OfDims({"-1", "-3", "2"});
  StatusOr<Graph> graph = Import(spec);
  REQUIRE(graph.status() == OkStatus());
  REQUIRE(graph->shape_vars.size() == 2);
  CHECK(graph->shape_vars[1]->name == "x_1");
  graph = Import(spec, {.dims = {{"x_0", 5}, {"x_1", 6}}});
  REQUIRE(graph.status() == OkStatus());
  CHECK(StaticShape(graph->value(0)) == std::vector<int64_t>{5, 6, 2});
  graph = Import(spec, {.shapes = {{"x", {5, 6, 2}}}});
  CHECK(graph.status() == OkStatus());
}

TEST_CASE("an extent of 0 stays, unless a shape is given", "[models][import][shapes]") {
  ModelSpec spec = OfDims({"3", "0"});
  StatusOr<Graph> graph = Import(spec);
  REQUIRE(graph.status() == OkStatus());
  CHECK(StaticShape(graph->value(0)) == std::vector<int64_t>{3, 0});
  graph = Import(spec, {.shapes = {{"x", {3, 4}}}});
  REQUIRE(graph.status() == OkStatus());
  CHECK(StaticShape(graph->value(0)) == std::vector<int64_t>{3, 4});
  graph = Import(spec, {.binds = {{"x", MakeZeroTensor(kFloat32, {3, 2})}}});
  CHECK(graph.status() == OkStatus());
  CHECK_THAT(ErrorOf(spec, {.shapes = {{"x", {5, 4}}}}), Contains("dimension 0 of input 'x' is 3"));
}

TEST_CASE("an output declared with an extent of 0 says nothing where an input's was overridden",
          "[models][import][shapes]") {
  ModelSpec spec = OfDims({"3", "0"});
  Wire model = Wire().Varint(1, 8);
  Wire graph_bytes = GraphOf(spec);
  std::string untyped = Wire().Sub(12, Untyped(spec.outputs[0])).bytes;
  size_t at = graph_bytes.bytes.find(untyped);
  REQUIRE(at != std::string::npos);
  graph_bytes.bytes.replace(at, untyped.size(),
                            Wire().Sub(12, InputOf(spec.outputs[0], kOnnxFloat, {"3", "0"})).bytes);
  model.Sub(7, graph_bytes).Sub(8, Wire().Bytes(1, "").Varint(2, 17));
  auto declared = [&](const ImportOptions& options) {
    StatusOr<Graph> graph = ImportOnnxBytes(AsSpan(model.bytes), options);
    REQUIRE(graph.status() == OkStatus());
    return graph->value(graph->outputs[0]).shape.size();
  };
  CHECK(declared({}) == 2);
  CHECK(declared({.shapes = {{"x", {3, 4}}}}) == 0);
}

TEST_CASE("two dimensions called '?' may differ", "[models][import][shapes]") {
  ModelSpec spec = OfDims({"?", "3", "?"});
  StatusOr<Graph> graph = Import(spec);
  REQUIRE(graph.status() == OkStatus());
  REQUIRE(graph->shape_vars.size() == 2);
  CHECK(graph->shape_vars[0]->name == "x_0");
  CHECK(graph->shape_vars[1]->name == "x_2");
  graph = Import(spec, {.shapes = {{"x", {48, 3, 192}}}});
  REQUIRE(graph.status() == OkStatus());
  CHECK(StaticShape(graph->value(0)) == std::vector<int64_t>{48, 3, 192});
  graph = Import(spec, {.dims = {{"x_0", 5}, {"x_2", 6}}});
  REQUIRE(graph.status() == OkStatus());
  CHECK(StaticShape(graph->value(0)) == std::vector<int64_t>{5, 3, 6});
  CHECK_THAT(ErrorOf(spec, {.dims = {{"?", 1}}}), Contains("there are x_0, x_2"));
}

TEST_CASE("extents that cannot be are refused", "[models][import][hostile]") {
  CHECK_THAT(ErrorOf(OfDims({"4611686018427387904", "4"})), Contains("input 'x': shape"));
  ModelSpec spec = AddRelu();
  spec.inputs = {Untyped("x")};
  CHECK_FALSE(Import(spec).ok());
  spec.inputs = {InputOf("x", kOnnxString, {"1"})};
  CHECK(Import(spec).status().code() == absl::StatusCode::kUnimplemented);
}

TEST_CASE("an input that is no tensor is called what it is", "[models][import]") {
  const std::pair<int, std::string> kinds[] = {
      {4, "a sequence"}, {5, "a map"}, {8, "a sparse tensor"}, {9, "an optional"}};
  ModelSpec spec = AddRelu();
  for (const auto& [field, kind] : kinds) {
    spec.inputs = {Wire().Bytes(1, "x").Sub(2, Wire().Sub(field, Wire()))};
    CHECK(Import(spec).status().code() == absl::StatusCode::kUnimplemented);
    CHECK_THAT(ErrorOf(spec),
               Contains("input 'x' is " + kind + ", which is not supported; expected a tensor"));
  }
  spec.inputs = {Wire().Bytes(1, "x")};
  CHECK_THAT(ErrorOf(spec), Contains("input 'x' has no type in the model; expected a tensor"));
}

TEST_CASE("initializers that are also graph inputs are constants", "[models][import]") {
  ModelSpec spec = AddRelu();
  spec.inputs.push_back(InputOf("w", kOnnxFloat, {"3"}));
  StatusOr<Graph> graph = Import(spec);
  REQUIRE(graph.status() == OkStatus());
  CHECK(graph->inputs.size() == 1);
  CHECK(graph->ConstantOf(1) != nullptr);

  Tensor other = MakeZeroTensor(kFloat32, {3});
  graph = Import(spec, {.binds = {{"w", other}}});
  REQUIRE(graph.status() == OkStatus());
  CHECK(graph->ConstantOf(1)->values<float>()[0] == 0);
}

TEST_CASE("outputs that repeat a constant hold its bytes: they were read after the values moved",
          "[models][import]") {
  ModelSpec spec{.nodes = {{.op = "Constant",
                            .outputs = {"c"},
                            .attributes = {TensorAttr("value", Floats("", {3}, {1, 2, 3}))}}},
                 .outputs = {}};
  // Enough of them for any growth of the values.
  for (int i = 0; i < 40; ++i) {
    std::string name = "y" + std::to_string(i);
    spec.nodes.push_back({.op = "Identity", .inputs = {"c"}, .outputs = {name}});
    spec.outputs.push_back(name);
  }
  StatusOr<Graph> graph = Import(spec);
  REQUIRE(graph.status() == OkStatus());
  for (ValueId output : graph->outputs) {
    const Tensor& tensor = *graph->ConstantOf(output);
    REQUIRE(tensor.shape == std::vector<int64_t>{3});
    CHECK(tensor.values<float>()[2] == 3);
  }
}

TEST_CASE("Constant nodes of every kind and Identities of constants are constants",
          "[models][import]") {
  ModelSpec spec{
      .nodes = {{.op = "Constant",
                 .outputs = {"t"},
                 .attributes = {TensorAttr("value", Floats("", {2}, {1, 2}))}},
                {.op = "Constant", .outputs = {"i"}, .attributes = {IntAttr("value_int", -7)}},
                {.op = "Constant",
                 .outputs = {"is"},
                 .attributes = {IntsAttr("value_ints", {3, 4})}},
                {.op = "Constant", .outputs = {"f"}, .attributes = {FloatAttr("value_float", 0.5)}},
                {.op = "Constant",
                 .outputs = {"fs"},
                 .attributes = {FloatsAttr("value_floats", {0.25, 8})}},
                {.op = "Identity", .inputs = {"is"}, .outputs = {"copy"}},
                {.op = "Identity", .inputs = {"copy"}, .outputs = {"result"}},
                {.op = "Neg", .inputs = {"copy"}, .outputs = {"n"}}},
      .outputs = {"t", "i", "is", "f", "fs", "result", "n"}};
  StatusOr<Graph> graph = Import(spec);
  REQUIRE(graph.status() == OkStatus());
  CHECK(graph->nodes.size() == 1);
  auto constant = [&](size_t output) { return *graph->ConstantOf(graph->outputs[output]); };
  CHECK(constant(0).values<float>()[1] == 2);
  CHECK(constant(1).shape.empty());
  CHECK(constant(1).values<int64_t>()[0] == -7);
  CHECK(constant(2).values<int64_t>()[1] == 4);
  CHECK(constant(3).values<float>()[0] == 0.5f);
  CHECK(constant(4).values<float>()[1] == 8);
  CHECK(constant(5).values<int64_t>()[0] == 3);
  CHECK(graph->value(graph->outputs[5]).name == "result");
  CHECK(graph->nodes[0].inputs[0] == graph->outputs[2]);

  spec.nodes[0].attributes.push_back(IntAttr("value_int", 1));
  CHECK_THAT(ErrorOf(spec), Contains("node 't' (Constant) has 2 values; expected 1"));
  spec.nodes[0].attributes = {};
  CHECK_THAT(ErrorOf(spec), Contains("node 't' (Constant) has 0 values; expected 1"));
}

TEST_CASE("no cut and no flipped byte of a model does worse than an error",
          "[models][import][hostile]") {
  ModelSpec spec = AddRelu();
  spec.nodes.push_back(
      {.op = "Conv",
       .inputs = {"image", "k"},
       .outputs = {"c"},
       .attributes = {IntsAttr("strides", {2, 2}), StringAttr("auto_pad", "VALID")}});
  spec.inputs.push_back(InputOf("image", kOnnxFloat, {"N", "1", "8", "8"}));
  spec.initializers.push_back(Floats("k", {1, 1, 2, 2}, {1, 2, 3, 4}));
  std::string model = ModelOf(spec);
  REQUIRE(ImportOnnxBytes(AsSpan(model)).status() == OkStatus());
  int refused = 0;
  for (size_t size = 0; size < model.size(); ++size) {
    std::string cut = model.substr(0, size);
    refused += ImportOnnxBytes(AsSpan(cut)).ok() ? 0 : 1;
  }
  CHECK(refused > static_cast<int>(model.size()) * 9 / 10);
  Random random(7);
  for (int point = 0; point < 20000; ++point) {
    std::string damaged = model;
    for (uint64_t n = random.Below(3) + 1; n > 0; --n) {
      damaged[random.Below(damaged.size())] = static_cast<char>(random.Next());
    }
    StatusOr<Graph> graph = ImportOnnxBytes(AsSpan(damaged));
    if (graph.ok()) REQUIRE(VerifyGraph(*graph) == OkStatus());
  }
}
