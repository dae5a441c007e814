#include <algorithm>
#include <catch2/catch.hpp>

#include "compiler/compile_graph.h"
#include "compiler/memory_need.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "graph/passes/passes.h"
#include "models/onnx/import_onnx.h"
#include "tests/models/onnx_bytes.h"

// Models that ask for more than there is, or for what has no meaning: from import to the last graph
// pass, each must end in an error that names the node.

using namespace tcc;
using namespace tcc::onnx_bytes;
using Catch::Matchers::Contains;

namespace {

Status CompileStatus(const ModelSpec& spec) {
  StatusOr<Graph> graph = ImportOnnxBytes(AsSpan(ModelOf(spec)));
  if (!graph.ok()) return graph.status();
  CompileOptions options{
      .target = *FindTarget("reference"), .threads = 1, .verify = false, .progress = {}};
  return CompileGraph(std::move(*graph), options).status();
}

std::string ErrorOf(const ModelSpec& spec) {
  Status status = CompileStatus(spec);
  INFO(status.ToString());
  CHECK(status.code() != absl::StatusCode::kInternal);
  return Message(status);
}

// Returns the only warning of a model that compiles.
std::string WarningOf(const ModelSpec& spec) {
  StatusOr<Graph> graph = ImportOnnxBytes(AsSpan(ModelOf(spec)));
  REQUIRE(graph.status() == OkStatus());
  std::vector<std::string> warnings;
  CompileOptions options{
      .target = *FindTarget("reference"), .threads = 1, .verify = false, .progress = {}};
  options.warn = [&](const std::string& message) { warnings.push_back(message); };
  CHECK(CompileGraph(std::move(*graph), options).status() == OkStatus());
  REQUIRE(warnings.size() == 1);
  return warnings[0];
}

// One node 'n' over input x and the given operands.
ModelSpec OneNode(const std::string& op, const std::vector<std::string>& dims,
                  const std::vector<Wire>& operands, const std::vector<Wire>& attributes = {}) {
  ModelSpec spec{
      .nodes =
          {{.op = op, .inputs = {"x"}, .outputs = {"y"}, .attributes = attributes, .name = "n"}},
      .inputs = {InputOf("x", kOnnxFloat, dims)},
      .outputs = {"y"},
      .initializers = operands};
  for (size_t i = 0; i < operands.size(); ++i) {
    spec.nodes[0].inputs.push_back(fmt::format("o{}", i));
  }
  return spec;
}

constexpr int64_t kHuge = int64_t{1} << 62;

}  // namespace

TEST_CASE("extents of 2^31 and more are refused with the node's name", "[compiler][hostile]") {
  CHECK_THAT(ErrorOf(OneNode("Expand", {"1"}, {Ints("o0", {int64_t{1} << 31})})),
             Contains("node 'n' (Expand)") && Contains("at most 2147483647"));
  CHECK_THAT(ErrorOf(OneNode("Relu", {"2147483648"}, {})),
             Contains("input 'x'") && Contains("2147483648"));
  CHECK_THAT(ErrorOf(OneNode("Pad", {"4"}, {Ints("o0", {0, int64_t{1} << 33})})),
             Contains("node 'n' (Pad)"));
}

TEST_CASE("ranks beyond 16 are refused", "[compiler][hostile]") {
  std::vector<std::string> dims(17, "1");
  CHECK_THAT(ErrorOf(OneNode("Relu", dims, {})), Contains("17 dimensions; expected at most 16"));
  CHECK_THAT(ErrorOf(OneNode("Reshape", {"1"}, {Ints("o0", std::vector<int64_t>(17, 1))})),
             Contains("node 'n' (Reshape)") && Contains("17 dimensions"));
}

TEST_CASE("shapes whose products overflow are refused, with zeros among them too",
          "[compiler][hostile]") {
  CHECK_THAT(ErrorOf(OneNode("Expand", {"1"}, {Ints("o0", {kHuge, kHuge})})),
             Contains("node 'n' (Expand)"));
  CHECK_THAT(ErrorOf(OneNode("Expand", {"1"}, {Ints("o0", {0, 1 << 30, 1 << 30, 1 << 30})})),
             Contains("more than 1099511627776 elements"));
  CHECK_THAT(ErrorOf(OneNode("Relu", {"0", "2147483647", "2147483647"}, {})),
             Contains("input 'x'"));
}

TEST_CASE(
    "positions of a rotary embedding that are fewer than its rows are not read beyond their end",
    "[models][hostile]") {
  auto with_positions = [](const std::vector<std::string>& dims) {
    ModelSpec spec = OneNode("RotaryEmbedding", {"2", "1", "3", "4"}, {});
    spec.nodes[0].inputs = {"x", "table", "table", "positions"};
    spec.inputs.push_back(InputOf("table", kOnnxFloat, {"5", "2"}));
    spec.inputs.push_back(InputOf("positions", kOnnxInt64, dims));
    spec.opset = 23;
    return spec;
  };
  CHECK(CompileStatus(with_positions({"2", "3"})) == OkStatus());
  CHECK(CompileStatus(with_positions({"1", "3"})) == OkStatus());
  CHECK(CompileStatus(with_positions({"0", "3"})) == OkStatus());  // an unknown batch
  for (const std::vector<std::string>& dims :
       std::vector<std::vector<std::string>>{{"2", "0"}, {"2", "2"}, {"3", "3"}, {"2", "4"}}) {
    CHECK_THAT(ErrorOf(with_positions(dims)),
               Contains("node 'n' (RotaryEmbedding)") && Contains("positions have shape"));
  }
}

TEST_CASE("bombs take no memory when they are compiled", "[compiler][hostile]") {
  // 4 TiB, within the limits of extents: 2^40 elements. A larger machine may run it.
  ModelSpec expand = OneNode("Expand", {"1"}, {Ints("o0", {1 << 20, 1 << 20})});
  CHECK_THAT(WarningOf(expand),
             Contains("the model cannot run on this machine: no memory for the model") &&
                 Contains("node 'n' (Expand)"));

  // The bomb is inside, its output small.
  ModelSpec inside = OneNode("Expand", {"1"}, {Ints("o0", {1 << 20, 1 << 20})});
  inside.nodes.push_back({.op = "ReduceSum",
                          .inputs = {"y"},
                          .outputs = {"z"},
                          .attributes = {IntAttr("keepdims", 0)}});
  inside.outputs = {"z"};
  // Fusion may keep it from ever being stored; then it must not be computed for hours either.
  Status status = CompileStatus(inside);
  CHECK((status.ok() || status.code() == absl::StatusCode::kResourceExhausted));

  ModelSpec constant{.nodes = {{.op = "ConstantOfShape", .inputs = {"s"}, .outputs = {"y"}}},
                     .outputs = {"y"},
                     .initializers = {Ints("s", {1 << 20, 1 << 20})}};
  CHECK_THAT(WarningOf(constant), Contains("no memory for the model"));
}

TEST_CASE("a bomb of constants is not folded", "[compiler][hostile]") {
  // 2^38 bytes from a constant of four: beyond the budget of folding, so it is left to the memory
  // check.
  ModelSpec spec{.nodes = {{.op = "Expand", .inputs = {"c", "s"}, .outputs = {"y"}, .name = "n"}},
                 .outputs = {"y"},
                 .initializers = {Floats("c", {1}, {1}), Ints("s", {1 << 18, 1 << 18})}};
  CHECK_THAT(WarningOf(spec), Contains("no memory for the model"));
}

TEST_CASE("windows without meaning are refused with attribute and number", "[compiler][hostile]") {
  auto conv = [](const std::vector<Wire>& attributes,
                 const std::vector<int64_t>& weight = {1, 1, 3}) {
    int64_t count = 1;
    for (int64_t extent : weight) count *= extent;
    return ErrorOf(OneNode("Conv", {"1", "1", "8"},
                           {Floats("o0", weight, std::vector<float>(static_cast<size_t>(count)))},
                           attributes));
  };
  CHECK_THAT(conv({IntsAttr("strides", {0})}),
             Contains("node 'n' (Conv)") && Contains("strides has entry 0"));
  CHECK_THAT(conv({IntsAttr("strides", {-1})}), Contains("strides has entry -1"));
  CHECK_THAT(conv({IntsAttr("dilations", {0})}), Contains("dilations has entry 0"));
  CHECK_THAT(conv({IntsAttr("dilations", {kHuge})}), Contains("node 'n' (Conv)"));
  CHECK_THAT(conv({IntsAttr("pads", {kHuge, kHuge})}), Contains("node 'n' (Conv)"));
  CHECK_THAT(conv({IntAttr("group", 0)}), Contains("group is 0"));
  CHECK_THAT(conv({IntAttr("group", -1)}), Contains("group is -1"));
  CHECK_THAT(conv({IntsAttr("strides", {1, 1})}), Contains("strides has 2 entries; expected 1"));
  CHECK_THAT(conv({IntsAttr("kernel_shape", {0})}), Contains("kernel_shape"));
  CHECK_THAT(conv({}, {1, 1, 0}), Contains("node 'n' (Conv)"));
  CHECK_THAT(conv({}, {1, 1}), Contains("rank"));
  CHECK_THAT(ErrorOf(OneNode("MaxPool", {"1", "1", "8"}, {}, {IntsAttr("kernel_shape", {0})})),
             Contains("node 'n' (MaxPool)"));
  CHECK_THAT(ErrorOf(OneNode("MaxPool", {"1", "1", "8"}, {},
                             {IntsAttr("kernel_shape", {2}), IntsAttr("strides", {0})})),
             Contains("strides has entry 0"));
}

TEST_CASE("axes and permutations outside the rank are refused", "[compiler][hostile]") {
  CHECK_THAT(ErrorOf(OneNode("Transpose", {"2", "3"}, {}, {IntsAttr("perm", {0, 2})})),
             Contains("node 'n' (Transpose)") && Contains("perm"));
  CHECK_THAT(ErrorOf(OneNode("Concat", {"2", "3"}, {}, {IntAttr("axis", 2)})),
             Contains("axis is 2; expected -2 to 1"));
  CHECK_THAT(ErrorOf(OneNode("Softmax", {"2", "3"}, {}, {IntAttr("axis", INT64_MIN)})),
             Contains("node 'n' (Softmax)"));
  CHECK_THAT(ErrorOf(OneNode("Squeeze", {"2", "3"}, {Ints("o0", {kHuge})})),
             Contains("node 'n' (Squeeze)"));
  CHECK_THAT(ErrorOf(OneNode("Unsqueeze", {"2"}, {Ints("o0", {0, 0})})),
             Contains("node 'n' (Unsqueeze)"));
  CHECK_THAT(ErrorOf(OneNode("ReduceSum", {"2", "3"}, {Ints("o0", {5})})),
             Contains("node 'n' (ReduceSum)"));
}

TEST_CASE("a long chain of nodes takes no stack", "[compiler][hostile]") {
  ModelSpec spec{.inputs = {InputOf("x", kOnnxFloat, {"2"})}, .outputs = {"v20000"}};
  for (int i = 0; i < 20000; ++i) {
    spec.nodes.push_back({.op = i % 2 == 0 ? "Neg" : "Abs",
                          .inputs = {i == 0 ? "x" : fmt::format("v{}", i)},
                          .outputs = {fmt::format("v{}", i + 1)}});
  }
  StatusOr<Graph> graph = ImportOnnxBytes(AsSpan(ModelOf(spec)));
  REQUIRE(graph.status() == OkStatus());
  CHECK(RunGraphPasses(*graph) == OkStatus());
}

TEST_CASE("a chain of shape arithmetic that doubles at each step stays small",
          "[compiler][hostile]") {
  // Concat of a list with itself: 2^40 elements after forty nodes, if somebody folded them.
  ModelSpec spec{.nodes = {{.op = "Shape", .inputs = {"x"}, .outputs = {"c0"}}},
                 .inputs = {InputOf("x", kOnnxFloat, {"2"})},
                 .outputs = {"y"}};
  for (int i = 0; i < 28; ++i) {
    spec.nodes.push_back({.op = "Concat",
                          .inputs = {fmt::format("c{}", i), fmt::format("c{}", i)},
                          .outputs = {fmt::format("c{}", i + 1)},
                          .attributes = {IntAttr("axis", 0)}});
  }
  spec.nodes.push_back({.op = "Relu", .inputs = {"x"}, .outputs = {"r"}});
  spec.nodes.push_back({.op = "Reshape", .inputs = {"r", "c28"}, .outputs = {"y"}, .name = "n"});
  CHECK_THAT(ErrorOf(spec), Contains("node 'n' (Reshape)"));
}

TEST_CASE("memory is counted before there is a plan", "[compiler]") {
  ModelSpec spec{.nodes = {{.op = "Expand", .inputs = {"x", "s"}, .outputs = {"h"}, .name = "wide"},
                           {.op = "MatMul", .inputs = {"h", "w"}, .outputs = {"y"}}},
                 .inputs = {InputOf("x", kOnnxFloat, {"1", "2"})},
                 .outputs = {"y"},
                 .initializers = {Ints("s", {100, 2}), Floats("w", {2, 1}, {1, 2})}};
  StatusOr<Graph> graph = ImportOnnxBytes(AsSpan(ModelOf(spec)));
  REQUIRE(graph.status() == OkStatus());
  REQUIRE(InferShapes(*graph) == OkStatus());
  MemoryNeed need = MemoryNeedOf(*graph);
  CHECK(need.interface == 2 * 4 + 100 * 4);
  CHECK(need.node == 100 * 2 * 4);
  CHECK(need.weights == 2 * 4 + 2 * 8);
  CHECK(need.largest == "node 'y' (MatMul)");
  CHECK(CheckMemoryNeed(*graph, *FindTarget("native")) == OkStatus());
}

TEST_CASE("only the weights of a model for a GPU must fit this machine", "[compiler]") {
  // 4 TiB of activations.
  ModelSpec spec = OneNode("Expand", {"1"}, {Ints("o0", {1 << 20, 1 << 20})});
  StatusOr<Graph> graph = ImportOnnxBytes(AsSpan(ModelOf(spec)));
  REQUIRE(graph.status() == OkStatus());
  REQUIRE(InferShapes(*graph) == OkStatus());
  CHECK(CheckMemoryNeed(*graph, *FindTarget("sm_86")) == OkStatus());
  for (const char* target : {"native", "reference"}) {
    Status status = CheckMemoryNeed(*graph, *FindTarget(target));
    CHECK(status.code() == absl::StatusCode::kResourceExhausted);
    CHECK_THAT(Message(status), Contains("node 'n' (Expand)") && Contains("are available"));
  }
}

TEST_CASE("thousands of operands take no stack, more are unsupported", "[compiler][hostile]") {
  for (const char* op : {"Max", "Concat"}) {
    ModelSpec spec = OneNode(op, {"2"}, {});
    if (spec.nodes[0].op == "Concat") spec.nodes[0].attributes = {IntAttr("axis", 0)};
    spec.nodes[0].inputs.assign(4000, "x");
    CHECK(CompileStatus(spec) == OkStatus());
    spec.nodes[0].inputs.assign(60000, "x");
    CHECK(CompileStatus(spec).code() == absl::StatusCode::kUnimplemented);
  }
}

TEST_CASE("folding ends after some work, however little each node gives", "[compiler][hostile]") {
  // Each maximum reads four million elements and gives one.
  ModelSpec spec{.nodes = {{.op = "Expand", .inputs = {"one", "s"}, .outputs = {"e"}}},
                 .inputs = {InputOf("x", kOnnxFloat, {"2"})},
                 .outputs = {"v300"},
                 .initializers = {Floats("one", {1}, {1}), Ints("s", {2000, 2000})}};
  for (int i = 0; i < 300; ++i) {
    spec.nodes.push_back({.op = "ReduceMax",
                          .inputs = {"e"},
                          .outputs = {fmt::format("r{}", i)},
                          .attributes = {IntAttr("keepdims", i % 2), IntsAttr("axes", {0, 1})}});
    spec.nodes.push_back({.op = "Add",
                          .inputs = {i == 0 ? "x" : fmt::format("v{}", i), fmt::format("r{}", i)},
                          .outputs = {fmt::format("v{}", i + 1)}});
  }
  StatusOr<Graph> graph = ImportOnnxBytes(AsSpan(ModelOf(spec)));
  REQUIRE(graph.status() == OkStatus());
  REQUIRE(InferShapes(*graph) == OkStatus());
  FoldBudget budget;
  // The Expand takes a share of the budget, too.
  int64_t affordable = budget.instances / 4'000'000 - 1;
  CHECK(FoldConstants(*graph, budget) == OkStatus());
  auto left = std::ranges::count(graph->nodes, OpKind::kReduceMax, &Node::op);
  CHECK(left == 300 - affordable);
}
