#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "codegen_llvm/math_f32.h"
#include "ir/expr/constant_fold.h"
#include "tests/codegen_llvm/kernel_rig.h"

namespace tcc::test {
namespace {

using Reference = long double (*)(long double, long double);

struct MathRow {
  ScalarOp op;
  double ulps_f32;
  double ulps_f64;  // against libm, which has an ulp of its own
  Reference exact;
};

// Bounds are those of math_f32.h; by way of f64 or libm: 1 ulp and a little.
const MathRow kRows[] = {
    {ScalarOp::kExp, 2, 1.1, [](long double x, long double) { return expl(x); }},
    {ScalarOp::kLog, 2, 1.1, [](long double x, long double) { return logl(x); }},
    {ScalarOp::kLog1p, 1, 1.1, [](long double x, long double) { return log1pl(x); }},
    {ScalarOp::kSqrt, 0.5, 0.5, [](long double x, long double) { return sqrtl(x); }},
    {ScalarOp::kRsqrt, 1.5, 1.5, [](long double x, long double) { return 1 / sqrtl(x); }},
    {ScalarOp::kSin, 1, 1.1, [](long double x, long double) { return sinl(x); }},
    {ScalarOp::kCos, 1, 1.1, [](long double x, long double) { return cosl(x); }},
    {ScalarOp::kTan, 1, 1.1, [](long double x, long double) { return tanl(x); }},
    {ScalarOp::kAsin, 1, 1.1, [](long double x, long double) { return asinl(x); }},
    {ScalarOp::kAcos, 1, 1.1, [](long double x, long double) { return acosl(x); }},
    {ScalarOp::kAtan, 1, 1.1, [](long double x, long double) { return atanl(x); }},
    {ScalarOp::kSinh, 1, 2.1, [](long double x, long double) { return sinhl(x); }},
    {ScalarOp::kCosh, 1, 2.1, [](long double x, long double) { return coshl(x); }},
    {ScalarOp::kAsinh, 1, 2.1, [](long double x, long double) { return asinhl(x); }},
    {ScalarOp::kAcosh, 1, 2.1, [](long double x, long double) { return acoshl(x); }},
    {ScalarOp::kAtanh, 1, 2.1, [](long double x, long double) { return atanhl(x); }},
    {ScalarOp::kTanh, 3, 2.6, [](long double x, long double) { return tanhl(x); }},
    {ScalarOp::kErf, 3, 1.1, [](long double x, long double) { return erfl(x); }},
    {ScalarOp::kSigmoid, 4, 4, [](long double x, long double) { return 1 / (1 + expl(-x)); }},
    {ScalarOp::kFloor, 0, 0, [](long double x, long double) { return floorl(x); }},
    {ScalarOp::kCeil, 0, 0, [](long double x, long double) { return ceill(x); }},
    {ScalarOp::kRound, 0, 0, [](long double x, long double) { return roundevenl(x); }},
    {ScalarOp::kTrunc, 0, 0, [](long double x, long double) { return truncl(x); }},
    {ScalarOp::kAbs, 0, 0, [](long double x, long double) { return fabsl(x); }},
    {ScalarOp::kSign, 0, 0,
     [](long double x, long double) { return std::isnan(x) ? x : (x > 0) - (x < 0) + 0.0L; }},
    {ScalarOp::kPow, 1, 1.1, [](long double x, long double y) { return powl(x, y); }},
    {ScalarOp::kFMod, 0, 0, [](long double x, long double y) { return fmodl(x, y); }},
};

template <typename T>
struct FloatType;
template <>
struct FloatType<float> {
  static constexpr DType kDType = kFloat32;
  using Bits = uint32_t;
};
template <>
struct FloatType<double> {
  static constexpr DType kDType = kFloat64;
  using Bits = uint64_t;
};

// Distance in units of the last place of `exact` rounded to T; 0 where both are the same NaN or
// infinity.
template <typename T>
double UlpError(T got, long double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isnan(got)) return INFINITY;
  T rounded = static_cast<T>(exact);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (rounded == got) return 0;
    // At the threshold of overflow the largest number and infinity are neighbours.
    T largest = std::numeric_limits<T>::max();
    bool neighbours = std::abs(rounded) >= largest && std::abs(got) >= largest &&
                      std::signbit(rounded) == std::signbit(got);
    return neighbours ? 1 : INFINITY;
  }
  int exponent = std::max(rounded == 0 ? -10000 : std::ilogb(rounded),
                          std::numeric_limits<T>::min_exponent - 1);
  long double ulp = ldexpl(1, exponent + 1 - std::numeric_limits<T>::digits);
  return static_cast<double>(fabsl(got - exact) / ulp);
}

// Every special value with every other, random bits, and what networks see.
template <typename T>
void Arguments(uint64_t seed, std::vector<T>& xs, std::vector<T>& ys) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> special = {0,
                            1,
                            2,
                            3,
                            T(0.5),
                            10,
                            T(0.625),
                            4,
                            T(0.99),
                            33,
                            88,
                            89,
                            104,
                            Limits::max(),
                            Limits::min(),
                            Limits::denorm_min(),
                            Limits::epsilon(),
                            Limits::infinity(),
                            T(1e-3),
                            T(1e10),
                            T(1e20),
                            T(16777217),
                            T(1e6)};
  for (size_t i = 0, n = special.size(); i < n; ++i) special.push_back(-special[i]);
  special.push_back(Limits::quiet_NaN());
  for (T x : special) {
    for (T y : special) {
      xs.push_back(x);
      ys.push_back(y);
    }
  }
  Random random(seed);
  auto any = [&] {
    return std::bit_cast<T>(static_cast<typename FloatType<T>::Bits>(random.Next()));
  };
  for (int i = 0; i < 20000; ++i) {
    double scales[] = {1, 10, 100};
    xs.push_back(any());
    ys.push_back(any());
    for (double scale : scales) {
      xs.push_back(static_cast<T>((random.Unit() * 2 - 1) * scale));
      ys.push_back(static_cast<T>((random.Unit() * 2 - 1) * scale));
      xs.push_back(static_cast<T>(random.Unit() * scale));
      ys.push_back(static_cast<T>(random.Between(-5, 5)));
    }
  }
}

// z = op(x) or op(x, y) over `count` elements, `lanes` at once.
Function Elementwise(ScalarOp op, DType dtype, int64_t count, int lanes) {
  DType result = *ResultType(op, dtype);
  Buffer x = FlatBuffer("X", dtype, count);
  Buffer y = FlatBuffer("Y", dtype, count);
  Buffer z = FlatBuffer("Z", result, count);
  Var i = LoopVar("i");
  Expr index = lanes == 1 ? Expr(i) : Lanes(Expr(i) * Expr(lanes), lanes);
  std::vector<Expr> args = {LoadOf(x, index)};
  if (RowOf(op).arity == 2) args.push_back(LoadOf(y, index));
  return LoweredFunction("f", {x, y, z},
                         Loop(i, count / lanes, StoreTo(z, index, CallOf(op, args))));
}

template <typename T>
void CheckBound(const MathRow& row, double bound, int lanes, const char* target) {
  std::vector<T> xs;
  std::vector<T> ys;
  Arguments(7, xs, ys);
  while (xs.size() % 96 != 0) xs.pop_back();
  ys.resize(xs.size());
  std::vector<T> zs(xs.size(), T(-123));
  int64_t count = static_cast<int64_t>(xs.size());
  std::unique_ptr<JitModule> jit =
      JitOf(Elementwise(row.op, FloatType<T>::kDType, count, lanes), FindTarget(target).value());
  TestRuntime runtime;
  void* buffers[] = {xs.data(), ys.data(), zs.data()};
  REQUIRE(jit->Find("f")(&runtime.table, buffers, nullptr) == TCC_KERNEL_OK);
  double worst = -1;
  size_t at = 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    bool flushes = std::is_same_v<T, float> && xs[i] < kMinExpF32 &&
                   (row.op == ScalarOp::kExp || row.op == ScalarOp::kSigmoid);
    double error = UlpError(zs[i], flushes ? 0 : row.exact(xs[i], ys[i]));
    if (!(error <= worst)) {
      worst = error;
      at = i;
    }
  }
  INFO(RowOf(row.op).text << "(" << xs[at] << ", " << ys[at] << ") = " << zs[at] << ", lanes "
                          << lanes << ", " << target << ", " << worst << " ulp");
  CHECK(worst <= bound);
}

}  // namespace

TEST_CASE("every function of float32 keeps its error bound", "[codegen_llvm][math]") {
  for (const MathRow& row : kRows) {
    for (int lanes : {1, 3, 4, 8, 16, 32}) CheckBound<float>(row, row.ulps_f32, lanes, "native");
    CheckBound<float>(row, row.ulps_f32, 16, "x86-64-v3");
  }
}

TEST_CASE("every function of float64 keeps its error bound", "[codegen_llvm][math]") {
  for (const MathRow& row : kRows) {
    CheckBound<double>(row, row.ulps_f64, 8, "native");
    CheckBound<double>(row, row.ulps_f64, 1, "x86-64-v3");
  }
}

TEST_CASE("exponentials of arguments far below zero are no denormals", "[codegen_llvm][math]") {
  std::vector<float> xs;
  for (float x = -80; x > -110; x -= 0.001F) xs.push_back(x);
  while (xs.size() % 48 != 0) xs.pop_back();
  std::vector<float> ys(xs.size(), 0);
  for (ScalarOp op : {ScalarOp::kExp, ScalarOp::kExpDiff, ScalarOp::kSigmoid}) {
    for (const char* target : {"native", "x86-64-v3"}) {
      for (int lanes : {1, 3, 8, 16}) {
        INFO(RowOf(op).text << ", " << lanes << " lanes, " << target);
        std::vector<float> zs(xs.size(), -1);
        int64_t count = static_cast<int64_t>(xs.size());
        std::unique_ptr<JitModule> jit =
            JitOf(Elementwise(op, kFloat32, count, lanes), FindTarget(target).value());
        TestRuntime runtime;
        void* buffers[] = {xs.data(), ys.data(), zs.data()};
        REQUIRE(jit->Find("f")(&runtime.table, buffers, nullptr) == TCC_KERNEL_OK);
        auto is = [](int kind) { return [kind](float z) { return std::fpclassify(z) == kind; }; };
        CHECK(std::ranges::count_if(zs, is(FP_SUBNORMAL)) == 0);
        CHECK(std::ranges::count_if(zs, is(FP_NORMAL)) > 7000);
        CHECK(std::ranges::count_if(zs, is(FP_ZERO)) > 22000);
      }
    }
  }
}

TEST_CASE("exp_diff of equal infinities is 1", "[codegen_llvm][math]") {
  float infinity = std::numeric_limits<float>::infinity();
  for (int lanes : {1, 16}) {
    std::vector<float> xs(16, -infinity);
    std::vector<float> ys(16, -infinity);
    for (int i = 8; i < 16; ++i) {
      xs[i] = static_cast<float>(i) / 3;
      ys[i] = i % 2 ? infinity : 2;
    }
    std::vector<float> zs(16, -1);
    RunOn(Elementwise(ScalarOp::kExpDiff, kFloat32, 16, lanes), xs, ys, zs);
    for (int i = 0; i < 16; ++i) {
      double expected = xs[i] == ys[i] ? 1.0 : std::exp(double{xs[i]} - double{ys[i]});
      CHECK(zs[i] == Approx(expected).epsilon(1e-6));
    }
  }
}

TEST_CASE("nan and infinity are told from numbers", "[codegen_llvm][math]") {
  std::vector<float> xs;
  std::vector<float> ys;
  Arguments(9, xs, ys);
  while (xs.size() % 16 != 0) xs.pop_back();
  ys.resize(xs.size());
  for (int lanes : {1, 16}) {
    std::vector<uint8_t> nans(xs.size(), 9);
    std::vector<uint8_t> infinities(xs.size(), 9);
    int64_t count = static_cast<int64_t>(xs.size());
    RunOn(Elementwise(ScalarOp::kIsNan, kFloat32, count, lanes), xs, ys, nans);
    RunOn(Elementwise(ScalarOp::kIsInf, kFloat32, count, lanes), xs, ys, infinities);
    for (size_t i = 0; i < xs.size(); ++i) {
      REQUIRE(nans[i] == std::isnan(xs[i]));
      REQUIRE(infinities[i] == std::isinf(xs[i]));
    }
  }
}

}  // namespace tcc::test
