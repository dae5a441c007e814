#include "schedule/constant_panels.h"

#include <algorithm>

#include "ir/compare.h"
#include "ir/visitor.h"
#include "schedule/loop_tree.h"

namespace tcc {
namespace {

// The indices at which the block reads `buffer`; nullptr where they differ or there are none.
const std::vector<Expr>* OnlyIndices(const std::vector<Access>& reads, const Var& buffer) {
  const std::vector<Expr>* indices = nullptr;
  for (const Access& read : reads) {
    if (!(read.buffer == buffer)) continue;
    if (indices && !SameField(*indices, read.indices)) return nullptr;
    indices = &read.indices;
  }
  return indices;
}

// The one dimension that `var` itself indexes, if nothing else depends on it.
std::optional<int> DimensionOf(const std::vector<Expr>& indices, const Var& var) {
  std::optional<int> found;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!UsesVar(indices[d], var)) continue;
    if (found || !indices[d].same_as(var)) return std::nullopt;
    found = static_cast<int>(d);
  }
  return found;
}

// The place of the innermost reduce variable that `index` uses among the block's variables, or -1.
int ReduceDepth(const Expr& index, const Block& block) {
  int depth = -1;
  for (size_t i = 0; i < block.iters.size(); ++i) {
    bool reduce = block.iters[i].kind == IterKind::kReduce;
    if (reduce && UsesVar(index, block.iters[i].var)) depth = static_cast<int>(i);
  }
  return depth;
}

// Whether panels of `width` take no more than a quarter beyond what the columns do.
bool PadsLittle(int64_t columns, int64_t width) {
  int64_t panels = (columns + width - 1) / width;
  return panels * width - columns <= columns / 4;
}

}  // namespace

std::vector<PackedOperand> ConstantPanels(const Function& fn, const Block& block, size_t column,
                                          const RegisterTile& tile) {
  std::vector<PackedOperand> operands;
  int64_t width = tile.registers * tile.lanes;
  int64_t columns = ExtentOf(block, column);
  std::vector<Access> reads = ReadsOf(block);
  for (const Buffer& param : fn.params) {
    if (param.scope != Scope::kConstant || !PadsLittle(columns, width)) continue;
    const std::vector<Expr>* indices = OnlyIndices(reads, param.var);
    std::optional<int> dim =
        indices ? DimensionOf(*indices, block.iters[column].var) : std::nullopt;
    if (!dim) continue;
    std::vector<int64_t> outer, inner;
    for (int64_t d = 0; d < static_cast<int64_t>(indices->size()); ++d) {
      if (d == *dim) continue;
      (ReduceDepth((*indices)[d], block) < 0 ? outer : inner).push_back(d);
    }
    std::stable_sort(inner.begin(), inner.end(), [&](int64_t a, int64_t b) {
      return ReduceDepth((*indices)[a], block) < ReduceDepth((*indices)[b], block);
    });
    bool in_order = columns <= width && *dim + 1 == static_cast<int>(indices->size()) &&
                    std::is_sorted(inner.begin(), inner.end());
    if (inner.empty() || in_order) continue;
    PackedOperand operand{param.var->name, *dim, outer};
    operand.order.push_back(*dim);
    operand.order.insert(operand.order.end(), inner.begin(), inner.end());
    operand.order.push_back(static_cast<int64_t>(indices->size()));
    operands.push_back(std::move(operand));
  }
  return operands;
}

}  // namespace tcc
