#include "schedule/space/bank_conflicts.h"

#include <algorithm>
#include <array>
#include <set>

#include "ir/expr/evaluate.h"
#include "ir/expr/layout.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/loop_tree.h"
#include "support/device_profile.h"
#include "support/storage_types.h"
#include "support/target.h"

namespace tcc {
namespace {

Substitution BindingsOf(const Block& block) {
  Substitution bindings;
  for (const IterVar& iter : block.iters) bindings.emplace(iter.var, iter.binding);
  return bindings;
}

// In elements from the buffer's start.
std::optional<Expr> OffsetOf(const Block& block, const Access& access, const Buffer& buffer) {
  const Layout& layout = buffer.layout;
  bool is_sum = layout.blocks.empty() && layout.swizzle.bits == 0 && buffer.circular < 0;
  if (!is_sum) return std::nullopt;
  Substitution bindings = BindingsOf(block);
  std::vector<Expr> strides = StoredStrides(buffer);
  Expr offset(0);
  for (size_t d = 0; d < strides.size(); ++d) {
    Expr index = Substitute(access.indices[d], bindings);
    if (!buffer.window.origin.empty()) index = index - buffer.window.origin[d];
    offset = offset + index * strides[d];
  }
  return offset;
}

}  // namespace

std::optional<int64_t> WarpPasses(const Function& fn, const std::string& block,
                                  const Access& access, const Decisions& sizes) {
  Path path = FindBlock(fn, block).value();
  const Buffer& buffer = *FindBuffer(fn, access.buffer);
  std::optional<Expr> offset = OffsetOf(*BlockAt(path), access, buffer);
  if (!offset) return std::nullopt;
  Assignment at;
  for (const Var& var : fn.vars) {
    if (auto size = sizes.find(var->name); size != sizes.end()) at[var] = size->second;
  }
  std::vector<Ref<For>> threads;
  for (const Ref<For>& loop : LoopsOn(path)) {
    at[loop->var] = 0;
    if (IsThreadIdx(loop->for_kind)) threads.push_back(loop);
  }
  // Neighbours along x are neighbours in a warp.
  std::ranges::sort(threads,
                    [](const Ref<For>& a, const Ref<For>& b) { return a->for_kind < b->for_kind; });
  std::array<std::set<int64_t>, kBanks> words;
  for (int64_t lane = 0; lane < Target::kWarp; ++lane) {
    int64_t rest = lane;
    for (const Ref<For>& loop : threads) {
      std::optional<int64_t> extent = EvaluateInt(loop->extent, at);
      if (!extent || *extent < 1) return std::nullopt;
      at[loop->var] = rest % *extent;
      rest /= *extent;
    }
    if (rest > 0) break;  // fewer threads than a warp has
    std::optional<int64_t> cell = EvaluateInt(*offset, at);
    if (!cell) return std::nullopt;
    int64_t word = *cell * WholeBytes(buffer.dtype()) / kBankBytes;
    words[static_cast<size_t>(word % kBanks)].insert(word);
  }
  size_t most = 1;
  for (const std::set<int64_t>& bank : words) most = std::max(most, bank.size());
  return static_cast<int64_t>(most);
}

bool ThreadsReadRows(const Function& fn, const std::string& block, const Access& access) {
  Path path = FindBlock(fn, block).value();
  Substitution bindings = BindingsOf(*BlockAt(path));
  for (const Ref<For>& loop : LoopsOn(path)) {
    if (!IsThreadIdx(loop->for_kind)) continue;
    for (size_t d = 0; d + 1 < access.indices.size(); ++d) {
      if (UsesVar(Substitute(access.indices[d], bindings), loop->var)) return true;
    }
  }
  return false;
}

}  // namespace tcc
