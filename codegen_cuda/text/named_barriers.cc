#include "codegen_cuda/text/named_barriers.h"

#include <algorithm>
#include <set>
#include <vector>

#include "ir/expr/visitor.h"
#include "support/target.h"

namespace tcc {
namespace {

// PTX ISA, bar.sync: barrier 0 is that of __syncthreads.
constexpr int kLastBarrier = 15;

class BarrierFinder {
 public:
  explicit BarrierFinder(int64_t threads)
      : here_(static_cast<size_t>((threads + Target::kWarp - 1) / Target::kWarp), true) {}

  Status Below(const Stmt& stmt) {
    if (const auto* barrier = stmt.as<Barrier>()) return Add(*barrier);
    if (const auto* role = stmt.as<Role>()) return BelowRole(*role);
    Status status = OkStatus();
    ForEachChild(stmt, [&](const Stmt& child) {
      if (status.ok()) status = Below(child);
    });
    return status;
  }

  std::map<int, int64_t> Threads() const {
    std::map<int, int64_t> threads;
    for (int id : in_roles_) {
      const std::vector<bool>& warps = met_.at(id);
      threads[id] = Target::kWarp * std::count(warps.begin(), warps.end(), true);
    }
    return threads;
  }

 private:
  Status Add(const Barrier& barrier) {
    if (barrier.scope == Scope::kWarp) return OkStatus();
    if (barrier.id < 0 || barrier.id > kLastBarrier) {
      return Unsupported("a barrier has number {}; a GPU has 0 to {}", barrier.id, kLastBarrier);
    }
    if (barrier.id == 0) {
      for (bool warp : here_) {
        if (!warp) {
          return Unsupported(
              "a barrier of all threads stands in a role of some warps; expected a named one");
        }
      }
      return OkStatus();
    }
    if (roles_ > 0) in_roles_.insert(barrier.id);
    std::vector<bool>& warps = met_.try_emplace(barrier.id, here_.size(), false).first->second;
    for (size_t i = 0; i < here_.size(); ++i) warps[i] = warps[i] || here_[i];
    return OkStatus();
  }

  Status BelowRole(const Role& role) {
    auto warps = static_cast<int64_t>(here_.size());
    if (role.first < 0 || role.count < 1 || role.first + role.count > warps) {
      return Unsupported("a role has warps {} to {}; the block has {}", role.first,
                         role.first + role.count - 1, warps);
    }
    std::vector<bool> outer = here_;
    for (int64_t i = 0; i < warps; ++i) {
      if (i < role.first || i >= role.first + role.count) here_[static_cast<size_t>(i)] = false;
    }
    ++roles_;
    Status status = Below(role.body);
    --roles_;
    here_ = std::move(outer);
    return status;
  }

  int roles_ = 0;           // the number of roles around the current statement
  std::vector<bool> here_;  // per warp: whether it reaches the current statement
  std::map<int, std::vector<bool>> met_;
  std::set<int> in_roles_;
};

}  // namespace

StatusOr<std::map<int, int64_t>> ThreadsAtBarriers(const Stmt& body, int64_t threads) {
  BarrierFinder finder(threads);
  TCC_RETURN_IF_ERROR(finder.Below(body));
  return finder.Threads();
}

}  // namespace tcc
