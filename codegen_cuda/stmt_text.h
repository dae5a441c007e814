#pragma once

#include "codegen_cuda/expr_text.h"
#include "codegen_cuda/launch.h"

namespace tcc {

// Writes the statements of one kernel.
class StmtText {
 public:
  explicit StmtText(KernelText& kernel) : kernel_(kernel), exprs_(kernel) {}

  void Emit(const Stmt& stmt);

 private:
  void EmitStore(const Store& store);
  void EmitUnmasked(const Store& store);
  void StoreScalar(const Var& buffer, const Expr& index, const Expr& value);
  void StoreCell(const Buffer& buffer, const Expr& index, const Piece& value);
  void StoreLanes(const Store& store);
  void EmitFor(const For& loop);
  void EmitIf(const If& branch);
  void EmitLet(const Let& let);
  void EmitAllocate(const Allocate& allocate);
  void EmitCopy(const AsyncCopy& copy);

  KernelText& kernel_;
  ExprText exprs_;
};

}  // namespace tcc
