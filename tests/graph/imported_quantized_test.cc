// Quantized operators of com.microsoft from the model's bytes to their values.

#include <catch2/catch.hpp>
#include <cmath>

#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "models/onnx/import_onnx.h"
#include "tests/graph/one_node.h"
#include "tests/models/onnx_bytes.h"

namespace tcc {
namespace {

using namespace onnx_bytes;
using Catch::Matchers::Contains;
using Doubles = std::vector<double>;

Wire Bytes(const std::string& name, int type, const std::vector<int64_t>& dims,
           const std::vector<uint8_t>& values) {
  return RawTensor(name, type, dims, RawBytes(values));
}

// The first result y of one node of com.microsoft over x.
StatusOr<Graph> Imported(NodeSpec node, const Wire& x, const std::vector<Wire>& initializers) {
  node.name = "node";
  node.domain = "com.microsoft";
  std::vector<std::string> outputs;
  for (const std::string& output : node.outputs) {
    if (!output.empty()) outputs.push_back(output);
  }
  return ImportOnnxBytes(AsSpan(
      ModelOf({.nodes = {node}, .inputs = {x}, .outputs = outputs, .initializers = initializers})));
}

// The results as they are imported; the optimized graph has to give the same up to `tolerance`.
std::vector<Doubles> ResultsOf(const StatusOr<Graph>& imported, const Tensor& x,
                               double tolerance = 0) {
  INFO(imported.status());
  REQUIRE(imported.ok());
  Graph graph = *imported;
  Status status = InferShapes(graph);
  INFO(status);
  REQUIRE(status.ok());
  std::vector<Doubles> results;
  std::vector<Tensor> tensors = InterpretGraph(graph, {x}).value();
  for (const Tensor& tensor : tensors) results.push_back(ValuesOf(tensor));
  Graph optimized = *imported;
  REQUIRE(RunGraphPasses(optimized).ok());
  std::vector<Tensor> again = InterpretGraph(optimized, {x}).value();
  for (size_t i = 0; i < results.size(); ++i) {
    Doubles values = ValuesOf(again[i]);
    REQUIRE(values.size() == results[i].size());
    for (size_t j = 0; j < values.size(); ++j) {
      CHECK(std::abs(values[j] - results[i][j]) <= tolerance);
    }
  }
  return results;
}

NodeSpec NBits(int64_t depth, int64_t columns, int64_t block, int64_t bits,
               const std::vector<std::string>& inputs) {
  return {"MatMulNBits",
          inputs,
          {"y"},
          {IntAttr("K", depth), IntAttr("N", columns), IntAttr("block_size", block),
           IntAttr("bits", bits)}};
}

// An LSTM in both directions of one hidden element, over two inputs in three steps. W has a scale
// and a zero point for each column, R for each direction.
struct SmallLstm {
  std::vector<float> x = {1, -0.5, 0.25, 2, -1, 0.75};
  std::vector<uint8_t> w = {10, 20, 30, 40, 50, 60, 70, 80, 5, 15, 25, 35, 45, 55, 65, 75};
  std::vector<float> w_scale = {0.01f, 0.02f, 0.03f, 0.04f, 0.04f, 0.03f, 0.02f, 0.01f};
  std::vector<uint8_t> w_zero = {20, 30, 40, 50, 15, 25, 35, 45};
  std::vector<uint8_t> r = {100, 130, 140, 90, 120, 150, 160, 70};
  std::vector<float> r_scale = {0.02f, 0.05f};
  std::vector<uint8_t> r_zero = {110, 125};

  StatusOr<Graph> Import(const std::vector<int64_t>& w_zero_shape) const {
    NodeSpec node{"DynamicQuantizeLSTM",
                  {"x", "w", "r", "", "", "", "", "", "ws", "wz", "rs", "rz"},
                  {"y", "", "c"},
                  {StringAttr("direction", "bidirectional"), IntAttr("hidden_size", 1)}};
    return Imported(node, InputOf("x", kOnnxFloat, {"3", "1", "2"}),
                    {Bytes("w", kOnnxUInt8, {2, 2, 4}, w), Bytes("r", kOnnxUInt8, {2, 1, 4}, r),
                     Floats("ws", {2, 4}, w_scale), Bytes("wz", kOnnxUInt8, w_zero_shape, w_zero),
                     Floats("rs", {2}, r_scale), Bytes("rz", kOnnxUInt8, {2}, r_zero)});
  }

  // Y and Y_c; the gates are i, o, f, c.
  std::vector<Doubles> Expected() const {
    auto sigmoid = [](double value) { return 1 / (1 + std::exp(-value)); };
    std::vector<Doubles> results = {Doubles(6), Doubles(2)};
    for (int d = 0; d < 2; ++d) {
      double h = 0, c = 0;
      for (int step = 0; step < 3; ++step) {
        int t = d == 0 ? step : 2 - step;
        Doubles gates(4);
        for (int g = 0; g < 4; ++g) {
          for (int i = 0; i < 2; ++i) {
            gates[g] += x[2 * t + i] * (w[8 * d + 4 * i + g] - w_zero[4 * d + g]) *
                        static_cast<double>(w_scale[4 * d + g]);
          }
          gates[g] += h * (r[4 * d + g] - r_zero[d]) * static_cast<double>(r_scale[d]);
        }
        c = sigmoid(gates[2]) * c + sigmoid(gates[0]) * std::tanh(gates[3]);
        h = sigmoid(gates[1]) * std::tanh(c);
        results[0][2 * t + d] = h;
      }
      results[1][d] = c;
    }
    return results;
  }
};

}  // namespace

TEST_CASE("DynamicQuantizeLSTM is an LSTM over weights that are dequantized by column or direction",
          "[graph][graph]") {
  SmallLstm lstm;
  Tensor x = F32({3, 1, 2}, Doubles(lstm.x.begin(), lstm.x.end()));
  std::vector<Doubles> results = ResultsOf(lstm.Import({2, 4}), x, 1e-6);
  std::vector<Doubles> expected = lstm.Expected();
  REQUIRE(results.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    for (size_t j = 0; j < expected[i].size(); ++j) {
      CHECK(std::abs(results[i][j] - expected[i][j]) < 1e-6);
    }
  }
  StatusOr<Graph> wrong = lstm.Import({8});
  REQUIRE_FALSE(wrong.ok());
  CHECK_THAT(Message(wrong.status()),
             Contains("node 'node' (com.microsoft.DynamicQuantizeLSTM): input 9 has shape 8; "
                      "expected 2 or 2x4, scale and zero point the same"));
}

TEST_CASE("weights of two bits are the lowest of a byte first, as are their zero points",
          "[graph][graph]") {
  // The rows are 0 1 2 3, 3 2 1 0 and 3 3 3 3, 0 0 0 0, in two blocks each.
  std::vector<Wire> constants = {Bytes("w", kOnnxUInt8, {2, 2, 1}, {0xe4, 0x1b, 0xff, 0x00}),
                                 Floats("s", {2, 2}, {1, 10, 1, 0.5})};
  Wire x = InputOf("x", kOnnxFloat, {"1", "8"});
  Tensor ones = F32({1, 8}, Doubles(8, 1));
  CHECK(ResultsOf(Imported(NBits(8, 2, 4, 2, {"x", "w", "s"}), x, constants), ones)[0] ==
        Doubles{-22, 0});
  // Zeros 1 and 3, then 0 and 2; the upper half of each byte is padding.
  constants.push_back(Bytes("z", kOnnxUInt8, {2, 1}, {0xfd, 0xf8}));
  CHECK(ResultsOf(Imported(NBits(8, 2, 4, 2, {"x", "w", "s", "z"}), x, constants), ones)[0] ==
        Doubles{2 - 60, 12 - 4});
  // The last two numbers of each row are beyond the depth.
  x = InputOf("x", kOnnxFloat, {"1", "6"});
  CHECK(ResultsOf(Imported(NBits(6, 2, 4, 2, {"x", "w", "s", "z"}), x, constants),
                  F32({1, 6}, Doubles(6, 1)))[0] == Doubles{2 - 10, 12 - 2});
}

// exp(ln 2 (q - 10)): shares of powers of two. A softmax of f32, then halves to even.
TEST_CASE("QLinearSoftmax normalizes over the axis that its own opset attribute means",
          "[graph][graph]") {
  auto softmax = [](int64_t axis, int64_t opset) {
    NodeSpec node{"QLinearSoftmax", {"x", "s", "z", "t", "u"}, {"y"}, {IntAttr("opset", opset)}};
    if (axis != -1) node.attributes.push_back(IntAttr("axis", axis));
    return ResultsOf(Imported(node, InputOf("x", kOnnxUInt8, {"1", "2", "2"}),
                              {Floats("s", {}, {0.693147181f}), Bytes("z", kOnnxUInt8, {}, {10}),
                               Floats("t", {}, {1.0f / 256}), Bytes("u", kOnnxUInt8, {}, {1})}),
                     Of(DTypeCode::kUInt8, {1, 2, 2}, {12, 11, 11, 12}))[0];
  };
  // 2/3 and 1/3 of 256, and 1; over all four 1/3 and 1/6.
  CHECK(softmax(-1, 13) == Doubles{172, 86, 86, 172});
  CHECK(softmax(1, 13) == Doubles{172, 86, 86, 172});
  CHECK(softmax(1, 12) == Doubles{86, 44, 44, 86});
  CHECK(softmax(-1, 12) == Doubles{172, 86, 86, 172});
}

TEST_CASE("zero points of MatMulNBits may be floats of the scales' type", "[graph][graph]") {
  std::vector<Wire> constants = {Bytes("w", kOnnxUInt8, {1, 2, 1}, {0x21, 0xf8}),
                                 Floats("s", {2}, {2, 4}), Floats("z", {2}, {1.5, 8.25}),
                                 RawTensor("h", kOnnxFloat16, {2}, std::string(4, '\0'))};
  Wire x = InputOf("x", kOnnxFloat, {"1", "4"});
  Tensor values = F32({1, 4}, {1, 2, 4, 8});
  // (1 - 1.5) 2 + (2 - 1.5) 2 2 + (8 - 8.25) 4 4 + (15 - 8.25) 4 8
  CHECK(ResultsOf(Imported(NBits(4, 1, 2, 4, {"x", "w", "s", "z"}), x, constants), values)[0] ==
        Doubles{213});
  StatusOr<Graph> other = Imported(NBits(4, 1, 2, 4, {"x", "w", "s", "h"}), x, constants);
  REQUIRE_FALSE(other.ok());
  CHECK_THAT(Message(other.status()), Contains("node 'node' (com.microsoft.MatMulNBits)") &&
                                          Contains("input 3 is f16; expected u8 or f32"));
}

}  // namespace tcc
