#include "schedule/sketches/parts/operand_panels.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/compare.h"
#include "ir/expr/layout.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/placement.h"
#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/prepack.h"
#include "schedule/steps/split.h"
#include "schedule/steps/transform_layout.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// 0 where an extent is not known.
int64_t BytesOf(const Buffer& buffer) {
  int64_t bytes = WholeBytes(buffer.dtype());
  for (const Expr& extent : buffer.shape) bytes *= AsConstant(extent).value_or(0);
  return bytes;
}

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

// How many values of spatial variables read the same cells.
int64_t ReuseOf(const std::vector<Expr>& indices, const Block& block) {
  int64_t reuse = 1;
  for (const IterVar& iter : block.iters) {
    bool is_used =
        std::ranges::any_of(indices, [&](const Expr& index) { return UsesVar(index, iter.var); });
    if (iter.kind != IterKind::kSpatial || is_used) continue;
    reuse *= AsConstant(iter.domain).value_or(1);
  }
  return reuse;
}

std::optional<PanelOperand> OperandAt(const Function& fn, const Buffer& buffer, const Block& block,
                                      size_t column) {
  std::vector<Access> reads = ReadsOf(block);
  const std::vector<Expr>* indices = OnlyIndices(reads, buffer.var);
  std::optional<int> dim = indices ? DimensionOf(*indices, block.iters[column].var) : std::nullopt;
  if (!dim) return std::nullopt;
  PanelOperand operand{buffer, IsParameter(fn, buffer.var), *dim, {},
                       false,  ReuseOf(*indices, block)};
  std::vector<int64_t> inner;
  for (int64_t d = 0; d < static_cast<int64_t>(indices->size()); ++d) {
    if (d == *dim) continue;
    (ReduceDepth((*indices)[d], block) < 0 ? operand.order : inner).push_back(d);
  }
  if (inner.empty()) return std::nullopt;
  auto place = [&](int64_t d) { return std::pair(ReduceDepth((*indices)[d], block), d); };
  std::ranges::sort(inner, [&](int64_t a, int64_t b) { return place(a) < place(b); });
  int64_t rank = static_cast<int64_t>(indices->size());
  operand.streams_as_it_is = *dim + 1 == rank && std::ranges::is_sorted(inner);
  operand.order.push_back(*dim);
  operand.order.insert(operand.order.end(), inner.begin(), inner.end());
  operand.order.push_back(rank);
  return operand;
}

std::vector<PanelOperand> OperandsOf(const Function& fn, const Block& block, size_t column,
                                     Scope scope) {
  std::vector<PanelOperand> operands;
  for (const Buffer& buffer : DeclaredBuffers(fn)) {
    if (buffer.scope != scope || !IsRowMajor(buffer.layout)) continue;
    std::optional<PanelOperand> operand = OperandAt(fn, buffer, block, column);
    if (operand) operands.push_back(*std::move(operand));
  }
  return operands;
}

}  // namespace

std::optional<Prepack> PrepackOfStage(const Function& fn, const Block& block) {
  int64_t read = 0;
  std::vector<Var> seen;
  for (const Access& access : ReadsOf(block)) {
    if (std::ranges::find(seen, access.buffer) != seen.end()) continue;
    seen.push_back(access.buffer);
    read += BytesOf(*FindBuffer(fn, access.buffer));
  }
  std::vector<Access> writes = WritesOf(block);
  bool fits = read > 0 && !writes.empty() &&
              BytesOf(*FindBuffer(fn, writes[0].buffer)) <= kMaxPrepackedGrowth * read &&
              CheckPrepack(fn, {block.name}).ok();
  if (!fits) return std::nullopt;
  return Prepack{block.name};
}

std::vector<PanelOperand> ConstantOperands(const Function& fn, const Block& block, size_t column) {
  return OperandsOf(fn, block, column, Scope::kConstant);
}

std::vector<PanelOperand> VaryingOperands(const Function& fn, const Block& block, size_t column) {
  return OperandsOf(fn, block, column, Scope::kGlobal);
}

bool IsWorthPacking(const PanelOperand& operand, int64_t width) {
  std::optional<int64_t> columns = AsConstant(operand.buffer.shape[operand.dim]);
  if (!columns || (operand.streams_as_it_is && *columns <= width)) return false;
  int64_t panels = CeilDivision(*columns, width);
  return panels * width - *columns <= *columns / 4;
}

std::string CopyName(const std::string& reader, const std::string& buffer) {
  std::string name = reader + "." + buffer;
  bool is_taken = buffer == "out" || buffer == "init";
  return is_taken ? name + ".panels" : name;
}

std::vector<Step> PackingSteps(const PanelOperand& operand, const std::string& reader,
                               const Expr& registers, const Expr& lanes,
                               std::vector<std::string>& packed,
                               const std::optional<BlockFactor>& inner) {
  const std::string& name = operand.buffer.var->name;
  std::vector<BlockFactor> panels = {{operand.dim, registers * lanes}};
  std::vector<int64_t> order = operand.order;
  if (inner) {
    panels.push_back(*inner);
    order.push_back(static_cast<int64_t>(order.size()));
  }
  packed.push_back(operand.is_parameter ? CopyName(reader, name) : name);
  if (!operand.is_parameter) return {TransformLayout{name, panels, order}};
  const std::string& copy = packed.back();
  LoopRef columns = copy + "/ax" + std::to_string(operand.dim);
  return {CacheRead{name, {reader}, Scope::kGlobal, copy}, TransformLayout{copy, panels, order},
          Prepack{copy}, Split{columns, {lanes}}, Vectorize{columns + ".1"}};
}

}  // namespace tcc
