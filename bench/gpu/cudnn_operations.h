#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bench/gpu/cudnn_descriptor.h"
#include "bench/operator/operator.h"

// Operators as operation graphs of cuDNN's backend interface, computed in float32.
namespace tcc::cudnn {

// The descriptors of an operation graph, which refer to each other and live together.
struct OperationGraph {
  std::vector<Descriptor> parts;
  Descriptor graph;
  std::optional<float> epsilon = {};  // the tensor kEpsilon, where there is one
};
using SharedGraph = std::shared_ptr<const OperationGraph>;

// The tensors of a graph: operands, the unstored results of operations, and a float on the host.
enum TensorId : int64_t {
  kX = 1,
  kW = 2,
  kBias = 3,
  kY = 4,
  kConvolved = 5,
  kBiased = 6,
  kEpsilon = 7,
};

// The layout and type of a graph's tensors in memory.
struct Storage {
  bool channels_last = false;
  int operands = kFloat;  // the type of operands; results are kFloat
};

// Makes the graph of a convolution, with bias and Relu joined by virtual tensors.
StatusOr<SharedGraph> GraphOf(const Session& session, const ConvolutionOp& op,
                              const Storage& storage);
StatusOr<SharedGraph> GraphOf(const Session& session, const ReluOp& op);
// Makes the graph of a layer normalization, whose scale is kW.
StatusOr<SharedGraph> GraphOf(const Session& session, const LayerNormOp& op);

}  // namespace tcc::cudnn
