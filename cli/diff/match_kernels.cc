#include "cli/diff/match_kernels.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace tcc {
namespace {

// Sets of kernels that are merged. Kernels of A come first.
class Groups {
 public:
  explicit Groups(size_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }

  // Returns the first kernel of the group.
  size_t Find(size_t kernel) {
    while (parents_[kernel] != kernel) {
      parents_[kernel] = parents_[parents_[kernel]];
      kernel = parents_[kernel];
    }
    return kernel;
  }
  void Merge(size_t x, size_t y) {
    auto [first, second] = std::minmax(Find(x), Find(y));
    parents_[second] = first;
  }

 private:
  std::vector<size_t> parents_;
};

// Merges pairs of equal nodes and float operations. Returns which kernels are in a pair.
std::vector<bool> MergePairs(std::span<const KernelInfo> a, std::span<const KernelInfo> b,
                             Groups& groups) {
  std::map<std::pair<std::vector<std::string>, int64_t>, std::vector<size_t>> free;
  for (size_t i = b.size(); i > 0; --i) free[{b[i - 1].nodes, b[i - 1].flops}].push_back(i - 1);
  std::vector<bool> paired(a.size() + b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    auto found = free.find({a[i].nodes, a[i].flops});
    if (found == free.end() || found->second.empty()) continue;
    size_t partner = a.size() + found->second.back();
    found->second.pop_back();
    groups.Merge(i, partner);
    paired[i] = paired[partner] = true;
  }
  return paired;
}

std::set<std::string> NodesOf(std::span<const KernelInfo> kernels) {
  std::set<std::string> nodes;
  for (const KernelInfo& kernel : kernels) nodes.insert(kernel.nodes.begin(), kernel.nodes.end());
  return nodes;
}

}  // namespace

std::vector<KernelMatch> MatchKernels(std::span<const KernelInfo> a,
                                      std::span<const KernelInfo> b) {
  const size_t count = a.size() + b.size();
  Groups groups(count);
  std::vector<bool> paired = MergePairs(a, b, groups);
  std::map<std::string, size_t> kernel_of_node;
  for (size_t i = 0; i < count; ++i) {
    if (paired[i]) continue;
    for (const std::string& node : i < a.size() ? a[i].nodes : b[i - a.size()].nodes) {
      groups.Merge(i, kernel_of_node.emplace(node, i).first->second);
    }
  }
  std::map<size_t, KernelMatch> matches;
  for (size_t i = 0; i < count; ++i) {
    KernelMatch& match = matches[groups.Find(i)];
    i < a.size() ? match.a.push_back(i) : match.b.push_back(i - a.size());
  }
  std::vector<KernelMatch> ordered;
  for (auto& [first, match] : matches) ordered.push_back(std::move(match));
  return ordered;
}

SharedNodes CountSharedNodes(std::span<const KernelInfo> a, std::span<const KernelInfo> b) {
  std::set<std::string> nodes = NodesOf(a), of_b = NodesOf(b);
  auto shared =
      std::ranges::count_if(of_b, [&](const std::string& node) { return nodes.contains(node); });
  nodes.merge(of_b);
  return {.shared = static_cast<size_t>(shared), .all = nodes.size()};
}

}  // namespace tcc
