#include "schedule/sketches/cpu/register_tiling.h"

#include <algorithm>
#include <span>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/loop_tree.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/sketches/cpu/cpu_parts.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/sketches/parts/operand_panels.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/split.h"
#include "schedule/steps/transform_layout.h"
#include "support/device_profile.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

double BufferBytes(const Function& fn, const Var& buffer) {
  double bytes = static_cast<double>(WholeBytes(buffer.dtype()));
  for (const Expr& extent : FindBuffer(fn, buffer)->shape) {
    bytes *= static_cast<double>(AsConstant(extent).value_or(1));
  }
  return bytes;
}

bool IsColumnwise(const Block& block, size_t column) {
  int64_t taps = 1;
  for (size_t r : ItersOf(block, IterKind::kReduce)) {
    // One more than the most is too many, and the product stays small.
    taps *= std::min(ExtentOf(block, r), kMaxUnrolledTaps + 1);
  }
  bool all = taps <= kMaxUnrolledTaps;
  for (const Access& read : ReadsOf(block)) all = all && Uses(read, block.iters[column].var);
  return all;
}

// Returns the product of the extents; 0 if one is not known.
int64_t ElementsOf(const Buffer& buffer, std::span<const int64_t> dims) {
  int64_t elements = 1;
  for (int64_t dim : dims) elements *= AsConstant(buffer.shape[dim]).value_or(0);
  return elements;
}

// Returns whether neighbours along the columns are apart in memory.
bool IsGathered(const PanelOperand& operand) {
  const std::vector<Expr>& shape = operand.buffer.shape;
  return std::any_of(shape.begin() + operand.dim + 1, shape.end(),
                     [](const Expr& extent) { return !IsConstant(extent, 1); });
}

// Returns the gain of a copy if a tile has `rows` rows and panels have `width` columns.
PanelGain GainOfPanels(const PanelOperand& operand, int64_t rows, int64_t width,
                       const Target& target) {
  int64_t tiles = CeilDivision(operand.reuse, rows);
  int64_t bytes = WholeBytes(operand.buffer.dtype());
  // The order ends with what a panel has of a column, and the columns of a panel.
  std::span<const int64_t> dims(operand.order.data(), operand.order.size() - 1);
  auto column = std::ranges::find(dims, operand.dim);
  int64_t panel =
      width * bytes * ElementsOf(operand.buffer, dims.subspan(column - dims.begin() + 1));
  if (IsGathered(operand)) {
    bool gains = tiles > 1 || (operand.reuse > 1 && panel > target.l1_bytes);
    return gains ? PanelGain::kGathers : PanelGain::kNone;
  }
  bool is_far = bytes * ElementsOf(operand.buffer, dims) > target.l1_bytes;
  bool gains = tiles >= kMinStreamingTiles && is_far && IsWorthPacking(operand, width);
  return gains ? PanelGain::kStrides : PanelGain::kNone;
}

// The use of a copy.
struct PanelCopy {
  std::string reader;     // a block
  LoopRef at;             // a loop of the reader that makes its part of the copy; none: made before
  Expr registers, lanes;  // of a panel's columns
};

// Makes the reader read a copy of the operand in panels of registers x lanes columns, and marks the
// copy as done. A copy outside all loops is made in parallel. Returns false, with the state
// unchanged, if that is not legal.
//
//   mm.B: for n.0, k.0 parallel { for n.1 { for k.1 { for n.2 vectorized
//           mm.B[n div 32, k, n mod 32] = B[n, k] } } }
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
  int64_t line = kCacheLineBytes / WholeBytes(operand.buffer.dtype());
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

}  // namespace

RegisterTiling::RegisterTiling(const SketchState& before, const Block& block, const Target& target)
    : state(Prepacked(before, block)),
      block_(block),
      target_(target),
      spatial_(ItersOf(block, IterKind::kSpatial)),
      reduce_(ItersOf(block, IterKind::kReduce)) {
  // A dimension that is kept has an extent of 1: the last ones that have more.
  columns_ = spatial_.size() - 1;
  while (columns_ > 0 && Extent(columns_) == 1) --columns_;
  for (size_t s = 0; s < spatial_.size(); ++s) {
    if (s != columns_ && Extent(s) > 1) rows_ = s;
  }
  is_columnwise_ = rows_ && IsColumnwise(block, spatial_[columns_]);
  if (rows_ && !is_columnwise_) rows_ = AxisOfRows(*rows_);
  int64_t rows = rows_ ? Extent(*rows_) : 1;
  FindRowTerms();
  const RowTerms terms = terms_ > 1 ? RowTerms::kInVectors : RowTerms::kOneByOne;
  tile_ = is_columnwise_ ? ChooseWindowTile(TermsOf(block), rows, Extent(columns_), target, dtype())
                         : ChooseRegisterTile(rows, Extent(columns_), target, dtype(), terms);
}

void RegisterTiling::FindRowTerms() {
  if (!target_.multiplies_by_lane || !rows_ || is_columnwise_ || dtype() != kFloat32) return;
  const int64_t lanes = target_.FloatLanes();
  const IterVar& last = block_.iters[reduce_.back()];
  if (ExtentOf(block_, reduce_.back()) % lanes != 0) return;
  for (const Access& read : ReadsOf(block_)) {
    bool of_rows = Uses(read, block_.iters[spatial_[*rows_]].var) &&
                   !Uses(read, block_.iters[spatial_[columns_]].var);
    if (!of_rows || read.buffer.dtype() != kFloat32) continue;
    if (StrideAlong(state.fn(), read, last.var) != 1) continue;
    row_operand_ = read.buffer->name;
    terms_ = lanes;
    return;
  }
}

// An axis that one tile has all of may be a batch, which can be smaller in another run: every tile
// then has rows behind its end.
size_t RegisterTiling::AxisOfRows(size_t last) const {
  const size_t most = MostRows(last);
  const int64_t rows = Extent(last);
  const bool in_one_tile =
      rows <= ChooseRegisterTile(rows, Extent(columns_), target_, dtype()).rows;
  const bool is_short = rows < kMinTileRows || (in_one_tile && Extent(most) >= kFarMoreRows * rows);
  return is_short ? most : last;
}

size_t RegisterTiling::MostRows(size_t last) const {
  size_t most = last;
  for (size_t s = 0; s < spatial_.size(); ++s) {
    if (s != columns_ && Extent(s) > Extent(most) && SharesColumns(s)) most = s;
  }
  return most;
}

bool RegisterTiling::SharesColumns(size_t axis) const {
  std::vector<Access> reads = ReadsOf(block_);
  return std::ranges::none_of(reads, [&](const Access& read) {
    return Uses(read, block_.iters[spatial_[columns_]].var) &&
           Uses(read, block_.iters[spatial_[axis]].var);
  });
}

DType RegisterTiling::dtype() const {
  return WritesOf(block_)[0].buffer.dtype();
}

int64_t RegisterTiling::Others(std::optional<size_t> but) const {
  int64_t others = 1;
  for (size_t s = 0; s < spatial_.size(); ++s) {
    if (s != columns_ && rows_ != s && but != s) others *= Extent(s);
  }
  return others;
}

int64_t RegisterTiling::Panels() const {
  return CeilDivision(Extent(columns_), tile_.registers * tile_.lanes);
}

// Activations are the operands without columns, which all pieces of columns read, and the result:
// the next layer reads that as this one reads them, by rows. Weights are the operands with columns
// that other pieces read again.
RegisterTiling::Traffic RegisterTiling::SharedTraffic() const {
  auto varies_along = [&](const Access& read, size_t axis) {
    return Extent(axis) == 1 || Uses(read, block_.iters[spatial_[axis]].var);
  };
  Traffic traffic{.activations = BufferBytes(state.fn(), WritesOf(block_)[0].buffer)};
  std::vector<Var> counted;
  for (const Access& read : ReadsOf(block_)) {
    if (std::ranges::find(counted, read.buffer) != counted.end()) continue;
    counted.push_back(read.buffer);
    bool is_again = false;
    for (size_t s = 0; s < spatial_.size(); ++s) {
      is_again = is_again || (s != columns_ && !varies_along(read, s));
    }
    if (!varies_along(read, columns_)) {
      traffic.activations += BufferBytes(state.fn(), read.buffer);
    } else if (is_again) {
      traffic.weights += BufferBytes(state.fn(), read.buffer);
    }
  }
  return traffic;
}

int64_t RegisterTiling::PanelsOfPiece(int64_t row_pieces) const {
  if (!rows_ || WorkOf(block_) < kParallelWork) return 1;
  Traffic traffic = SharedTraffic();
  if (traffic.activations <= traffic.weights) return 1;

  int64_t pieces = CeilDivision(kParallelPieces, row_pieces);
  if (traffic.weights > 0) {
    // The weights of a piece stay in the second cache, since the next piece reads them again.
    int64_t column = TermsOf(block_) * WholeBytes(dtype());
    int64_t columns = std::max<int64_t>(target_.l2_bytes / column, 1);
    pieces = std::max(pieces, CeilDivision(Extent(columns_), columns));
  }
  return CeilDivision(Panels(), std::min(pieces, Panels()));
}

int64_t RegisterTiling::TilesOfPiece(int64_t panels_in_turn) const {
  int64_t others = Others() * CeilDivision(Panels(), panels_in_turn);
  int64_t wanted = panels_in_turn > 1 ? kSharedRowPieces : kParallelPieces;
  int64_t pieces = WorkOf(block_) < kParallelWork ? 1 : CeilDivision(wanted, others);
  return CeilDivision(CeilDivision(rows_ ? Extent(*rows_) : 1, tile_.rows), pieces);
}

void RegisterTiling::SplitTile(int64_t panels_in_turn, int64_t tiles_in_turn) {
  SplitColumns(panels_in_turn);
  if (!is_columnwise_) PackConstants();
  if (!rows_) return;
  int64_t extent = Extent(*rows_);
  LoopRef key = Key(*rows_);
  Expr rows = state.Size(LevelKey(key, 2), std::min(extent, kMaxTileRows), {}, tile_.rows);
  Expr tiles = state.Size(LevelKey(key, 1), extent, {}, tiles_in_turn);
  state.Do(Split{key, {tiles, rows}});
}

void RegisterTiling::SplitColumns(int64_t panels_in_turn) {
  int64_t extent = Extent(columns_);
  int64_t widest = std::max<int64_t>(target_.vector_bytes / WholeBytes(dtype()), 1);
  LoopRef key = Key(columns_);
  lanes_ = LanesOf(state, LevelKey(key, 3), extent, widest, tile_.lanes);
  registers_ = state.Size(LevelKey(key, 2), kMaxTileVectors, {}, tile_.registers);
  Expr panels = state.Size(LevelKey(key, 1), std::min<int64_t>(extent, 1024), {}, panels_in_turn);
  state.Do(Split{key, {panels, registers_, lanes_}});
}

void RegisterTiling::PackConstants() {
  for (const PanelOperand& operand : ConstantOperands(state.fn(), block_, spatial_[columns_])) {
    if (!IsWorthPacking(operand, tile_.registers * tile_.lanes)) continue;
    for (const Step& step : PackingSteps(operand, block_.name, registers_, lanes_, panels_)) {
      state.Do(step);
    }
  }
  for (const std::string& copy : panels_) state.MarkDone(copy);
}

void RegisterTiling::NestTile(std::vector<LoopRef> outer, const std::vector<LoopRef>& reduce) {
  outer.insert(outer.end(), reduce.begin(), reduce.end());
  if (rows_) outer.push_back(LevelKey(Key(*rows_), 2));
  // The first loop of the reduction stays outside, where it is decomposed.
  if (is_columnwise_ && reduce.size() > 1) std::swap(outer[outer.size() - 2], outer.back());
  outer.push_back(LevelKey(Key(columns_), 2));
  outer.push_back(LevelKey(Key(columns_), 3));
  state.Do(Reorder{std::move(outer)});
}

std::vector<LoopRef> RegisterTiling::SplitTerms(std::vector<LoopRef> reduce) {
  if (terms_ == 1) return reduce;
  const LoopRef last = reduce.back();
  state.Do(Split{last, {Expr(terms_)}});
  reduce.back() = LevelKey(last, 0);
  reduce.push_back(LevelKey(last, 1));
  return reduce;
}

void RegisterTiling::LoadTerms(const std::string& reader, const std::vector<LoopRef>& reduce) {
  if (terms_ == 1) return;
  const std::string copy = CopyName(reader, row_operand_);
  const int64_t rank = BufferNamed(state.fn(), row_operand_).value().rank();
  state.Do(CacheRead{row_operand_, {reader}, Scope::kLocal, copy});
  state.Do(ComputeAt{copy, reduce[reduce.size() - 2]});
  for (int64_t dim = 0; dim < rank; ++dim) {
    const LoopRef loop = fmt::format("{}/ax{}", copy, dim);
    state.Do(dim + 1 < rank ? Step(Unroll{loop}) : Step(Vectorize{loop}));
  }
  state.Do(Unroll{reduce.back()});
  state.MarkDone(copy);
}

PanelGain RegisterTiling::CopyOthers(const std::string& reader, const LoopRef& at,
                                     bool shares_panels) {
  PanelGain most = PanelGain::kNone;
  for (const PanelOperand& operand : VaryingOperands(state.fn(), block_, spatial_[columns_])) {
    PanelGain gain = GainOfPanels(operand, tile_.rows, tile_.registers * tile_.lanes, target_);
    if (gain == PanelGain::kNone) continue;
    bool is_own = rows_ && operand.reuse == Extent(*rows_) && !shares_panels;
    PanelCopy copy{reader, is_own ? at : "", registers_, lanes_};
    if (CopyIntoPanels(state, operand, copy)) most = std::max(most, gain);
  }
  return most;
}

void RegisterTiling::FillRegisters(const std::vector<std::string>& blocks) {
  for (const std::string& name : blocks) {
    std::string columns = Rekeyed(Key(columns_), name);
    state.Do(Vectorize{LevelKey(columns, 3)});
    state.Do(Unroll{LevelKey(columns, 2)});
    if (rows_) state.Do(Unroll{LevelKey(Rekeyed(Key(*rows_), name), 2)});
  }
}

void RegisterTiling::FillReader(const ResultReader& reader) {
  if (rows_) state.Do(Unroll{reader.loops[*rows_]});
  const LoopRef& columns = reader.loops[columns_];
  state.Do(Split{columns, {lanes_}});
  state.Do(Unroll{LevelKey(columns, 0)});
  state.Do(Vectorize{LevelKey(columns, 1)});
}

void RegisterTiling::UnrollWindow() {
  if (!is_columnwise_) return;
  for (const LoopRef& loop : KeysOf(block_, reduce_)) state.Do(Unroll{loop});
  state.Do(Partition{LevelKey(Key(*rows_), 1)});
}

int64_t TermsOf(const Block& reduction) {
  double terms = 1;
  for (size_t r : ItersOf(reduction, IterKind::kReduce)) {
    terms *= static_cast<double>(ExtentOf(reduction, r));
  }
  return static_cast<int64_t>(std::min(terms, 9e15));
}

}  // namespace tcc
