#pragma once

#include <vector>

#include "bench/gpu/cudnn_descriptor.h"
#include "bench/gpu/gpu_peers.h"

// Operators by cuDNN's functions for single operators, in float32. The session has to live as long
// as the candidates.
namespace tcc::cudnn {

// Returns candidates in both layouts; none where cuDNN's padding, equally wide on both sides, gives
// another result.
StatusOr<std::vector<GpuCandidate>> PoolingCandidates(const Session& session,
                                                      const AveragePoolOp& op);
StatusOr<std::vector<GpuCandidate>> SoftmaxCandidates(const Session& session, const SoftmaxOp& op);
// Returns no candidate for more than eight axes.
StatusOr<std::vector<GpuCandidate>> SumCandidates(const Session& session, const ReduceSumOp& op,
                                                  const GpuBench& bench);

}  // namespace tcc::cudnn
