#include "models/onnx/export_onnx.h"

#include <catch2/catch.hpp>

#include "models/onnx/import_onnx.h"
#include "tests/models/onnx_bytes.h"

using namespace tcc;
using namespace tcc::onnx_bytes;
using Catch::Matchers::Contains;

namespace {

// x: f32[N, 3, 8, 8], one node y over x and an i64 constant `axes` where wanted.
Graph OneNode(OpKind op, const std::map<std::string, Attribute>& attributes,
              const std::vector<int64_t>& axes = {}) {
  Graph graph;
  graph.name = "one";
  Var batch = ShapeVar("N", kMinFreeDim, kMaxFreeDim, 8);
  graph.shape_vars = {batch};
  ValueId x = graph.AddValue({"x", kFloat32, {batch, 3, 8, 8}, {}});
  ValueId y = graph.AddValue({"y", kFloat32, {batch, 3, 8, 8}, {}});
  graph.nodes = {{"y", op, {x}, {y}, attributes}};
  if (!axes.empty()) {
    auto count = static_cast<int64_t>(axes.size());
    Tensor tensor = MakeTensor(kInt64, {count},
                               {reinterpret_cast<const uint8_t*>(axes.data()), axes.size() * 8});
    graph.nodes[0].inputs.push_back(graph.AddValue({"y/axes", kInt64, {count}, tensor}));
  }
  graph.inputs = {x};
  graph.outputs = {y};
  return graph;
}

void CheckRoundTrip(const Graph& graph) {
  StatusOr<std::string> bytes = ExportOnnxBytes(graph);
  REQUIRE(bytes.status() == OkStatus());
  StatusOr<Graph> read = ImportOnnxBytes(AsSpan(*bytes));
  REQUIRE(read.status() == OkStatus());
  CHECK(Print(*read) == Print(graph));
}

std::string ErrorOf(const Graph& graph) {
  Status status = ExportOnnxBytes(graph).status();
  CHECK(status.code() == absl::StatusCode::kUnimplemented);
  return tcc::Message(status);
}

}  // namespace

TEST_CASE("what the older opset says otherwise comes back the same", "[models][export]") {
  CheckRoundTrip(OneNode(OpKind::kSoftmax, {{"axis", int64_t{1}}}));
  std::map<std::string, Attribute> reduce = {{"keepdims", int64_t{0}},
                                             {"noop_with_empty_axes", int64_t{0}}};
  for (OpKind op : {OpKind::kReduceMean, OpKind::kReduceMax, OpKind::kReduceMin,
                    OpKind::kReduceProd, OpKind::kReduceSum}) {
    CheckRoundTrip(OneNode(op, reduce, {1, -1}));
    CheckRoundTrip(OneNode(op, reduce));
  }
  CheckRoundTrip(OneNode(OpKind::kCast, {{"to", std::string("f32")}}));
  CheckRoundTrip(OneNode(OpKind::kLeakyRelu, {{"alpha", static_cast<double>(0.3f)}}));
}

TEST_CASE("a reduction over nothing is written as an Identity", "[models][export]") {
  Graph graph = OneNode(OpKind::kReduceMean,
                        {{"keepdims", int64_t{1}}, {"noop_with_empty_axes", int64_t{1}}});
  StatusOr<Graph> read = ImportOnnxBytes(AsSpan(*ExportOnnxBytes(graph)));
  REQUIRE(read.status() == OkStatus());
  CHECK(read->nodes[0].op == OpKind::kIdentity);
}

TEST_CASE("what the opset cannot say is refused with the node's name", "[models][export]") {
  CHECK_THAT(ErrorOf(OneNode(OpKind::kRepack, {})), Contains("node 'y' (Repack)"));
  Graph graph = OneNode(OpKind::kRelu, {});
  graph.nodes[0].layout = DataLayout::kChannelsLast;
  CHECK_THAT(ErrorOf(graph), Contains("node 'y' (Relu)"));
  graph = OneNode(OpKind::kAveragePool, {{"dilations", std::vector<int64_t>{1, 2}}});
  CHECK_THAT(ErrorOf(graph), Contains("dilated AveragePool"));
  graph = OneNode(OpKind::kSplit, {{"axis", int64_t{1}}, {"num_outputs", int64_t{2}}});
  graph.nodes[0].outputs.push_back(graph.AddValue({"z", kFloat32, ToExprs({1}), {}}));
  CHECK_THAT(ErrorOf(graph),
             Contains("node 'y' (Split): opset 17 has no parts that are not equal"));
}

TEST_CASE("a Split into equal parts is written without their number", "[models][export]") {
  Graph graph = OneNode(OpKind::kSplit, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}});
  graph.nodes[0].outputs.push_back(graph.AddValue({"z", kFloat32, ToExprs({1}), {}}));
  StatusOr<Graph> read = ImportOnnxBytes(AsSpan(*ExportOnnxBytes(graph)));
  REQUIRE(read.status() == OkStatus());
  CHECK_FALSE(read->nodes[0].attributes.contains("num_outputs"));
}

TEST_CASE("a graph that is no graph is not written", "[models][export]") {
  Graph graph = OneNode(OpKind::kRelu, {});
  graph.nodes.push_back(graph.nodes[0]);
  CHECK_FALSE(ExportOnnxBytes(graph).ok());
}

TEST_CASE("constants that nobody reads are not written", "[models][export]") {
  Graph graph = OneNode(OpKind::kRelu, {});
  size_t without = ExportOnnxBytes(graph)->size();
  graph.AddValue({"unused", kFloat32, ToExprs({1000}), MakeZeroTensor(kFloat32, {1000})});
  CHECK(ExportOnnxBytes(graph)->size() == without);
}
