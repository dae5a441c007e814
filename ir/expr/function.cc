#include "ir/expr/function.h"

#include <algorithm>

#include "ir/expr/visitor.h"

namespace tcc {
namespace {
constexpr std::string_view kLevelText[] = {"tensor", "scheduled", "lowered"};
}  // namespace

std::string_view ToString(Level level) {
  return kLevelText[static_cast<int>(level)];
}

std::optional<Level> ParseLevel(std::string_view text) {
  for (size_t i = 0; i < std::size(kLevelText); ++i) {
    if (kLevelText[i] == text) return static_cast<Level>(i);
  }
  return std::nullopt;
}

std::vector<Buffer> DeclaredBuffers(const Function& fn) {
  std::vector<Buffer> buffers = fn.params;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    if (const auto* allocate = stmt.as<Allocate>()) buffers.push_back(allocate->buffer);
  });
  return buffers;
}

const Buffer* FindBuffer(const Function& fn, const Var& var) {
  for (const Buffer& param : fn.params) {
    if (param.var == var) return &param;
  }
  const Buffer* found = nullptr;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* allocate = stmt.as<Allocate>();
    if (allocate && allocate->buffer.var == var) found = &allocate->buffer;
  });
  return found;
}

std::vector<Ref<Block>> BlocksOf(const Stmt& body) {
  std::vector<Ref<Block>> blocks;
  PreOrder(body, [&](const Stmt& stmt) {
    if (const auto* block = stmt.as<Block>()) blocks.push_back(Ref<Block>(block));
  });
  return blocks;
}

bool OwnsCells(const Block& block, const Var& loop) {
  std::vector<Var> own;
  for (const IterVar& iter : block.iters) {
    if (iter.kind == IterKind::kSpatial && iter.binding.same_as(loop)) own.push_back(iter.var);
  }
  auto is_own = [&](const Expr& index) {
    return std::ranges::any_of(own, [&](const Var& var) { return index.same_as(var); });
  };
  auto has_own = [&](const std::vector<Expr>& indices) {
    return std::ranges::any_of(indices, is_own);
  };
  bool all = !own.empty();
  PreOrder(block.body, [&](const Stmt& stmt) {
    if (const auto* store = stmt.as<Store>()) all = all && has_own(store->indices);
    if (const auto* reduce = stmt.as<Reduce>()) {
      for (const Access& output : reduce->outputs) all = all && has_own(output.indices);
    }
  });
  return all;
}

}  // namespace tcc
