#pragma once

#include <vector>

#include "codegen_llvm/expr_emitter.h"
#include "ir/expr/stmt.h"

namespace tcc {

// Emits kLowered statements at the builder's place and leaves the builder behind them.
class StmtEmitter {
 public:
  explicit StmtEmitter(KernelState& state) : state_(state), b_(state.builder), exprs_(state) {}

  void Emit(const Stmt& stmt);
  // for var in begin..end; both are i64.
  void EmitLoop(const Var& var, llvm::Value* begin, llvm::Value* end, const Stmt& body);

 private:
  void EmitStore(const Store& store);
  void EmitCopy(const AsyncCopy& copy);
  void EmitIf(const If& branch);
  void EmitLet(const Let& let);
  void EmitFor(const For& loop);
  void EmitAllocate(const Allocate& allocate);
  void EmitWorkspace(const Allocate& allocate, llvm::Value* elements);
  void EmitParallel(const For& loop);
  void EmitFree(llvm::Value* memory);
  // Frees what is allocated, reports it, and leaves the function.
  void EmitOutOfMemory();
  llvm::BasicBlock* NewBlock(const char* name);
  // Goes on in `block`: what was computed before may not reach it.
  void Continue(llvm::BasicBlock* block);

  KernelState& state_;
  llvm::IRBuilderBase& b_;
  ExprEmitter exprs_;
  // Workspaces that are allocated here, outermost first.
  std::vector<llvm::Value*> workspaces_;
};

}  // namespace tcc
