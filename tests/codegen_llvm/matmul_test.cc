#include <cmath>

#include "tests/codegen_llvm/kernel_rig.h"

namespace tcc::test {
namespace {

// C = A B by register tiles of `rows` x `vectors` vectors of 16 floats, rows and columns masked at
// their tails, one parallel iteration a row of tiles.
Function TiledMatmul(int64_t m, int64_t n, int64_t k, int rows, int vectors) {
  constexpr int kLanes = 16;
  int64_t width = kLanes * vectors;
  Buffer a = FlatBuffer("A", kFloat32, m * k);
  Buffer b = FlatBuffer("B", kFloat32, k * n);
  Buffer c = FlatBuffer("C", kFloat32, m * n);
  Buffer tile = FlatBuffer("tile", kFloat32, rows * width, Scope::kLocal);
  Var io = LoopVar("io");
  Var jo = LoopVar("jo");
  Var kk = LoopVar("k");
  std::vector<Stmt> clear;
  std::vector<Stmt> update;
  std::vector<Stmt> write;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t v = 0; v < vectors; ++v) {
      Expr cell = Lanes(i * width + v * kLanes, kLanes);
      Expr row = Expr(io) * Expr(rows) + Expr(i);
      Expr column = Expr(jo) * Expr(width) + Expr(v * kLanes);
      Expr row_exists = row < Expr(m);
      Expr columns_exist = Lanes(column, kLanes) < Splatted(n, kLanes);
      Expr a_value = SelectOf(row_exists, LoadOf(a, row * Expr(k) + kk), FloatConst(kFloat32, 0));
      Expr b_value = SelectOf(columns_exist, LoadOf(b, Lanes(Expr(kk) * Expr(n) + column, kLanes)),
                              Splatted(FloatConst(kFloat32, 0), kLanes));
      clear.push_back(StoreTo(tile, cell, Splatted(FloatConst(kFloat32, 0), kLanes)));
      update.push_back(
          StoreTo(tile, cell, LoadOf(tile, cell) + Splatted(a_value, kLanes) * b_value));
      write.push_back(StoreTo(c, Lanes(row * Expr(n) + column, kLanes), LoadOf(tile, cell),
                              BothOf(Splatted(row_exists, kLanes), columns_exist)));
    }
  }
  Stmt body = SeqOf({SeqOf(clear), Loop(kk, k, SeqOf(update)), SeqOf(write)});
  body = MakeStmt<Allocate>(tile, body);
  body = Loop(jo, CeilDivide(n, width), body);
  body = Loop(io, CeilDivide(m, rows), body, ForKind::kParallel);
  return LoweredFunction("matmul", {a, b, c}, body);
}

void CheckMatmul(int64_t m, int64_t n, int64_t k, int rows, int vectors) {
  INFO(m << "x" << n << "x" << k << " by " << rows << "x" << vectors);
  std::vector<float> a = RandomFloats(m * k, 1);
  std::vector<float> b = RandomFloats(k * n, 2);
  std::vector<float> c(m * n, 12345);
  RunOn(TiledMatmul(m, n, k, rows, vectors), a, b, c);
  double worst = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += static_cast<double>(a[i * k + p]) * b[p * n + j];
      worst = std::max(worst, std::abs(sum - c[i * n + j]));
    }
  }
  CHECK(worst < 1e-5);
}

}  // namespace

TEST_CASE("a matmul in register tiles gives the sums of a plain one", "[codegen_llvm]") {
  CheckMatmul(28, 64, 37, 14, 2);
  CheckMatmul(29, 51, 16, 14, 2);
  CheckMatmul(1, 1, 1, 4, 1);
  CheckMatmul(7, 197, 33, 6, 4);
  CheckMatmul(5, 3, 0, 4, 1);
}

}  // namespace tcc::test
