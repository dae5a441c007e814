#include <catch2/catch.hpp>

#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplifier.h"
#include "ir/simplify/simplify.h"

using namespace tcc;

namespace {

Buffer Parameter(std::string name, std::vector<Expr> shape) {
  Buffer buffer;
  buffer.var = BufferVar(std::move(name), kFloat32);
  buffer.shape = std::move(shape);
  return buffer;
}

Stmt Loop(const Var& var, const Expr& extent, const Stmt& body) {
  return MakeStmt<For>(var, extent, ForKind::kSerial, var->name, body);
}

// for io in 0..ceildiv(E, T): for ii in 0..T: block b(i: spatial E = io*T + ii): A[i] = B[i * 1 +
// 0]
Function SplitCopy(const Expr& E, const Expr& T) {
  Var io = LoopVar("io"), ii = LoopVar("ii"), i = IterationVar("i");
  Function fn;
  fn.name = "copy";
  fn.level = Level::kScheduled;
  fn.params = {Parameter("A", {E}), Parameter("B", {E})};
  Stmt store = MakeStmt<Store>(fn.params[0].var, std::vector<Expr>{i},
                               Make<Load>(fn.params[1].var, std::vector<Expr>{i * 1 + 0}));
  Expr binding = io * T + ii;
  Stmt block = MakeStmt<Block>("b", std::vector<IterVar>{{i, IterKind::kSpatial, binding, E}},
                               std::vector<LoopGuard>{{binding, E}}, BothOf(i >= 0, i < E), store);
  fn.body = Loop(io, CeilDivide(E, T), Loop(ii, T, block));
  return fn;
}

// `depth` loops split in three, over `copies` statements: as many nodes as a scheduled convolution.
Stmt DeepNest(const Var& buffer, const std::vector<Var>& tiles, int depth, int copies) {
  std::vector<Stmt> nests;
  for (int copy = 0; copy < copies; ++copy) {
    std::vector<Var> loops;
    std::vector<Expr> extents, indices;
    for (int axis = 0; axis < depth; ++axis) {
      Expr inner = tiles[axis * 2], middle = tiles[axis * 2 + 1];
      for (const char* level : {"o", "m", "i"}) loops.push_back(LoopVar(level));
      extents.push_back(CeilDivide(Expr(56 + axis), middle * inner));
      extents.push_back(middle);
      extents.push_back(inner);
      const Var* l = &loops[axis * 3];
      indices.push_back((l[0] * middle + l[1]) * inner + l[2] + (copy - 1));
    }
    std::vector<IterVar> iters;
    std::vector<LoopGuard> guards;
    std::vector<Expr> cells;
    for (int axis = 0; axis < depth; ++axis) {
      iters.push_back({IterationVar("v"), IterKind::kSpatial, indices[axis], Expr(56 + axis)});
      guards.push_back({indices[axis], Expr(56 + axis)});
      cells.push_back(iters.back().var);
    }
    Expr value = Make<Load>(buffer, cells) * Make<Load>(buffer, cells);
    Stmt nest = MakeStmt<Block>("b" + std::to_string(copy), iters, guards, True(),
                                MakeStmt<Store>(buffer, cells, value));
    for (size_t i = loops.size(); i-- > 0;) nest = Loop(loops[i], extents[i], nest);
    nests.push_back(nest);
  }
  return SeqOf(nests);
}

}  // namespace

TEST_CASE("setting sizes and simplifying agrees with building at those sizes", "[ir][simplify]") {
  for (int64_t size : {1, 2, 4, 7, 13}) {
    Var T = TileVar("T", 1, 64);
    Function free = SplitCopy(Expr(7), T);
    free.vars = {T};
    Function known = SplitCopy(Expr(7), Expr(size));
    INFO("T = " << size);
    CHECK(AlphaEqual(Simplify(Substitute(free, {{T, Expr(size)}})), Simplify(known)));
    CHECK(AlphaEqual(Simplify(Substitute(Simplify(free), {{T, Expr(size)}})), Simplify(known)));
  }
}

TEST_CASE("loops and block domains bound what is inside; loops, guards and blocks stay",
          "[ir][simplify]") {
  Function simple = Simplify(SplitCopy(Expr(7), Expr(7)));
  const auto* outer = simple.body.as<For>();
  REQUIRE(outer);
  CHECK(IsConstant(outer->extent, 1));
  const auto* inner = outer->body.as<For>();
  REQUIRE(inner);
  const auto* block = inner->body.as<Block>();
  REQUIRE(block);
  REQUIRE(block->guards.size() == 1);
  // io runs over 0..1, so it is 0.
  CHECK(block->iters[0].binding.same_as(inner->var));
  CHECK(IsConstant(block->predicate, 1));
  const auto* load = block->body.as<Store>()->value.as<Load>();
  REQUIRE(load);
  CHECK(load->indices[0].same_as(block->iters[0].var));
}

TEST_CASE("a function in normal form comes back as the same nodes", "[ir][simplify]") {
  Var T = TileVar("T", 1, 64);
  Function fn = SplitCopy(Expr(7), T);
  fn.vars = {T};
  Function once = Simplify(fn);
  CHECK(Simplify(once).body.same_as(once.body));
}

TEST_CASE("the outer of two loops on one thread axis is bounded by the larger extent",
          "[ir][simplify]") {
  Var outer = LoopVar("t"), inner = LoopVar("t"), A = BufferVar("A", kInt64);
  Stmt store = MakeStmt<Store>(A, std::vector<Expr>{inner}, MinOf(outer, Expr(9)));
  Stmt nest = MakeStmt<For>(outer, Expr(8), ForKind::kThreadIdxX, "o",
                            MakeStmt<For>(inner, Expr(32), ForKind::kThreadIdxX, "i", store));
  CHECK(Simplify(nest).same_as(nest));
}

TEST_CASE("alpha-equal functions simplify to alpha-equal functions", "[ir][simplify]") {
  for (int i = 0; i < 20; ++i) {
    // Fresh variables lie at other addresses each time.
    Var S = TileVar("S", 1, 9), T = TileVar("T", 1, 9);
    auto build = [&](const Var& A) {
      Var x = LoopVar("x"), y = LoopVar("y");
      Expr index = FloorModulo(y * T + x * S, S + T) + MinOf(y, x) + MaxOf(T * y, S * x);
      return Loop(x, S, Loop(y, T, MakeStmt<Store>(A, std::vector<Expr>{index}, index)));
    };
    Var A = BufferVar("A", kInt64);
    CHECK(AlphaEqual(Simplify(build(A)), Simplify(build(A))));
  }
}

TEST_CASE("expressions that a function has often are simplified once", "[ir][simplify]") {
  std::vector<Var> tiles;
  for (int i = 0; i < 14; ++i) tiles.push_back(TileVar("t" + std::to_string(i), 1, 64));
  Var buffer = BufferVar("A", kFloat32);
  Stmt nest = DeepNest(buffer, tiles, 7, 4);
  int64_t nodes = 0;
  PreOrderExprs(nest, [&](const Expr&) { ++nodes; });
  Simplifier simplifier({});
  Stmt simple = Simplify(nest, simplifier);
  CHECK(simple.kind() == StmtKind::kSeq);
  INFO(simplifier.steps() << " steps for " << nodes << " nodes");
  CHECK(simplifier.steps() < nodes / 2);
}

TEST_CASE("an If that always holds becomes its body, others stay", "[ir][simplify]") {
  Var i = LoopVar("i");
  Buffer a = Parameter("A", {Expr(8)});
  Stmt store = MakeStmt<Store>(a.var, std::vector<Expr>{i}, FloatConst(kFloat32, 1));
  auto simplified = [&](const Expr& condition) {
    return Simplify(Loop(i, 8, MakeStmt<If>(condition, store)));
  };
  CHECK(Equal(simplified(i < Expr(8)), Loop(i, 8, store)));
  CHECK(Equal(simplified(i < Expr(7)), Loop(i, 8, MakeStmt<If>(i < Expr(7), store))));
}
