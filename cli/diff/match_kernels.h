#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/artefact/metadata.h"

namespace tcc {

// Kernels of two compiled models, by their places, that compute the same nodes. Mostly one and one;
// more where the two fuse differently, none on a side that does not compute the nodes at all.
struct KernelMatch {
  std::vector<size_t> a, b;
  friend bool operator==(const KernelMatch&, const KernelMatch&) = default;
};

// Matches every kernel once. Kernels of equal nodes and float operations are pairs, in their order;
// those that remain are together where they share nodes, directly or through others. The matches
// are in the order of their first kernels of A, then of B.
std::vector<KernelMatch> MatchKernels(std::span<const KernelInfo> a, std::span<const KernelInfo> b);

// The nodes of two models, counted by their names.
struct SharedNodes {
  size_t shared = 0;  // have kernels in both
  size_t all = 0;     // have kernels in one or both
};

SharedNodes CountSharedNodes(std::span<const KernelInfo> a, std::span<const KernelInfo> b);

}  // namespace tcc
