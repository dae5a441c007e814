#include "codegen_llvm/left_out_lanes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "ir/expr/compare.h"
#include "ir/expr/lane_of.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

bool HasVectorVariable(const Expr& expr) {
  return Contains(expr, [](const Expr& node) {
    return node.as<VarNode>() != nullptr && node.dtype().lanes() > 1;
  });
}

// Returns whether `condition` holds only where `term` does.
bool Implies(const Expr& condition, const Expr& term) {
  return IsConstant(condition, 0) || IsConstant(term, 1) ||
         std::ranges::any_of(ConjunctsOf(condition),
                             [&](const Expr& own) { return Equal(own, term); });
}

class LeftOutLanes {
 public:
  explicit LeftOutLanes(const Var& buffer) : buffer_(buffer) {}

  void Visit(const Stmt& body) {
    PreOrder(body, [&](const Stmt& stmt) {
      if (const auto* loop = stmt.as<For>()) bound_.push_back(loop->var);
      if (const auto* let = stmt.as<Let>()) bound_.push_back(let->var);
    });
    PreOrder(body, [&](const Stmt& stmt) {
      if (const auto* store = stmt.as<Store>()) VisitStore(*store);
      if (stmt.as<AsyncCopy>()) is_known_ = false;
    });
    // A load that no store's value holds: of a condition, or an extent.
    int64_t all = 0;
    PreOrderExprs(body, [&](const Expr& expr) { all += IsLoad(expr) ? 1 : 0; });
    is_known_ = is_known_ && all == loads_;
  }

  bool AreRead() const {
    return !is_known_ || std::ranges::any_of(reads_, [&](const auto& read) {
      auto stores = stores_.equal_range(read.first);
      return std::any_of(stores.first, stores.second,
                         [&](const auto& store) { return !Implies(read.second, store.second); });
    });
  }

 private:
  // A cell, and the condition under which it is accessed.
  using Lanes = std::multimap<int64_t, Expr>;

  bool IsLoad(const Expr& expr) const {
    const auto* load = expr.as<Load>();
    return load && load->buffer == buffer_;
  }

  void VisitStore(const Store& store) {
    if (store.buffer == buffer_) Add(store.indices[0], store.mask, stores_);
    PreOrder(store.value, [&](const Expr& expr) {
      if (!IsLoad(expr)) return;
      ++loads_;
      const Expr& index = expr.as<Load>()->indices[0];
      bool in_lanes = index.dtype().lanes() == store.indices[0].dtype().lanes();
      Add(index, in_lanes ? store.mask : Expr(), reads_);
    });
  }

  // Returns whether a mask is the same for a store and a later load.
  bool IsSteady(const Expr& mask) const {
    return !HasLoad(mask) && !HasVectorVariable(mask) &&
           std::ranges::none_of(bound_, [&](const Var& var) { return UsesVar(mask, var); });
  }

  void Add(const Expr& index, const Expr& mask, Lanes& lanes) {
    is_known_ = is_known_ && !HasVectorVariable(index) && (!mask || IsSteady(mask));
    for (int lane = 0; is_known_ && lane < index.dtype().lanes(); ++lane) {
      std::optional<int64_t> cell = AsConstant(Simplify(LaneOf(index, lane, {})));
      is_known_ = cell.has_value();
      if (cell) lanes.emplace(*cell, mask ? Simplify(LaneOf(mask, lane, {})) : True());
    }
  }

  const Var& buffer_;
  bool is_known_ = true;
  std::vector<Var> bound_;
  int64_t loads_ = 0;  // in the values of stores
  Lanes stores_, reads_;
};

}  // namespace

bool ReadsLeftOutLanes(const Stmt& body, const Var& buffer) {
  bool has_masks = Contains(body, [&](const Stmt& stmt) {
    const auto* store = stmt.as<Store>();
    return store && store->mask && store->buffer == buffer;
  });
  if (!has_masks) return true;
  LeftOutLanes lanes(buffer);
  lanes.Visit(body);
  return lanes.AreRead();
}

}  // namespace tcc
