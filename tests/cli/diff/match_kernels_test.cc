#include "cli/diff/match_kernels.h"

#include <catch2/catch.hpp>

namespace tcc {
namespace {

using Kernels = std::vector<KernelInfo>;
using Matches = std::vector<KernelMatch>;

KernelInfo Kernel(std::vector<std::string> nodes, int64_t flops = 1) {
  return {.name = "k", .nodes = std::move(nodes), .flops = flops};
}

TEST_CASE("kernels of equal nodes are pairs wherever they stand", "[cli][diff]") {
  Kernels a = {Kernel({"x"}), Kernel({"y", "z"}), Kernel({"w"})};
  Kernels b = {Kernel({"w"}), Kernel({"x"}), Kernel({"y", "z"})};
  CHECK(MatchKernels(a, b) == Matches{{{0}, {1}}, {{1}, {2}}, {{2}, {0}}});
}

TEST_CASE("kernels of the same nodes are told apart by their work, then by their order",
          "[cli][diff]") {
  Kernels a = {Kernel({"x"}, 7), Kernel({"x"}, 8), Kernel({"x"}, 7)};
  Kernels b = {Kernel({"x"}, 8), Kernel({"x"}, 7), Kernel({"x"}, 7)};
  CHECK(MatchKernels(a, b) == Matches{{{0}, {1}}, {{1}, {0}}, {{2}, {2}}});
}

TEST_CASE("kernels of another amount of work match by their nodes", "[cli][diff]") {
  CHECK(MatchKernels(Kernels{Kernel({"x"}, 7)}, Kernels{Kernel({"x"}, 56)}) == Matches{{{0}, {0}}});
}

TEST_CASE("kernels that fuse differently are together, through others too", "[cli][diff]") {
  Kernels a = {Kernel({"p"}), Kernel({"x", "y"}), Kernel({"z", "w"})};
  Kernels b = {Kernel({"p"}), Kernel({"x"}), Kernel({"y", "z"}), Kernel({"w"})};
  CHECK(MatchKernels(a, b) == Matches{{{0}, {0}}, {{1, 2}, {1, 2, 3}}});
}

TEST_CASE("a kernel that the other side lacks has a match of its own", "[cli][diff]") {
  Kernels a = {Kernel({"x"}), Kernel({"x.repack"})};
  Kernels b = {Kernel({"y.repack"}), Kernel({"x"})};
  CHECK(MatchKernels(a, b) == Matches{{{0}, {1}}, {{1}, {}}, {{}, {0}}});
  CHECK(MatchKernels({}, b) == Matches{{{}, {0}}, {{}, {1}}});
}

TEST_CASE("models share nodes or they do not", "[cli][diff]") {
  Kernels a = {Kernel({"x"}), Kernel({"y", "z"})};
  auto check = [&](const Kernels& b, size_t shared, size_t all) {
    SharedNodes nodes = CountSharedNodes(a, b);
    CHECK(nodes.shared == shared);
    CHECK(nodes.all == all);
  };
  check({Kernel({"z"})}, 1, 3);
  check({Kernel({"w"}), Kernel({"w", "z"})}, 1, 4);
  check({Kernel({"w"})}, 0, 4);
  check({}, 0, 3);
}

}  // namespace
}  // namespace tcc
