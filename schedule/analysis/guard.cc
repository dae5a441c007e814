#include "schedule/analysis/guard.h"

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

// Whether the rows that are written to the circular `buffer` change with the loop.
bool MovesRows(const For& loop, const Buffer& buffer) {
  for (const Ref<Block>& block : BlocksOf(loop.body)) {
    for (const Access& write : WritesOf(*block)) {
      if (!(write.buffer == buffer.var)) continue;
      const Expr& row = write.indices[static_cast<size_t>(buffer.circular)];
      for (const IterVar& iter : block->iters) {
        if (UsesVar(row, iter.var) && UsesVar(iter.binding, loop.var)) return true;
      }
    }
  }
  return false;
}

class GuardAdder final : public Mutator {
 public:
  explicit GuardAdder(const LoopGuard& guard) : guard_(guard) {}

 private:
  using Mutator::Rewrite;

  Stmt Rewrite(const Block& block) override {
    std::vector<LoopGuard> guards = block.guards;
    guards.push_back(guard_);
    return MakeStmt<Block>(block.name, block.iters, std::move(guards), block.predicate, block.body);
  }

  const LoopGuard& guard_;
};

}  // namespace

Stmt AddGuard(const Stmt& stmt, const LoopGuard& guard) {
  return GuardAdder(guard).Mutate(stmt);
}

Status ExpectSerial(const char* step, const Ref<For>& loop) {
  if (loop->for_kind == ForKind::kSerial) return OkStatus();
  return InvalidInput("{}: loop '{}' is {}; expected a serial loop", step, loop->key,
                      ToString(loop->for_kind));
}

StatusOr<Buffer> BufferNamed(const Function& fn, const std::string& name) {
  std::vector<std::string> names;
  for (const Buffer& buffer : DeclaredBuffers(fn)) {
    if (buffer.var->name == name) return buffer;
    names.push_back(buffer.var->name);
  }
  return InvalidInput("no buffer '{}' in function '{}'; it has {}", name, fn.name,
                      fmt::join(names, ", "));
}

Status ExpectNotPrepacked(const char* step, const Buffer& buffer) {
  if (buffer.scope != Scope::kConstant) return OkStatus();
  return InvalidInput("{}: buffer '{}' is made when the model is linked; its nests stay", step,
                      buffer.var->name);
}

Status ExpectUnversioned(const char* step, const Buffer& buffer) {
  if (!buffer.versions) return OkStatus();
  return InvalidInput("{}: buffer '{}' is part of a pipeline already", step, buffer.var->name);
}

Status ExpectOutsideVectors(const char* step, const Path& path) {
  for (const Ref<For>& loop : LoopsOn(path)) {
    if (loop->for_kind == ForKind::kVectorized) {
      return InvalidInput("{}: loop '{}' round it is vectorized", step, loop->key);
    }
  }
  return OkStatus();
}

Status ExpectOutsidePipelines(const char* step, const Path& path) {
  for (const Ref<For>& loop : LoopsOn(path)) {
    if (IsPipelined(loop->for_kind)) {
      return InvalidInput("{}: loop '{}' round it is pipelined already", step, loop->key);
    }
  }
  return OkStatus();
}

Status ExpectCarriesNothing(const char* step, const Function& fn, const For& loop) {
  for (const Buffer& buffer : DeclaredBuffers(fn)) {
    if (buffer.circular < 0 || !Accesses(loop.body, buffer.var)) continue;
    if (IsAllocatedIn(loop.body, buffer.var) || !MovesRows(loop, buffer)) continue;
    return InvalidInput("{}: loop '{}' carries rows of '{}' from iteration to iteration", step,
                        loop.key, buffer.var->name);
  }
  return OkStatus();
}

bool Feeds(const For& loop, const Block& block, IterKind kind) {
  for (const IterVar& iter : block.iters) {
    if (iter.kind == kind && UsesVar(iter.binding, loop.var)) return true;
  }
  return false;
}

bool FeedsReduction(const For& loop) {
  for (const Ref<Block>& block : BlocksOf(loop.body)) {
    if (Feeds(loop, *block, IterKind::kReduce) && !OwnsCells(*block, loop.var)) return true;
  }
  return false;
}

}  // namespace tcc
