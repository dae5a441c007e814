#include <algorithm>

#include "ir/analysis/affine.h"
#include "ir/expr/substitute.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/loop_bounds.h"
#include "lower/passes/passes.h"

namespace tcc {
namespace {

// Statements that all copies of a function may add. A 3x3 convolution with a tile of 14 x 2 vectors
// has 140 in its innermost loops.
constexpr int64_t kMaxAddedStatements = 2048;

// Stores once loops are unrolled.
int64_t CountStatements(const Stmt& stmt) {
  constexpr int64_t kMany = int64_t{1} << 40;
  if (const auto* loop = stmt.as<For>()) {
    int64_t body = CountStatements(loop->body);
    if (loop->for_kind != ForKind::kUnrolled) return body;
    int64_t extent = std::max<int64_t>(AsConstant(loop->extent).value_or(1), 1);
    return body > kMany / extent ? kMany : body * extent;
  }
  int64_t count = stmt.as<Store>() != nullptr;
  ForEachChild(stmt, [&](const Stmt& child) { count += CountStatements(child); });
  return std::min(count, kMany);
}

int64_t FloorQuotient(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

// Iterations [first, last) of a loop.
struct Range {
  int64_t first = 0;
  int64_t last = 0;
};

// Finds the iterations of one loop in which conditions on it are decided.
class InteriorFinder {
 public:
  InteriorFinder(const For& loop, int64_t extent, const Bounds& bounds)
      : loop_(loop), extent_(extent), interior_{0, extent}, bounds_(bounds) {}

  Range Find() {
    bounds_[loop_.var] = {0, extent_ - 1};
    PreOrder(loop_.body, [&](const Stmt& stmt) {
      if (const auto* inner = stmt.as<For>()) bounds_[inner->var] = RangeOf(*inner, bounds_);
    });
    PreOrder(loop_.body, [&](const Stmt& stmt) {
      if (const auto* branch = stmt.as<If>()) Narrow(branch->condition);
      const auto* copy = stmt.as<AsyncCopy>();
      if (copy && copy->keep) Narrow(copy->keep);
    });
    PreOrderExprs(loop_.body, [&](const Expr& expr) {
      if (const auto* select = expr.as<Select>()) Narrow(select->condition);
    });
    return interior_;
  }

 private:
  void Narrow(const Expr& condition) {
    for (const Expr& term : ConjunctsOf(condition)) {
      if (const auto* less = term.as<Lt>()) NarrowBelow(less->a - less->b, -1);
      if (const auto* at_most = term.as<Le>()) NarrowBelow(at_most->a - at_most->b, 0);
      if (const auto* equal = term.as<Eq>()) NarrowApart(equal->a, equal->b);
    }
  }

  // gap as slope * var + something within `rest`.
  struct Line {
    int64_t slope = 0;
    Interval rest;
  };
  std::optional<Line> LineOf(const Expr& gap) const {
    if (gap.dtype() != kInt64) return std::nullopt;
    std::optional<AffineForm> form = ToAffine(Simplify(gap), {loop_.var});
    if (!form || form->vars.empty()) return std::nullopt;
    std::optional<int64_t> slope = AsConstant(Simplify(form->coefficients[0]));
    if (!slope || *slope == 0 || std::abs(*slope) > (int64_t{1} << 31)) return std::nullopt;
    return Line{*slope, BoundsOf(Simplify(form->rest), bounds_)};
  }

  // slope * var + rest <= most, whatever the rest is.
  void NarrowBelow(const Expr& gap, int64_t most) {
    std::optional<Line> line = LineOf(gap);
    constexpr int64_t kFar = int64_t{1} << 60;
    if (!line || line->rest.high > kFar || line->rest.high < -kFar) return;
    int64_t room = most - line->rest.high;
    Range wanted = interior_;
    if (line->slope > 0) {
      wanted.last = std::min(wanted.last, FloorQuotient(room, line->slope) + 1);
    } else {
      wanted.first = std::max(wanted.first, -FloorQuotient(room, -line->slope));
    }
    Accept(wanted);
  }

  // a == b in the first or the last iteration only, as for the first instance of a reduction.
  void NarrowApart(const Expr& a, const Expr& b) {
    if (a.dtype() != kInt64) return;
    std::optional<Line> line = LineOf(a - b);
    if (!line || line->rest.low != line->rest.high || line->rest.low % line->slope != 0) return;
    int64_t at = -line->rest.low / line->slope;
    if (at == 0) Accept({std::max<int64_t>(interior_.first, 1), interior_.last});
    if (at == extent_ - 1) Accept({interior_.first, std::min(interior_.last, extent_ - 1)});
  }

  // A condition that no iteration decides stays, rather than leave nothing for the others.
  void Accept(const Range& wanted) {
    if (wanted.first < wanted.last) interior_ = wanted;
  }

  const For& loop_;
  int64_t extent_;
  Range interior_;
  Bounds bounds_;
};

class Partitioner final : public BoundedMutator {
 private:
  using BoundedMutator::Rewrite;

  Stmt RewriteLoop(const For& loop) override {
    if (loop.for_kind != ForKind::kPartitioned) return RewriteChildren(loop);
    std::optional<int64_t> extent = AsConstant(loop.extent);
    Range interior{0, extent.value_or(0)};
    if (extent && *extent > 1) interior = InteriorFinder(loop, *extent, bounds()).Find();
    std::vector<Range> parts;
    for (Range part :
         {Range{0, interior.first}, interior, Range{interior.last, extent.value_or(0)}}) {
      if (part.first < part.last) parts.push_back(part);
    }
    int64_t added = parts.empty() ? 0 : CountStatements(loop.body) * (parts.size() - 1);
    if (parts.size() < 2 || added > budget_) {
      return Mutate(MakeStmt<For>(loop.var, loop.extent, ForKind::kSerial, loop.key, loop.body));
    }
    budget_ -= added;
    std::vector<Stmt> stmts;
    for (const Range& part : parts) {
      stmts.push_back(Mutate(ResolveConditions(PartOf(loop, part), bounds())));
    }
    return SeqOf(stmts);
  }

  static Stmt PartOf(const For& loop, const Range& part) {
    int64_t extent = part.last - part.first;
    Var var = LoopVar(loop.var->name);
    Expr value = extent == 1 ? Expr(part.first) : Expr(var) + Expr(part.first);
    Stmt body = WithFreshVars(Simplify(Substitute(loop.body, loop.var, value)));
    if (extent == 1) return body;
    return MakeStmt<For>(var, Expr(extent), ForKind::kSerial, loop.key, body);
  }

  int64_t budget_ = kMaxAddedStatements;
};

}  // namespace

Function PartitionLoops(const Function& fn) {
  return Partitioner().Mutate(fn);
}

}  // namespace tcc
