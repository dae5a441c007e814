#include "schedule/sketches/parts/transposed_operand.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/sketches/parts/block_pattern.h"

namespace tcc {
namespace {

// Returns the one dimension whose index is the variable itself, or nullopt if there is none or
// another one uses the variable too.
std::optional<size_t> DimensionOf(const Access& access, const Var& var) {
  std::optional<size_t> found;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    if (!UsesVar(access.indices[d], var)) continue;
    if (found || !access.indices[d].same_as(var)) return std::nullopt;
    found = d;
  }
  return found;
}

// Returns whether neighbours along the variable are apart in memory.
bool IsStrided(const Function& fn, const Access& read, const Var& var) {
  std::optional<int64_t> stride = StrideAlong(fn, read, var);
  return stride && std::abs(*stride) > 1;
}

}  // namespace

std::vector<TransposedOperand> TransposedAlong(const Function& fn, const Block& block, size_t row) {
  const Var& last = block.iters.back().var;
  const Var& other = block.iters[row].var;
  std::vector<TransposedOperand> operands;
  for (const Access& read : ReadsOf(block)) {
    if (!IsStrided(fn, read, last) || StrideAlong(fn, read, other) != 1) continue;
    std::optional<size_t> row_dim = DimensionOf(read, other);
    std::optional<size_t> column_dim = DimensionOf(read, last);
    if (!row_dim || !column_dim) continue;
    TransposedOperand operand{read.buffer->name, read.buffer.dtype(), *row_dim, *column_dim};
    bool known = std::ranges::any_of(
        operands, [&](const TransposedOperand& seen) { return seen.buffer == operand.buffer; });
    if (!known) operands.push_back(operand);
  }
  return operands;
}

}  // namespace tcc
