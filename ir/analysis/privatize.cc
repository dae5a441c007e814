#include "ir/analysis/privatize.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "ir/analysis/accesses.h"
#include "ir/analysis/affine.h"
#include "ir/expr/function.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

// The loops over threads by their variables.
using ThreadLoops = std::map<const ExprNode*, ForKind>;

// The cells of a dimension that belong to a thread: those at which (cell div step) mod count is its
// number along the axis.
struct Share {
  ForKind axis = ForKind::kThreadIdxX;
  int64_t step = 1, count = 1;
  int64_t period() const { return step * count; }
  bool operator==(const Share&) const = default;
};

// The effect of privatization on a dimension: it is kept, removed, or cut down to a thread's share.
struct Fate {
  bool removed = false;
  std::optional<Share> share;
  bool changes() const { return removed || share; }
};

// The dimensions of a local buffer that privatization removes or cuts down.
class PrivateDimensions {
 public:
  explicit PrivateDimensions(const Allocate& allocate)
      : buffer_(allocate.buffer), dimensions_(buffer_.rank()) {
    PreOrder(allocate.body, [&](const Stmt& stmt) {
      const auto* loop = stmt.as<For>();
      if (!loop) return;
      loops_.push_back(loop);
      if (IsThreadIdx(loop->for_kind)) threads_.emplace(loop->var.get(), loop->for_kind);
    });
    if (threads_.empty() || !IsPlain(buffer_)) return;
    PreOrder(allocate.body, [&](const Stmt& stmt) {
      if (const auto* block = stmt.as<Block>()) Look(*block);
    });
  }

  // A dimension of which a thread uses only one cell is removed.
  std::vector<Fate> fates() const {
    std::vector<Fate> fates;
    for (const Dimension& dimension : dimensions_) {
      bool one_cell =
          (dimension.at_thread && dimension.axis) || (dimension.at_place && dimension.place);
      fates.push_back({one_cell, !one_cell && dimension.in_share ? dimension.share : std::nullopt});
    }
    return fates;
  }
  std::vector<ForKind> axes() const {
    std::vector<ForKind> axes;
    for (const Dimension& dimension : dimensions_) {
      if (dimension.at_thread && dimension.axis) {
        axes.push_back(*dimension.axis);
      } else if (dimension.in_share && dimension.share) {
        axes.push_back(dimension.share->axis);
      }
    }
    return axes;
  }

 private:
  struct Dimension {
    bool at_thread = true;        // every access so far is at the thread's number along the axis
    std::optional<ForKind> axis;  // nullopt: no access so far
    bool at_place = true;         // every access so far is at the place
    std::optional<int64_t> place;
    bool in_share = true;  // every access so far is in the thread's share
    std::optional<Share> share;
  };

  // Returns whether the removal of a dimension leaves the rest of the declaration valid.
  static bool IsPlain(const Buffer& buffer) {
    return buffer.scope == Scope::kLocal && buffer.circular < 0 && !buffer.versions &&
           buffer.layout.strides.empty() && buffer.layout.blocks.empty() && !buffer.layout.offset &&
           buffer.layout.swizzle.bits == 0;
  }

  void Look(const Block& block) {
    std::vector<Access> accesses = ReadsOf(block);
    for (const Access& write : WritesOf(block)) accesses.push_back(write);
    std::erase_if(accesses, [&](const Access& one) { return !(one.buffer == buffer_.var); });
    if (accesses.empty()) return;
    Substitution bindings, known;
    for (const IterVar& iter : block.iters) {
      bindings.emplace(iter.var, iter.binding);
      if (IsConstant(iter.domain, 1)) known.emplace(iter.var, Expr(0));
    }
    for (const Access& access : accesses) {
      for (size_t d = 0; d < access.indices.size(); ++d) {
        NoteThread(dimensions_[d], d, access.indices[d], bindings);
        NotePlace(dimensions_[d], access.indices[d], known);
        NoteShare(dimensions_[d], d, access.indices[d], bindings);
      }
    }
  }

  // Returns the cell of an access, counted from the first one that is stored.
  Expr CellOf(size_t d, const Expr& index, const Substitution& bindings) const {
    Expr cell = Substitute(index, bindings);
    if (!buffer_.window.origin.empty()) cell = cell - buffer_.window.origin[d];
    return Simplify(cell);
  }

  void NoteThread(Dimension& dimension, size_t d, const Expr& index, const Substitution& bindings) {
    if (!dimension.at_thread) return;
    Expr cell = CellOf(d, index, bindings);
    auto thread = threads_.find(cell.get());
    dimension.at_thread =
        thread != threads_.end() && (!dimension.axis || *dimension.axis == thread->second);
    if (dimension.at_thread) dimension.axis = thread->second;
  }

  // Notes an access at a constant. An iteration variable with a single value is replaced by 0 even
  // before sizes are known; then the thread that it is bound to no longer occurs in the index.
  void NotePlace(Dimension& dimension, const Expr& index, const Substitution& known) {
    if (!dimension.at_place) return;
    std::optional<int64_t> place = AsConstant(Simplify(Substitute(index, known)));
    dimension.at_place = place && (!dimension.place || dimension.place == place);
    if (dimension.at_place) dimension.place = place;
  }

  void NoteShare(Dimension& dimension, size_t d, const Expr& index, const Substitution& bindings) {
    if (!dimension.in_share) return;
    std::optional<Share> share = ShareOf(CellOf(d, index, bindings));
    // Cells before the window's first count, too.
    bool whole =
        share &&
        (buffer_.window.origin.empty() ||
         IsConstant(Simplify(FloorModulo(buffer_.window.origin[d], Expr(share->period()))), 0));
    dimension.in_share = whole && (!dimension.share || dimension.share == share);
    if (dimension.in_share) dimension.share = share;
  }

  // Returns the share that a cell is in: it is a sum of the thread's number, taken `step` times, of
  // multiples of the period, and of a rest below `step`.
  std::optional<Share> ShareOf(const Expr& cell) const {
    std::vector<Var> vars;
    for (const For* loop : loops_) vars.push_back(loop->var);
    std::optional<AffineForm> form = ToAffine(cell, vars);
    if (!form || !IsConstant(Simplify(form->rest), 0)) return std::nullopt;
    std::optional<Share> share;
    for (size_t i = 0; i < form->vars.size(); ++i) {
      auto thread = threads_.find(form->vars[i].get());
      if (thread == threads_.end()) continue;
      std::optional<int64_t> step = AsConstant(Simplify(form->coefficients[i]));
      std::optional<int64_t> count = AsConstant(Simplify(LoopOf(form->vars[i]).extent));
      if (share || !step || *step < 1 || !count || *count < 2) return std::nullopt;
      share = Share{thread->second, *step, *count};
    }
    if (!share) return std::nullopt;
    int64_t rest = 0;
    for (size_t i = 0; i < form->vars.size(); ++i) {
      if (threads_.contains(form->vars[i].get())) continue;
      Expr whole = Simplify(FloorModulo(form->coefficients[i], Expr(share->period())));
      if (IsConstant(whole, 0)) continue;
      std::optional<int64_t> step = AsConstant(Simplify(form->coefficients[i]));
      std::optional<int64_t> extent = AsConstant(Simplify(LoopOf(form->vars[i]).extent));
      if (!step || *step < 1 || !extent) return std::nullopt;
      rest += *step * (*extent - 1);
    }
    return rest < share->step ? share : std::nullopt;
  }

  const For& LoopOf(const Var& var) const {
    return **std::ranges::find_if(loops_, [&](const For* loop) { return loop->var == var; });
  }

  const Buffer& buffer_;
  std::vector<const For*> loops_;  // inside the buffer's lifetime
  ThreadLoops threads_;
  std::vector<Dimension> dimensions_;
};

// Returns the expression for each dimension that is left; `one` if none is. Those that are cut down
// are mapped to the thread's share.
std::vector<Expr> Left(const std::vector<Expr>& list, const std::vector<Fate>& fates,
                       const Expr& one, const std::function<Expr(const Expr&, const Share&)>& cut) {
  std::vector<Expr> left;
  for (size_t d = 0; d < list.size(); ++d) {
    if (fates[d].removed) continue;
    left.push_back(fates[d].share ? cut(list[d], *fates[d].share) : list[d]);
  }
  if (left.empty() && !list.empty()) left.push_back(one);
  return left;
}

Expr PlaceInShare(const Expr& cell, const Share& share) {
  Expr place = FloorDivide(cell, Expr(share.period()));
  if (share.step == 1) return place;
  return place * Expr(share.step) + FloorModulo(cell, Expr(share.step));
}

Expr SizeOfShare(const Expr& size, const Share& share) {
  return Simplify(CeilDivide(size, Expr(share.period())) * Expr(share.step));
}

Stmt WithFates(const Allocate& allocate, const std::vector<Fate>& fates) {
  Buffer buffer = allocate.buffer;
  buffer.shape = Left(buffer.shape, fates, Expr(1), SizeOfShare);
  buffer.window.origin = Left(buffer.window.origin, fates, Expr(0), PlaceInShare);
  buffer.window.size = Left(buffer.window.size, fates, Expr(1), SizeOfShare);
  auto cell = [&](const Access& access) -> Access {
    if (!(access.buffer == buffer.var)) return access;
    return {access.buffer, Left(access.indices, fates, Expr(0), PlaceInShare)};
  };
  auto rewrite_stmt = [&](const Stmt& stmt) -> Stmt {
    if (const auto* store = stmt.as<Store>(); store && store->buffer == buffer.var) {
      return MakeStmt<Store>(store->buffer, cell({store->buffer, store->indices}).indices,
                             store->value, store->mask);
    }
    const auto* reduce = stmt.as<Reduce>();
    if (!reduce) return stmt;
    std::vector<Access> outputs;
    for (const Access& output : reduce->outputs) outputs.push_back(cell(output));
    return MakeStmt<Reduce>(reduce->combiner, outputs, reduce->inputs, reduce->init);
  };
  auto rewrite_expr = [&](const Expr& expr) -> Expr {
    const auto* load = expr.as<Load>();
    if (!load || !(load->buffer == buffer.var)) return expr;
    return Make<Load>(load->buffer, cell({load->buffer, load->indices}).indices);
  };
  return MakeStmt<Allocate>(buffer, RewriteBottomUp(allocate.body, rewrite_stmt, rewrite_expr));
}

class Privatizer final : public Mutator {
  using Mutator::Rewrite;

  Stmt Rewrite(const Allocate& allocate) override {
    Stmt inner = RewriteChildren(allocate);
    const auto& same = *inner.as<Allocate>();
    std::vector<Fate> fates = PrivateDimensions(same).fates();
    return std::ranges::any_of(fates, &Fate::changes) ? WithFates(same, fates) : inner;
  }
};

}  // namespace

std::vector<ForKind> PrivatizedAxes(const Allocate& allocate) {
  return PrivateDimensions(allocate).axes();
}

Stmt PrivatizeBuffers(const Stmt& stmt) {
  return Privatizer().Mutate(stmt);
}

}  // namespace tcc
