#include "schedule/analysis/moved_value.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "support/check.h"

#include "schedule/analysis/guard.h"

namespace tcc {
namespace {

// A rank of scopes: the more threads share a cell, the higher.
int WidthOf(Scope scope) {
  switch (scope) {
    case Scope::kLocal:
      return 0;
    case Scope::kWarp:
      return 1;
    case Scope::kShared:
      return 2;
    case Scope::kGlobal:
    case Scope::kConstant:
      return 3;
  }
  TCC_UNREACHABLE();
}

bool HasThreads(const Function& fn) {
  return Contains(fn.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    return loop && (IsThreadIdx(loop->for_kind) || loop->for_kind == ForKind::kVthread);
  });
}

bool LivesOn(const Function& fn, const Var& buffer, const Path& path) {
  return IsParameter(fn, buffer) || std::any_of(path.begin(), path.end(), [&](const Stmt& stmt) {
           const auto* allocate = stmt.as<Allocate>();
           return allocate && allocate->buffer.var == buffer;
         });
}

}  // namespace

Status ExpectNotTensorized(const char* step, const Path& path) {
  for (const Stmt& stmt : path) {
    const auto* call = stmt.as<IntrinsicCall>();
    if (!call) continue;
    return InvalidInput("{}: block '{}' is emitted by intrinsic '{}'", step, BlockAt(path)->name,
                        call->intrinsic);
  }
  return OkStatus();
}

Status ExpectElementwise(const char* step, const Path& path) {
  Ref<Block> block = BlockAt(path);
  const auto* store = block->body.as<Store>();
  if (!store) {
    return InvalidInput("{}: block '{}' is {}; expected one that stores a value", step, block->name,
                        block->body.as<Reduce>() ? "a reduction" : "no single store");
  }
  for (const IterVar& iter : block->iters) {
    if (iter.kind == IterKind::kSpatial) continue;
    return InvalidInput("{}: variable '{}' of block '{}' runs in order; expected spatial ones",
                        step, iter.var->name, block->name);
  }
  if (!IsConstant(block->predicate, 1)) {
    return InvalidInput(
        "{}: block '{}' has a predicate; the cells that it leaves out have no value", step,
        block->name);
  }
  if (Reads(block->body, store->buffer)) {
    return InvalidInput("{}: block '{}' reads what it writes", step, block->name);
  }
  return ExpectNotTensorized(step, path);
}

Status ExpectRemovable(const char* step, const Function& fn, const Buffer& buffer) {
  if (IsParameter(fn, buffer.var)) {
    return InvalidInput("{}: buffer '{}' is a parameter of the function", step, buffer.var->name);
  }
  if (buffer.circular >= 0) {
    return InvalidInput("{}: buffer '{}' is circular", step, buffer.var->name);
  }
  TCC_RETURN_IF_ERROR(ExpectUnversioned(step, buffer));
  return ExpectNotPrepacked(step, buffer);
}

Status ExpectReachable(const char* step, const Function& fn, const Var& buffer,
                       const Buffer& through, const Path& path) {
  const Buffer& declared = *FindBuffer(fn, buffer);
  const std::string& block = BlockAt(path)->name;
  if (!LivesOn(fn, buffer, path)) {
    return InvalidInput("{}: buffer '{}' does not live where block '{}' stands", step, buffer->name,
                        block);
  }
  if (declared.circular >= 0) {
    return InvalidInput("{}: buffer '{}' is circular; block '{}' may come too late for its rows",
                        step, buffer->name, block);
  }
  if (WidthOf(declared.scope) < WidthOf(through.scope) && HasThreads(fn)) {
    return InvalidInput("{}: buffer '{}' is {}, but '{}' is {}: another thread may run block '{}'",
                        step, buffer->name, ToString(declared.scope), through.var->name,
                        ToString(through.scope), block);
  }
  return OkStatus();
}

Status ExpectReadsFinal(const char* step, const Function& fn, const Block& block, size_t first,
                        const Var& except) {
  std::vector<Ref<Block>> blocks = BlocksOf(fn.body);
  for (size_t i = first; i < blocks.size(); ++i) {
    for (const Access& read : ReadsOf(block)) {
      if (read.buffer == except || !Writes(*blocks[i], read.buffer)) continue;
      return InvalidInput("{}: block '{}' reads buffer '{}', which block '{}' writes too late",
                          step, block.name, read.buffer->name, blocks[i]->name);
    }
  }
  return OkStatus();
}

size_t NumberOf(const Function& fn, const std::string& block) {
  std::vector<Ref<Block>> blocks = BlocksOf(fn.body);
  size_t number = 0;
  while (number < blocks.size() && blocks[number]->name != block) ++number;
  return number;
}

}  // namespace tcc
