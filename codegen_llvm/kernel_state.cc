#include "codegen_llvm/kernel_state.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "runtime/artefact/memory_plan.h"
#include "support/integer_division.h"

namespace tcc {

int64_t LeastElements(const Buffer& buffer, const Bounds& bounds) {
  int64_t least = 1;
  for (const Expr& extent : buffer.shape) {
    int64_t low = std::max<int64_t>(BoundsOf(extent, bounds).low, 0);
    if (__builtin_mul_overflow(least, low, &least)) return INT64_MAX;
  }
  return least;
}

int64_t MostScratchBytes(const Buffer& buffer, const Bounds& bounds) {
  int64_t bits = buffer.dtype().bits();
  for (const Expr& extent : buffer.shape) {
    int64_t high = std::max<int64_t>(BoundsOf(extent, bounds).high, 0);
    if (__builtin_mul_overflow(bits, high, &bits)) return INT64_MAX;
  }
  // No bytes at all take room too (kernel_calls.cc).
  return std::max(RoundUp(CeilDivision(bits, 8), kArenaAlignment), kArenaAlignment);
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
