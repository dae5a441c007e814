#include "codegen_llvm/runtime_math.h"

#include <llvm/IR/IRBuilder.h>

#include <cstddef>

#include "codegen_llvm/llvm_types.h"
#include "runtime/artefact/kernel_abi.h"

namespace tcc {

llvm::Value* EmitRuntimeMath(KernelState& state, int32_t function, llvm::Value* x, llvm::Value* y) {
  llvm::IRBuilderBase& b = state.builder;
  llvm::Type* f64 = b.getDoubleTy();
  llvm::Type* type = x->getType();
  bool is_double = type->getScalarType()->isDoubleTy();
  if (!y) y = llvm::Constant::getNullValue(type);
  auto* signature = llvm::FunctionType::get(f64, {b.getInt32Ty(), f64, f64}, false);
  llvm::Value* entry = RuntimeEntry(state, offsetof(TccRuntime, math));

  auto call = [&](llvm::Value* first, llvm::Value* second) -> llvm::Value* {
    if (!is_double) first = b.CreateFPExt(first, f64);
    if (!is_double) second = b.CreateFPExt(second, f64);
    llvm::CallInst* result = b.CreateCall(signature, entry, {b.getInt32(function), first, second});
    result->setDoesNotAccessMemory();
    result->setDoesNotThrow();
    return is_double ? result : b.CreateFPTrunc(result, type->getScalarType());
  };
  int lanes = LanesOf(x);
  if (lanes == 1) return call(x, y);
  llvm::Value* results = llvm::PoisonValue::get(type);
  for (int lane = 0; lane < lanes; ++lane) {
    llvm::Value* result = call(b.CreateExtractElement(x, lane), b.CreateExtractElement(y, lane));
    results = b.CreateInsertElement(results, result, lane);
  }
  return results;
}

}  // namespace tcc
