#include "autodiff_features/counts/access_lines.h"

#include <algorithm>

#include "autodiff_features/counts/real_formulas.h"
#include "ir/analysis/affine.h"
#include "ir/expr/layout.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/registers.h"
#include "support/device_profile.h"

namespace tcc {
namespace {

// A stored dimension: its extent, and how many of its places are touched.
struct TouchedDimension {
  Expr extent;
  Expr touched;
};

std::vector<Ref<For>> LoopsFrom(const Site& site, size_t first) {
  return {site.loops.begin() + static_cast<ptrdiff_t>(first), site.loops.end()};
}

std::vector<TouchedDimension> StoredDimensions(const Buffer& buffer, const Box& box) {
  const std::vector<Expr>& extents = buffer.window.size.empty() ? buffer.shape : buffer.window.size;
  std::vector<TouchedDimension> dimensions;
  for (size_t d = 0; d < extents.size(); ++d) {
    bool one = IsConstant(box.size[d], 1);
    dimensions.push_back({extents[d], one ? box.size[d] : MinOf(box.size[d], extents[d])});
  }
  for (const BlockFactor& block : buffer.layout.blocks) {
    TouchedDimension& outer = dimensions[static_cast<size_t>(block.dim)];
    TouchedDimension inner = {block.factor, MinOf(outer.touched, block.factor)};
    outer = {CeilDivide(outer.extent, block.factor), CeilDivide(outer.touched, block.factor)};
    dimensions.push_back(inner);
  }
  return dimensions;
}

// The stored dimensions from the fastest in memory outwards; nullopt where strides are not the
// products of extents in some order.
std::optional<std::vector<size_t>> MemoryOrder(const Buffer& buffer) {
  std::vector<Expr> extents = StoredExtents(buffer);
  std::vector<size_t> order;
  if (buffer.layout.strides.empty()) {
    for (size_t d = extents.size(); d-- > 0;) order.push_back(d);
    return order;
  }
  const std::vector<Expr>& strides = buffer.layout.strides;
  std::vector<bool> placed(extents.size(), false);
  Expr next(1);
  while (order.size() < extents.size()) {
    size_t found = extents.size();
    for (size_t d = 0; d < extents.size(); ++d) {
      if (placed[d] || !EqualUpToAlgebra(strides[d], next)) continue;
      found = d;
      // Others may have its stride, too.
      if (IsConstant(extents[d], 1)) break;
    }
    if (found == extents.size()) return std::nullopt;
    placed[found] = true;
    order.push_back(found);
    next = strides[found] * extents[found];
  }
  return order;
}

Expr BytesOfCells(const Expr& cells, DType dtype) {
  return RealProduct(cells, Real(static_cast<double>(dtype.bits()) / 8));
}

Expr LinesOfRun(const Expr& cells, DType dtype, int64_t line_bytes) {
  int64_t cells_of_line = line_bytes * 8 / dtype.bits();
  return CeilDivide(cells, Expr(cells_of_line));
}

// Runs of cells that follow each other, from the fastest dimension outwards: a dimension adds to
// the run where the ones inside are touched as a whole.
Expr CountLines(const std::vector<TouchedDimension>& dimensions, const std::vector<size_t>& order,
                DType dtype, int64_t line_bytes) {
  if (order.empty()) return Real(1);
  const TouchedDimension& fastest = dimensions[order[0]];
  Expr run = fastest.touched, rows(1);
  Expr whole = fastest.extent <= fastest.touched;
  for (size_t k = 1; k < order.size(); ++k) {
    const TouchedDimension& next = dimensions[order[k]];
    if (!IsConstant(next.touched, 1)) {
      run = SelectOf(whole, run * next.touched, run);
      rows = SelectOf(whole, rows, rows * next.touched);
    }
    whole = BothOf(whole, next.extent <= next.touched);
  }
  return RealProduct(Real(rows), Real(LinesOfRun(run, dtype, line_bytes)));
}

// Iterations of loops[first..] that an index depends on.
Expr IterationsOf(const Site& site, const Expr& index, size_t first) {
  std::vector<Var> iters = VarsOf(index);
  Expr iterations(1);
  for (size_t p = 0; p < site.parts.size(); ++p) {
    if (site.parts[p].loop < first) continue;
    bool used = false;
    for (size_t i = 0; i < site.parts_of.size(); ++i) {
      const std::vector<size_t>& parts = site.parts_of[i];
      bool in_index = std::ranges::find(iters, site.block->iters[i].var) != iters.end();
      used = used || (in_index && std::ranges::find(parts, p) != parts.end());
    }
    const Expr& extent = site.parts[p].extent;
    if (used) iterations = IsConstant(iterations, 1) ? extent : iterations * extent;
  }
  return iterations;
}

// Indices that go in steps leave out cells of the box: a dimension has no more cells than there are
// iterations of the loops in its index.
Box WithoutSteps(const Site& site, const Access& access, size_t first, const Box& box) {
  Box result = box;
  for (size_t d = 0; d < box.size.size(); ++d) {
    if (IsConstant(box.size[d], 1)) continue;
    Expr iterations = IterationsOf(site, access.indices[d], first);
    bool dense = EqualUpToAlgebra(iterations, box.size[d]);
    if (!dense) result.size[d] = MinOf(box.size[d], iterations);
  }
  return result;
}

// The dimension of the buffer that the fastest stored one is a part of.
size_t LogicalDimension(const Buffer& buffer, size_t stored) {
  while (stored >= buffer.rank()) {
    stored = static_cast<size_t>(buffer.layout.blocks[stored - buffer.rank()].dim);
  }
  return stored;
}

// Without a box: a cell for each iteration of the loops in the indices, at most the whole buffer.
AccessLines Estimate(const Site& site, const Access& access, const Buffer& buffer, size_t first) {
  std::vector<Var> iters = VarsOf(access);
  std::vector<Expr> extents;
  for (const Ref<For>& loop : LoopsFrom(site, first)) {
    if (BindingsUse(*site.block, iters, loop->var)) extents.push_back(loop->extent);
  }
  AccessLines lines;
  lines.cells = MinOf(ProductOf(extents), Real(StoredElements(buffer)));
  bool by_row = !access.indices.empty() &&
                BoxOf(access.indices.back(), iters, std::vector<Expr>(iters.size(), Expr(0)),
                      std::vector<Expr>(iters.size(), Expr(1)));
  Expr bytes = BytesOfCells(lines.cells, buffer.dtype());
  lines.lines = by_row ? MaxOf(RealQuotient(bytes, Real(kCacheLineBytes)), Real(1)) : lines.cells;
  lines.exact = false;
  return lines;
}

// The loops of the straight-line code that an access depends on.
Expr CopiesThatUse(const Site& site, const Access& access) {
  std::vector<Var> iters = VarsOf(access);
  std::vector<Expr> extents;
  for (size_t l = site.FirstSpreadLoop(); l < site.loops.size(); ++l) {
    if (BindingsUse(*site.block, iters, site.loops[l]->var)) {
      extents.push_back(site.loops[l]->extent);
    }
  }
  return ProductOf(extents);
}

}  // namespace

AccessLines LinesOf(const Site& site, const Access& access, const Buffer& buffer, size_t first) {
  StatusOr<Box> box = RegionOf(*site.block, access, LoopsFrom(site, first));
  if (!box.ok()) return Estimate(site, access, buffer, first);
  Box stepped = WithoutSteps(site, access, first, *box);
  AccessLines lines;
  lines.cells = Real(1);
  for (size_t d = 0; d < buffer.rank(); ++d) {
    const Expr& size = stepped.size[d];
    const Expr& extent = buffer.window.size.empty() ? buffer.shape[d] : buffer.window.size[d];
    lines.cells = RealProduct(lines.cells, Real(IsConstant(size, 1) ? size : MinOf(size, extent)));
  }
  if (std::optional<std::vector<size_t>> order = MemoryOrder(buffer)) {
    // Cells between steps of the fastest dimension lie in the same lines.
    if (!order->empty()) {
      size_t fastest = LogicalDimension(buffer, order->front());
      stepped.size[fastest] = box->size[fastest];
    }
    lines.lines =
        CountLines(StoredDimensions(buffer, stepped), *order, buffer.dtype(), kCacheLineBytes);
  } else {
    Expr bytes = BytesOfCells(lines.cells, buffer.dtype());
    lines.lines = MaxOf(RealQuotient(bytes, Real(kCacheLineBytes)), Real(1));
    lines.exact = false;
  }
  return lines;
}

std::optional<Expr> LinesOfBox(const Box& box, const Buffer& buffer, int64_t line_bytes) {
  std::optional<std::vector<size_t>> order = MemoryOrder(buffer);
  if (!order) return std::nullopt;
  return CountLines(StoredDimensions(buffer, box), *order, buffer.dtype(), line_bytes);
}

LaneStride LaneStrideOf(const Site& site, const Access& access, const Buffer& buffer) {
  if (!site.lane_part) return LaneStride::kNone;
  const Var& lane = site.parts[*site.lane_part].var;
  Substitution bindings;
  for (size_t i = 0; i < site.bindings.size(); ++i) {
    bindings.emplace(site.block->iters[i].var, site.bindings[i]);
  }
  bool used = false, apart = false;
  std::vector<Expr> strides = StoredStrides(buffer);
  size_t blocked = buffer.layout.blocks.size();
  for (size_t d = 0; d < access.indices.size(); ++d) {
    Expr index = Substitute(access.indices[d], bindings);
    if (!UsesVar(index, lane)) continue;
    used = true;
    std::optional<AffineForm> form = ToAffine(index, {lane});
    // Lanes that walk along a blocked dimension walk along its inner part.
    Expr stride = strides[d];
    for (size_t b = 0; b < blocked; ++b) {
      if (buffer.layout.blocks[b].dim == static_cast<int>(d)) stride = strides[buffer.rank() + b];
    }
    apart = apart || !form || !IsConstant(Simplify(form->coefficients[0] * stride), 1);
  }
  if (!used) return LaneStride::kSame;
  return apart ? LaneStride::kApart : LaneStride::kNeighbours;
}

AccessInstructions InstructionsOf(const Site& site, const Access& access, const Buffer& buffer,
                                  const Target& target) {
  AccessInstructions result = {Real(0), Real(0), Real(0)};
  AccessLines lines = LinesOf(site, access, buffer, site.FirstSpreadLoop());
  Expr copies = CopiesThatUse(site, access);
  Expr cells = IsReal(copies, 1) ? copies : MinOf(lines.cells, copies);
  switch (LaneStrideOf(site, access, buffer)) {
    case LaneStride::kNone:
    case LaneStride::kSame:
      result.broadcasts = cells;
      break;
    case LaneStride::kNeighbours: {
      // A buffer may be narrower than the lanes.
      Expr width = MinOf(Real(site.parts[*site.lane_part].extent), lines.cells);
      int64_t of_vector = std::max(target.vector_bytes * 8 / buffer.dtype().bits(), 1);
      const Expr& lanes = site.parts[*site.lane_part].extent;
      Expr vectors = Real(CeilDivide(lanes, Expr(of_vector)));
      result.vectors = RealProduct(MaxOf(RealQuotient(cells, width), Real(1)), vectors);
      break;
    }
    case LaneStride::kApart:
      result.elements = cells;
      break;
  }
  return result;
}

}  // namespace tcc
