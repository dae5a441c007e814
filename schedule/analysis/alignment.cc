#include "schedule/analysis/alignment.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/layout.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {
namespace {

// An offset as a sum of terms: a coefficient times a loop, or times a quotient or remainder of it.
class OffsetTerms {
 public:
  OffsetTerms(const std::vector<Ref<For>>& loops, const Var& lane) : loops_(loops), lane_(lane) {}

  void Add(const Expr& expr, const Expr& factor) {
    if (!UsesLoops(expr)) return Push(factor * expr);
    if (const auto* sum = expr.as<tcc::Add>()) {
      Add(sum->a, factor);
      return Add(sum->b, factor);
    }
    if (const auto* difference = expr.as<Sub>()) {
      Add(difference->a, factor);
      return Add(difference->b, factor);
    }
    if (const auto* product = expr.as<Mul>()) {
      if (!UsesLoops(product->a)) return Add(product->b, factor * product->a);
      if (!UsesLoops(product->b)) return Add(product->a, factor * product->b);
    }
    if (!UsesVar(expr, lane_)) return Push(factor, ValuesOf(expr));
    side_by_side_ =
        side_by_side_ && expr.same_as(lane_) && !seen_lane_ && IsConstant(Simplify(factor), 1);
    seen_lane_ = true;
  }

  // Whether the lanes are contiguous; then the coefficients decide where vectors start.
  bool AreSideBySide() const { return seen_lane_ && side_by_side_; }
  // `values`: how many values the term takes, null if unknown. A term with one value is 0.
  struct Coefficient {
    Expr size, values;
  };
  const std::vector<Coefficient>& coefficients() const { return coefficients_; }

 private:
  bool UsesLoops(const Expr& expr) const {
    return std::any_of(loops_.begin(), loops_.end(),
                       [&](const Ref<For>& loop) { return UsesVar(expr, loop->var); });
  }

  // How many values a loop, or its quotient or remainder by a size, takes; null if unknown.
  Expr ValuesOf(const Expr& expr) const {
    for (const Ref<For>& loop : loops_) {
      if (expr.same_as(loop->var)) return loop->extent;
    }
    if (const auto* quotient = expr.as<FloorDiv>()) {
      Expr values = ValuesOf(quotient->a);
      return values && !UsesLoops(quotient->b) ? CeilDivide(values, quotient->b) : Expr();
    }
    const auto* remainder = expr.as<FloorMod>();
    return remainder && !UsesLoops(remainder->b) ? remainder->b : Expr();
  }

  void Push(const Expr& coefficient, const Expr& values = {}) {
    coefficients_.push_back({Simplify(coefficient), values});
  }

  const std::vector<Ref<For>>& loops_;
  Var lane_;
  bool seen_lane_ = false;
  bool side_by_side_ = true;
  std::vector<Coefficient> coefficients_;
};

// The terms of the access's offset, in elements from the buffer's start and before the swizzle;
// nullopt for layouts whose offset is not a sum of strided indices.
std::optional<std::vector<Expr>> OffsetParts(const Block& block, const Access& access,
                                             const Buffer& buffer) {
  const Layout& layout = buffer.layout;
  if (!layout.blocks.empty() || buffer.circular >= 0) return std::nullopt;
  Substitution bindings;
  for (const IterVar& iter : block.iters) bindings.emplace(iter.var, iter.binding);
  std::vector<Expr> strides = StoredStrides(buffer);
  std::vector<Expr> parts;
  for (size_t d = 0; d < strides.size(); ++d) {
    if (IsConstant(buffer.shape[d], 1)) continue;  // its only index is 0
    Expr index = Substitute(access.indices[d], bindings);
    if (!buffer.window.origin.empty()) index = index - buffer.window.origin[d];
    parts.push_back(Simplify(index) * strides[d]);
  }
  if (layout.offset) parts.push_back(layout.offset);
  return parts;
}

bool HasFactor(const Expr& product, const Expr& factor) {
  if (Equal(product, factor)) return true;
  const auto* mul = product.as<Mul>();
  return mul && (HasFactor(mul->a, factor) || HasFactor(mul->b, factor));
}

void AddConstraint(const Block& block, const Access& access,
                   const OffsetTerms::Coefficient& coefficient, const Expr& lanes,
                   Constraints& constraints) {
  if (HasFactor(coefficient.size, lanes)) return;
  Expr excess = FloorModulo(coefficient.size, lanes);
  if (coefficient.values) excess = SelectOf(coefficient.values <= Expr(1), Expr(0), excess);
  if (BoundsOf(excess, {}).high <= 0) return;
  for (const Constraint& known : constraints) {
    if (Equal(known.expr, excess)) return;
  }
  constraints.push_back({excess, fmt::format("block '{}': its vectors of '{}' are aligned",
                                             block.name, access.buffer->name)});
}

}  // namespace

Constraints AlignmentOf(const Function& fn) {
  Constraints constraints;
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    std::vector<Ref<For>> loops = LoopsOn(FindBlock(fn, block->name).value());
    auto vector = std::find_if(loops.begin(), loops.end(), [](const Ref<For>& loop) {
      return loop->for_kind == ForKind::kVectorized;
    });
    if (vector == loops.end()) continue;
    std::vector<Access> accesses = ReadsOf(*block);
    for (const Access& write : WritesOf(*block)) accesses.push_back(write);
    for (const Access& access : accesses) {
      const Buffer& buffer = *FindBuffer(fn, access.buffer);
      if (buffer.scope == Scope::kLocal || buffer.scope == Scope::kWarp) continue;
      std::optional<std::vector<Expr>> parts = OffsetParts(*block, access, buffer);
      if (!parts) continue;
      OffsetTerms terms(loops, (*vector)->var);
      for (const Expr& part : *parts) terms.Add(part, Expr(1));
      if (!terms.AreSideBySide()) continue;
      for (const OffsetTerms::Coefficient& coefficient : terms.coefficients()) {
        AddConstraint(*block, access, coefficient, (*vector)->extent, constraints);
      }
      if (const XorSwizzle& swizzle = buffer.layout.swizzle; swizzle.bits > 0) {
        constraints.push_back({(*vector)->extent - Expr(int64_t{1} << swizzle.base),
                               fmt::format("block '{}': its vectors of '{}' lie in one chunk",
                                           block->name, access.buffer->name)});
      }
    }
  }
  return constraints;
}

}  // namespace tcc
