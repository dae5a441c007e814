#include "schedule/steps/prepack.h"

#include <algorithm>
#include <unordered_set>

#include "ir/analysis/accesses.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/placement.h"

namespace tcc {
namespace {

Status ExpectRootNest(const Path& path) {
  Stmt nest = NestOf(path);
  for (const Stmt& stmt : path) {
    if (stmt.same_as(nest)) return OkStatus();
    if (const auto* loop = stmt.as<For>()) {
      return InvalidInput("prepack: block '{}' stands in loop '{}' with others",
                          BlockAt(path)->name, loop->key);
    }
  }
  return OkStatus();
}

Status ExpectConstantNest(const Function& fn, const Stmt& nest, const Var& result,
                          const std::string& block) {
  Status status;
  PreOrder(nest, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (!status.ok() || !loop) return;
    if (IsBlockIdx(loop->for_kind) || IsThreadIdx(loop->for_kind) ||
        loop->for_kind == ForKind::kVthread) {
      status = InvalidInput("prepack: loop '{}' is bound to {}; the host runs it", loop->key,
                            ToString(loop->for_kind));
    }
  });
  PreOrderExprs(nest, [&](const Expr& expr) {
    const auto* load = expr.as<Load>();
    if (!status.ok() || !load || load->buffer == result) return;
    if (FindBuffer(fn, load->buffer)->scope == Scope::kConstant) return;
    status = InvalidInput("prepack: block '{}' reads buffer '{}', which is not constant", block,
                          load->buffer->name);
  });
  return status;
}

}  // namespace

StatusOr<Constraints> CheckPrepack(const Function& fn, const Prepack& step) {
  TCC_ASSIGN_OR_RETURN(Path path, FindBlock(fn, step.block));
  std::vector<Access> writes = WritesOf(*BlockAt(path));
  for (const Access& write : writes) {
    if (!(write.buffer == writes[0].buffer)) {
      return InvalidInput("prepack: block '{}' writes several buffers", step.block);
    }
  }
  if (writes.empty()) return InvalidInput("prepack: block '{}' writes nothing", step.block);
  Var result = writes[0].buffer;
  Buffer buffer = *FindBuffer(fn, result);
  if (IsParameter(fn, result)) {
    return InvalidInput("prepack: buffer '{}' is a parameter; copy it first", result->name);
  }
  if (buffer.scope != Scope::kGlobal || !buffer.window.size.empty()) {
    return InvalidInput("prepack: buffer '{}' is not global and whole", result->name);
  }
  for (const Path& writer : PathsOf(fn, [&](const Block& b) { return Writes(b, result); })) {
    TCC_RETURN_IF_ERROR(ExpectRootNest(writer));
    TCC_RETURN_IF_ERROR(ExpectConstantNest(fn, NestOf(writer), result, BlockAt(writer)->name));
  }
  return Constraints{};
}

Function ApplyPrepack(const Function& fn, const Prepack& step) {
  Path path = FindBlock(fn, step.block).value();
  Var result = WritesOf(*BlockAt(path))[0].buffer;
  return WithBuffer(fn, result, [](Buffer buffer) {
    buffer.scope = Scope::kConstant;
    return buffer;
  });
}

bool RunsWhenLinked(const Function& fn, const Block& block) {
  std::unordered_set<Var, VarHash> wanted;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* allocate = stmt.as<Allocate>();
    if (allocate && allocate->buffer.scope == Scope::kConstant) wanted.insert(allocate->buffer.var);
  });
  if (wanted.empty()) return false;
  auto is_wanted = [&](const Block& candidate) {
    std::vector<Access> writes = WritesOf(candidate);
    return std::ranges::any_of(writes,
                               [&](const Access& write) { return wanted.contains(write.buffer); });
  };
  // The wanted blocks' operands come from earlier blocks.
  std::vector<Ref<Block>> blocks = BlocksOf(fn.body);
  for (size_t b = blocks.size(); b-- > 0;) {
    if (!is_wanted(*blocks[b])) continue;
    for (const Access& read : ReadsOf(*blocks[b])) wanted.insert(read.buffer);
  }
  return is_wanted(block);
}

}  // namespace tcc
