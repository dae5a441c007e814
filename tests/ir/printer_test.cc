#include "ir/text/printer.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "ir/expr/combiner.h"
#include "ir/expr/compare.h"
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

void CheckRoundTrip(const Function& fn) {
  std::string text = Print(fn);
  INFO(text);
  Function again = Parsed(text);
  CHECK(AlphaEqual(again, fn));
  CHECK(Print(again) == text);
}

Buffer BufferOf(const Var& var, std::vector<Expr> shape) {
  Buffer buffer;
  buffer.var = var;
  buffer.shape = std::move(shape);
  return buffer;
}

Function FunctionOf(Level level, std::vector<Buffer> params, Stmt body = Nothing()) {
  Function fn;
  fn.name = "f";
  fn.level = level;
  fn.params = std::move(params);
  fn.body = std::move(body);
  return fn;
}

}  // namespace

TEST_CASE("what is printed as canonical text stays as it is", "[ir][printer]") {
  const char* texts[] = {
      R"(combiner sum_f32(a: f32 = 0.0; b: f32) = (a + b)
fn mm(A: f32[13, 11], B: f32[11, 9], C: f32[13, 9]) tensor {
  for i in 0..13 @mm/i {
    for j in 0..9 @mm/j {
      for k in 0..11 @mm/k {
        block mm(i: spatial 13 = i, j: spatial 9 = j, k: reduce 11 = k) {
          reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
        }
      }
    }
  }
}
)",
      R"(fn tiled<tile f in 1..=64, shape N in -1..=4096 usual 128>(A: f32[N], B: f32[N] constant) scheduled {
  for io in 0..ceildiv(N, f) blockIdx.x @b/i.0 {
    alloc S: f32[N] shared window [io * f - 1] size [f + 2] versions 2 circular 0
    for ii in 0..f threadIdx.x @b/i.1 {
      block b(i: spatial N = io * f + ii) guard (io * f + ii < N) where i mod 2 == 0 {
        S[i] = A[i] + 1.0
        B[i] = select(0.5 < S[i], exp(S[i]), -inf)
      }
    }
    barrier(shared)
  }
}
)",
      R"(fn vectors(A: f32[64], B: f32[64], M: bool[64]) lowered attributes("op" = "Relu \"x\"") {
  B[ramp(0, 1, 8)] = max(A[ramp(0, 1, 8)], 0.0) mask M[ramp(0, 1, 8)] && ramp(0, 1, 8) < broadcast(5, 8)
  let x = 3:i32
  let y = f16(x)
  {
    async_copy A[0] from B[4] count 4
    async_copy A[4] from B[0] count 4 where M[2] && y < 1.5
  }
  async_commit
  async_wait(0)
  barrier(warp)
  if y < 1.5 {
  } else {
    M[0] = !M[1]
  }
}
)",
      R"(fn layouts(A: f32[4, 64] strides [128, 2] offset 7 blocks [1 by 16] swizzle(3, 4, 5)) scheduled {
}
)",
  };
  for (const char* text : texts) {
    Function fn = Parsed(text);
    CHECK(Print(fn) == text);
    CheckRoundTrip(fn);
  }
}

TEST_CASE("variables with one hint are told apart by suffixes in order of definition",
          "[ir][printer]") {
  Var a = BufferVar("x", kInt64);
  Var first = LoopVar("x");
  Var second = LoopVar("x_1");
  Var third = LoopVar("x");
  Stmt store = MakeStmt<Store>(a, std::vector<Expr>{first}, second + third);
  for (const Var& var : {third, second, first}) {
    store = MakeStmt<For>(var, Expr(3), ForKind::kSerial, "", store);
  }
  Function fn = FunctionOf(Level::kLowered, {BufferOf(a, {9})});
  fn.body = store;
  CHECK(Print(fn) == R"(fn f(x: i64[9]) lowered {
  for x_1 in 0..3 {
    for x_1_1 in 0..3 {
      for x_2 in 0..3 {
        x[x_1] = x_1_1 + x_2
      }
    }
  }
}
)");
  CheckRoundTrip(fn);
}

TEST_CASE("an iteration variable is renamed where its name would hide one that is used",
          "[ir][printer]") {
  Var a = BufferVar("A", kInt64);
  Var loop = LoopVar("i");
  Var iter = IterationVar("i");
  Stmt store = MakeStmt<Store>(a, std::vector<Expr>{iter}, loop);
  Stmt block = MakeStmt<Block>("b", std::vector<IterVar>{{iter, IterKind::kSpatial, loop, 3}},
                               std::vector<LoopGuard>{}, True(), store);
  Function fn = FunctionOf(Level::kScheduled, {BufferOf(a, {3})});
  fn.body = MakeStmt<For>(loop, Expr(3), ForKind::kSerial, "k", block);
  CHECK(Print(fn).find("block b(i_1: spatial 3 = i) {\n      A[i_1] = i") != std::string::npos);
  CheckRoundTrip(fn);
}

TEST_CASE("names may hold any characters and may be keywords", "[ir][printer]") {
  std::vector<std::string> names = {
      "for",  "conv1.weight:0",      "",     "a\"b\\c",      "\n\t", "f32",
      "true", std::string("\0x", 2), "0abc", "\xc3\xa9\xff", "min",  "a..b"};
  Function fn = FunctionOf(Level::kLowered, {});
  fn.name = "fn";
  std::vector<Stmt> stores;
  for (const std::string& name : names) {
    Var var = BufferVar(name, kFloat32);
    fn.params.push_back(BufferOf(var, {1}));
    stores.push_back(
        MakeStmt<Store>(var, std::vector<Expr>{0}, Make<Load>(var, std::vector<Expr>{0})));
  }
  fn.attributes[""] = "line\nbreak";
  Stmt body = SeqOf(stores);
  for (const std::string& name : names) {
    body = MakeStmt<For>(LoopVar(name), Expr(1), ForKind::kSerial, name, body);
  }
  fn.body = body;
  CheckRoundTrip(fn);
}

TEST_CASE("constants come back bit for bit", "[ir][printer]") {
  using Limits = std::numeric_limits<double>;
  const double values[] = {0.0,
                           -0.0,
                           0.1,
                           -1.0,
                           1e300,
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           -Limits::quiet_NaN(),
                           Limits::signaling_NaN(),
                           Limits::denorm_min(),
                           Limits::max(),
                           1e16,
                           123456789.125};
  for (DTypeCode code :
       {DTypeCode::kFloat16, DTypeCode::kBFloat16, DTypeCode::kFloat32, DTypeCode::kFloat64}) {
    for (int lanes : {1, 4}) {
      for (double value : values) {
        Expr constant = FloatConst(DType(code, lanes), value);
        INFO(Print(constant));
        StatusOr<Expr> again = ParseExpr(Print(constant), {});
        REQUIRE(again.ok());
        CHECK(Equal(*again, constant));
      }
    }
  }
  for (DTypeCode code : {DTypeCode::kBool, DTypeCode::kInt8, DTypeCode::kUInt8, DTypeCode::kInt32,
                         DTypeCode::kInt64, DTypeCode::kUInt64}) {
    for (int lanes : {1, 4}) {
      for (int64_t value : {int64_t{0}, int64_t{1}, MinValue(code), MaxValue(code)}) {
        Expr constant = IntConst(DType(code, lanes), value);
        INFO(Print(constant));
        StatusOr<Expr> again = ParseExpr(Print(constant), {});
        REQUIRE(again.ok());
        CHECK(Equal(*again, constant));
      }
    }
  }
}

TEST_CASE("numbers carry a type only where it cannot be found", "[ir][printer]") {
  Expr x = IterationVar("x", kFloat64);
  Expr one = FloatConst(kFloat64, 1);
  CHECK(Print(x + one) == "x + 1.0");
  CHECK(Print(one + x) == "1.0 + x");
  CHECK(Print((one + one) * x) == "(1.0:f64 + 1.0) * x");
  CHECK(Print(x * (one + one)) == "x * (1.0 + 1.0)");
  CHECK(Print(one < one) == "1.0:f64 < 1.0");
  CHECK(Print(CastTo(kInt32, one)) == "i32(1.0:f64)");
  CHECK(Print(FloatConst(kFloat32, 2) < FloatConst(kFloat32, 3)) == "2.0 < 3.0");
}

TEST_CASE("parentheses stand only where they are needed", "[ir][printer]") {
  Expr a = LoopVar("a"), b = LoopVar("b"), c = LoopVar("c");
  CHECK(Print(a + b * c - a) == "a + b * c - a");
  CHECK(Print((a + b) * c) == "(a + b) * c");
  CHECK(Print(a - (b - c)) == "a - (b - c)");
  CHECK(Print(a - b - c) == "a - b - c");
  CHECK(Print(FloorDivide(a, b * c)) == "a div (b * c)");
  CHECK(Print(Make<Eq>(a < b, b < c)) == "(a < b) == (b < c)");
  CHECK(Print(Make<Not>(BothOf(a < b, b < c))) == "!(a < b && b < c)");
}

TEST_CASE("every standard combiner is found by its name and round-trips", "[ir][printer]") {
  const Combiner combiners[] = {SumCombiner(kFloat32),
                                ProductCombiner(DTypeCode::kUInt8),
                                MaxCombiner(kFloat64),
                                MinCombiner(DTypeCode::kUInt64),
                                AndCombiner(),
                                OrCombiner(),
                                SoftmaxCombiner(kFloat32),
                                AttentionCombiner(kFloat64),
                                MaxCombiner(kBool),
                                ArgMaxCombiner(kFloat32, TieBreak::kFirst),
                                ArgMinCombiner(kInt32, TieBreak::kLast)};
  for (const Combiner& combiner : combiners) {
    INFO(combiner->name);
    CHECK(FindStandardCombiner(combiner->name).get() == combiner.get());
    std::vector<Access> outputs;
    Function fn = FunctionOf(Level::kTensor, {});
    fn.name = "f";
    for (const Expr& identity : combiner->identities) {
      Var var = BufferVar("A", identity.dtype());
      fn.params.push_back(BufferOf(var, {1}));
      outputs.push_back({var, {Expr(0)}});
    }
    fn.body = MakeStmt<Reduce>(combiner, outputs, combiner->identities, ReduceInit::kDecomposed);
    CheckRoundTrip(fn);
  }
  for (const char* name : {"sum_bool", "and_f32", "softmax_i32", "max_i4", "sum_f32x4", "sum"}) {
    INFO(name);
    CHECK_FALSE(FindStandardCombiner(name));
  }
}

TEST_CASE("a combiner of one's own with direct forms round-trips", "[ir][printer]") {
  CheckRoundTrip(Parsed(R"(
    combiner expsum(m: f32 = -inf, s: f32 = 0; n: f32, t: f32) =
        (max(m, n), s * exp_diff(m, max(m, n)) + t * exp_diff(n, max(m, n)))
        direct (n by max_f32, exp_diff(n, m) by sum_f32)
    fn f(M: f32[1], S: f32[1], X: f32[9]) {
      for i in 0..9 {
        block b(k: reduce 9 = i) { reduce expsum init (M[0], S[0]) with (X[k], 1) }
      }
    })"));
}
