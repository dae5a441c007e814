#include "ir/analysis/verifier.h"

#include <catch2/catch.hpp>

#include "tests/ir/by_hand.h"

using namespace tcc;
using namespace tcc::by_hand;

namespace {

void CheckRefused(const Function& fn, const std::string& part) {
  Status status = Verify(fn);
  INFO(status);
  REQUIRE_FALSE(status.ok());
  CHECK(Message(status).find(part) != std::string::npos);
}

void CheckAccepted(const Function& fn) {
  Status status = Verify(fn);
  INFO(status);
  CHECK(status.ok());
}

// C[i] = sum_k A[i, k], and its parts for tests that break one of them.
struct RowSum {
  Buffer a = Declare("A", {4, 6});
  Buffer c = Declare("C", {4});
  Var i = LoopVar("i");
  Var k = LoopVar("k");
  IterVar vi = Spatial("vi", i, 4);
  IterVar vk = Reduced("vk", k, 6);
  Level level = Level::kTensor;

  Function With(const Stmt& leaf, ForKind outer = ForKind::kSerial,
                ForKind inner = ForKind::kSerial) const {
    return by_hand::Make({a, c}, Loop(i, 4, Loop(k, 6, leaf, inner), outer), level);
  }
  Stmt Body() const { return SumInto(c, {vi.var}, At(a, {vi.var, vk.var})); }
  Stmt Rows() const { return Leaf("rows", {vi, vk}, Body()); }
};

// A[i] = A[i] + 1 at kLowered, as a vector where lanes > 1.
struct Flat {
  Buffer a = Declare("A", {16});
  Var i = LoopVar("i");
  Function With(const Stmt& body) const {
    return by_hand::Make({a}, BareLoop(i, 4, body), Level::kLowered);
  }
  Expr Lanes() const { return Make<Ramp>(Expr(i) * Expr(4), Expr(1), 4); }
};

}  // namespace

TEST_CASE("well-formed functions of every level are accepted", "[ir][verifier]") {
  RowSum sum;
  CheckAccepted(sum.With(sum.Rows()));
  sum.level = Level::kScheduled;
  CheckAccepted(sum.With(sum.Rows(), ForKind::kParallel));
  Flat flat;
  Expr four = Make<Broadcast>(FloatConst(kFloat32, 4), 4);
  Expr mask = Make<Lt>(flat.Lanes(), Make<Broadcast>(Expr(13), 4));
  CheckAccepted(flat.With(Put(flat.a, {flat.Lanes()}, At(flat.a, {flat.Lanes()}) + four, mask)));
}

TEST_CASE("variables are defined once and before use", "[ir][verifier]") {
  RowSum sum;
  Stmt again = MakeStmt<For>(sum.i, Expr(6), ForKind::kSerial, "l/again", Nothing());
  CheckRefused(by_hand::Make({sum.a, sum.c}, Loop(sum.i, 4, again)),
               "variable 'i' is defined twice");
  CheckRefused(by_hand::Make({sum.a, sum.c}, Loop(sum.i, Expr(sum.k), Nothing())),
               "variable 'k' is used where it is not defined");
  Stmt after = SeqOf({Loop(sum.k, 6, Nothing()), Loop(sum.i, Expr(sum.k), Nothing())});
  CheckRefused(by_hand::Make({}, after), "variable 'k' is used where it is not defined");
}

TEST_CASE("accesses name declared buffers", "[ir][verifier]") {
  RowSum sum;
  CheckRefused(by_hand::Make({sum.c}, Loop(sum.i, 4, Loop(sum.k, 6, sum.Rows()))),
               "buffer 'A' is not declared");
  CheckRefused(by_hand::Make({sum.a}, Loop(sum.i, 4, Loop(sum.k, 6, sum.Rows()))),
               "buffer 'C' is not declared");
}

TEST_CASE("a constant parameter is never written", "[ir][verifier]") {
  RowSum sum;
  sum.a.scope = Scope::kConstant;
  CheckAccepted(sum.With(sum.Rows()));
  sum.c.scope = Scope::kConstant;
  CheckRefused(sum.With(sum.Rows()), "constant parameter 'C' is written in block 'rows'");
  Flat flat;
  flat.a.scope = Scope::kConstant;
  CheckRefused(flat.With(Put(flat.a, {Expr(flat.i)}, Const(kFloat32, 1))),
               "constant parameter 'A' is written");
}

TEST_CASE("divisors are provably positive", "[ir][verifier]") {
  Var t = TileVar("t", 1, 8);
  Var zero = TileVar("z", 0, 8);
  auto with = [](const Var& tile) {
    Var i = LoopVar("i");
    return by_hand::Make({}, Loop(i, CeilDivide(Expr(7), tile), Nothing()), Level::kScheduled,
                         {tile});
  };
  CheckAccepted(with(t));
  CheckRefused(with(zero), "a divisor is not provably at least 1");
}

TEST_CASE("free variables are listed", "[ir][verifier]") {
  Var t = TileVar("t", 1, 8);
  Var i = LoopVar("i");
  CheckRefused(by_hand::Make({}, Loop(i, t, Nothing()), Level::kScheduled),
               "free variable 't' is not among the function's vars");
}

TEST_CASE("loop keys and block names are unique and not empty", "[ir][verifier]") {
  RowSum sum;
  Var other = LoopVar("i");
  CheckRefused(by_hand::Make({}, SeqOf({Loop(sum.i, 4, Nothing()), Loop(other, 4, Nothing())})),
               "two loops have the key 'l/i'");
  CheckRefused(by_hand::Make({}, BareLoop(sum.i, 4, Nothing())), "loop 'i' has no key");
  Stmt first = Leaf("rows", {Spatial("v", sum.i, 4)}, Nothing());
  Stmt second = Leaf("rows", {Spatial("w", sum.i, 4)}, Nothing());
  CheckRefused(by_hand::Make({}, Loop(sum.i, 4, SeqOf({first, second}))),
               "two blocks are named 'rows'");
  CheckRefused(by_hand::Make({}, Loop(sum.i, 4, Leaf("", {}, Nothing()))), "a block has no name");
}

TEST_CASE("a block inside a block is refused", "[ir][verifier]") {
  RowSum sum;
  CheckRefused(sum.With(Leaf("outer", {}, Leaf("inner", {}, Nothing()))),
               "block 'inner' stands in block 'outer'");
}

TEST_CASE("there is one index a dimension", "[ir][verifier]") {
  RowSum sum;
  Stmt leaf = Leaf("rows", {sum.vi, sum.vk}, SumInto(sum.c, {sum.vi.var}, At(sum.a, {sum.vi.var})));
  CheckRefused(sum.With(leaf), "buffer 'A' has 1 indices in an access; expected 2");
}

TEST_CASE("leaves read iteration variables, not loops", "[ir][verifier]") {
  RowSum sum;
  Stmt leaf =
      Leaf("rows", {sum.vi, sum.vk}, SumInto(sum.c, {sum.vi.var}, At(sum.a, {sum.i, sum.vk.var})));
  CheckRefused(sum.With(leaf), "block 'rows' reads loop variable 'i'");
  Stmt predicated = Leaf("rows", {sum.vi, sum.vk}, sum.Body(), {}, Expr(sum.k) < Expr(3));
  CheckRefused(sum.With(predicated), "block 'rows' reads loop variable 'k'");
}

TEST_CASE("reductions write cells that ignore the reduce variables", "[ir][verifier]") {
  RowSum sum;
  Stmt leaf = Leaf("rows", {sum.vi, sum.vk},
                   SumInto(sum.c, {Expr(sum.vi.var) + Expr(sum.vk.var)}, FloatConst(kFloat32, 1)));
  CheckRefused(sum.With(leaf), "a cell of 'C' that depends on reduce variable 'vk'");
}

TEST_CASE("vectors and masks wait for the lowered level", "[ir][verifier]") {
  RowSum sum;
  Expr lanes = Make<Broadcast>(Expr(1), 4);
  Stmt vector = MakeStmt<Let>(
      Var(*Make<VarNode>("v", VarRole::kLoop, kInt64.WithLanes(4), 0, 9, 0).as<VarNode>()), lanes,
      Nothing());
  CheckRefused(by_hand::Make({}, vector), "a vector (i64x4) stands in a tensor function");
  Stmt masked =
      Leaf("rows", {sum.vi, sum.vk}, Put(sum.c, {sum.vi.var}, FloatConst(kFloat32, 1), True()));
  CheckRefused(sum.With(masked), "a store to 'C' has a mask");
}

TEST_CASE("parallel and vectorized loops feed no reduce variable", "[ir][verifier]") {
  RowSum sum;
  sum.level = Level::kScheduled;
  CheckRefused(sum.With(sum.Rows(), ForKind::kSerial, ForKind::kVectorized),
               "vectorized loop 'l/k' feeds reduce variable 'vk' of block 'rows'");
  CheckRefused(sum.With(sum.Rows(), ForKind::kSerial, ForKind::kParallel),
               "parallel loop 'l/k' feeds reduce variable 'vk' of block 'rows'");
}

TEST_CASE("a shared window begins at the same index for all threads", "[ir][verifier]") {
  for (ForKind kind : {ForKind::kThreadIdxX, ForKind::kVthread, ForKind::kSerial}) {
    Var t = LoopVar("t");
    Buffer staged = Declare("S", {8}, kFloat32, Scope::kShared);
    staged.window = {.origin = {t}, .size = {2}};
    Function fn = by_hand::Make({}, Loop(t, 4, MakeStmt<Allocate>(staged, Nothing()), kind),
                                Level::kScheduled);
    if (kind == ForKind::kSerial) {
      CheckAccepted(fn);
    } else {
      CheckRefused(fn, "the window of shared buffer 'S' begins at an index that depends on");
    }
  }
}

TEST_CASE("barriers stand under no condition", "[ir][verifier]") {
  Stmt barrier = MakeStmt<Barrier>(Scope::kShared);
  Var t = LoopVar("t");
  CheckAccepted(by_hand::Make({}, Loop(t, 4, barrier, ForKind::kThreadIdxX), Level::kScheduled));
  Stmt branch = MakeStmt<If>(Expr(t) < Expr(2), barrier);
  CheckRefused(by_hand::Make({}, Loop(t, 4, branch, ForKind::kThreadIdxX), Level::kScheduled),
               "a barrier stands under a condition in loop 'l/t'");
}

TEST_CASE("tensor functions have serial loops and whole global buffers", "[ir][verifier]") {
  RowSum sum;
  CheckRefused(sum.With(sum.Rows(), ForKind::kParallel),
               "loop 'l/i' is parallel in a tensor function");
  Buffer local = Declare("T", {4}, kFloat32, Scope::kLocal);
  CheckRefused(by_hand::Make({}, MakeStmt<Allocate>(local, Nothing())),
               "buffer 'T' is not global and whole");
  Buffer window = Declare("T", {4});
  window.window = {.origin = {0}, .size = {2}};
  CheckRefused(by_hand::Make({}, MakeStmt<Allocate>(window, Nothing())),
               "buffer 'T' is not global and whole");
}

TEST_CASE("a tensor function's parameters may lie in rows that are longer than theirs",
          "[ir][verifier]") {
  Buffer rows = Declare("T", {4, 3});
  rows.layout.strides = {8, 1};
  CheckAccepted(by_hand::Make({rows}, Nothing()));
  CheckRefused(by_hand::Make({}, MakeStmt<Allocate>(rows, Nothing())),
               "buffer 'T' is not global and whole");
  rows.layout.strides = {8};
  CheckRefused(by_hand::Make({rows}, Nothing()),
               "buffer 'T' has 1 strides; expected one for each of 2 stored dimensions");
}

TEST_CASE("lowered functions have no block, reduction, key, window or Tile variable",
          "[ir][verifier]") {
  RowSum sum;
  Flat flat;
  CheckRefused(flat.With(Leaf("rows", {}, Nothing())), "block 'rows' stands in a lowered function");
  CheckRefused(flat.With(sum.Body()), "a reduction by 'sum_f32' stands in a lowered function");
  CheckRefused(by_hand::Make({}, Loop(flat.i, 4, Nothing()), Level::kLowered),
               "loop 'l/i' has a key in a lowered function");
  Buffer window = Declare("T", {4});
  window.window = {.origin = {0}, .size = {2}};
  CheckRefused(flat.With(MakeStmt<Allocate>(window, Nothing())),
               "buffer 'T' has a window or layout in a lowered function");
  // But for the blocks that say where a shared buffer may begin.
  auto in_blocks = [](int64_t cells, Scope scope) {
    Buffer buffer = Declare("T", {512}, kFloat32, scope);
    buffer.layout.blocks = {{0, Expr(cells)}};
    return buffer;
  };
  CheckAccepted(flat.With(MakeStmt<Allocate>(in_blocks(64, Scope::kShared), Nothing())));
  for (const Buffer& buffer : {in_blocks(64, Scope::kLocal), in_blocks(5, Scope::kShared),
                               in_blocks(512, Scope::kShared)}) {
    CheckRefused(flat.With(MakeStmt<Allocate>(buffer, Nothing())),
                 "buffer 'T' has a window or layout in a lowered function");
  }
  Var t = TileVar("t", 1, 8);
  CheckRefused(by_hand::Make({}, Nothing(), Level::kLowered, {t}),
               "Tile variable 't' is free in a lowered function");
}

TEST_CASE("lowered accesses have one index and agreeing lanes", "[ir][verifier]") {
  Flat flat;
  Buffer square = Declare("B", {4, 4});
  Stmt two = Put(square, {flat.i, flat.i}, FloatConst(kFloat32, 1));
  CheckRefused(by_hand::Make({square}, BareLoop(flat.i, 4, two), Level::kLowered),
               "buffer 'B' has 2 indices in an access; expected 1");
  CheckRefused(flat.With(Put(flat.a, {flat.Lanes()}, FloatConst(kFloat32, 1))),
               "a store to 'A' has 1 lanes of values; expected 4");
  Expr ones = Make<Broadcast>(FloatConst(kFloat32, 1), 4);
  CheckRefused(flat.With(Put(flat.a, {flat.Lanes()}, ones, True())),
               "the mask of a store to 'A' is bool; expected boolx4");
}

TEST_CASE("lowered local buffers have constant sizes", "[ir][verifier]") {
  Var n = ShapeVar("n", 1, 64);
  Buffer local = Declare("T", {n}, kFloat32, Scope::kLocal);
  CheckRefused(by_hand::Make({}, MakeStmt<Allocate>(local, Nothing()), Level::kLowered, {n}),
               "local buffer 'T' has a size that is no constant");
}

TEST_CASE("reductions stand in blocks", "[ir][verifier]") {
  RowSum sum;
  Stmt bare = SumInto(sum.c, {sum.i}, At(sum.a, {sum.i, sum.k}));
  CheckRefused(sum.With(bare), "a reduction by 'sum_f32' stands in no block");
}
