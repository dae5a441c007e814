#include "codegen_llvm/parallel_loop.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstddef>
#include <unordered_set>

#include "codegen_llvm/amx_region.h"
#include "codegen_llvm/stmt_emitter.h"
#include "ir/expr/visitor.h"
#include "runtime/artefact/kernel_abi.h"

namespace tcc {
namespace {

using llvm::Value;

// The members of the closure: first the i32 that says that memory ran out, then the runtime, then
// the captured values.
constexpr unsigned kFailure = 0;
constexpr unsigned kRuntime = 1;
constexpr unsigned kCaptures = 2;

// Returns the variables and buffers of the caller that the body uses, in order of first use.
std::vector<const VarNode*> CapturesOf(const KernelState& state, const Stmt& body) {
  std::vector<const VarNode*> captures;
  std::unordered_set<const VarNode*> seen;
  PreOrderExprs(body, [&](const Expr& expr) {
    const auto* var = expr.as<VarNode>();
    if (!var || !seen.insert(var).second) return;
    if (state.vars.contains(var) || state.buffers.contains(var)) captures.push_back(var);
  });
  return captures;
}

Value* ValueOf(const KernelState& state, const VarNode* var) {
  auto found = state.vars.find(var);
  return found != state.vars.end() ? found->second : state.buffers.at(var).pointer;
}

bool Allocates(const Stmt& body) {
  return Contains(body, [&](const Stmt& stmt) { return stmt.as<Allocate>() != nullptr; });
}

llvm::StructType* ClosureType(KernelState& state, const std::vector<const VarNode*>& captures) {
  llvm::IRBuilderBase& b = state.builder;
  std::vector<llvm::Type*> members = {b.getInt32Ty(), b.getPtrTy()};
  for (const VarNode* var : captures) members.push_back(ValueOf(state, var)->getType());
  return llvm::StructType::get(b.getContext(), members);
}

Value* FillClosure(KernelState& state, llvm::StructType* type,
                   const std::vector<const VarNode*>& captures) {
  llvm::IRBuilderBase& b = state.builder;
  Value* closure = StackSlot(state, type);
  b.CreateStore(b.getInt32(0), b.CreateStructGEP(type, closure, kFailure));
  b.CreateStore(state.runtime, b.CreateStructGEP(type, closure, kRuntime));
  for (unsigned i = 0; i < captures.size(); ++i)
    b.CreateStore(ValueOf(state, captures[i]), b.CreateStructGEP(type, closure, kCaptures + i));
  return closure;
}

llvm::Function* EmitBody(KernelState& outer, const For& loop, llvm::StructType* closure_type,
                         const std::vector<const VarNode*>& captures) {
  llvm::LLVMContext& context = outer.module.getContext();
  llvm::IRBuilder<> b(context);
  auto* signature =
      llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()}, false);
  llvm::Function* function =
      llvm::Function::Create(signature, llvm::Function::InternalLinkage,
                             outer.function->getName() + ".parallel", outer.module);
  function->addFnAttrs(llvm::AttrBuilder(context, outer.function->getAttributes().getFnAttrs()));
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));

  Value* closure = function->getArg(0);
  auto member = [&](unsigned i) -> Value* {
    return b.CreateLoad(closure_type->getElementType(i),
                        b.CreateStructGEP(closure_type, closure, i));
  };
  KernelState state{
      .module = outer.module, .builder = b, .needs = outer.needs, .machine = outer.machine};
  state.function = function;
  // The thread that runs the kernel takes part in the loop and keeps its scratch memory.
  state.scratch_bytes = outer.scratch_bytes;
  state.runtime = member(kRuntime);
  state.failure = b.CreateStructGEP(closure_type, closure, kFailure);
  state.bounds = outer.bounds;
  for (unsigned i = 0; i < captures.size(); ++i) {
    Value* value = member(kCaptures + i);
    auto buffer = outer.buffers.find(captures[i]);
    if (buffer == outer.buffers.end()) {
      state.vars[captures[i]] = value;
    } else {
      state.buffers[captures[i]] = buffer->second;
      state.buffers[captures[i]].pointer = value;
      state.buffers[captures[i]].is_private = false;
    }
  }
  StmtEmitter(state).EmitLoop(loop.var, function->getArg(1), function->getArg(2), loop.body);
  if (state.amx_is_configured) ReleaseAmx(state);
  b.CreateRetVoid();
  return function;
}

}  // namespace

Value* EmitParallelLoop(KernelState& state, const For& loop, Value* extent) {
  llvm::IRBuilderBase& b = state.builder;
  std::vector<const VarNode*> captures = CapturesOf(state, loop.body);
  llvm::StructType* type = ClosureType(state, captures);
  Value* closure = FillClosure(state, type, captures);
  llvm::Function* body = EmitBody(state, loop, type, captures);
  auto* signature = llvm::FunctionType::get(
      b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty(), b.getPtrTy(), b.getPtrTy()}, false);
  Value* context = RuntimeEntry(state, offsetof(TccRuntime, context));
  Value* parallel_for = RuntimeEntry(state, offsetof(TccRuntime, parallel_for));
  b.CreateCall(signature, parallel_for, {context, extent, body, closure});
  if (!Allocates(loop.body)) return nullptr;
  Value* failure = b.CreateLoad(b.getInt32Ty(), b.CreateStructGEP(type, closure, kFailure));
  return b.CreateIsNotNull(failure);
}

}  // namespace tcc
