#pragma once

#include <unordered_map>
#include <vector>

#include "codegen_llvm/kernel_state.h"
#include "ir/expr/compare.h"
#include "ir/expr/expr.h"
#include "lower/lane_index.h"

namespace tcc {

// Which evaluations count: those for which `scalar` holds, and in vectors the lanes for which
// `lanes` holds too. Null means all. Where it does not hold, a load reads nothing of its buffer and
// a division cannot trap, so that both arms of a Select may be computed without a branch.
struct Guard {
  llvm::Value* scalar = nullptr;
  llvm::Value* lanes = nullptr;
};

// Emits expressions at the builder's place. Shared subexpressions are computed once a statement.
class ExprEmitter {
 public:
  explicit ExprEmitter(KernelState& state) : state_(state), b_(state.builder), memo_(1) {}

  llvm::Value* Emit(const Expr& expr);
  // buffer[index] = value in the lanes where `mask` (may be null) holds.
  void EmitStore(const Var& buffer, const Expr& index, const Expr& value, const Expr& mask);
  // Brings the cell's cache line near. Any index will do.
  void EmitPrefetch(const Var& buffer, const Expr& index);
  // Values computed so far are not used again: loads may have become stale, or the builder stands
  // where they do not reach.
  void ForgetValues() { memo_.assign(1, {}); }

  // Whether an integer expression is seen to be >= 0 for every value of its variables.
  bool IsNonNegative(const Expr& expr) const;

 private:
  using Memo = std::unordered_map<Expr, llvm::Value*, ExprHash, ExprEqual>;

  // What was computed of an equal expression; null: nothing.
  llvm::Value* Known(const Expr& expr) const;
  llvm::Value* EmitNode(const Expr& expr);
  llvm::Value* EmitVar(const VarNode& var);
  llvm::Value* EmitFloatBinary(ExprKind kind, llvm::Value* x, llvm::Value* y, DType dtype);
  llvm::Value* EmitIntegerBinary(ExprKind kind, const Expr& a, const Expr& b, DType dtype);
  llvm::Value* EmitBinary(ExprKind kind, const Expr& a, const Expr& b, DType dtype);
  llvm::Value* EmitComparison(ExprKind kind, const Expr& a, const Expr& b);
  llvm::Value* EmitLogical(bool is_and, const Expr& a, const Expr& b);
  llvm::Value* EmitSelect(const Select& select);
  llvm::Value* EmitCall(const Call& call);
  llvm::Value* EmitRamp(const Ramp& ramp);

  // memory_access.cc
  llvm::Value* EmitLoad(const Load& load, llvm::Value* otherwise);
  // Zero where `zero_unless` (may be null) does not hold.
  llvm::Value* LoadScalar(const Var& buffer, const Expr& index, llvm::Value* zero_unless);
  // Whether a scalar index lies in the buffer wherever the loops stand, so that no guard is needed.
  bool IsInside(const Var& buffer, const Expr& index) const;
  // Whether lanes from `first` on may be accessed be they active or not: nobody else sees them. A
  // masked access would keep the buffer out of registers.
  bool MayTouchAll(const Var& buffer, const Expr& first, int lanes) const;
  llvm::Value* LoadLanes(const Var& buffer, const Expr& index, llvm::Value* otherwise);
  // Lanes some cells apart, as memory holds them; `passthrough` where the mask (may be null) does
  // not hold.
  bool IsInPieces(const Var& buffer, const LaneIndex& index, int lanes,
                  const llvm::Value* mask) const;
  llvm::Value* LoadStrided(const Var& buffer, const LaneIndex& index, llvm::Value* mask,
                           llvm::Value* passthrough);
  llvm::Value* LoadSubByte(const Var& buffer, const Expr& index);
  void StoreScalar(const Var& buffer, llvm::Value* index, llvm::Value* value);
  void StoreLanes(const Var& buffer, const Expr& index, llvm::Value* value);
  void StoreSubByte(const Var& buffer, const Expr& index, llvm::Value* value);
  const BufferBinding& BindingOf(const Var& buffer) const;
  llvm::Value* Address(const Var& buffer, llvm::Value* index);
  // The address of every lane, then up to `count` that of lane 0; `lanes` is what MatchLaneIndex
  // says of `index`.
  llvm::Value* Addresses(const Var& buffer, const Expr& index,
                         const std::optional<LaneIndex>& lanes, int count);
  llvm::Value* ZeroLine();
  void Annotate(llvm::Value* access, const Var& buffer);

  // Under `condition`, which may have lanes, f's loads and divisions count.
  template <typename F>
  llvm::Value* Guarded(llvm::Value* condition, F&& f) {
    Guard outer = guard_;
    PushGuard(condition);
    llvm::Value* result = f();
    memo_.pop_back();
    guard_ = outer;
    return result;
  }
  void PushGuard(llvm::Value* condition);
  // The guard as one condition: of any lane, or of each of `lanes`. Null: always.
  llvm::Value* AnyActive();
  llvm::Value* ActiveLanes(int lanes);

  KernelState& state_;
  llvm::IRBuilderBase& b_;
  Guard guard_;
  // Innermost guard last. What was computed under a weaker guard serves under a stronger one: LLVM
  // would not see that a masked load gives what a plain one gave.
  std::vector<Memo> memo_;
};

}  // namespace tcc
