#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "codegen_cuda/text/expr_text.h"
#include "codegen_cuda/text/group_call.h"
#include "codegen_cuda/text/launch.h"
#include "codegen_cuda/text/warp_call.h"
#include "lower/lane_index.h"

namespace tcc {

// Writes the statements of one kernel.
//
// A thread loop becomes no loop: every thread of the block runs its body. If the loop has fewer
// iterations than the block has threads along its axis, an if keeps the other threads out. The if
// encloses as many statements as possible, but never a barrier, and never another loop of the same
// axis: the inner loop's guard replaces it there.
//
// The last block to end runs the statements behind loops over blocks. Each takes a ticket once its
// stores are visible to all; the last one sees by its ticket that it is.
class StmtText {
 public:
  // `threads` is the number of threads of a block along each axis.
  StmtText(KernelText& kernel, const std::array<int64_t, 3>& threads)
      : kernel_(kernel), exprs_(kernel), threads_(threads) {}

  void Emit(const Stmt& stmt);

 private:
  // Writes the statement without an if around it; guards still pending apply to its children.
  void EmitUnguarded(const Stmt& stmt);
  void EmitSeq(const Seq& seq);
  void EmitBehindBlocks(const Seq& seq, size_t first);
  void EmitThreads(const For& loop);
  bool HasGuard() const;
  bool FitsUnderGuard(const Stmt& stmt) const;
  std::string GuardText() const;
  void EmitStore(const Store& store);
  void EmitUnmasked(const Store& store);
  void StoreScalar(const Var& buffer, const Expr& index, const Expr& value);
  void StoreCell(const Buffer& buffer, const Expr& index, const Piece& value);
  void StorePacked(const Buffer& buffer, const Expr& index, const Piece& value);
  bool IsWordOfHalves(const Buffer& buffer, const LaneIndex& index, int lanes) const;
  void StoreLanes(const Store& store);
  void EmitFor(const For& loop);
  void EmitIf(const If& branch);
  void EmitLet(const Let& let);
  void EmitVectorLet(const Let& let);
  void EmitAllocate(const Allocate& allocate);
  void EmitCopy(const AsyncCopy& copy);
  void EmitCall(const IntrinsicCall& call);
  void EmitMma(const MmaCall& call);
  void EmitGroup(std::span<const IntrinsicCall* const> calls);
  std::string GroupOperandText(const GroupOperand& operand);
  void EmitWait(const AsyncWait& wait);
  bool Varies(const Expr& value) const;
  void EmitLoad(const LoadMatricesCall& call);
  std::string TileText(const FragmentWords& operand) const;
  void DeclareFragments(const Allocate& allocate);

  // The pending guard of an axis: only threads with `index` < `extent` run the statements, and no
  // if checks that yet.
  struct ThreadGuard {
    std::string index;
    int64_t extent;
  };

  KernelText& kernel_;
  ExprText exprs_;
  std::array<int64_t, 3> threads_;
  std::array<std::optional<ThreadGuard>, 3> guards_;
  // The variables of lets and loops that differ between the threads of a block.
  std::unordered_set<const ExprNode*> varying_;
  // The buffers in scope that products of groups add to.
  std::vector<Var> sums_;
};

}  // namespace tcc
