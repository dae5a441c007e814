#include "ir/expr/lane_of.h"

#include "ir/expr/visitor.h"

namespace tcc {
namespace {

class LaneMutator final : public Mutator {
 public:
  LaneMutator(int lane, const LaneVars& vars) : lane_(lane), vars_(vars) {}

 private:
  using Mutator::Rewrite;
  Expr Rewrite(const Ramp& ramp) override {
    return lane_ == 0 ? ramp.base : ramp.base + Expr(lane_) * ramp.stride;
  }
  Expr Rewrite(const Broadcast& broadcast) override { return broadcast.value; }
  Expr Rewrite(const Cast& cast) override {
    return CastTo(cast.dtype.element(), Mutate(cast.value));
  }
  Expr Rewrite(const VarNode& var) override {
    return var.dtype.lanes() == 1 ? Expr(&var) : Expr(vars_.at(&var)[static_cast<size_t>(lane_)]);
  }
  int lane_;
  const LaneVars& vars_;
};

}  // namespace

Expr LaneOf(const Expr& expr, int lane, const LaneVars& vars) {
  return expr.dtype().lanes() == 1 ? expr : LaneMutator(lane, vars).Mutate(expr);
}

}  // namespace tcc
