#include "ir/analysis/affine.h"

#include <catch2/catch.hpp>

#include "ir/expr/evaluate.h"
#include "ir/simplify/simplify.h"

using namespace tcc;

TEST_CASE("an affine index is read with symbolic coefficients", "[ir][affine]") {
  Var i = LoopVar("i"), j = LoopVar("j"), o = LoopVar("o"), T = TileVar("T", 1, 64);
  std::optional<AffineForm> form = ToAffine((i * T + j) * 2 + o - j, {j, i});
  REQUIRE(form);
  REQUIRE(form->vars == std::vector<Var>{j, i});
  CHECK(EqualUpToAlgebra(form->coefficients[0], 1));
  CHECK(EqualUpToAlgebra(form->coefficients[1], T * 2));
  CHECK(EqualUpToAlgebra(form->rest, o));
}

TEST_CASE("what is no sum of multiples is no affine form", "[ir][affine]") {
  Var i = LoopVar("i"), j = LoopVar("j"), T = TileVar("T", 1, 64);
  CHECK_FALSE(ToAffine(i * j, {i, j}));
  CHECK_FALSE(ToAffine(FloorDivide(i, T), {i}));
  CHECK_FALSE(ToAffine(FloorModulo(i, 4) + j, {i, j}));
  CHECK_FALSE(ToAffine(MinOf(i, 3), {i}));
  // A division of other variables is a symbol like any.
  CHECK(ToAffine(FloorDivide(j, T) * i + FloorModulo(j, 4), {i}));
}

TEST_CASE("the form is the same for free and known sizes", "[ir][affine]") {
  Var i = LoopVar("i"), T = TileVar("T", 1, 64), U = TileVar("U", 1, 64);
  Expr index = (i * T - i * U) * T + U;
  AffineForm free = *ToAffine(index, {i});
  AffineForm known = *ToAffine(Substitute(index, {{T, Expr(1)}, {U, Expr(1)}}), {i});
  REQUIRE(free.vars == known.vars);
  CHECK(
      Equal(Substitute(free.coefficients[0], {{T, Expr(1)}, {U, Expr(1)}}), known.coefficients[0]));
  CHECK(Equal(Substitute(free.rest, {{T, Expr(1)}, {U, Expr(1)}}), known.rest));
}

TEST_CASE("a convolution's window is stride times outputs plus the kernel's reach",
          "[ir][affine]") {
  Var o = LoopVar("o"), k = LoopVar("k"), T = TileVar("T", 1, 64), R = TileVar("R", 1, 8);
  Var base = LoopVar("base");
  std::optional<IndexBox> box = BoxOf(o * 2 + k * 3 - 1, {o, k}, {base * T, Expr(0)}, {T, R});
  REQUIRE(box);
  CHECK(EqualUpToAlgebra(box->origin, base * T * 2 - 1));
  CHECK(EqualUpToAlgebra(box->size, (T - 1) * 2 + (R - 1) * 3 + 1));
}

TEST_CASE("a quotient's box is at most one too large", "[ir][affine]") {
  Var x = LoopVar("x");
  for (int64_t s = 1; s <= 6; ++s) {
    for (int64_t size = 1; size <= 14; ++size) {
      bool exact_somewhere = false;
      for (int64_t low = 0; low < s; ++low) {
        IndexBox box = *BoxOf(FloorDivide(x, Expr(s)), {x}, {Expr(low)}, {Expr(size)});
        int64_t covered = (low + size - 1) / s - low / s + 1;
        REQUIRE(*EvaluateInt(box.origin, {}) == low / s);
        REQUIRE(*EvaluateInt(box.size, {}) >= covered);
        REQUIRE(*EvaluateInt(box.size, {}) <= covered + 1);
        exact_somewhere |= *EvaluateInt(box.size, {}) == covered;
      }
      REQUIRE(exact_somewhere);
    }
  }
}

TEST_CASE("boxes of falling and curved indices are refused", "[ir][affine]") {
  Var i = LoopVar("i"), j = LoopVar("j"), T = TileVar("T", 1, 64);
  CHECK_FALSE(BoxOf(Expr(9) - i, {i}, {Expr(0)}, {T}));
  CHECK_FALSE(BoxOf(i * T - i * (T + 1), {i}, {Expr(0)}, {T}));
  CHECK_FALSE(BoxOf(FloorModulo(i, 4), {i}, {Expr(0)}, {T}));
  CHECK_FALSE(BoxOf(FloorDivide(Expr(0) - i, 4), {i}, {Expr(0)}, {T}));
  CHECK(BoxOf(i + FloorModulo(j, 4), {i}, {Expr(0)}, {T}));
}
