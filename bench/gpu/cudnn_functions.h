#pragma once

#include <vector>

#include "bench/gpu/cudnn_descriptor.h"
#include "bench/gpu/gpu_peers.h"

// Operators by the functions that cuDNN has for single ones, in float32. The session is to live as
// long as the candidates.
namespace tcc::cudnn {

// In both layouts; none where padding is not what cuDNN's, as wide on both sides, amounts to.
StatusOr<std::vector<GpuCandidate>> PoolingCandidates(const Session& session,
                                                      const AveragePoolOp& op);
StatusOr<std::vector<GpuCandidate>> SoftmaxCandidates(const Session& session, const SoftmaxOp& op);
// None of more than eight axes.
StatusOr<std::vector<GpuCandidate>> SumCandidates(const Session& session, const ReduceSumOp& op,
                                                  const GpuBench& bench);

}  // namespace tcc::cudnn
