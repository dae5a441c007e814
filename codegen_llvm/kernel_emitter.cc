#include "codegen_llvm/kernel_emitter.h"

#include <fmt/format.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen_llvm/left_on_throw.h"
#include "codegen_llvm/popcount_sums.h"
#include "codegen_llvm/stmt_emitter.h"
#include "codegen_llvm/word_dots.h"
#include "runtime/artefact/kernel_abi.h"
#include "support/check.h"

namespace tcc {
namespace {

using llvm::Value;

// "no-builtins": no pass may turn a loop into a call of memset. Without a wish for 512 bits LLVM
// would split vectors in two on CPUs that once clocked lower with them. A vector of fixed length is
// one of SVE's registers where these are known to be long enough. Bodies of parallel loops take
// these over.
void SetAttributes(llvm::Function& function, const Target& target) {
  function.setDoesNotThrow();
  function.addFnAttr("no-builtins");
  if (target.sve_bytes[0] > 0) {
    constexpr int kGranule = 16;  // bytes that LLVM counts the length in
    function.addFnAttr(llvm::Attribute::getWithVScaleRangeArgs(
        function.getContext(), target.sve_bytes[0] / kGranule, target.sve_bytes[1] / kGranule));
  }
  if (target.vector_bytes < 64) return;
  function.addFnAttr("prefer-vector-width", "512");
  function.addFnAttr("min-legal-vector-width", "512");
}

llvm::Function* DeclareKernel(llvm::Module& module, llvm::IRBuilderBase& b, const std::string& name,
                              const Target& target) {
  auto* signature =
      llvm::FunctionType::get(b.getInt32Ty(), {b.getPtrTy(), b.getPtrTy(), b.getPtrTy()}, false);
  llvm::Function* function =
      llvm::Function::Create(signature, llvm::Function::ExternalLinkage, name, module);
  const char* names[] = {"runtime", "buffers", "shape_args"};
  for (unsigned i = 0; i < 3; ++i) {
    function->getArg(i)->setName(names[i]);
    function->addParamAttr(i, llvm::Attribute::NoAlias);
    function->addParamAttr(i, llvm::Attribute::ReadOnly);
  }
  SetAttributes(*function, target);
  return function;
}

// Binds the parameters, with one alias scope each: an access is in its own scope and in no other.
void BindParameters(KernelState& state, const Function& fn) {
  llvm::IRBuilderBase& b = state.builder;
  llvm::MDBuilder metadata(b.getContext());
  llvm::MDNode* domain = metadata.createAliasScopeDomain(fn.name);
  std::vector<llvm::MDNode*> scopes;
  for (const Buffer& param : fn.params)
    scopes.push_back(metadata.createAliasScope(param.var->name, domain));
  for (size_t i = 0; i < fn.params.size(); ++i) {
    std::vector<llvm::Metadata*> others;
    for (size_t j = 0; j < scopes.size(); ++j)
      if (j != i) others.push_back(scopes[j]);
    Value* slot = b.CreateConstGEP1_64(b.getPtrTy(), state.function->getArg(1), i);
    state.buffers[fn.params[i].var.operator->()] = {
        .pointer = b.CreateLoad(b.getPtrTy(), slot, fn.params[i].var->name),
        .alias_scope = llvm::MDNode::get(b.getContext(), {scopes[i]}),
        .no_alias = llvm::MDNode::get(b.getContext(), others),
        .elements = LeastElements(fn.params[i], state.bounds),
    };
  }
}

void BindShapes(KernelState& state, const Function& fn) {
  llvm::IRBuilderBase& b = state.builder;
  for (size_t i = 0; i < fn.vars.size(); ++i) {
    TCC_CHECK(fn.vars[i]->role == VarRole::kShape) << fn.vars[i]->name << " is free in " << fn.name;
    Value* slot = b.CreateConstGEP1_64(b.getInt64Ty(), state.function->getArg(2), i);
    state.vars[fn.vars[i].operator->()] = b.CreateLoad(b.getInt64Ty(), slot, fn.vars[i]->name);
  }
}

void CheckModule(const llvm::Module& module) {
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  TCC_CHECK(!llvm::verifyModule(module, &stream)) << problems;
}

}  // namespace

EmittedKernel EmitKernel(llvm::LLVMContext& context, const Function& fn, const Target& target,
                         llvm::TargetMachine& machine) {
  TCC_CHECK(fn.level == Level::kLowered) << fn.name << " is at " << ToString(fn.level);
  // The module's name goes into the object file: it must not depend on anything but the input.
  LeftOnThrow<llvm::Module> module(std::in_place, "tcc", context);
  module->setTargetTriple(machine.getTargetTriple().str());
  module->setDataLayout(machine.createDataLayout());

  llvm::IRBuilder<> b(context);
  llvm::Function* function = DeclareKernel(*module, b, fn.name, target);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  RuntimeNeeds needs;
  KernelState state{
      .module = *module,
      .builder = b,
      .needs = needs,
      .machine = {.arch = target.arch,
                  .vector_bytes = target.vector_bytes,
                  .has_masks = target.arch == CpuArch::kX86 || target.sve_bytes[0] > 0,
                  .dots_bytes = DotsBytes(machine),
                  .dots_signed_bytes = DotsSignedBytes(machine),
                  .dots_bfloats = DotsBFloats(machine),
                  .counts_bits_of_words = CountsBitsOfWords(machine),
                  .counts_bits_of_bytes = CountsBitsOfBytes(machine),
                  .amx = target.amx}};
  state.function = function;
  state.runtime = function->getArg(0);
  BindParameters(state, fn);
  BindShapes(state, fn);
  StmtEmitter(state).Emit(fn.body);
  b.CreateRet(b.getInt32(TCC_KERNEL_OK));
  CheckModule(*module);
  return {module.Take(), needs};
}

}  // namespace tcc
