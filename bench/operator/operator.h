#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph/graph.h"
#include "support/status.h"

// Single operators as networks have them, float32: what tcc-bench measures along the whole way from
// a graph to kernels, on any target.
namespace tcc {

// Images are [batch, channels, height, width], windows square.
struct WindowShape {
  int64_t batch = 1, channels = 1, height = 1, width = 1;
  int64_t kernel = 1, stride = 1;
  int64_t top = 0, left = 0, bottom = 0, right = 0;  // padding

  int64_t OutHeight() const { return (height + top + bottom - kernel) / stride + 1; }
  int64_t OutWidth() const { return (width + left + right - kernel) / stride + 1; }
};

// Weights [filters, channels / groups, kernel, kernel] are constant.
struct ConvolutionOp {
  WindowShape window;
  int64_t filters = 1, groups = 1;
  bool bias_relu = false;  // is added to, and then rectified
  // Its images are [batch, height, width, channels], as inside of a network.
  bool channels_last = false;
};
// The mean of what lies inside.
struct AveragePoolOp {
  WindowShape window;
};
// y[batch, rows, columns] = a[batch, rows, depth] * b[batch, depth, columns]. With one batch b is
// constant, as a layer's weights are.
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
// Along the columns of [rows, columns].
struct SoftmaxOp {
  int64_t rows = 1, columns = 1;
};
struct LayerNormOp {
  int64_t rows = 1, columns = 1;
};
inline constexpr double kLayerNormEpsilon = 1e-5;
// softmax(q k' / sqrt(depth)) v with q, k, v [batch, heads, tokens, depth].
struct AttentionOp {
  int64_t batch = 1, heads = 1, tokens = 1, depth = 1;
};
// One of models/zoo/zoo.h.
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

// Fails where a network does not exist.
StatusOr<Graph> GraphOf(const BenchOperator& op);

bool IsChannelsLast(const BenchOperator& op);

// The constants of the operator, weights and bias, in the order of its definition above.
std::vector<Tensor> ConstantsOf(const BenchOperator& op, const Graph& graph);

// What cannot be less: float operations, those of padding among them, and bytes that are read or
// written once. 0 for a network, whose kernels say more.
struct OperatorWork {
  double flops = 0;
  double bytes = 0;
};
OperatorWork WorkOf(const BenchOperator& op);

}  // namespace tcc
