#include "codegen_llvm/llvm_types.h"

#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

#include "support/storage_types.h"

namespace tcc {
namespace {

llvm::Type* WithLanes(llvm::Type* element, int lanes) {
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, lanes);
}

}  // namespace

llvm::Type* RegisterType(llvm::LLVMContext& context, DType dtype) {
  llvm::Type* element = nullptr;
  if (dtype.is_bool()) {
    element = llvm::Type::getInt1Ty(context);
  } else if (dtype.element() == kFloat32) {
    element = llvm::Type::getFloatTy(context);
  } else if (dtype.element() == kFloat64) {
    element = llvm::Type::getDoubleTy(context);
  } else {
    element = llvm::Type::getIntNTy(context, IsPacked(dtype) ? 8 : dtype.bits());
  }
  return WithLanes(element, dtype.lanes());
}

llvm::Type* MemoryType(llvm::LLVMContext& context, DType dtype) {
  if (!dtype.is_bool()) return RegisterType(context, dtype);
  return WithLanes(llvm::Type::getInt8Ty(context), dtype.lanes());
}

llvm::Value* Splat(llvm::IRBuilderBase& b, llvm::Value* value, int lanes) {
  return lanes == 1 ? value : b.CreateVectorSplat(lanes, value);
}

int LanesOf(llvm::Value* value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? static_cast<int>(vector->getNumElements()) : 1;
}

bool IsForX86(const llvm::IRBuilderBase& b) {
  return llvm::Triple(b.GetInsertBlock()->getModule()->getTargetTriple()).isX86();
}

llvm::Type* SameLanes(llvm::Value* value, llvm::Type* element) {
  return WithLanes(element, LanesOf(value));
}

}  // namespace tcc
