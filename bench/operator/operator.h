#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph/graph.h"
#include "support/status.h"
#include "support/tensor.h"

// Single operators as networks have them, float32, which tcc-bench measures along the whole way
// from a graph to kernels, on any target.
namespace tcc {

// The shape of a windowed operator. Images are [batch, channels, height, width], windows square.
struct WindowShape {
  int64_t batch = 1, channels = 1, height = 1, width = 1;
  int64_t kernel = 1, stride = 1;
  int64_t top = 0, left = 0, bottom = 0, right = 0;  // padding

  int64_t OutHeight() const { return (height + top + bottom - kernel) / stride + 1; }
  int64_t OutWidth() const { return (width + left + right - kernel) / stride + 1; }
};

// A convolution. Weights [filters, channels / groups, kernel, kernel] are constant.
struct ConvolutionOp {
  WindowShape window;
  int64_t filters = 1, groups = 1;
  bool bias_relu = false;  // a bias and then a Relu follow
  // Whether its images are [batch, height, width, channels], as inside of a network.
  bool channels_last = false;
};
// An average pool: the mean of the elements of a window that lie inside the image.
struct AveragePoolOp {
  WindowShape window;
};
// A matrix product, y[batch, rows, columns] = a[batch, rows, depth] * b[batch, depth, columns].
// With one batch b is constant, as a layer's weights are.
struct MatmulOp {
  int64_t batch = 1, rows = 1, columns = 1, depth = 1;
};
struct ReluOp {
  std::vector<int64_t> shape;
};
struct ReduceSumOp {
  std::vector<int64_t> shape, axes;  // axes ascending
  bool keep_dims = false;
};
// A softmax along the columns of [rows, columns].
struct SoftmaxOp {
  int64_t rows = 1, columns = 1;
};
struct LayerNormOp {
  int64_t rows = 1, columns = 1;
};
inline constexpr double kLayerNormEpsilon = 1e-5;
// An attention: softmax(q k' / sqrt(depth)) v with q, k, v [batch, heads, tokens, depth].
struct AttentionOp {
  int64_t batch = 1, heads = 1, tokens = 1, depth = 1;
};
// A network of models/zoo/zoo.h.
struct NetworkOp {
  std::string network;
  bool small = false;
};

using OperatorKind = std::variant<ConvolutionOp, AveragePoolOp, MatmulOp, ReluOp, ReduceSumOp,
                                  SoftmaxOp, LayerNormOp, AttentionOp, NetworkOp>;

struct BenchOperator {
  std::string name;
  OperatorKind kind;
};

// Returns the graph of an operator. Fails for a network that does not exist.
StatusOr<Graph> GraphOf(const BenchOperator& op);

bool IsChannelsLast(const BenchOperator& op);

// Returns the constants of the operator, weights and bias, in the order of its definition above.
std::vector<Tensor> ConstantsOf(const BenchOperator& op, const Graph& graph);

// The least work of an operator: float operations, including those on padding, and bytes that are
// read or written once. 0 for a network, whose kernels say more.
struct OperatorWork {
  double flops = 0;
  double bytes = 0;
};
OperatorWork WorkOf(const BenchOperator& op);

// Transposes float32 tensors [n, c, h, w] to [n, h, w, c] and back. Tensors of other ranks stay as
// they are.
Tensor ToChannelsLast(const Tensor& tensor);
Tensor FromChannelsLast(const Tensor& tensor);

std::vector<Tensor> ToChannelsLast(const std::vector<Tensor>& tensors);
std::vector<Tensor> FromChannelsLast(const std::vector<Tensor>& tensors);

}  // namespace tcc
