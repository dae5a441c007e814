#include "schedule/analysis/loop_tree.h"

#include <fmt/ranges.h>

#include "ir/expr/visitor.h"

namespace tcc {
namespace {

// The target of a search: the loop with a key or the block with a name.
struct Wanted {
  std::string_view loop, block;

  bool Is(const Stmt& stmt) const {
    if (const auto* node = stmt.as<For>()) return !loop.empty() && node->key == loop;
    const auto* node = stmt.as<Block>();
    return node && !block.empty() && node->name == block;
  }
  // Whether `stmt` probably holds the target: loops of a block's own nest have its name in their
  // keys.
  bool IsLikelyIn(const Stmt& stmt) const {
    std::string_view name = block.empty() ? loop.substr(0, loop.find('/')) : block;
    if (const auto* node = stmt.as<For>()) {
      return node->key.size() > name.size() && node->key[name.size()] == '/' &&
             node->key.starts_with(name);
    }
    return Is(stmt);
  }
};

bool Descend(const Stmt& stmt, const Wanted& wanted, Path& path);

// Searches the likely nests first: with thousands of nests, a walk through all of them takes most
// of a schedule's time.
bool DescendIntoAny(const Seq& seq, const Wanted& wanted, Path& path) {
  for (bool likely : {true, false}) {
    for (const Stmt& child : seq.stmts) {
      if (wanted.IsLikelyIn(child) == likely && Descend(child, wanted, path)) return true;
    }
  }
  return false;
}

// Depth first; true once `path` ends at the target. A key or name occurs at most once.
bool Descend(const Stmt& stmt, const Wanted& wanted, Path& path) {
  path.push_back(stmt);
  if (wanted.Is(stmt)) return true;
  bool found = false;
  if (const auto* seq = stmt.as<Seq>()) {
    found = DescendIntoAny(*seq, wanted, path);
  } else {
    ForEachChild(stmt, [&](const Stmt& child) { found = found || Descend(child, wanted, path); });
  }
  if (!found) path.pop_back();
  return found;
}

std::vector<std::string> LoopKeys(const Function& fn) {
  std::vector<std::string> keys;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) keys.push_back(loop->key);
  });
  return keys;
}

size_t CountBlocks(const Stmt& stmt) {
  return BlocksOf(stmt).size();
}

}  // namespace

StatusOr<Path> FindLoop(const Function& fn, const LoopRef& loop) {
  Path path;
  if (!loop.empty() && Descend(fn.body, {.loop = loop, .block = {}}, path)) return path;
  return InvalidInput("no loop '{}' in function '{}'; it has {}", loop, fn.name,
                      fmt::join(LoopKeys(fn), ", "));
}

StatusOr<Path> FindBlock(const Function& fn, const std::string& block) {
  Path path;
  if (!block.empty() && Descend(fn.body, {.loop = {}, .block = block}, path)) return path;
  std::vector<std::string> names;
  for (const Ref<Block>& b : BlocksOf(fn.body)) names.push_back(b->name);
  return InvalidInput("no block '{}' in function '{}'; it has {}", block, fn.name,
                      fmt::join(names, ", "));
}

std::vector<Ref<For>> LoopsOn(const Path& path) {
  std::vector<Ref<For>> loops;
  for (const Stmt& stmt : path) {
    if (const auto* loop = stmt.as<For>()) loops.push_back(Ref<For>(loop));
  }
  return loops;
}

std::vector<Ref<For>> LoopsInside(const Path& path, const LoopRef& outer) {
  std::vector<Ref<For>> loops;
  bool inside = false;
  for (const Ref<For>& loop : LoopsOn(path)) {
    if (inside) loops.push_back(loop);
    inside = inside || loop->key == outer;
  }
  return loops;
}

Ref<For> LoopAt(const Path& path) {
  const auto* loop = path.back().as<For>();
  TCC_CHECK(loop != nullptr) << "the path ends at no loop";
  return Ref<For>(loop);
}

Ref<Block> BlockAt(const Path& path) {
  const auto* block = path.back().as<Block>();
  TCC_CHECK(block != nullptr) << "the path ends at no block";
  return Ref<Block>(block);
}

Stmt Replace(const Stmt& root, const StmtNode* target, const Stmt& replacement) {
  if (root.get() == target) return replacement;
  auto inner = [&](const Stmt& body) { return Replace(body, target, replacement); };
  if (const auto* seq = root.as<Seq>()) {
    // The target stands in one place: of thousands of nests, only one is rebuilt.
    for (size_t i = 0; i < seq->stmts.size(); ++i) {
      Stmt changed = inner(seq->stmts[i]);
      if (changed.same_as(seq->stmts[i])) continue;
      std::vector<Stmt> stmts = seq->stmts;
      stmts[i] = std::move(changed);
      return SeqOf(stmts);
    }
    return root;
  }
  if (const auto* loop = root.as<For>()) {
    Stmt body = inner(loop->body);
    if (body.same_as(loop->body)) return root;
    if (IsNothing(body)) return body;
    return MakeStmt<For>(loop->var, loop->extent, loop->for_kind, loop->key, body);
  }
  if (const auto* block = root.as<Block>()) {
    Stmt body = inner(block->body);
    if (body.same_as(block->body)) return root;
    return MakeStmt<Block>(block->name, block->iters, block->guards, block->predicate, body);
  }
  if (const auto* call = root.as<IntrinsicCall>()) {
    Stmt body = inner(call->body);
    return body.same_as(call->body) ? root : MakeStmt<IntrinsicCall>(call->intrinsic, body);
  }
  if (const auto* allocate = root.as<Allocate>()) {
    Stmt body = inner(allocate->body);
    if (body.same_as(allocate->body)) return root;
    return IsNothing(body) ? body : MakeStmt<Allocate>(allocate->buffer, body);
  }
  return root;
}

Stmt InLoops(std::span<const Ref<For>> loops, Stmt body) {
  for (size_t i = loops.size(); i-- > 0;) {
    const For& loop = *loops[i];
    body = MakeStmt<For>(loop.var, loop.extent, loop.for_kind, loop.key, body);
  }
  return body;
}

Stmt NestOf(const Path& path) {
  for (const Stmt& stmt : path) {
    if (stmt.as<Allocate>() == nullptr && CountBlocks(stmt) == 1) return stmt;
  }
  TCC_CHECK(false) << "a path without a block";
  return {};
}

LoopRef BaseKey(const std::string& block, const IterVar& iter) {
  return block + "/" + iter.var->name;
}

bool IsBlockName(const Function& fn, const std::string& name) {
  return Contains(fn.body, [&](const Stmt& stmt) {
    const auto* block = stmt.as<Block>();
    const auto* loop = stmt.as<For>();
    return (block && block->name == name) || (loop && loop->key.starts_with(name + "/"));
  });
}

}  // namespace tcc
