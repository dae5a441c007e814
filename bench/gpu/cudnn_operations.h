#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bench/gpu/cudnn_descriptor.h"
#include "bench/operator/operator.h"

// Operators as operation graphs of cuDNN's backend interface, computed in float32.
namespace tcc::cudnn {

// Descriptors refer to each other and live together.
struct OperationGraph {
  std::vector<Descriptor> parts;
  Descriptor graph;
  std::optional<float> epsilon = {};  // the tensor kEpsilon, where there is one
};
using SharedGraph = std::shared_ptr<const OperationGraph>;

// Its tensors: operands; what is not stored; a float on the host.
enum TensorId : int64_t {
  kX = 1,
  kW = 2,
  kBias = 3,
  kY = 4,
  kConvolved = 5,
  kBiased = 6,
  kEpsilon = 7,
};

// How the tensors of a graph lie in memory.
struct Storage {
  bool channels_last = false;
  int operands = kFloat;  // their type; results are kFloat
};

// With bias and Relu as virtual tensors between operations.
StatusOr<SharedGraph> GraphOf(const Session& session, const ConvolutionOp& op,
                              const Storage& storage);
StatusOr<SharedGraph> GraphOf(const Session& session, const ReluOp& op);
// Scale is kW.
StatusOr<SharedGraph> GraphOf(const Session& session, const LayerNormOp& op);

}  // namespace tcc::cudnn
