#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/gpu/gpu_bench.h"
#include "bench/gpu/gpu_operands.h"
#include "bench/operator/operator.h"
#include "support/numeric_mode.h"

// NVIDIA's libraries on the same operators, in the same numeric mode. They are opened where they
// are found.
namespace tcc {

// One way in which a library computes an operator.
struct GpuCandidate {
  std::string algorithm;
  std::string numeric = "strict";
  // What its inputs and constants are stored as: rounded beforehand, which ours does to constants
  // alone. Results are float32.
  DType stored = kFloat32;
  // Images are [batch, height, width, channels], weights [filters, k, k, channels], in its
  // operands.
  bool channels_last = false;
  // Launches on the bench's stream.
  std::function<Status(const GpuOperands& operands)> enqueue;
};

struct GpuPeer {
  std::string_view name;
  // All ways worth timing that round no more than the mode does; none where the library has no such
  // operator. Unavailable: the library is not there, and where it was sought.
  StatusOr<std::vector<GpuCandidate>> (*candidates)(const BenchOperator& op, NumericMode numeric,
                                                    const GpuBench& bench);
};

std::span<const GpuPeer> GpuPeers();

StatusOr<std::vector<GpuCandidate>> CublasCandidates(const BenchOperator& op, NumericMode numeric,
                                                     const GpuBench& bench);
StatusOr<std::vector<GpuCandidate>> CublasLtCandidates(const BenchOperator& op, NumericMode numeric,
                                                       const GpuBench& bench);
StatusOr<std::vector<GpuCandidate>> CudnnCandidates(const BenchOperator& op, NumericMode numeric,
                                                    const GpuBench& bench);
StatusOr<std::vector<GpuCandidate>> AttentionCandidates(const BenchOperator& op,
                                                        NumericMode numeric, const GpuBench& bench);

}  // namespace tcc
