#include "ir/analysis/privatize.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ir/analysis/accesses.h"
#include "ir/expr/function.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

// The loops over threads by their variables.
using ThreadLoops = std::map<const ExprNode*, ForKind>;

// The dimensions of a local buffer that privatization removes.
class PrivateDimensions {
 public:
  explicit PrivateDimensions(const Allocate& allocate)
      : buffer_(allocate.buffer), dimensions_(buffer_.rank()) {
    PreOrder(allocate.body, [&](const Stmt& stmt) {
      const auto* loop = stmt.as<For>();
      if (loop && IsThreadIdx(loop->for_kind)) threads_.emplace(loop->var.get(), loop->for_kind);
    });
    if (threads_.empty() || !IsPlain(buffer_)) return;
    PreOrder(allocate.body, [&](const Stmt& stmt) {
      if (const auto* block = stmt.as<Block>()) Look(*block);
    });
  }

  // Returns, per dimension, whether a thread uses only one cell of it.
  std::vector<bool> is_private() const {
    std::vector<bool> is_private;
    for (const Dimension& dimension : dimensions_) {
      is_private.push_back((dimension.at_thread && dimension.axis) ||
                           (dimension.at_place && dimension.place));
    }
    return is_private;
  }
  std::vector<ForKind> axes() const {
    std::vector<ForKind> axes;
    for (const Dimension& dimension : dimensions_) {
      if (dimension.at_thread && dimension.axis) axes.push_back(*dimension.axis);
    }
    return axes;
  }

 private:
  struct Dimension {
    bool at_thread = true;        // every access so far is at the thread's number along the axis
    std::optional<ForKind> axis;  // nullopt: no access so far
    bool at_place = true;         // every access so far is at the place
    std::optional<int64_t> place;
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
      }
    }
  }

  void NoteThread(Dimension& dimension, size_t d, const Expr& index, const Substitution& bindings) {
    if (!dimension.at_thread) return;
    Expr cell = Substitute(index, bindings);
    if (!buffer_.window.origin.empty()) cell = cell - buffer_.window.origin[d];
    cell = Simplify(cell);
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

  const Buffer& buffer_;
  ThreadLoops threads_;
  std::vector<Dimension> dimensions_;
};

template <typename T>
std::vector<T> Without(const std::vector<T>& list, const std::vector<bool>& dropped, const T& one) {
  std::vector<T> kept;
  for (size_t d = 0; d < list.size(); ++d) {
    if (!dropped[d]) kept.push_back(list[d]);
  }
  if (kept.empty() && !list.empty()) kept.push_back(one);
  return kept;
}

Stmt WithoutDimensions(const Allocate& allocate, const std::vector<bool>& dropped) {
  Buffer buffer = allocate.buffer;
  buffer.shape = Without(buffer.shape, dropped, Expr(1));
  buffer.window.origin = Without(buffer.window.origin, dropped, Expr(0));
  buffer.window.size = Without(buffer.window.size, dropped, Expr(1));
  auto cell = [&](const Access& access) -> Access {
    if (!(access.buffer == buffer.var)) return access;
    return {access.buffer, Without(access.indices, dropped, Expr(0))};
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
    std::vector<bool> dropped = PrivateDimensions(same).is_private();
    bool any = std::ranges::find(dropped, true) != dropped.end();
    return any ? WithoutDimensions(same, dropped) : inner;
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
