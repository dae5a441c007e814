#include "codegen_llvm/kernel_state.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>

namespace tcc {

int64_t LeastElements(const Buffer& buffer, const Bounds& bounds) {
  int64_t least = 1;
  for (const Expr& extent : buffer.shape) {
    int64_t low = std::max<int64_t>(BoundsOf(extent, bounds).low, 0);
    if (__builtin_mul_overflow(least, low, &least)) return INT64_MAX;
  }
  return least;
}

llvm::AllocaInst* StackSlot(KernelState& state, llvm::Type* type) {
  llvm::BasicBlock& entry = state.function->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.getFirstInsertionPt());
  llvm::AllocaInst* slot = at_entry.CreateAlloca(type);
  slot->setAlignment(llvm::Align(64));
  return slot;
}

llvm::Value* RuntimeEntry(KernelState& state, size_t byte_offset) {
  llvm::IRBuilderBase& b = state.builder;
  llvm::Value* address = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), state.runtime, byte_offset);
  llvm::LoadInst* entry = b.CreateLoad(b.getPtrTy(), address);
  entry->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
  return entry;
}

}  // namespace tcc
