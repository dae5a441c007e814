#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "ir/analysis/cross_thread.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/passes.h"
#include "support/integer_division.h"
#include "support/target.h"

namespace tcc {
namespace {

int AxisOf(ForKind kind) {
  return static_cast<int>(kind) - static_cast<int>(ForKind::kThreadIdxX);
}

// Returns the number of threads of a launch along each axis, the largest extent of its loops;
// nullopt if one is not known.
std::optional<std::array<int64_t, 3>> ThreadsIn(const Stmt& launch) {
  std::array<int64_t, 3> threads = {1, 1, 1};
  bool known = true;
  PreOrder(launch, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (!loop || !IsThreadIdx(loop->for_kind)) return;
    std::optional<int64_t> extent = AsConstant(loop->extent);
    known = known && extent && *extent >= 1;
    int64_t& most = threads[static_cast<size_t>(AxisOf(loop->for_kind))];
    if (extent) most = std::max(most, *extent);
  });
  return known ? std::optional(threads) : std::nullopt;
}

std::vector<Access> CellsOf(const std::vector<Buffer>& buffers, const Expr& index) {
  std::vector<Access> cells;
  for (const Buffer& buffer : buffers) cells.push_back({buffer.var, {index}});
  return cells;
}

Expr LoadOf(const Buffer& buffer, const Expr& index) {
  return Make<Load>(buffer.var, std::vector<Expr>{index});
}

std::vector<Expr> LoadsOf(const std::vector<Buffer>& buffers, const Expr& index) {
  std::vector<Expr> loads;
  for (const Buffer& buffer : buffers) loads.push_back(LoadOf(buffer, index));
  return loads;
}

Stmt AllocateAll(const std::vector<Buffer>& buffers, Stmt body) {
  for (size_t i = buffers.size(); i-- > 0;) body = MakeStmt<Allocate>(buffers[i], body);
  return body;
}

// Returns log2 of the least power of two that is at least `count`.
int64_t LevelsOf(int64_t count) {
  int64_t levels = 0;
  while ((int64_t{1} << levels) < count) ++levels;
  return levels;
}

// Lowers one reduction in a launch of `threads` threads.
class Lowering {
 public:
  Lowering(const Function& fn, const CrossThreadReduction& reduction,
           const std::array<int64_t, 3>& threads, const std::vector<const For*>& around,
           std::set<std::string>& names)
      : r_(reduction), threads_(threads), names_(names) {
    std::array<Expr, 3> extents = {Expr(threads[0]), Expr(threads[1]), Expr(threads[2])};
    ThreadExchange exchange = ExchangeOf(fn, extents);
    in_warp_ = IsConstant(Simplify(exchange.in_warp), 1);
    in_warps_ = !in_warp_ && IsConstant(Simplify(exchange.in_warps), 1);
    in_tree_ = exchange.in_tree;
    s_ = ScratchOf(fn, reduction, extents);
    for (Buffer& buffer : s_.shared) buffer.shape[0] = Simplify(buffer.shape[0]);
    for (const For* loop : around) {
      if (IsThreadIdx(loop->for_kind)) index_[static_cast<size_t>(AxisOf(loop->for_kind))] = loop;
    }
  }

  // Returns loops over all threads round three steps: the partial reduction, the exchange and the
  // result.
  Stmt Lower() {
    std::vector<Stmt> steps = {Identities(), Partial()};
    if (r_.lanes) steps.push_back(AddLanes());
    steps.push_back(Exchange());
    steps.push_back(Result());
    Stmt body = SeqOf(steps);
    if (!in_warp_) body = AllocateAll(s_.shared, body);
    body = AllocateAll(s_.other, body);
    if (r_.lanes) body = AllocateAll(s_.total, body);
    return InThreads(AllocateAll(s_.partial, body));
  }

 private:
  std::string Fresh(const std::string& suffix) {
    std::string name = r_.block->name + suffix;
    while (!names_.insert(name).second) name += "_";
    return name;
  }

  // Runs `body` in every thread of the launch. Loops over y and z may enclose it already.
  Stmt InThreads(Stmt body) {
    for (size_t axis = 0; axis < 3; ++axis) {
      if (!fresh_[axis]) continue;
      ForKind kind = static_cast<ForKind>(static_cast<int>(ForKind::kThreadIdxX) + axis);
      std::string key = Fresh(".threads") + "/" + "xyz"[axis];
      body = MakeStmt<For>(*fresh_[axis], Expr(threads_[axis]), kind, key, body);
    }
    return body;
  }

  // Returns the variable that counts the threads along an axis.
  Expr ThreadAlong(size_t axis) {
    if (axis > 0 && index_[axis]) return index_[axis]->var;
    if (!fresh_[axis]) fresh_[axis] = LoopVar(std::string(1, "xyz"[axis]));
    return *fresh_[axis];
  }

  // Returns a thread's number in its block. Every axis is in it: idle threads take part in no
  // reduction.
  IterVar ThreadIter() {
    Expr number = ThreadAlong(0);
    int64_t stride = threads_[0];
    for (size_t axis : {1, 2}) {
      if (threads_[axis] > 1 || index_[axis]) number = number + ThreadAlong(axis) * Expr(stride);
      stride *= threads_[axis];
    }
    return {LoopVar("t"), IterKind::kSpatial, number, Expr(stride)};
  }

  Stmt BlockOf(const std::string& suffix, const std::vector<IterVar>& iters, const Stmt& body,
               const std::vector<LoopGuard>& guards = {}) {
    return MakeStmt<Block>(Fresh(suffix), iters, guards, True(), body);
  }

  static Stmt StoresOf(const std::vector<Buffer>& buffers, const Expr& index,
                       const std::vector<Expr>& values) {
    std::vector<Stmt> stores;
    for (size_t e = 0; e < buffers.size(); ++e) {
      stores.push_back(MakeStmt<Store>(buffers[e].var, std::vector<Expr>{index}, values[e]));
    }
    return SeqOf(stores);
  }

  Stmt ReduceInto(const std::vector<Access>& outputs, const std::vector<Expr>& inputs,
                  ReduceInit init) const {
    return MakeStmt<Reduce>(r_.reduce->combiner, outputs, inputs, init);
  }

  Stmt Identities() {
    const std::vector<Expr>& identities = r_.reduce->combiner->identities;
    if (!r_.lanes) {
      return BlockOf(".thread.init", {}, StoresOf(s_.partial, Expr(0), identities));
    }
    Var loop = LoopVar("v");
    IterVar lane{LoopVar("q"), IterKind::kSpatial, loop, r_.lanes->extent};
    std::string key = Fresh(".lanes.init") + "/v";
    return MakeStmt<For>(
        loop, r_.lanes->extent, ForKind::kVectorized, key,
        BlockOf(".thread.init", {lane}, StoresOf(s_.partial, lane.var, identities)));
  }

  // Returns the original nest, which now reduces into a cell of the thread's own, or one per lane.
  Stmt Partial() {
    const Block& block = *r_.block;
    std::vector<IterVar> iters = block.iters;
    Expr cell(0);
    if (r_.lanes) {
      iters.push_back({LoopVar("q"), IterKind::kSpatial, r_.lanes->var, r_.lanes->extent});
      cell = iters.back().var;
    }
    Stmt leaf = MakeStmt<Block>(
        Fresh(".thread"), iters, block.guards, block.predicate,
        ReduceInto(CellsOf(s_.partial, cell), r_.reduce->inputs, ReduceInit::kDecomposed));
    Stmt nest = leaf;
    std::vector<const For*> loops;
    for (const For* loop = r_.nest; loop; loop = loop->body.as<For>()) loops.push_back(loop);
    for (size_t i = loops.size(); i-- > 0;) {
      nest =
          MakeStmt<For>(loops[i]->var, loops[i]->extent, loops[i]->for_kind, loops[i]->key, nest);
    }
    return WithFreshVars(nest);
  }

  Stmt AddLanes() {
    Var loop = LoopVar("v");
    IterVar lane{LoopVar("q"), IterKind::kReduce, loop, r_.lanes->extent};
    std::string key = Fresh(".lanes") + "/v";
    return MakeStmt<For>(
        loop, r_.lanes->extent, ForKind::kUnrolled, key,
        BlockOf(".lanes.sum", {lane},
                ReduceInto(CellsOf(s_.total, Expr(0)), LoadsOf(s_.partial, lane.var),
                           ReduceInit::kFirstInstance)));
  }

  // Combines `total` over all threads along x and gives the result to each of them.
  Stmt Exchange() {
    if (in_warp_) return Shuffles(LevelsOf(threads_[0]));
    if (in_warps_)
      return SeqOf({Shuffles(LevelsOf(Target::kWarp)), ThroughShared(), Shuffles(WarpLevels())});
    return in_tree_ ? Tree() : OneByOne();
  }

  int64_t WarpLevels() const { return LevelsOf(threads_[0] / Target::kWarp); }

  // Makes each thread combine its value with that of the lane that differs in bit s, for each s.
  Stmt Shuffles(int64_t levels) {
    Var s = LoopVar("s");
    std::vector<Buffer> given;
    for (const Buffer& total : s_.total) {
      given.push_back({BufferVar(total.var->name + ".warp", total.dtype()),
                       {Expr(Target::kWarp)},
                       Scope::kWarp,
                       {},
                       {},
                       -1,
                       {}});
    }
    IterVar giver = ThreadIter(), taker = ThreadIter();
    IterVar level{LoopVar("s"), IterKind::kSpatial, s, Expr(std::max<int64_t>(levels, 1))};
    Expr own = FloorModulo(giver.var, Expr(Target::kWarp));
    Expr distance = CallOf(ScalarOp::kShiftLeft, {Expr(1), level.var});
    Expr partner =
        CallOf(ScalarOp::kBitXor, {FloorModulo(taker.var, Expr(Target::kWarp)), distance});
    Stmt give = BlockOf(".give", {giver}, StoresOf(given, own, LoadsOf(s_.total, Expr(0))));
    Stmt take =
        BlockOf(".take", {taker, level}, StoresOf(s_.other, Expr(0), LoadsOf(given, partner)));
    Stmt add = BlockOf(".add", {},
                       ReduceInto(CellsOf(s_.total, Expr(0)), LoadsOf(s_.other, Expr(0)),
                                  ReduceInit::kDecomposed));
    Stmt step = AllocateAll(given, SeqOf({give, MakeStmt<Barrier>(Scope::kWarp), take, add}));
    return MakeStmt<For>(s, Expr(levels), ForKind::kSerial, Fresh(".shuffles") + "/s", step);
  }

  // Makes the first lane of each warp store the warp's value; each lane then loads one of the cells
  // of its row of threads, or the identities.
  Stmt ThroughShared() {
    int64_t warps = threads_[0] / Target::kWarp;
    IterVar leaver = ThreadIter(), taker = ThreadIter();
    Stmt leave = BlockOf(".leave", {leaver},
                         StoresOf(s_.shared, FloorDivide(leaver.var, Expr(Target::kWarp)),
                                  LoadsOf(s_.total, Expr(0))),
                         {{FloorModulo(leaver.binding, Expr(Target::kWarp)), Expr(1)}});
    Expr row = FloorDivide(taker.var, Expr(threads_[0])) * Expr(warps);
    Expr lane = FloorModulo(taker.var, Expr(int64_t{1} << WarpLevels()));
    std::vector<Expr> values;
    for (size_t e = 0; e < s_.shared.size(); ++e) {
      values.push_back(SelectOf(lane < Expr(warps), LoadOf(s_.shared[e], row + lane),
                                r_.reduce->combiner->identities[e]));
    }
    return SeqOf({leave, BlockOf(".collect", {taker}, StoresOf(s_.total, Expr(0), values))});
  }

  // Makes each thread store its value to a cell of its own.
  Stmt Leave() {
    IterVar leaver = ThreadIter();
    return BlockOf(".leave", {leaver}, StoresOf(s_.shared, leaver.var, LoadsOf(s_.total, Expr(0))));
  }

  // Adds the upper half of a row's cells to the lower half until one is left, which each thread
  // loads. A step is a block with a name of its own: a barrier comes before each.
  Stmt Tree() {
    std::vector<Stmt> steps = {Leave()};
    for (int64_t left = threads_[0]; left > 1;) {
      int64_t half = CeilDivision(left, 2);
      steps.push_back(Fold(half, left - half));
      left = half;
    }
    IterVar taker = ThreadIter();
    Expr first = FloorDivide(taker.var, Expr(threads_[0])) * Expr(threads_[0]);
    steps.push_back(
        BlockOf(".collect", {taker}, StoresOf(s_.total, Expr(0), LoadsOf(s_.shared, first))));
    return SeqOf(steps);
  }

  // Makes the first `count` threads of a row combine their cells with those `distance` behind.
  Stmt Fold(int64_t distance, int64_t count) {
    IterVar folder = ThreadIter();
    return BlockOf(
        ".fold", {folder},
        ReduceInto(CellsOf(s_.shared, folder.var), LoadsOf(s_.shared, folder.var + Expr(distance)),
                   ReduceInit::kDecomposed),
        {{ThreadAlong(0), Expr(count)}});
  }

  Stmt OneByOne() {
    IterVar taker = ThreadIter();
    Var loop = LoopVar("k");
    IterVar other{LoopVar("k"), IterKind::kReduce, loop, Expr(threads_[0])};
    Expr row = FloorDivide(taker.var, Expr(threads_[0])) * Expr(threads_[0]);
    Stmt collect =
        BlockOf(".collect", {taker, other},
                ReduceInto(CellsOf(s_.total, Expr(0)), LoadsOf(s_.shared, row + other.var),
                           ReduceInit::kFirstInstance));
    return SeqOf({Leave(), MakeStmt<For>(loop, Expr(threads_[0]), ForKind::kSerial,
                                         Fresh(".others") + "/k", collect)});
  }

  // Returns the original block, which now reads the combined value once.
  Stmt Result() {
    std::vector<IterVar> iters;
    for (const IterVar& iter : r_.block->iters) {
      if (iter.kind == IterKind::kSpatial) iters.push_back(iter);
    }
    std::vector<LoopGuard> guards;
    for (const LoopGuard& guard : r_.block->guards) {
      bool inside = false;
      for (const For* loop = r_.nest; loop; loop = loop->body.as<For>()) {
        inside = inside || UsesVar(guard.value, loop->var);
      }
      if (!inside) guards.push_back(guard);
    }
    return MakeStmt<Block>(
        r_.block->name, iters, guards, True(),
        ReduceInto(r_.reduce->outputs, LoadsOf(s_.total, Expr(0)), r_.reduce->init));
  }

  const CrossThreadReduction& r_;
  const std::array<int64_t, 3>& threads_;
  std::set<std::string>& names_;
  CrossThreadScratch s_;
  bool in_warp_ = false, in_warps_ = false, in_tree_ = false;
  std::array<const For*, 3> index_ = {};     // the enclosing loops of the nest
  std::array<std::optional<Var>, 3> fresh_;  // the variables of new loops
};

class ThreadReducer final : public Mutator {
 public:
  explicit ThreadReducer(const Function& fn) : fn_(fn) {
    PreOrder(fn.body, [&](const Stmt& stmt) {
      if (const auto* block = stmt.as<Block>()) names_.insert(block->name);
      if (const auto* loop = stmt.as<For>()) {
        names_.insert(loop->key.substr(0, loop->key.find('/')));
      }
    });
  }

 private:
  using Mutator::Rewrite;

  // A launch begins where the interpreter begins one: below sequences and global buffers.
  Stmt Rewrite(const Allocate& allocate) override {
    lifetimes_.emplace(allocate.buffer.var, loops_.size());
    if (allocate.buffer.scope == Scope::kGlobal) return RewriteChildren(allocate);
    return InLaunch(allocate, [&] { return RewriteChildren(allocate); });
  }

  Stmt Rewrite(const For& loop) override {
    return InLaunch(loop, [&] { return Inside(loop); });
  }

  Stmt InLaunch(const Stmt& stmt, const std::function<Stmt()>& rewrite) {
    if (in_launch_) return rewrite();
    in_launch_ = true;
    threads_ = ThreadsIn(stmt);
    Stmt result = rewrite();
    in_launch_ = false;
    return result;
  }

  Stmt Inside(const For& loop) {
    std::optional<CrossThreadReduction> reduction = MatchCrossThread(loop);
    if (reduction && threads_ && IsOutermost(*reduction->block)) {
      return Lowering(fn_, *reduction, *threads_, loops_, names_).Lower();
    }
    loops_.push_back(&loop);
    Stmt result = RewriteChildren(loop);
    loops_.pop_back();
    // A loop of one iteration round an exchange would cost a barrier, as if more iterations
    // followed.
    bool exchanges = !result.same_as(loop) && loop.for_kind == ForKind::kSerial;
    if (exchanges && IsConstant(loop.extent, 1)) {
      return Substitute(result.as<For>()->body, loop.var, Expr(0));
    }
    if (!IsUnordered(loop.for_kind) || !MeetsBelow(loop)) return result;
    // A reduction of any other form runs in order in one thread.
    const For& same = *result.as<For>();
    return MakeStmt<For>(same.var, same.extent, ForKind::kSerial, same.key, same.body);
  }

  static bool IsUnordered(ForKind kind) {
    return IsThreadIdx(kind) || kind == ForKind::kVectorized;
  }

  // Returns whether a block below that is not lowered yet reduces over the loop.
  static bool MeetsBelow(const For& loop) {
    for (const Ref<Block>& block : BlocksOf(loop.body)) {
      if (block->body.as<Reduce>() && MeetsIn(loop, *block)) return true;
    }
    return false;
  }

  // Returns whether no loop round the nest takes part in the reduction or is a virtual thread. A
  // loop takes no part if each iteration has results of its own.
  bool IsOutermost(const Block& block) const {
    size_t outside = SIZE_MAX;  // the loops round the results
    for (const Access& output : block.body.as<Reduce>()->outputs) {
      auto found = lifetimes_.find(output.buffer);
      outside = std::min(outside, found == lifetimes_.end() ? 0 : found->second);
    }
    for (size_t i = 0; i < loops_.size(); ++i) {
      if (loops_[i]->for_kind == ForKind::kVthread) return false;
      if (i >= outside && MeetsIn(*loops_[i], block)) return false;
    }
    return true;
  }

  const Function& fn_;
  std::set<std::string> names_;  // the names of blocks and those in the keys of loops
  bool in_launch_ = false;
  std::optional<std::array<int64_t, 3>> threads_;  // the threads of the launch
  std::vector<const For*> loops_;
  std::unordered_map<Var, size_t, VarHash>
      lifetimes_;  // the number of loops round each allocated buffer
};

}  // namespace

Function ReduceAcrossThreads(const Function& fn) {
  return ThreadReducer(fn).Mutate(fn);
}

}  // namespace tcc
