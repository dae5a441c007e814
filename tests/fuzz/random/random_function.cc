#include "tests/fuzz/random/random_function.h"

#include <cmath>
#include <limits>

#include "tests/fuzz/random/random_expr.h"

namespace tcc {
namespace {

class FunctionGenerator {
 public:
  explicit FunctionGenerator(Random& random) : random_(random), exprs_(random, scope_) {}

  Function Generate() {
    Function fn;
    fn.name = RandomName(random_);
    fn.level = static_cast<Level>(random_.Below(3));
    lowered_ = fn.level == Level::kLowered;
    for (uint64_t n = random_.Below(3); n > 0; --n) fn.vars.push_back(FreeVar());
    for (uint64_t n = 1 + random_.Below(4); n > 0; --n) fn.params.push_back(Declare());
    fn.body = Body(3);
    for (uint64_t n = random_.Below(3); n > 0; --n) {
      fn.attributes[RandomName(random_)] = RandomName(random_);
    }
    return fn;
  }

 private:
  Var FreeVar() {
    int64_t low = random_.Between(-3, 4);
    int64_t high = random_.OneIn(9) ? std::numeric_limits<int64_t>::max() : low + 60;
    std::string name = RandomName(random_);
    Var var = random_.OneIn(2) ? TileVar(name, low, high) : ShapeVar(name, low, high);
    scope_.scalars.push_back(var);
    return var;
  }

  Expr Index() { return exprs_.Make(kInt64, static_cast<int>(random_.Below(3))); }

  std::vector<Expr> Indices(size_t count) {
    std::vector<Expr> indices;
    for (size_t i = 0; i < count; ++i) indices.push_back(Index());
    return indices;
  }

  Buffer Declare() {
    Buffer buffer;
    buffer.var = BufferVar(RandomName(random_), RandomElement(random_));
    size_t rank = random_.Below(4);
    buffer.shape = Indices(rank);
    buffer.scope = static_cast<Scope>(random_.Below(5));
    if (random_.OneIn(3)) buffer.window = {Indices(rank), Indices(rank)};
    if (random_.OneIn(4)) buffer.versions = Index();
    if (random_.OneIn(4)) buffer.circular = static_cast<int>(random_.Below(3));
    if (random_.OneIn(3)) buffer.layout.strides = Indices(rank + random_.Below(2));
    if (random_.OneIn(4)) buffer.layout.offset = Index();
    for (uint64_t n = random_.OneIn(3) ? random_.Below(3) : 0; n > 0; --n) {
      buffer.layout.blocks.push_back({static_cast<int>(random_.Below(3)), Index()});
    }
    if (random_.OneIn(5)) buffer.layout.swizzle = {static_cast<int>(random_.Below(4)), 2, 3};
    scope_.buffers.push_back(buffer.var);
    return buffer;
  }

  // What is declared inside is forgotten after it.
  Stmt Body(int depth) {
    size_t scalars = scope_.scalars.size();
    size_t buffers = scope_.buffers.size();
    std::vector<Stmt> stmts;
    for (uint64_t n = random_.Below(4); n > 0; --n) stmts.push_back(Statement(depth));
    // Sequences as passes make them, and as only a careless one would.
    Stmt body = random_.OneIn(8) ? MakeStmt<Seq>(stmts) : SeqOf(stmts);
    scope_.scalars.resize(scalars);
    scope_.buffers.resize(buffers);
    return body;
  }

  AsyncKind WorkKind() { return static_cast<AsyncKind>(random_.Below(2)); }

  Stmt Statement(int depth) {
    enum { kFirstNested = 7, kKinds = 13 };
    switch (random_.Below(depth > 0 ? kKinds : kFirstNested)) {
      case 0:
        return StoreStmt();
      case 1:
        return ReduceStmt();
      case 2:
        return MakeStmt<Barrier>(static_cast<Scope>(random_.Below(5)));
      case 3:
        return CopyStmt();
      case 4:
        return MakeStmt<AsyncCommit>(WorkKind());
      case 5:
        return MakeStmt<AsyncWait>(WorkKind(), static_cast<int>(random_.Below(4)));
      case 6:
        return PrefetchStmt();
      case 7:
        return ForStmt(depth);
      case 8:
        return lowered_ ? StoreStmt() : BlockStmt(depth);
      case 9:
        return IfStmt(depth);
      case 10:
        return LetStmt(depth);
      case 11:
        return AllocateStmt(depth);
      default:
        return MakeStmt<IntrinsicCall>("some_intrinsic", Body(depth - 1));
    }
  }

  Stmt StoreStmt() {
    Var buffer = scope_.buffers[random_.Below(scope_.buffers.size())];
    int lanes = lowered_ && random_.OneIn(2) ? RandomLanes(random_) : 1;
    std::vector<Expr> indices = {exprs_.Make(kInt64.WithLanes(lanes), 2)};
    if (lanes == 1) indices = Indices(random_.Below(3));
    Expr value = exprs_.Make(buffer.dtype().WithLanes(lanes), 3);
    Expr mask;
    if (lanes > 1 && random_.OneIn(2)) mask = exprs_.Make(kBool.WithLanes(lanes), 2);
    return MakeStmt<Store>(buffer, indices, value, mask);
  }

  Stmt CopyStmt() {
    Var buffer = scope_.buffers[random_.Below(scope_.buffers.size())];
    Access destination{buffer, Indices(2)};
    Access source{buffer, Indices(1)};
    Expr keep = random_.OneIn(2) ? exprs_.Make(kBool, 2) : Expr();
    return MakeStmt<AsyncCopy>(destination, source, static_cast<int>(1 + random_.Below(16)), keep);
  }

  Stmt PrefetchStmt() {
    Var buffer = scope_.buffers[random_.Below(scope_.buffers.size())];
    return MakeStmt<PrefetchLine>(Access{buffer, Indices(random_.Below(3))});
  }

  // Where no buffer has an element's type, a store stands for the reduction.
  Stmt ReduceStmt() {
    Combiner combiner = RandomCombiner(random_);
    std::vector<Access> outputs;
    std::vector<Expr> inputs;
    for (const Expr& identity : combiner->identities) {
      Var found;
      for (const Var& buffer : scope_.buffers) {
        if (buffer.dtype() == identity.dtype()) found = buffer;
      }
      if (!found) return StoreStmt();
      outputs.push_back({found, Indices(random_.Below(3))});
      inputs.push_back(exprs_.Make(identity.dtype(), 2));
    }
    ReduceInit init = random_.OneIn(2) ? ReduceInit::kFirstInstance : ReduceInit::kDecomposed;
    return MakeStmt<Reduce>(combiner, outputs, inputs, init);
  }

  Stmt IfStmt(int depth) {
    Expr condition = exprs_.Make(kBool, 2);
    Stmt then_body = Body(depth - 1);
    Stmt else_body = random_.OneIn(2) ? Body(depth - 1) : Stmt();
    return MakeStmt<If>(condition, then_body, else_body);
  }

  Stmt ForStmt(int depth) {
    Expr extent = Index();
    Var var = LoopVar(RandomName(random_));
    scope_.scalars.push_back(var);
    Stmt body = Body(depth - 1);
    scope_.scalars.pop_back();
    std::string key = random_.OneIn(3) ? "" : RandomName(random_) + "/i.0";
    ForKind kind = random_.OneIn(2) ? ForKind::kSerial : static_cast<ForKind>(random_.Below(11));
    return MakeStmt<For>(var, extent, kind, key, body);
  }

  Stmt BlockStmt(int depth) {
    std::vector<IterVar> iters;
    for (uint64_t n = random_.Below(4); n > 0; --n) {
      iters.push_back({IterationVar(RandomName(random_)),
                       random_.OneIn(2) ? IterKind::kSpatial : IterKind::kReduce, Index(),
                       Index()});
    }
    std::vector<LoopGuard> guards;
    for (uint64_t n = random_.Below(3); n > 0; --n) guards.push_back({Index(), Index()});
    size_t scalars = scope_.scalars.size();
    for (const IterVar& iter : iters) scope_.scalars.push_back(iter.var);
    Expr predicate = random_.OneIn(2) ? True() : exprs_.Make(kBool, 2);
    Stmt body = Body(depth - 1);
    scope_.scalars.resize(scalars);
    return MakeStmt<Block>(RandomName(random_), iters, guards, predicate, body);
  }

  Stmt LetStmt(int depth) {
    DType dtype = RandomElement(random_);
    if (lowered_ && random_.OneIn(3)) dtype = dtype.WithLanes(RandomLanes(random_));
    Expr value = exprs_.Make(dtype, 2);
    Expr node = tcc::Make<VarNode>(RandomName(random_), VarRole::kLoop, dtype, 0,
                                   std::numeric_limits<int64_t>::max(), 0);
    Var var(node.as<VarNode>());
    scope_.scalars.push_back(var);
    Stmt body = Body(depth - 1);
    scope_.scalars.pop_back();
    return MakeStmt<Let>(var, value, body);
  }

  Stmt AllocateStmt(int depth) {
    Buffer buffer = Declare();
    Stmt body = Body(depth - 1);
    scope_.buffers.pop_back();
    return MakeStmt<Allocate>(buffer, body);
  }

  Random& random_;
  VisibleVars scope_;
  ExprGenerator exprs_;
  bool lowered_ = false;
};

}  // namespace

Function RandomFunction(Random& random) {
  return FunctionGenerator(random).Generate();
}

}  // namespace tcc
