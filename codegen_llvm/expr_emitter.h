#pragma once

#include <unordered_map>
#include <vector>

#include "codegen_llvm/kernel_state.h"
#include "codegen_llvm/packed_bytes.h"
#include "codegen_llvm/popcount_sums.h"
#include "ir/expr/compare.h"
#include "ir/expr/expr.h"
#include "lower/lane_index.h"

namespace tcc {

// The condition under which evaluations count: `scalar` for all lanes, and `lanes` for each lane of
// a vector. Null means always. Where the guard does not hold, a load reads nothing from its buffer
// and a division cannot trap, so that both arms of a Select may be computed without a branch.
struct Guard {
  llvm::Value* scalar = nullptr;
  llvm::Value* lanes = nullptr;
};

// Emits expressions at the builder's insertion point. Common subexpressions are computed once per
// statement.
class ExprEmitter {
 public:
  explicit ExprEmitter(KernelState& state) : state_(state), b_(state.builder), memo_(1) {}

  llvm::Value* Emit(const Expr& expr);
  // Emits buffer[index] = value in the lanes where `mask` (may be null) holds.
  void EmitStore(const Var& buffer, const Expr& index, const Expr& value, const Expr& mask);
  // Returns the address of a cell.
  llvm::Value* EmitAddress(const Var& buffer, const Expr& index) {
    return Address(buffer, Emit(index));
  }
  // Prefetches the cell's cache line. The index may lie outside of the buffer.
  void EmitPrefetch(const Var& buffer, const Expr& index);
  // Forgets the values computed so far: loads may have become stale, or the values may not dominate
  // the builder's insertion point.
  void ForgetValues() { memo_.assign(1, {}); }

  // Checks whether an integer expression is provably >= 0 for all values of its variables.
  bool IsNonNegative(const Expr& expr) const;

 private:
  using Memo = std::unordered_map<Expr, llvm::Value*, ExprHash, ExprEqual>;

  // Returns the value computed for an equal expression; null if there is none.
  llvm::Value* Known(const Expr& expr) const;
  // A sum of which one term is a dot of words that no value is known for: an instruction of its
  // own.
  struct AddedDot {
    Expr sum, x, y;
  };
  std::optional<AddedDot> DotIn(const Expr& a, const Expr& b, ScalarOp op) const;
  // A sum of popcounts by constants, and of other terms by theirs.
  struct CountedSum {
    std::vector<CountedWord> words;
    std::vector<std::pair<Expr, int64_t>> others;
  };
  // Adds the terms of factor * expr. Returns false, with nothing added, if no popcount is among
  // them.
  bool CollectCounts(const Expr& expr, int64_t factor, CountedSum& sum);
  // Emits a sum with popcounts that EmitSumOfPopcounts is for; null for other expressions.
  llvm::Value* EmitCountedSum(const Expr& expr);
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
  // Loads a scalar; the result is zero where `zero_unless` (may be null) does not hold.
  llvm::Value* LoadScalar(const Var& buffer, const Expr& index, llvm::Value* zero_unless);
  // Checks whether a scalar index lies in the buffer in all iterations, so that no guard is needed.
  bool IsInside(const Var& buffer, const Expr& index) const;
  // Checks whether `lanes` cells from `first` on may be accessed even in inactive lanes: they lie
  // in a private buffer, which a masked access would keep out of registers.
  bool MayTouchAll(const Var& buffer, const Expr& first, int lanes) const;
  llvm::Value* LoadLanes(const Var& buffer, const Expr& index, llvm::Value* otherwise);
  // Loads lanes at constant places of registers. Returns null for any other load.
  llvm::Value* LoadFixedLanes(const Var& buffer, const Expr& index);
  // Checks whether LoadStrided is to load these lanes, rather than a gather.
  bool IsInPieces(const Var& buffer, const LaneIndex& index, int lanes,
                  const llvm::Value* mask) const;
  // Load, gather, store and scatter the lanes that a mask holds for; others have the lanes of
  // `passthrough`. On a machine without masks all lanes are accessed, one by one: the others'
  // elsewhere.
  llvm::Value* LoadMasked(llvm::Type* type, llvm::Value* address, llvm::Align align,
                          llvm::Value* mask, llvm::Value* passthrough);
  llvm::Value* GatherMasked(llvm::Value* addresses, llvm::Align align, llvm::Value* mask,
                            llvm::Value* passthrough);
  llvm::Value* StoreMasked(llvm::Value* value, llvm::Value* address, llvm::Align align,
                           llvm::Value* mask);
  llvm::Value* ScatterMasked(llvm::Value* value, llvm::Value* addresses, llvm::Align align,
                             llvm::Value* mask);
  // Loads lanes at a constant stride > 1, in their memory form; `passthrough` where the mask (may
  // be null) does not hold.
  llvm::Value* LoadStrided(const Var& buffer, const LaneIndex& index, llvm::Value* mask,
                           llvm::Value* passthrough);
  // Loads words of four bytes each, lane after lane.
  llvm::Value* LoadWords(const PackedBytes& bytes, int lanes);
  llvm::Value* LoadSubByte(const Var& buffer, const Expr& index);
  // Returns the address of the byte that packed element `place` lies in.
  llvm::Value* AddressOfPacked(const Var& buffer, llvm::Value* place);
  // Returns the bits below packed element `place` in its byte.
  llvm::Value* PackedShift(llvm::Value* place, DType dtype);
  void StoreScalar(const Var& buffer, llvm::Value* index, llvm::Value* value);
  llvm::Value* Unknown(llvm::Value* mask);
  void StoreLanes(const Var& buffer, const Expr& index, llvm::Value* value);
  void StoreSubByte(const Var& buffer, const Expr& index, llvm::Value* value);
  const BufferBinding& BindingOf(const Var& buffer) const;
  llvm::Value* Address(const Var& buffer, llvm::Value* index);
  // Returns `count` addresses: one per lane, then that of lane 0 again. `lanes` is the result of
  // MatchLaneIndex for `index`.
  llvm::Value* Addresses(const Var& buffer, const Expr& index,
                         const std::optional<LaneIndex>& lanes, int count);
  llvm::Value* ZeroLine();
  void Annotate(llvm::Value* access, const Var& buffer);

  // Calls f under the guard `condition`, which may have lanes.
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
  // Returns the guard as one condition: whether any lane is active, or which of `lanes` are. Null
  // means always.
  llvm::Value* AnyActive();
  llvm::Value* ActiveLanes(int lanes);

  KernelState& state_;
  llvm::IRBuilderBase& b_;
  Guard guard_;
  // The values by guard, the innermost guard last. A value computed under a weaker guard is reused
  // under a stronger one: LLVM would not see that a masked load equals an earlier plain load.
  std::vector<Memo> memo_;
};

}  // namespace tcc
