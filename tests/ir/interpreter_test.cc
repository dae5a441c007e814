#include "ir/interpret/interpreter.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/ir/by_hand.h"

using namespace tcc;
using namespace tcc::by_hand;

namespace {

struct Conv {
  int64_t n = 1, ci = 3, h = 7, w = 9, co = 5, k = 3, stride = 1, pad = 1;
  int64_t oh() const { return (h + 2 * pad - k) / stride + 1; }
  int64_t ow() const { return (w + 2 * pad - k) / stride + 1; }
};

// NCHW, weights OIHW.
Function ConvFunction(const Conv& c) {
  Buffer x = Declare("X", {c.n, c.ci, c.h, c.w});
  Buffer weights = Declare("W", {c.co, c.ci, c.k, c.k});
  Buffer y = Declare("Y", {c.n, c.co, c.oh(), c.ow()});
  Var n = LoopVar("n"), o = LoopVar("o"), p = LoopVar("p"), q = LoopVar("q");
  Var i = LoopVar("i"), r = LoopVar("r"), s = LoopVar("s");
  std::vector<IterVar> iters = {Spatial("n", n, c.n),    Spatial("o", o, c.co),
                                Spatial("p", p, c.oh()), Spatial("q", q, c.ow()),
                                Reduced("i", i, c.ci),   Reduced("r", r, c.k),
                                Reduced("s", s, c.k)};
  auto v = [&](int index) { return Expr(iters[index].var); };
  Expr row = v(2) * Expr(c.stride) + v(5) - Expr(c.pad);
  Expr column = v(3) * Expr(c.stride) + v(6) - Expr(c.pad);
  Expr predicate = BothOf(BothOf(Expr(0) <= row, row < Expr(c.h)),
                          BothOf(Expr(0) <= column, column < Expr(c.w)));
  Expr product = At(x, {v(0), v(4), row, column}) * At(weights, {v(1), v(4), v(5), v(6)});
  Stmt leaf = MakeStmt<Reduce>(SumCombiner(kFloat32),
                               std::vector<Access>{{y.var, {v(0), v(1), v(2), v(3)}}},
                               std::vector<Expr>{product}, ReduceInit::kFirstInstance);
  Stmt body = MakeStmt<Block>("conv", iters, std::vector<LoopGuard>{}, predicate, leaf);
  std::vector<std::pair<Var, int64_t>> loops = {{n, c.n},  {o, c.co}, {p, c.oh()}, {q, c.ow()},
                                                {i, c.ci}, {r, c.k},  {s, c.k}};
  for (size_t l = loops.size(); l-- > 0;) {
    body = MakeStmt<For>(loops[l].first, Expr(loops[l].second), ForKind::kSerial,
                         "conv/" + loops[l].first->name, body);
  }
  Function fn;
  fn.name = "conv";
  fn.params = {x, weights, y};
  fn.body = body;
  return fn;
}

double ConvAt(const Conv& c, const Tensor& x, const Tensor& w, int64_t n, int64_t o, int64_t p,
              int64_t q) {
  double sum = 0;
  for (int64_t i = 0; i < c.ci; ++i) {
    for (int64_t r = 0; r < c.k; ++r) {
      for (int64_t s = 0; s < c.k; ++s) {
        int64_t row = p * c.stride + r - c.pad;
        int64_t column = q * c.stride + s - c.pad;
        if (row < 0 || row >= c.h || column < 0 || column >= c.w) continue;
        sum += ElementAsDouble(x, ((n * c.ci + i) * c.h + row) * c.w + column) *
               ElementAsDouble(w, ((o * c.ci + i) * c.k + r) * c.k + s);
      }
    }
  }
  return sum;
}

void CheckConv(const Conv& c, const InterpretOptions& options) {
  std::vector<Tensor> tensors = {RandomTensor({c.n, c.ci, c.h, c.w}, 1),
                                 RandomTensor({c.co, c.ci, c.k, c.k}, 2),
                                 BlankTensor({c.n, c.co, c.oh(), c.ow()})};
  StatusOr<InterpretReport> report = Interpret(ConvFunction(c), tensors, options);
  INFO(report.status());
  REQUIRE(report.ok());
  CHECK(report->instances_issued == c.n * c.co * c.oh() * c.ow() * c.ci * c.k * c.k);
  int64_t index = 0;
  for (int64_t n = 0; n < c.n; ++n) {
    for (int64_t o = 0; o < c.co; ++o) {
      for (int64_t p = 0; p < c.oh(); ++p) {
        for (int64_t q = 0; q < c.ow(); ++q) {
          auto expected = static_cast<float>(ConvAt(c, tensors[0], tensors[1], n, o, p, q));
          REQUIRE(tensors[2].values<float>()[index++] == expected);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("a padded convolution is what its formula says", "[ir][interpreter]") {
  for (int lanes : {1, 7, 256}) {
    for (int64_t stride : {1, 2}) {
      CheckConv({.stride = stride}, {.max_lanes = lanes});
      CheckConv({.n = 2, .h = 11, .w = 30, .co = 2, .stride = stride, .pad = 2},
                {.max_lanes = lanes});
      CheckConv({.ci = 1, .h = 1, .w = 1, .co = 1, .stride = stride}, {.max_lanes = lanes});
    }
  }
  CheckConv({.ci = 8, .h = 33, .w = 35, .co = 12}, {.threads = 3});
}
