#include "bench/gpu/gpu_peers.h"

namespace tcc {
namespace {

constexpr GpuPeer kPeers[] = {
    {"cublas", CublasCandidates},
    {"cublaslt", CublasLtCandidates},
    {"cudnn", CudnnCandidates},
    {"cublas+cudnn", AttentionCandidates},
};

}  // namespace

std::span<const GpuPeer> GpuPeers() {
  return kPeers;
}

}  // namespace tcc
