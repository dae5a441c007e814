#include "bench/cpu/peers.h"

namespace tcc {
namespace {

constexpr Peer kPeers[] = {
    {"onednn", HasOnednn, OnednnKernel},
    {"openblas", HasOpenBlas, OpenBlasKernel},
};

constexpr OperatorPeer kOperatorPeers[] = {
    {"onednn", OnednnOperator},
    {"openblas", OpenBlasOperator},
};

}  // namespace

std::span<const OperatorPeer> OperatorPeers() {
  return kOperatorPeers;
}

std::span<const Peer> Peers() {
  return kPeers;
}

}  // namespace tcc
