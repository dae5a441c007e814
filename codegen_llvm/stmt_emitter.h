#pragma once

#include <optional>
#include <vector>

#include "codegen_llvm/amx_region.h"
#include "codegen_llvm/expr_emitter.h"
#include "ir/expr/stmt.h"

namespace tcc {

// Emits kLowered statements at the builder's insertion point and leaves the builder after them.
class StmtEmitter {
 public:
  explicit StmtEmitter(KernelState& state) : state_(state), b_(state.builder), exprs_(state) {}

  void Emit(const Stmt& stmt);
  // Emits `for var in begin..end`; both are i64.
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
  void EmitCall(const IntrinsicCall& call);
  // Emits the statement with its sums in tile registers.
  void EmitAmx(const Stmt& stmt, AmxRegion region);
  void EmitAmxDot(const TileDot& dot);
  void EmitTileDot(const TileDot& dot);
  llvm::Value* AddressOf(const Tile& tile) { return exprs_.EmitAddress(tile.buffer, tile.first); }
  void EmitFree(llvm::Value* memory);
  // Frees all live workspaces, reports that memory ran out, and leaves the function.
  void EmitOutOfMemory();
  llvm::BasicBlock* NewBlock(const char* name);
  // Continues in `block` and forgets all values, which may not dominate it.
  void Continue(llvm::BasicBlock* block);

  KernelState& state_;
  llvm::IRBuilderBase& b_;
  ExprEmitter exprs_;
  // The live workspaces of this function, outermost first.
  std::vector<llvm::Value*> workspaces_;
  std::optional<AmxRegisters> amx_;  // inside a region
};

}  // namespace tcc
