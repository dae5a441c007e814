#include "autodiff_features/gpu/warp_access.h"

#include <algorithm>

#include "autodiff_features/counts/access_lines.h"
#include "autodiff_features/counts/real_formulas.h"
#include "ir/analysis/affine.h"
#include "ir/expr/compare.h"
#include "ir/expr/layout.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "support/device_profile.h"

namespace tcc {
namespace {

constexpr int64_t kSectorsOfPass = kPassBytes / kSectorBytes;

bool HasDivision(const Expr& expr) {
  return Contains(expr, [&](const Expr& inner) {
    return inner.as<FloorDiv>() != nullptr || inner.as<FloorMod>() != nullptr;
  });
}

// The operands of a division or remainder; nullptr for other nodes.
struct Division {
  const Expr* dividend = nullptr;
  const Expr* divisor = nullptr;
};
Division DivisionAt(const Expr& expr) {
  if (const auto* div = expr.as<FloorDiv>()) return {&div->a, &div->b};
  if (const auto* mod = expr.as<FloorMod>()) return {&mod->a, &mod->b};
  return {};
}

// Returns the first divisor of exactly `dividend`.
std::optional<Expr> DivisorOf(const std::vector<Expr>& exprs, const Expr& dividend) {
  std::optional<Expr> divisor;
  for (const Expr& expr : exprs) {
    PreOrder(expr, [&](const Expr& inner) {
      Division division = DivisionAt(inner);
      if (!divisor && division.dividend && Equal(*division.dividend, dividend)) {
        divisor = *division.divisor;
      }
    });
  }
  return divisor;
}

// Returns the innermost dividend that uses `var`: the place in a fused loop that was dealt to
// threads.
std::optional<Expr> DividendWith(const std::vector<Expr>& exprs, const Var& var) {
  std::optional<Expr> found;
  for (const Expr& expr : exprs) {
    PreOrder(expr, [&](const Expr& inner) {
      Division division = DivisionAt(inner);
      if (found || !division.dividend || HasDivision(*division.dividend)) return;
      if (UsesVar(*division.dividend, var)) found = *division.dividend;
    });
  }
  return found;
}

bool IsStepOfOne(const Expr& dividend, const Var& var) {
  std::optional<AffineForm> form = ToAffine(dividend, {var});
  return form && form->vars.size() == 1 && IsConstant(Simplify(form->coefficients[0]), 1);
}

void ReplaceAll(std::vector<Expr>& exprs, const std::function<Expr(const Expr&)>& after) {
  for (Expr& expr : exprs) expr = RewriteBottomUp(expr, after);
}

// Deals the 32 threads of a warp to parts, the fastest one first.
class WarpDealer {
 public:
  explicit WarpDealer(std::vector<Expr> bindings) { warp_.bindings = std::move(bindings); }

  void Deal(const LoopPart& part) {
    std::optional<Expr> place = DividendWith(warp_.bindings, part.var);
    if (place && IsStepOfOne(*place, part.var)) {
      DealPlaces(*place, part.extent);
    } else {
      Push(part.var, part.extent);
    }
  }

  WarpParts Take() && { return std::move(warp_); }

 private:
  void Push(const Var& var, const Expr& extent) {
    if (IsConstant(extent, 1)) return;
    warp_.parts.push_back({var, Simplify(MinOf(left_, extent))});
    left_ = Simplify(CeilDivide(left_, extent));
  }

  // Takes a row-major place in several loops apart, as fusing them built it: the last loop is the
  // remainder by its extent.
  void DealPlaces(const Expr& place, const Expr& threads) {
    left_ = Simplify(MinOf(left_, threads));
    Var whole = LoopVar("place");
    ReplaceAll(warp_.bindings,
               [&](const Expr& expr) -> Expr { return Equal(expr, place) ? Expr(whole) : expr; });
    while (std::optional<Expr> extent = DivisorOf(warp_.bindings, whole)) {
      Var outer = LoopVar("place_div"), inner = LoopVar("place_mod");
      Expr div = FloorDivide(whole, *extent), mod = FloorModulo(whole, *extent);
      ReplaceAll(warp_.bindings, [&](const Expr& expr) -> Expr {
        if (Equal(expr, div)) return outer;
        return Equal(expr, mod) ? Expr(inner) : expr;
      });
      Push(inner, *extent);
      whole = outer;
    }
    if (!IsConstant(left_, 1)) warp_.parts.push_back({whole, left_});
    left_ = Expr(1);
  }

  WarpParts warp_;
  Expr left_ = Expr(Target::kWarp);
};

// The loops of the straight-line code and the parts of a warp, all from 0 on.
struct Moving {
  std::vector<Var> vars;
  std::vector<Expr> zeros, extents;
};

Moving MovingOf(const Site& site, const WarpParts& warp) {
  Moving moving;
  auto push = [&](const Var& var, const Expr& extent) {
    moving.vars.push_back(var);
    moving.zeros.emplace_back(0);
    moving.extents.push_back(extent);
  };
  for (const WarpPart& part : warp.parts) push(part.var, part.extent);
  for (size_t p = site.first_spread; p < site.parts.size(); ++p) {
    push(site.parts[p].var, site.parts[p].extent);
  }
  return moving;
}

// The values of the block's iteration variables.
Substitution BindingsOf(const Site& site, const WarpParts& warp) {
  Substitution values;
  for (size_t i = 0; i < warp.bindings.size(); ++i) {
    values.emplace(site.block->iters[i].var, warp.bindings[i]);
  }
  return values;
}

// Where an access goes in memory, as strides in cells of the loops of the straight-line code and of
// the parts of a warp.
struct MemoryStep {
  Expr extent;
  Expr stride;
  bool in_warp = false;
};

// Splits what each step adds to an index by the blocks of a layout: to the number of the block
// where it steps over whole blocks, else to the place in the block, in which it is taken to stay.
void SplitByBlocks(const Layout& layout, std::vector<std::vector<Expr>>& of_dimension) {
  for (const BlockFactor& block : layout.blocks) {
    std::vector<Expr>& outer = of_dimension[static_cast<size_t>(block.dim)];
    std::vector<Expr> inner(outer.size(), Expr(0));
    for (size_t i = 0; i < outer.size(); ++i) {
      bool whole = IsConstant(Simplify(FloorModulo(outer[i], block.factor)), 0);
      if (!whole) std::swap(outer[i], inner[i]);
      outer[i] = Simplify(FloorDivide(outer[i], block.factor));
    }
    of_dimension.push_back(std::move(inner));
  }
}

// Returns nullopt if the address is not affine in them.
std::optional<std::vector<MemoryStep>> StepsOf(const Site& site, const WarpParts& warp,
                                               const Access& access, const Buffer& buffer) {
  if (buffer.layout.swizzle.bits != 0) return std::nullopt;
  const Substitution values = BindingsOf(site, warp);
  std::vector<MemoryStep> steps;
  std::vector<Var> vars;
  for (const WarpPart& part : warp.parts) {
    vars.push_back(part.var);
    steps.push_back({part.extent, Expr(0), true});
  }
  for (size_t p = site.first_spread; p < site.parts.size(); ++p) {
    vars.push_back(site.parts[p].var);
    steps.push_back({site.parts[p].extent, Expr(0), false});
  }
  std::vector<std::vector<Expr>> of_dimension;
  for (const Expr& index : access.indices) {
    std::optional<AffineForm> form = ToAffine(Substitute(index, values), vars);
    if (!form) return std::nullopt;
    std::vector<Expr>& added = of_dimension.emplace_back(vars.size(), Expr(0));
    for (size_t i = 0; i < form->vars.size(); ++i) {
      auto place = std::ranges::find(vars, form->vars[i]) - vars.begin();
      added[static_cast<size_t>(place)] = form->coefficients[i];
    }
  }
  SplitByBlocks(buffer.layout, of_dimension);
  std::vector<Expr> strides = StoredStrides(buffer);
  for (size_t d = 0; d < of_dimension.size(); ++d) {
    for (size_t i = 0; i < steps.size(); ++i) {
      if (IsConstant(of_dimension[d][i], 0)) continue;
      steps[i].stride = steps[i].stride + of_dimension[d][i] * strides[d];
    }
  }
  for (MemoryStep& step : steps) step.stride = Simplify(step.stride);
  std::erase_if(steps, [](const MemoryStep& step) {
    return IsConstant(step.stride, 0) || IsConstant(step.extent, 1);
  });
  return steps;
}

Expr Divides(int64_t divisor, const Expr& number) {
  return FloorModulo(number, Expr(divisor)) < Expr(1);
}

// The largest power of two up to `most` that divides the number, as f64.
Expr PowerOfTwoIn(const Expr& number, int64_t most) {
  if (std::optional<int64_t> value = AsConstant(number)) {
    int64_t power = 1;
    while (2 * power <= most && *value % (2 * power) == 0) power *= 2;
    return Real(static_cast<double>(power));
  }
  Expr result = Real(1);
  for (int64_t power = 2; power <= most; power *= 2) {
    result = SelectOf(Divides(power, number), Real(static_cast<double>(power)), result);
  }
  return result;
}

// The cells that one instruction moves for a thread: a run of neighbours in the straight-line code,
// in vectors of 1, 2 or 4 words that divide it and the rows of the buffer.
Expr CellsOfInstruction(const Site& site, const std::vector<MemoryStep>& steps,
                        const Buffer& buffer) {
  int64_t most = Target::kWidestAccess * 8 / buffer.dtype().bits();
  const MemoryStep* run = nullptr;
  for (const MemoryStep& step : steps) {
    if (!step.in_warp && IsConstant(step.stride, 1)) run = &step;
  }
  if (!run) return Real(1);
  if (site.lane_part && run == &steps.back()) return Real(run->extent);
  Expr cells = PowerOfTwoIn(run->extent, most);
  for (const Expr& stride : StoredStrides(buffer)) {
    if (IsConstant(stride, 1)) continue;
    Expr of_rows = PowerOfTwoIn(stride, most);
    if (!IsReal(of_rows, static_cast<double>(most))) cells = MinOf(cells, of_rows);
  }
  return cells;
}

// Passes of one instruction of a warp. Threads that want the same cell share it. A part of the warp
// whose cells are s bytes apart begins in 128 / gcd(s, 128) places of the banks.
Expr PassesOf(const std::vector<MemoryStep>& steps, const Expr& bytes_each, int64_t cell_bytes) {
  Expr cells = Real(1);
  Expr most = RealQuotient(bytes_each, Real(2 * kBankBytes));
  for (const MemoryStep& step : steps) {
    if (!step.in_warp) continue;
    cells = RealProduct(cells, Real(step.extent));
    Expr apart = RealProduct(Real(static_cast<double>(cell_bytes)),
                             PowerOfTwoIn(step.stride, kPassBytes / cell_bytes));
    Expr bytes = RealProduct(Real(step.extent), MaxOf(apart, bytes_each));
    most = MaxOf(most, RealQuotient(bytes, Real(kPassBytes)));
  }
  return MaxOf(MaxOf(RealQuotient(RealProduct(cells, bytes_each), Real(kPassBytes)), most),
               Real(1));
}

// Returns the sectors of an access without a box (rows x div 14 and x mod 14 of a place x). Cells
// along its last index follow each other all the same. Whatever moves only the other indices reads
// such a run of cells each time. nullopt if the last index has no box either.
std::optional<Expr> SectorsOfRuns(const Site& site, const WarpParts& warp, const Access& access,
                                  const Buffer& buffer) {
  if (!IsRowMajor(buffer.layout)) return std::nullopt;
  const Substitution values = BindingsOf(site, warp);
  std::vector<Expr> indices;
  for (const Expr& index : access.indices) indices.push_back(Substitute(index, values));
  const Expr last = indices.back();
  indices.pop_back();
  const Moving moving = MovingOf(site, warp);
  std::optional<IndexBox> run = BoxOf(last, moving.vars, moving.zeros, moving.extents);
  if (!run) return std::nullopt;

  std::vector<Expr> runs, cells;
  for (size_t m = 0; m < moving.vars.size(); ++m) {
    const Var& var = moving.vars[m];
    if (UsesVar(last, var)) {
      cells.push_back(moving.extents[m]);
    } else if (std::ranges::any_of(indices,
                                   [&](const Expr& index) { return UsesVar(index, var); })) {
      runs.push_back(moving.extents[m]);
    }
  }
  const int64_t cells_of_sector = kSectorBytes * 8 / buffer.dtype().bits();
  Expr sectors = Real(CeilDivide(Simplify(run->size), Expr(cells_of_sector)));
  return RealProduct(ProductOf(runs), MinOf(sectors, ProductOf(cells)));
}

Expr ExtentsOfWarp(const WarpParts& warp) {
  std::vector<Expr> extents;
  for (const WarpPart& part : warp.parts) extents.push_back(part.extent);
  return ProductOf(extents);
}

}  // namespace

std::vector<size_t> ThreadLoopsOf(const Site& site) {
  std::vector<size_t> loops;
  for (ForKind axis : {ForKind::kThreadIdxX, ForKind::kThreadIdxY, ForKind::kThreadIdxZ}) {
    for (size_t l = site.loops.size(); l-- > 0;) {
      if (site.loops[l]->for_kind != axis) continue;
      loops.push_back(l);
      break;
    }
  }
  return loops;
}

WarpParts WarpPartsOf(const Site& site) {
  WarpDealer dealer(site.bindings);
  for (size_t loop : ThreadLoopsOf(site)) {
    for (size_t p = site.parts.size(); p-- > 0;) {
      if (site.parts[p].loop == loop) dealer.Deal(site.parts[p]);
    }
  }
  return std::move(dealer).Take();
}

std::optional<Box> WarpBoxOf(const Site& site, const WarpParts& warp, const Access& access) {
  const auto& [moving, zeros, extents] = MovingOf(site, warp);
  std::vector<Var> iters;
  std::vector<Expr> lows, sizes;
  for (size_t i = 0; i < warp.bindings.size(); ++i) {
    std::optional<IndexBox> box = BoxOf(warp.bindings[i], moving, zeros, extents);
    if (!box) return std::nullopt;
    iters.push_back(site.block->iters[i].var);
    lows.emplace_back(0);
    sizes.push_back(Simplify(box->size));
  }
  const Substitution values = BindingsOf(site, warp);
  Box result;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    std::optional<IndexBox> box = BoxOf(access.indices[d], iters, lows, sizes);
    if (!box) return std::nullopt;
    result.origin.push_back(box->origin);
    result.size.push_back(Simplify(box->size));
    if (d + 1 == access.indices.size()) break;
    // Rows that indices step over are not touched.
    Expr index = Substitute(access.indices[d], values), rows(1);
    for (size_t m = 0; m < moving.size(); ++m) {
      if (UsesVar(index, moving[m])) rows = rows * extents[m];
    }
    rows = Simplify(rows);
    if (!Equal(rows, result.size[d])) result.size[d] = Simplify(MinOf(result.size[d], rows));
  }
  return result;
}

WarpMoves WarpMovesOf(const Site& site, const WarpParts& warp, const Access& access,
                      const Buffer& buffer) {
  AccessLines moved = LinesOf(site, access, buffer, site.FirstSpreadLoop());
  double cell_bytes = static_cast<double>(buffer.dtype().bits()) / 8;
  WarpMoves result;
  std::optional<std::vector<MemoryStep>> steps = StepsOf(site, warp, access, buffer);
  Expr cells_each = steps ? CellsOfInstruction(site, *steps, buffer) : Real(1);
  result.instructions = MaxOf(RealQuotient(moved.cells, cells_each), Real(1));
  result.bytes_each = RealProduct(cells_each, Real(cell_bytes));
  result.exact = moved.exact || buffer.scope == Scope::kShared;
  result.sectors = Real(0);
  if (buffer.scope == Scope::kShared) {
    result.exact = result.exact && steps;
    int64_t cell = std::max<int64_t>(buffer.dtype().bits() / 8, 1);
    Expr apart =
        RealQuotient(RealProduct(result.bytes_each, ExtentsOfWarp(warp)), Real(kPassBytes));
    Expr each = steps ? PassesOf(*steps, result.bytes_each, cell) : MaxOf(apart, Real(1));
    result.passes = RealProduct(result.instructions, each);
    return result;
  }
  std::optional<Box> box = WarpBoxOf(site, warp, access);
  std::optional<Expr> sectors = box ? LinesOfBox(*box, buffer, kSectorBytes) : std::nullopt;
  result.exact = result.exact && sectors;
  if (!sectors && !access.indices.empty()) sectors = SectorsOfRuns(site, warp, access, buffer);
  // A cell for each thread and copy, each in a sector of its own.
  result.sectors = sectors ? *sectors : RealProduct(moved.cells, ExtentsOfWarp(warp));
  result.passes = MaxOf(result.instructions, RealQuotient(result.sectors, Real(kSectorsOfPass)));
  return result;
}

}  // namespace tcc
