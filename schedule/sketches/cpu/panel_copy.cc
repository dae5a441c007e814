#include "schedule/sketches/cpu/panel_copy.h"

#include <algorithm>
#include <span>

#include "ir/analysis/accesses.h"
#include "schedule/analysis/loop_tree.h"
#include "schedule/sketches/cpu/cpu_parts.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/split.h"
#include "schedule/steps/transform_layout.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

constexpr int64_t kCacheLine = 64;

// Tiles of rows that read a panel, for its copy to cost less than shorter strides gain.
constexpr int64_t kStreamingTiles = 8;

// 0 where one is not known.
int64_t ElementsOf(const Buffer& buffer, std::span<const int64_t> dims) {
  int64_t elements = 1;
  for (int64_t dim : dims) elements *= AsConstant(buffer.shape[dim]).value_or(0);
  return elements;
}

// Whether neighbours along the columns are apart in memory.
bool IsGathered(const PanelOperand& operand) {
  const std::vector<Expr>& shape = operand.buffer.shape;
  return std::any_of(shape.begin() + operand.dim + 1, shape.end(),
                     [](const Expr& extent) { return !IsConstant(extent, 1); });
}

}  // namespace

PanelGain GainOfPanels(const PanelOperand& operand, int64_t rows, int64_t width,
                       const Target& target) {
  int64_t tiles = (operand.reuse + rows - 1) / rows;
  int64_t bytes = WholeBytes(operand.buffer.dtype());
  // The order ends with what a panel has of a column, and the columns of a panel.
  std::span<const int64_t> dims(operand.order.data(), operand.order.size() - 1);
  auto column = std::find(dims.begin(), dims.end(), operand.dim);
  int64_t panel =
      width * bytes * ElementsOf(operand.buffer, dims.subspan(column - dims.begin() + 1));
  if (IsGathered(operand)) {
    bool gains = tiles > 1 || (operand.reuse > 1 && panel > target.l1_bytes);
    return gains ? PanelGain::kGathers : PanelGain::kNone;
  }
  bool is_far = bytes * ElementsOf(operand.buffer, dims) > target.l1_bytes;
  bool gains = tiles >= kStreamingTiles && is_far && IsWorthPacking(operand, width);
  return gains ? PanelGain::kStrides : PanelGain::kNone;
}

bool CopyIntoPanels(SketchState& state, const PanelOperand& operand, const PanelCopy& copy) {
  const std::string& name = operand.buffer.var->name;
  const std::string block = CopyName(copy.reader, name);
  SketchState next = state;
  bool done =
      next.Try(CacheRead{name, {copy.reader}, Scope::kGlobal, block}) &&
      (copy.at.empty() || next.Try(ComputeAt{block, copy.at})) &&
      next.Try(TransformLayout{block, {{operand.dim, copy.registers * copy.lanes}}, operand.order});
  if (!done) return false;
  auto key = [&](int64_t dim) { return block + "/ax" + std::to_string(dim); };
  // A line of each of a panel's columns at a time, where columns are apart in memory.
  auto rank = static_cast<int64_t>(operand.buffer.shape.size());
  int64_t along = operand.dim + 1 < rank ? rank - 1 : operand.order[rank - 1];
  std::vector<LoopRef> outer;
  for (int64_t dim : operand.order) {
    if (dim == rank) continue;
    outer.push_back(dim == operand.dim || dim == along ? LevelKey(key(dim), 0) : key(dim));
  }
  int64_t line = kCacheLine / WholeBytes(operand.buffer.dtype());
  next.Do(Split{key(operand.dim), {copy.registers, copy.lanes}});
  next.Do(Split{key(along), {line}});
  std::vector<LoopRef> order = outer;
  order.insert(order.end(), {LevelKey(key(operand.dim), 1), LevelKey(key(along), 1),
                             LevelKey(key(operand.dim), 2)});
  next.Do(Reorder{order});
  next.Do(Vectorize{LevelKey(key(operand.dim), 2)});
  if (copy.at.empty()) RunInParallel(next, *BlockAt(FindBlock(next.fn(), block).value()), outer);
  next.MarkDone(block);
  state = std::move(next);
  return true;
}

}  // namespace tcc
