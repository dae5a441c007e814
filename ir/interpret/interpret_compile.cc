#include <algorithm>
#include <utility>

#include "ir/expr/behind_blocks.h"
#include "ir/expr/visitor.h"
#include "ir/interpret/interpret_nest_code.h"
#include "support/integer_division.h"

namespace tcc::interpret {
namespace {

bool IsThreadLoop(const Stmt& stmt) {
  const auto* loop = stmt.as<For>();
  return loop && (IsThreadIdx(loop->for_kind) || loop->for_kind == ForKind::kVthread);
}

class FunctionCompiler {
 public:
  FunctionCompiler(const Function& fn, const CompileOptions& options)
      : options_(options),
        program_(std::make_unique<Program>()),
        scalars_(program_->scalars, buffers_),
        fn_(fn) {}

  std::unique_ptr<Program> Run() {
    program_->flat = fn_.level == Level::kLowered;
    FindFragments();
    for (const Var& var : fn_.vars) DefineVar(var);
    for (const Buffer& param : fn_.params) Declare(param);
    program_->param_count = static_cast<int>(fn_.params.size());
    MarkWritten();
    WidestVector();
    program_->body = CompileStmt(fn_.body);
    program_->slot_count = static_cast<int>(slots_.size());
    return std::move(program_);
  }

 private:
  int DefineVar(const Var& var) {
    auto [found, fresh] = slots_.try_emplace(var, static_cast<int>(slots_.size()));
    if (fresh) scalars_.Bind(var, {Meaning::kSlot, found->second, 0});
    return found->second;
  }

  int Scalar(const Expr& expr) { return scalars_.Compile(expr); }

  int Declare(const Buffer& buffer) {
    int index = static_cast<int>(program_->buffers.size());
    // A declaration that occurs in several copies of a statement is one buffer.
    auto [found, fresh] = buffers_.try_emplace(buffer.var, index);
    if (!fresh) return found->second;
    scopes_.push_back(buffer.scope);
    BufferCode code;
    code.name = buffer.var->name;
    code.dtype = buffer.dtype();
    code.scope = buffer.scope;
    bool whole = buffer.window.size.empty();
    for (size_t d = 0; d < buffer.shape.size(); ++d) {
      code.origin.push_back(Scalar(whole ? Expr(0) : buffer.window.origin[d]));
      code.size.push_back(Scalar(whole ? buffer.shape[d] : buffer.window.size[d]));
    }
    code.circular = buffer.circular;
    if (program_->flat && code.size.size() != 1) Flatten(code);
    program_->buffers.push_back(std::move(code));
    return index;
  }

  // Makes the buffer one-dimensional, as all buffers are at kLowered.
  void Flatten(BufferCode& code) {
    int size = scalars_.Integer(1);
    for (int extent : code.size) size = scalars_.Binary(ExprKind::kMul, size, extent, kInt64);
    code.size = {size};
    code.origin = {scalars_.Integer(0)};
  }

  void MarkWritten() {
    program_->written.assign(fn_.params.size(), false);
    auto mark = [&](const Var& buffer) {
      for (size_t i = 0; i < fn_.params.size(); ++i) {
        if (fn_.params[i].var == buffer) program_->written[i] = true;
      }
    };
    PreOrder(fn_.body, [&](const Stmt& stmt) {
      if (const auto* store = stmt.as<Store>()) mark(store->buffer);
      if (const auto* copy = stmt.as<AsyncCopy>()) mark(copy->destination.buffer);
      if (const auto* reduce = stmt.as<Reduce>()) {
        for (const Access& output : reduce->outputs) mark(output.buffer);
      }
    });
  }

  void WidestVector() {
    PreOrderExprs(fn_.body, [&](const Expr& expr) {
      program_->widest_vector = std::max(program_->widest_vector, expr.dtype().lanes());
    });
  }

  std::unique_ptr<Code> CompileStmt(const Stmt& stmt) {
    bool launch = !in_launch_ && BeginsLaunch(stmt);
    std::vector<std::pair<int, int>> extents;
    if (launch) {
      in_launch_ = true;
      extents = ThreadExtents(stmt);
    }
    std::unique_ptr<Code> code = CompileInside(stmt);
    code->lockstep =
        in_launch_ && (GoesOnBehindBlocks(stmt) || Contains(stmt, [](const Stmt& inner) {
                         const auto* allocate = inner.as<Allocate>();
                         return inner.as<Barrier>() ||
                                (allocate && allocate->buffer.scope != Scope::kLocal);
                       }));
    code->in_order = in_launch_ && code->kind != CodeKind::kNest && UsesFragments(stmt);
    if (launch) in_launch_ = false;
    code->launch = launch;
    code->thread_extents = std::move(extents);
    return code;
  }

  // Returns whether a launch begins at this statement: sequences, lets and global buffers stay
  // outside launches.
  static bool BeginsLaunch(const Stmt& stmt) {
    if (stmt.as<Seq>() || stmt.as<Let>()) return false;
    const auto* allocate = stmt.as<Allocate>();
    if (!allocate) return Contains(stmt, IsThreadLoop);
    Scope scope = allocate->buffer.scope;
    if (scope == Scope::kGlobal || scope == Scope::kConstant) return false;
    return Contains(stmt, IsThreadLoop);
  }

  std::vector<std::pair<int, int>> ThreadExtents(const Stmt& stmt) {
    std::vector<std::pair<int, int>> extents;
    PreOrder(stmt, [&](const Stmt& inner) {
      const auto* loop = inner.as<For>();
      if (!loop || !IsThreadIdx(loop->for_kind)) return;
      bool known = true;
      for (const Var& var : VarsOf(loop->extent)) known = known && slots_.contains(var);
      int axis = static_cast<int>(loop->for_kind) - static_cast<int>(ForKind::kThreadIdxX);
      extents.emplace_back(axis, known ? Scalar(loop->extent) : -1);
    });
    return extents;
  }

  // Puts a barrier behind loops over blocks: the rest waits until all of them have ended.
  void CompileSeq(const Seq& seq, Code& code) {
    const size_t behind = in_launch_ ? FirstBehindBlocks(seq) : seq.stmts.size();
    for (size_t i = 0; i < seq.stmts.size(); ++i) {
      if (i == behind) code.children.push_back(CompileStmt(MakeStmt<Barrier>(Scope::kShared)));
      code.children.push_back(CompileStmt(seq.stmts[i]));
    }
  }

  std::unique_ptr<Code> CompileInside(const Stmt& stmt) {
    if (std::optional<Chain> chain = FindChain(stmt, options_.merge_parallel)) {
      return CompileNest(*chain);
    }
    auto code = std::make_unique<Code>();
    VisitStmt(stmt, Overloaded{
                        [&](const Seq& seq) { CompileSeq(seq, *code); },
                        [&](const For& loop) { CompileLoop(loop, *code); },
                        [&](const Block& block) { CompileBlock(block, *code); },
                        [&](const If& branch) {
                          code->kind = CodeKind::kIf;
                          code->expr = Scalar(branch.condition);
                          code->children.push_back(CompileStmt(branch.then_body));
                          if (branch.else_body) {
                            code->children.push_back(CompileStmt(branch.else_body));
                          }
                        },
                        [&](const Let& let) {
                          code->kind = CodeKind::kLet;
                          code->expr = Scalar(let.value);
                          code->lanes = let.value.dtype().lanes();
                          code->dtype = let.value.dtype().element();
                          code->slot = DefineVar(let.var);
                          // Idle threads do not evaluate a value that only their leaf uses.
                          if (!Contains(let.body, IsThreadLoop)) {
                            code->guard = GuardOf(nullptr, let.body);
                          }
                          code->children.push_back(CompileStmt(let.body));
                        },
                        [&](const Allocate& allocate) {
                          code->kind = CodeKind::kAllocate;
                          code->buffer = Declare(allocate.buffer);
                          code->children.push_back(CompileStmt(allocate.body));
                        },
                        [&](const Barrier& barrier) {
                          code->kind = CodeKind::kBarrier;
                          code->scope = barrier.scope;
                        },
                        [&](const AsyncCopy& copy) {
                          code->kind = CodeKind::kAsyncCopy;
                          code->destination = CompileAccess(copy.destination);
                          code->source = CompileAccess(copy.source);
                          code->count = copy.count;
                          if (copy.keep) code->expr = Scalar(copy.keep);
                          code->guard = GuardOf(nullptr, copy);
                        },
                        // Products are done where they stand: their waits do nothing.
                        [&](const AsyncCommit& commit) {
                          if (commit.what == AsyncKind::kProducts) return;
                          code->kind = CodeKind::kAsyncCommit;
                        },
                        [&](const AsyncWait& wait) {
                          if (wait.what == AsyncKind::kProducts) return;
                          code->kind = CodeKind::kAsyncWait;
                          code->pending = wait.pending;
                        },
                        [&](const PrefetchLine& prefetch) {
                          code->kind = CodeKind::kPrefetch;
                          for (const Expr& index : prefetch.cell.indices) {
                            code->exprs.push_back(Scalar(index));
                          }
                        },
                        [&](const IntrinsicCall& call) { CompileCall(call, *code); },
                        [&](const Store&) { TCC_UNREACHABLE(); },  // a chain of no loops
                        [&](const Reduce& reduce) {
                          TCC_CHECK(false) << reduce.combiner->name << " stands in no block";
                        },
                    });
    return code;
  }

  // Compiles an intrinsic call. A call that stores to warp memory runs once per warp.
  void CompileCall(const IntrinsicCall& call, Code& code) {
    bool together =
        in_launch_ && StoresTo(call.body, [](Scope scope) { return scope == Scope::kWarp; });
    if (together) code.kind = CodeKind::kWarpCall;
    bool was_in_call = std::exchange(in_warp_call_, in_warp_call_ || together);
    code.children.push_back(CompileStmt(call.body));
    in_warp_call_ = was_in_call;
  }

  int CompileAccess(const Access& access) {
    return scalars_.CompileAccess(access.buffer, access.indices);
  }

  void CompileLoop(const For& loop, Code& code) {
    code.kind = CodeKind::kLoop;
    code.for_kind = loop.for_kind;
    code.name = loop.var->name;
    code.expr = Scalar(loop.extent);
    code.slot = DefineVar(loop.var);
    surroundings_.push_back({loop.var->name, code.expr, code.slot});
    if (IsThreadLoop(Stmt(loop))) thread_loops_.push_back(&loop);
    code.children.push_back(CompileStmt(loop.body));
    if (IsThreadLoop(Stmt(loop))) thread_loops_.pop_back();
    surroundings_.pop_back();
  }

  // Compiles a block whose body is more than one leaf statement.
  void CompileBlock(const Block& block, Code& code) {
    code.kind = CodeKind::kBlock;
    code.name = block.name;
    for (const IterVar& iter : block.iters) {
      code.conditions.push_back(Scalar(Expr(0) <= iter.binding));
      code.conditions.push_back(Scalar(iter.binding < iter.domain));
    }
    for (const LoopGuard& guard : block.guards) {
      code.conditions.push_back(Scalar(guard.value < guard.extent));
    }
    for (const IterVar& iter : block.iters) {
      code.exprs.push_back(Scalar(iter.binding));
      code.slots.push_back(DefineVar(iter.var));
    }
    code.conditions.push_back(Scalar(block.predicate));
    code.guard = GuardOf(&block, block.body);
    bool outermost = !in_block_;
    in_block_ = true;
    code.children.push_back(CompileStmt(block.body));
    if (outermost) in_block_ = false;
  }

  std::unique_ptr<Code> CompileNest(const Chain& chain) {
    std::vector<int64_t> extents;
    std::vector<NestLoop> loops;
    for (const For* loop : chain.loops) {
      extents.push_back(KnownExtent(loop->extent));
      loops.push_back({loop->var->name, Scalar(loop->extent), DefineVar(loop->var)});
    }
    bool lanes = options_.lanes > 1;
    std::unique_ptr<Nest> nest = BuildNest(chain, OrderLoops(chain, extents), loops);
    // Compile again without lanes if the accesses show that the leaf reads other lanes' cells.
    if (!lanes || !nest) nest = BuildNest(chain, KeepOrder(chain), loops);
    nest->guard = GuardOf(chain.block, chain.block ? Stmt(*chain.block) : Stmt(*chain.store));
    auto code = std::make_unique<Code>();
    code->kind = CodeKind::kNest;
    code->nest = static_cast<int>(program_->nests.size());
    program_->nests.push_back(std::move(nest));
    return code;
  }

  std::unique_ptr<Nest> BuildNest(const Chain& chain, const LoopOrder& order,
                                  const std::vector<NestLoop>& loops) {
    auto nest = std::make_unique<Nest>();
    for (int i : order.outer) nest->outer.push_back(loops[i]);
    for (int i : order.lanes) nest->lanes.push_back(loops[i]);
    for (int i : order.inner) nest->inner.push_back(loops[i]);
    nest->independent = order.independent;
    nest->surroundings = surroundings_;
    nest->leaf =
        chain.block ? "block " + chain.block->name : "store to " + chain.store->buffer->name;
    if (!CompileLeaf(chain, order, buffers_, slots_, *nest)) return nullptr;
    return nest;
  }

  int64_t KnownExtent(const Expr& extent) const {
    Substitution values;
    for (size_t i = 0; i < fn_.vars.size() && options_.var_values; ++i) {
      values.emplace(fn_.vars[i], Expr((*options_.var_values)[i]));
    }
    return ConstantOf(Substitute(extent, values));
  }

  // Returns the value, or 0 where the expression has variables; handles the operators that occur in
  // extents.
  static int64_t ConstantOf(const Expr& expr) {
    if (auto constant = AsConstant(expr)) return *constant;
    if (const auto* e = expr.as<CeilDiv>()) {
      int64_t b = ConstantOf(e->b);
      return b <= 0 ? 0 : CeilDivision(ConstantOf(e->a), b);
    }
    if (const auto* e = expr.as<Mul>()) return ConstantOf(e->a) * ConstantOf(e->b);
    return 0;
  }

  Scope ScopeOf(const Var& buffer) const { return scopes_[buffers_.at(buffer)]; }

  // Finds the fragments: the warp buffers that intrinsic calls use. In other warp buffers each lane
  // has a cell, and barriers order the accesses.
  void FindFragments() {
    for (const Buffer& buffer : DeclaredBuffers(fn_)) {
      bool called = buffer.scope == Scope::kWarp && Contains(fn_.body, [&](const Stmt& stmt) {
                      return stmt.as<IntrinsicCall>() && UsesVar(stmt, buffer.var);
                    });
      if (called) fragments_.push_back(buffer.var);
    }
  }

  bool UsesFragments(const Stmt& stmt) const {
    return std::ranges::any_of(fragments_,
                               [&](const Var& buffer) { return UsesVar(stmt, buffer); });
  }

  bool StoresTo(const Stmt& stmt, const std::function<bool(Scope)>& which) const {
    return Contains(stmt, [&](const Stmt& inner) {
      auto shared = [&](const Var& buffer) { return which(ScopeOf(buffer)); };
      if (const auto* store = inner.as<Store>()) return shared(store->buffer);
      const auto* reduce = inner.as<Reduce>();
      return reduce && std::ranges::any_of(reduce->outputs, [&](const Access& output) {
               return shared(output.buffer);
             });
    });
  }

  // Returns the guard of a leaf by rules 4 and 5 of the reference symbolic_schedule, "GPU scopes".
  // Lowered stores have no bindings; conditions cover the axes that they ignore.
  LeafGuard GuardOf(const Block* block, const Stmt& leaf) {
    LeafGuard guard;
    if (!in_launch_ || in_block_) return guard;
    bool checked = block && !in_warp_call_;
    bool shared = checked && StoresTo(leaf, [](Scope scope) {
                    return scope != Scope::kLocal && scope != Scope::kWarp;
                  });
    bool warp = checked && StoresTo(leaf, [](Scope scope) { return scope == Scope::kWarp; });
    auto ignores = [&](const For* loop) {
      auto uses = [&](const IterVar& iter) { return UsesVar(iter.binding, loop->var); };
      return std::ranges::none_of(block->iters, uses);
    };
    for (int axis = 0; axis < 3; ++axis) {
      const For* innermost = nullptr;
      for (const For* loop : thread_loops_) {
        int kind = static_cast<int>(ForKind::kThreadIdxX) + axis;
        if (static_cast<int>(loop->for_kind) == kind) innermost = loop;
      }
      bool only_first = shared && (!innermost || ignores(innermost));
      if (warp && axis == 0) guard.first_lane = !innermost || ignores(innermost);
      if (!innermost && !only_first) continue;
      guard.axes.push_back({axis, innermost ? Scalar(innermost->extent) : -1, only_first});
    }
    for (const For* loop : thread_loops_) {
      bool first = shared && loop->for_kind == ForKind::kVthread && ignores(loop);
      if (first) guard.first_slots.push_back(slots_.at(loop->var));
    }
    return guard;
  }

  const CompileOptions& options_;
  std::unique_ptr<Program> program_;
  std::unordered_map<Var, int, VarHash> buffers_;
  std::unordered_map<Var, int, VarHash> slots_;
  std::vector<Scope> scopes_;
  ExprCompiler scalars_;
  const Function& fn_;
  std::vector<NestLoop> surroundings_;
  std::vector<const For*> thread_loops_;
  bool in_launch_ = false;
  bool in_block_ = false;
  bool in_warp_call_ = false;
  std::vector<Var> fragments_;
};

}  // namespace

std::unique_ptr<Program> Compile(const Function& fn, const CompileOptions& options) {
  return FunctionCompiler(fn, options).Run();
}

}  // namespace tcc::interpret
