#include "codegen_llvm/stmt_emitter.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <cstddef>

#include "codegen_llvm/left_out_lanes.h"
#include "codegen_llvm/llvm_types.h"
#include "codegen_llvm/parallel_loop.h"
#include "codegen_llvm/word_dots.h"
#include "ir/expr/visitor.h"
#include "runtime/artefact/kernel_abi.h"
#include "runtime/artefact/memory_plan.h"
#include "support/check.h"
#include "support/storage_types.h"
#include "support/word_tile.h"

namespace tcc {
namespace {

using llvm::Value;

// Buffers up to this size live on the stack; a thread's stack is at least 512 KiB.
constexpr int64_t kLocalStackBytes = 64 * 1024;
constexpr int64_t kOtherStackBytes = 4 * 1024;

Expr ElementCountOf(const Buffer& buffer) {
  Expr count = 1;
  for (const Expr& extent : buffer.shape)
    count = IsConstant(count, 1) ? extent : Make<Mul>(count, extent);
  return count;
}

std::optional<int64_t> ConstantElements(const Buffer& buffer) {
  int64_t count = 1;
  for (const Expr& extent : buffer.shape) {
    std::optional<int64_t> constant = AsConstant(extent);
    if (!constant) return std::nullopt;
    count *= *constant;
  }
  return count;
}

int64_t BytesOf(DType dtype, int64_t elements) {
  return (elements * dtype.bits() + 7) / 8;
}

}  // namespace

llvm::BasicBlock* StmtEmitter::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(b_.getContext(), name, state_.function);
}

void StmtEmitter::Continue(llvm::BasicBlock* block) {
  b_.SetInsertPoint(block);
  exprs_.ForgetValues();
  if (amx_) amx_->ForgetOperands();
}

void StmtEmitter::Emit(const Stmt& stmt) {
  exprs_.ForgetValues();
  VisitStmt(stmt, Overloaded{
                      [this](const Seq& seq) {
                        for (const Stmt& child : seq.stmts) Emit(child);
                      },
                      [this](const Store& store) { EmitStore(store); },
                      [this](const For& loop) { EmitFor(loop); },
                      [this](const If& branch) { EmitIf(branch); },
                      [this](const Let& let) { EmitLet(let); },
                      [this](const Allocate& allocate) { EmitAllocate(allocate); },
                      [this](const IntrinsicCall& call) { EmitCall(call); },
                      // A copy may be done as soon as it is issued; waits are then empty.
                      [this](const AsyncCopy& copy) { EmitCopy(copy); },
                      [](const AsyncCommit&) {},
                      [](const AsyncWait&) {},
                      [this](const PrefetchLine& prefetch) {
                        exprs_.EmitPrefetch(prefetch.cell.buffer, prefetch.cell.indices[0]);
                      },
                      [](const auto& node) {
                        TCC_CHECK(false) << "statement of kind " << static_cast<int>(node.kind)
                                         << " has no meaning on a CPU at kLowered";
                      },
                  });
}

void StmtEmitter::EmitStore(const Store& store) {
  TCC_CHECK(store.indices.size() == 1) << store.buffer->name << " has an index a dimension";
  const Expr& index = store.indices[0];
  if (store.mask && index.dtype().lanes() == 1) {
    EmitIf(If(store.mask, MakeStmt<Store>(store.buffer, store.indices, store.value)));
  } else {
    exprs_.EmitStore(store.buffer, index, store.value, store.mask);
  }
}

void StmtEmitter::EmitCopy(const AsyncCopy& copy) {
  std::vector<Stmt> stores, zeros;
  for (int i = 0; i < copy.count; ++i) {
    const Var& to = copy.destination.buffer;
    std::vector<Expr> cell = {copy.destination.indices[0] + Expr(i)};
    Expr value =
        Make<Load>(copy.source.buffer, std::vector<Expr>{copy.source.indices[0] + Expr(i)});
    stores.push_back(MakeStmt<Store>(to, cell, value));
    zeros.push_back(MakeStmt<Store>(to, cell, Const(to.dtype(), 0)));
  }
  Emit(copy.keep ? MakeStmt<If>(copy.keep, SeqOf(stores), SeqOf(zeros)) : SeqOf(stores));
}

void StmtEmitter::EmitIf(const If& branch) {
  Value* condition = exprs_.Emit(branch.condition);
  llvm::BasicBlock* then_block = NewBlock("then");
  llvm::BasicBlock* after = NewBlock("after");
  llvm::BasicBlock* else_block = branch.else_body ? NewBlock("else") : after;
  b_.CreateCondBr(condition, then_block, else_block);
  Continue(then_block);
  Emit(branch.then_body);
  b_.CreateBr(after);
  if (branch.else_body) {
    Continue(else_block);
    Emit(branch.else_body);
    b_.CreateBr(after);
  }
  Continue(after);
}

void StmtEmitter::EmitLet(const Let& let) {
  state_.vars[let.var.operator->()] = exprs_.Emit(let.value);
  if (let.value.dtype() == kInt64) state_.bounds[let.var] = BoundsOf(let.value, state_.bounds);
  Emit(let.body);
}

void StmtEmitter::EmitFor(const For& loop) {
  int64_t most = BoundsOf(loop.extent, state_.bounds).high;
  // If the body runs at all, the extent is at least 1.
  state_.bounds[loop.var] = {0, most == INT64_MAX ? most : std::max<int64_t>(most - 1, 0)};
  switch (loop.for_kind) {
    case ForKind::kParallel:
      // Inside a parallel body the other threads are busy already.
      if (!state_.failure && most > 1) return EmitParallel(loop);
      [[fallthrough]];
    case ForKind::kSerial:
    case ForKind::kUnrolled:
      if (state_.machine.amx && !amx_) {
        if (auto region = FindAmxRegion(Stmt(loop))) return EmitAmx(Stmt(loop), *std::move(region));
      }
      return EmitLoop(loop.var, b_.getInt64(0), exprs_.Emit(loop.extent), loop.body);
    case ForKind::kPartitioned:
    case ForKind::kPipelined:
    case ForKind::kPipelinedAsync:
    case ForKind::kVectorized:
    case ForKind::kBlockIdxX:
    case ForKind::kBlockIdxY:
    case ForKind::kBlockIdxZ:
    case ForKind::kThreadIdxX:
    case ForKind::kThreadIdxY:
    case ForKind::kThreadIdxZ:
    case ForKind::kVthread:
      TCC_CHECK(false) << ToString(loop.for_kind) << " loop over " << loop.var->name
                       << " at kLowered";
  }
}

// Emits a loop with its test at the end, as LICM and the loop strength reduction of the back end
// expect.
void StmtEmitter::EmitLoop(const Var& var, Value* begin, Value* end, const Stmt& body) {
  llvm::BasicBlock* loop_block = NewBlock("loop");
  llvm::BasicBlock* after = NewBlock("after");
  b_.CreateCondBr(b_.CreateICmpSLT(begin, end), loop_block, after);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  Continue(loop_block);
  llvm::PHINode* counter = b_.CreatePHI(b_.getInt64Ty(), 2, var->name);
  counter->addIncoming(begin, before);
  state_.vars[var.operator->()] = counter;
  Emit(body);
  Value* next = b_.CreateAdd(counter, b_.getInt64(1), "", /*HasNUW=*/true, /*HasNSW=*/true);
  counter->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), loop_block, after);
  Continue(after);
}

void StmtEmitter::EmitParallel(const For& loop) {
  Value* failed = EmitParallelLoop(state_, loop, exprs_.Emit(loop.extent));
  exprs_.ForgetValues();
  if (!failed) return;
  llvm::BasicBlock* out_of_memory = NewBlock("out_of_memory");
  llvm::BasicBlock* after = NewBlock("after");
  b_.CreateCondBr(failed, out_of_memory, after);
  b_.SetInsertPoint(out_of_memory);
  EmitOutOfMemory();
  Continue(after);
}

void StmtEmitter::EmitAllocate(const Allocate& allocate) {
  const Buffer& buffer = allocate.buffer;
  std::optional<int64_t> elements = ConstantElements(buffer);
  DType dtype = buffer.dtype();
  int64_t limit = buffer.scope == Scope::kLocal ? kLocalStackBytes : kOtherStackBytes;
  if (!elements || BytesOf(dtype, *elements) > limit)
    return EmitWorkspace(allocate, exprs_.Emit(ElementCountOf(buffer)));

  llvm::Type* element = MemoryType(b_.getContext(), dtype);
  int64_t cells = IsPacked(dtype) ? BytesOf(dtype, *elements) : *elements;
  llvm::Type* type = llvm::ArrayType::get(element, cells);
  llvm::AllocaInst* slot = StackSlot(state_, type);
  llvm::ConstantInt* bytes = b_.getInt64(BytesOf(dtype, *elements));
  b_.CreateLifetimeStart(slot, bytes);
  bool is_private = buffer.scope == Scope::kLocal;
  state_.buffers[buffer.var.operator->()] = {
      .pointer = slot,
      .elements = *elements,
      .is_private = is_private,
      .takes_all_lanes = is_private && !ReadsLeftOutLanes(allocate.body, buffer.var)};
  Emit(allocate.body);
  b_.CreateLifetimeEnd(slot, bytes);
}

void StmtEmitter::EmitWorkspace(const Allocate& allocate, Value* elements) {
  DType dtype = allocate.buffer.dtype();
  Value* bits = b_.CreateMul(elements, b_.getInt64(dtype.bits()));
  Value* bytes = b_.CreateLShr(b_.CreateAdd(bits, b_.getInt64(7)), 3);
  auto* signature = llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy(), b_.getInt64Ty()}, false);
  Value* context = RuntimeEntry(state_, offsetof(TccRuntime, context));
  Value* alloc = RuntimeEntry(state_, offsetof(TccRuntime, alloc));
  // No bytes at all are still a success.
  bytes = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, bytes, b_.getInt64(kArenaAlignment));
  llvm::CallInst* memory = b_.CreateCall(signature, alloc, {context, bytes});
  memory->addRetAttr(llvm::Attribute::NoAlias);

  llvm::BasicBlock* out_of_memory = NewBlock("out_of_memory");
  llvm::BasicBlock* allocated = NewBlock("allocated");
  b_.CreateCondBr(b_.CreateIsNull(memory), out_of_memory, allocated);
  b_.SetInsertPoint(out_of_memory);
  EmitOutOfMemory();
  Continue(allocated);
  b_.CreateAlignmentAssumption(state_.function->getDataLayout(), memory, kArenaAlignment);
  state_.buffers[allocate.buffer.var.operator->()] = {
      .pointer = memory, .elements = LeastElements(allocate.buffer, state_.bounds)};
  workspaces_.push_back(memory);
  int64_t held = state_.scratch_bytes;
  int64_t more = MostScratchBytes(allocate.buffer, state_.bounds);
  if (__builtin_add_overflow(held, more, &state_.scratch_bytes)) state_.scratch_bytes = INT64_MAX;
  state_.needs.scratch_bytes = std::max(state_.needs.scratch_bytes, state_.scratch_bytes);
  Emit(allocate.body);
  state_.scratch_bytes = held;
  workspaces_.pop_back();
  EmitFree(memory);
}

void StmtEmitter::EmitCall(const IntrinsicCall& call) {
  const int64_t edge = TileEdgeOf(state_.machine);
  std::optional<TileDot> dot = edge > 0 ? ReadTileDot(call, edge) : std::nullopt;
  if (!dot || (edge == kMmlaTile && !IsMmla(*dot))) return Emit(call.body);
  if (edge == kAmxTile && !amx_) return EmitAmx(Stmt(call), AmxRegion{{dot->c}});
  if (!dot->condition) return EmitTileDot(*dot);
  Value* condition = exprs_.Emit(dot->condition);
  llvm::BasicBlock* then_block = NewBlock("tile");
  llvm::BasicBlock* after = NewBlock("after");
  b_.CreateCondBr(condition, then_block, after);
  Continue(then_block);
  EmitTileDot(*dot);
  b_.CreateBr(after);
  Continue(after);
}

void StmtEmitter::EmitAmx(const Stmt& stmt, AmxRegion region) {
  ConfigureAmx(state_);
  amx_.emplace(state_, std::move(region));
  const std::vector<Tile>& sums = amx_->region().sums;
  for (size_t s = 0; s < sums.size(); ++s) amx_->LoadSum(s, AddressOf(sums[s]));
  Emit(stmt);
  for (size_t s = 0; s < sums.size(); ++s) amx_->StoreSum(s, AddressOf(sums[s]));
  amx_.reset();
  if (!state_.amx_is_configured) ReleaseAmx(state_);
}

void StmtEmitter::EmitTileDot(const TileDot& dot) {
  if (amx_) return EmitAmxDot(dot);
  EmitMmla(state_, dot, AddressOf(dot.a), AddressOf(dot.b), AddressOf(dot.c));
  exprs_.ForgetValues();
}

void StmtEmitter::EmitAmxDot(const TileDot& dot) {
  auto operand = [&](const Tile& tile) {
    if (std::optional<unsigned> held = amx_->Holding(tile)) return *held;
    return amx_->LoadOperand(tile, AddressOf(tile));
  };
  unsigned a = operand(dot.a), b = operand(dot.b);
  amx_->EmitDot(dot, a, b);
}

void StmtEmitter::EmitFree(Value* memory) {
  auto* signature = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false);
  Value* context = RuntimeEntry(state_, offsetof(TccRuntime, context));
  b_.CreateCall(signature, RuntimeEntry(state_, offsetof(TccRuntime, free)), {context, memory});
}

void StmtEmitter::EmitOutOfMemory() {
  for (size_t i = workspaces_.size(); i-- > 0;) EmitFree(workspaces_[i]);
  if (!state_.failure) {
    b_.CreateRet(b_.getInt32(TCC_KERNEL_OUT_OF_MEMORY));
    return;
  }
  llvm::StoreInst* report = b_.CreateStore(b_.getInt32(1), state_.failure);
  report->setAtomic(llvm::AtomicOrdering::Monotonic);
  b_.CreateRetVoid();
}

}  // namespace tcc
