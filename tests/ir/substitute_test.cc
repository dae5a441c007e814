#include "ir/expr/substitute.h"

#include <catch2/catch.hpp>

#include "ir/expr/visitor.h"
#include "ir/text/parser.h"

using namespace tcc;

namespace {

Function Parsed(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  INFO(text);
  INFO(fn.status().ToString());
  REQUIRE(fn.ok());
  return *fn;
}

}  // namespace

TEST_CASE("substitution builds what it says and simplifies nothing", "[ir][substitute]") {
  Var i = LoopVar("i");
  Var j = LoopVar("j");
  CHECK(Equal(Substitute(i + j, i, Expr(0)), Expr(0) + j));
  CHECK(Equal(Substitute(i + j, {{i, j}, {j, i}}), j + i));
  Expr untouched = j * 3;
  CHECK(Substitute(untouched, i, Expr(1)).same_as(untouched));
  Expr nan = FloatConst(kFloat32, __builtin_nan(""));
  CHECK(Substitute(nan, i, Expr(1)).same_as(nan));
}

TEST_CASE("a substituted function has the values everywhere and no longer the variables",
          "[ir][substitute]") {
  Function fn = Parsed(R"(
    fn f<tile t in 1..=8, shape n in 1..=99>(A: f32[n] strides [t], B: f32[n]) scheduled {
      for i in 0..ceildiv(n, t) @b/i {
        alloc S: f32[n] local window [i * t] size [t] versions t
        block b(x: spatial n = i * t) guard (i * t < n) where x < t { B[x] = A[x + t] }
      } })");
  Function expected = Parsed(R"(
    fn f<shape n in 1..=99>(A: f32[n] strides [4], B: f32[n]) scheduled {
      for i in 0..ceildiv(n, 4) @b/i {
        alloc S: f32[n] local window [i * 4] size [4] versions 4
        block b(x: spatial n = i * 4) guard (i * 4 < n) where x < 4 { B[x] = A[x + 4] }
      } })");
  Function got = Substitute(fn, {{fn.vars[0], Expr(4)}});
  CHECK(AlphaEqual(got, expected));
  CHECK_FALSE(AlphaEqual(fn, expected));
}

TEST_CASE("fresh variables share nothing with the old ones but free variables",
          "[ir][substitute]") {
  Function fn = Parsed(R"(
    fn f(A: f32[9]) scheduled {
      for i in 0..9 @b/i {
        let y = i + 1
        alloc S: f32[1] local
        block b(x: spatial 9 = y) { S[0] = A[x]  A[x] = S[0] }
      } })");
  Stmt fresh = WithFreshVars(fn.body);
  CHECK(AlphaEqual(fresh, fn.body));

  std::unordered_set<const ExprNode*> old;
  PreOrderExprs(fn.body, [&](const Expr& e) {
    if (e.as<VarNode>()) old.insert(e.get());
  });
  int kept = 0;
  int made = 0;
  std::unordered_set<const ExprNode*> seen;
  PreOrderExprs(fresh, [&](const Expr& e) {
    if (!e.as<VarNode>() || !seen.insert(e.get()).second) return;
    ++(old.contains(e.get()) ? kept : made);
  });
  CHECK(kept == 1);  // the parameter A
  CHECK(made == 4);  // i, y, S, x
}
