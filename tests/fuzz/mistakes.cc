#include "tests/fuzz/mistakes.h"

#include <functional>
#include <unordered_set>

#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

// A statement instead of the given one, null where there is nothing to change in it.
using ChangeStmt = std::function<Stmt(const Stmt&)>;
using ChangeExpr = std::function<Expr(const Expr&)>;

// Changes one of the statements that `change` has something for.
Function ChangeOne(const Function& fn, uint64_t which, const ChangeStmt& change) {
  uint64_t count = 0;
  PreOrder(fn.body, [&](const Stmt& stmt) { count += change(stmt) ? 1 : 0; });
  if (count == 0) return fn;
  uint64_t at = which % count;
  Function result = fn;
  result.body = RewriteBottomUp(
      fn.body,
      [&](const Stmt& stmt) -> Stmt {
        Stmt changed = change(stmt);
        return changed && at-- == 0 ? changed : stmt;
      },
      [](const Expr& expr) { return expr; });
  return result;
}

// The same for expressions; equal ones change together.
Function ChangeOneExpr(const Function& fn, uint64_t which, const ChangeExpr& change) {
  std::vector<Expr> places;
  PreOrderExprs(fn.body, [&](const Expr& expr) {
    if (change(expr)) places.push_back(expr);
  });
  if (places.empty()) return fn;
  Expr place = places[which % places.size()];
  Function result = fn;
  result.body = RewriteExprs(
      fn.body, [&](const Expr& expr) { return expr.same_as(place) ? change(expr) : expr; });
  return result;
}

Stmt WithBuffer(const Stmt& stmt, const std::function<bool(Buffer&)>& change) {
  const auto* allocate = stmt.as<Allocate>();
  if (!allocate) return {};
  Buffer buffer = allocate->buffer;
  return change(buffer) ? MakeStmt<Allocate>(buffer, allocate->body) : Stmt();
}

Stmt WithGuards(const Block& block, const std::vector<LoopGuard>& guards) {
  return MakeStmt<Block>(block.name, block.iters, guards, block.predicate, block.body);
}

Stmt WithExtent(const For& loop, const Expr& extent) {
  return MakeStmt<For>(loop.var, extent, loop.for_kind, loop.key, loop.body);
}

// A loop of a known number of iterations without its last one.
Stmt OneShort(const For& loop) {
  std::optional<int64_t> extent = AsConstant(loop.extent);
  return extent && *extent >= 2 ? WithExtent(loop, Expr(*extent - 1)) : Stmt();
}

Function ShrinkWindow(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [&](const Stmt& stmt) {
    return WithBuffer(stmt, [&](Buffer& buffer) {
      if (buffer.window.size.empty() || buffer.circular >= 0) return false;
      Expr& size = buffer.window.size[which % buffer.window.size.size()];
      size = size - Expr(1);
      return true;
    });
  });
}

Function DropGuard(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [&](const Stmt& stmt) -> Stmt {
    const auto* block = stmt.as<Block>();
    if (!block || block->guards.empty()) return {};
    std::vector<LoopGuard> guards = block->guards;
    guards.erase(guards.begin() + static_cast<std::ptrdiff_t>(which / 7 % guards.size()));
    return WithGuards(*block, guards);
  });
}

Function DropPredicate(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [](const Stmt& stmt) -> Stmt {
    const auto* block = stmt.as<Block>();
    if (!block || block->predicate.same_as(True()) || IsConstant(block->predicate, 1)) return {};
    return MakeStmt<Block>(block->name, block->iters, block->guards, True(), block->body);
  });
}

Function DropInit(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [](const Stmt& stmt) -> Stmt {
    const auto* reduce = stmt.as<Reduce>();
    if (!reduce || reduce->init != ReduceInit::kFirstInstance) return {};
    return MakeStmt<Reduce>(reduce->combiner, reduce->outputs, reduce->inputs,
                            ReduceInit::kDecomposed);
  });
}

// The initialisation by another value than the identity.
Function ChangeIdentity(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [](const Stmt& stmt) -> Stmt {
    const auto* block = stmt.as<Block>();
    const auto* store = block ? block->body.as<Store>() : nullptr;
    if (!store || !block->name.ends_with(".init")) return {};
    Expr wrong = store->value.dtype().is_float() ? FloatConst(store->value.dtype(), 2.5)
                                                 : IntConst(store->value.dtype(), 2);
    Stmt body = MakeStmt<Store>(store->buffer, store->indices, wrong, store->mask);
    return MakeStmt<Block>(block->name, block->iters, block->guards, block->predicate, body);
  });
}

Function RemoveBarrier(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which,
                   [](const Stmt& stmt) { return stmt.as<Barrier>() ? SeqOf({}) : Stmt(); });
}

// What one thread would have done, all do.
Function WakeIdleThreads(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [](const Stmt& stmt) -> Stmt {
    const auto* loop = stmt.as<For>();
    if (loop && IsThreadIdx(loop->for_kind) && loop->var->name == "one") return loop->body;
    const auto* block = stmt.as<Block>();
    if (!block) return {};
    std::vector<LoopGuard> guards = block->guards;
    size_t removed = std::erase_if(guards, [](const LoopGuard& guard) {
      return guard.value.as<VarNode>() && IsConstant(guard.extent, 1);
    });
    return removed > 0 ? WithGuards(*block, guards) : Stmt();
  });
}

// Loops of one nest on one hardware index.
Function MergeThreadAxes(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [](const Stmt& stmt) -> Stmt {
    const auto* loop = stmt.as<For>();
    if (!loop || loop->for_kind != ForKind::kThreadIdxY) return {};
    return MakeStmt<For>(loop->var, loop->extent, ForKind::kThreadIdxX, loop->key, loop->body);
  });
}

// A window that stays where it is while a thread loop round it runs.
Function StopWindow(const Function& fn, uint64_t which) {
  std::vector<Var> moving;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    bool thread = loop && (IsThreadIdx(loop->for_kind) || loop->for_kind == ForKind::kVthread);
    if (thread) moving.push_back(loop->var);
  });
  return ChangeOne(fn, which, [&](const Stmt& stmt) {
    return WithBuffer(stmt, [&](Buffer& buffer) {
      bool changed = false;
      for (Expr& origin : buffer.window.origin) {
        for (const Var& var : moving) {
          if (!UsesVar(origin, var)) continue;
          origin = Simplify(Substitute(origin, {{var, Expr(0)}}));
          changed = true;
        }
      }
      return changed;
    });
  });
}

Function ShrinkCircle(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [](const Stmt& stmt) {
    return WithBuffer(stmt, [](Buffer& buffer) {
      if (buffer.circular < 0) return false;
      Expr& size = buffer.window.size[buffer.circular];
      std::optional<int64_t> slots = AsConstant(size);
      if (!slots || *slots < 2) return false;
      size = Expr(*slots - 1);
      return true;
    });
  });
}

// One row too few of what is new in an iteration, or of what is filled before the first.
Function ShortenRoll(const Function& fn, uint64_t which) {
  std::unordered_set<const ExprNode*> circles;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* allocate = stmt.as<Allocate>();
    if (allocate && allocate->buffer.circular >= 0) circles.insert(allocate->buffer.var.get());
  });
  return ChangeOne(fn, which, [&](const Stmt& stmt) -> Stmt {
    const auto* loop = stmt.as<For>();
    bool fills = false;
    PreOrder(stmt, [&](const Stmt& inner) {
      const auto* store = inner.as<Store>();
      fills = fills || (store && circles.contains(store->buffer.get()));
    });
    return loop && fills ? OneShort(*loop) : Stmt();
  });
}

Function AwaitOneGroupLess(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [](const Stmt& stmt) -> Stmt {
    const auto* wait = stmt.as<AsyncWait>();
    bool copies = wait && wait->what == AsyncKind::kCopies;
    return copies ? MakeStmt<AsyncWait>(wait->what, wait->pending + 1) : Stmt();
  });
}

Function DropVersion(const Function& fn, uint64_t which) {
  return ChangeOneExpr(fn, which, [](const Expr& expr) -> Expr {
    const auto* mod = expr.as<FloorMod>();
    std::optional<int64_t> versions = mod ? AsConstant(mod->b) : std::nullopt;
    return versions && *versions >= 2 ? FloorModulo(mod->a, Expr(*versions - 1)) : Expr();
  });
}

// A stride that belongs to another dimension.
Function SwapStrides(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [&](const Stmt& stmt) {
    return WithBuffer(stmt, [&](Buffer& buffer) {
      std::vector<Expr>& strides = buffer.layout.strides;
      for (size_t d = 0; d + 1 < strides.size(); ++d) {
        if (AsConstant(strides[d]) == AsConstant(strides[d + 1])) continue;
        strides[d] = strides[d + 1];
        return true;
      }
      return false;
    });
  });
}

// Interior or edges of a partitioned loop without their last iteration.
Function MoveBoundary(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [&](const Stmt& stmt) -> Stmt {
    const auto* seq = stmt.as<Seq>();
    if (!seq) return {};
    std::vector<Stmt> stmts = seq->stmts;
    for (size_t n = 0; n < stmts.size(); ++n) {
      Stmt& part = stmts[(which / 5 + n) % stmts.size()];
      const auto* loop = part.as<For>();
      Stmt shorter = loop ? OneShort(*loop) : Stmt();
      if (!shorter) continue;
      part = shorter;
      return SeqOf(stmts);
    }
    return {};
  });
}

// Versions of virtual threads that overlap, or parts of a fused index.
Function ShortenStride(const Function& fn, uint64_t which) {
  std::unordered_set<const ExprNode*> locals;
  for (const Buffer& buffer : DeclaredBuffers(fn)) {
    if (buffer.scope == Scope::kLocal) locals.insert(buffer.var.get());
  }
  auto shorter = [](const Expr& index) -> Expr {
    Expr found;
    PreOrder(index, [&](const Expr& e) {
      const auto* mul = e.as<Mul>();
      std::optional<int64_t> stride = mul ? AsConstant(mul->b) : std::nullopt;
      if (!found && stride && *stride >= 2) found = e;
    });
    if (!found) return {};
    const auto* mul = found.as<Mul>();
    Expr wrong = mul->a * Expr(*AsConstant(mul->b) - 1);
    return RewriteBottomUp(index, [&](const Expr& e) { return e.same_as(found) ? wrong : e; });
  };
  return ChangeOne(fn, which, [&](const Stmt& stmt) -> Stmt {
    const auto* store = stmt.as<Store>();
    if (!store || !locals.contains(store->buffer.get())) return {};
    Expr index = shorter(store->indices[0]);
    if (!index) return {};
    return MakeStmt<Store>(store->buffer, std::vector<Expr>{index}, store->value, store->mask);
  });
}

Function SwapStatements(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [&](const Stmt& stmt) -> Stmt {
    const auto* seq = stmt.as<Seq>();
    if (!seq || seq->stmts.size() < 2) return {};
    std::vector<Stmt> stmts = seq->stmts;
    size_t first = which / 3 % (stmts.size() - 1);
    std::swap(stmts[first], stmts[first + 1]);
    return SeqOf(stmts);
  });
}

Function DropMask(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [](const Stmt& stmt) -> Stmt {
    const auto* store = stmt.as<Store>();
    if (!store || !store->mask) return {};
    return MakeStmt<Store>(store->buffer, store->indices, store->value, Expr());
  });
}

// The last band of a rasterized grid as high as the others.
Function ForgetLastBand(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [](const Stmt& stmt) -> Stmt {
    const auto* block = stmt.as<Block>();
    if (!block) return {};
    bool changed = false;
    std::vector<IterVar> iters = block->iters;
    for (IterVar& iter : iters) {
      iter.binding = RewriteBottomUp(iter.binding, [&](const Expr& e) -> Expr {
        const auto* min = e.as<Min>();
        changed = changed || min;
        return min ? (AsConstant(min->a) ? min->a : min->b) : e;
      });
    }
    if (!changed) return {};
    return MakeStmt<Block>(block->name, iters, block->guards, block->predicate, block->body);
  });
}

// e^(x - y) is no number where both are -inf.
Function UsePlainExp(const Function& fn, uint64_t which) {
  return ChangeOneExpr(fn, which, [](const Expr& expr) -> Expr {
    const auto* call = expr.as<Call>();
    if (!call || call->op != ScalarOp::kExpDiff) return {};
    return Make<Call>(ScalarOp::kExp, std::vector<Expr>{call->args[0] - call->args[1]});
  });
}

Function ShortenAnyLoop(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [](const Stmt& stmt) -> Stmt {
    const auto* loop = stmt.as<For>();
    return loop ? OneShort(*loop) : Stmt();
  });
}

Function ShortenIntrinsic(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [&](const Stmt& stmt) -> Stmt {
    const auto* call = stmt.as<IntrinsicCall>();
    if (!call) return {};
    Function body = fn;
    body.body = call->body;
    Stmt shorter = ShortenAnyLoop(body, which / 3).body;
    return MakeStmt<IntrinsicCall>(call->intrinsic, shorter);
  });
}

// Chunks that change places with themselves: two of them in one.
Function FoldSwizzle(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [](const Stmt& stmt) {
    return WithBuffer(stmt, [](Buffer& buffer) {
      if (buffer.layout.swizzle.bits == 0) return false;
      buffer.layout.swizzle.shift = 0;
      return true;
    });
  });
}

// What copies hold outside their operands, by another value: of all copies, since a zero in one
// operand of a product hides what the other has.
Function ChangeFilling(const Function& fn, uint64_t) {
  Function result = fn;
  result.body = RewriteExprs(fn.body, [](const Expr& expr) -> Expr {
    const auto* select = expr.as<Select>();
    bool fills = select && select->then_value.as<Load>() && select->else_value.as<FloatImm>();
    return fills
               ? Make<Select>(select->condition, select->then_value, FloatConst(expr.dtype(), 2.5))
               : expr;
  });
  return result;
}

// Two dimensions of what a block stores, exchanged.
Function SwapIndices(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, [](const Stmt& stmt) -> Stmt {
    const auto* store = stmt.as<Store>();
    if (!store || store->indices.size() < 2) return {};
    std::vector<Expr> indices = store->indices;
    std::swap(indices[0], indices[1]);
    return MakeStmt<Store>(store->buffer, indices, store->value, store->mask);
  });
}

// The cell beside the one that should be read.
Function ReadBeside(const Function& fn, uint64_t which) {
  return ChangeOneExpr(fn, which, [](const Expr& expr) -> Expr {
    const auto* load = expr.as<Load>();
    if (!load || load->indices.empty()) return {};
    std::vector<Expr> indices = load->indices;
    indices.back() = indices.back() + Expr(1);
    return Make<Load>(load->buffer, indices);
  });
}

constexpr Mistake kMistakes[] = {
    // name, pass, step, plant
    {"a region one short", "", "", ShrinkWindow},
    {"a dropped guard", "", "", DropGuard},
    {"a dropped predicate", "", "", DropPredicate},
    {"no initialisation", "", "", DropInit},
    {"two statements swapped", "", "", SwapStatements},
    {"a vector without its mask", "vectorize", "vectorize", DropMask},
    {"a wrong initial value", "", "decompose_reduction", ChangeIdentity},
    {"rfactor: a wrong identity", "", "rfactor", ChangeIdentity},
    {"rfactor_tile: a wrong identity", "", "rfactor_tile", ChangeIdentity},
    {"rfactor_tile: e^(x - y) of infinities", "", "rfactor_tile", UsePlainExp},
    {"bind: a removed barrier", "insert_barriers", "bind", RemoveBarrier},
    {"bind: threads that should stand idle", "guard_idle_threads", "bind", WakeIdleThreads},
    {"bind: two loops of a nest on one index", "", "bind", MergeThreadAxes},
    {"bind: a window that stands still for threads", "", "bind", StopWindow},
    {"bind: versions of virtual threads overlap", "distribute_vthreads", "bind", ShortenStride},
    {"partition: a boundary one off", "partition", "partition", MoveBoundary},
    {"rolling_buffer: a slot too few", "", "rolling_buffer", ShrinkCircle},
    {"rolling_buffer: a row too few", "", "rolling_buffer", ShortenRoll},
    {"pipeline: a group too few awaited", "pipeline", "pipeline", AwaitOneGroupLess},
    {"pipeline: a version too few", "pipeline", "pipeline", DropVersion},
    {"pipeline: a missing barrier", "pipeline", "pipeline", RemoveBarrier},
    {"transform_layout: a stride of another dimension", "", "transform_layout", SwapStrides},
    {"rasterize: the last band as high as the others", "", "rasterize", ForgetLastBand},
    {"prepack: a row too few", "prepare", "prepack", ShortenAnyLoop},
    {"storage_align: a stride of another dimension", "", "storage_align", SwapStrides},
    {"swizzle: two chunks in one place", "", "swizzle", FoldSwizzle},
    {"pad: filled with another value than the identity", "", "pad", ChangeFilling},
    {"reindex: two variables exchanged", "", "reindex", SwapIndices},
    {"compute_inline: the cell beside", "", "compute_inline", ReadBeside},
    {"tensorize: a call that does less", "", "tensorize", ShortenIntrinsic},
};

}  // namespace

std::span<const Mistake> Mistakes() {
  return kMistakes;
}

}  // namespace tcc
