#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/gpu/gpu_bench.h"
#include "bench/operator/operator.h"
#include "support/numeric_mode.h"

// NVIDIA's libraries, which run the same operators in the same numeric mode. They are opened where
// they are found.
namespace tcc {

// A way in which a library computes an operator.
struct GpuCandidate {
  std::string algorithm;
  std::string numeric = "strict";
  // The type in which its inputs and constants are stored. They are rounded beforehand, while tcc
  // rounds only constants beforehand. Results are float32.
  DType stored = kFloat32;
  // Whether its images are [batch, height, width, channels] and its weights [filters, k, k,
  // channels].
  bool channels_last = false;
  // Enqueues the work on the bench's stream.
  std::function<Status(const GpuOperands& operands)> enqueue;
};

struct GpuPeer {
  std::string_view name;
  // Returns all ways worth timing that round no more than the mode does; none where the library has
  // no such operator. Unavailable: the library is missing; the message says where it was sought.
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
