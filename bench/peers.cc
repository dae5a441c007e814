#include "bench/peers.h"

namespace tcc {
namespace {

constexpr Peer kPeers[] = {
    {"onednn", HasOnednn, OnednnKernel},
    {"openblas", HasOpenBlas, OpenBlasKernel},
};

}  // namespace

std::span<const Peer> Peers() {
  return kPeers;
}

}  // namespace tcc
