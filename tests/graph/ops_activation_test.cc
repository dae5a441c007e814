#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

using Doubles = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();

Doubles Applied(OpKind op, const Doubles& x, const Attributes& attributes = {}) {
  Tensor in = F32({static_cast<int64_t>(x.size())}, x);
  return ValuesOf(ResultOf({.op = op, .inputs = {in}, .attributes = attributes}));
}

Tensor U(DTypeCode type, const Doubles& x) {
  return Of(type, {static_cast<int64_t>(x.size())}, x);
}

}  // namespace

TEST_CASE("activations give the values of their formulas", "[graph][ops]") {
  struct Row {
    OpKind op;
    Attributes attributes;
    double (*expected)(double);
  };
  const Row rows[] = {
      {OpKind::kCelu, {{"alpha", 2.0}}, [](double v) { return v > 0 ? v : 2 * std::expm1(v / 2); }},
      {OpKind::kElu, {{"alpha", 2.0}}, [](double v) { return v > 0 ? v : 2 * std::expm1(v); }},
      {OpKind::kGelu, {}, [](double v) { return v * 0.5 * std::erfc(-v / std::sqrt(2)); }},
      {OpKind::kGelu,
       {{"approximate", std::string("tanh")}},
       [](double v) {
         double inner = std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v);
         return 0.5 * v * (1 + std::tanh(inner));
       }},
      {OpKind::kMish, {}, [](double v) { return v * std::tanh(std::log1p(std::exp(v))); }},
      {OpKind::kSelu,
       {{"alpha", 1.5}, {"gamma", 2.0}},
       [](double v) { return 2 * (v > 0 ? v : 1.5 * std::expm1(v)); }},
      {OpKind::kSoftplus, {}, [](double v) { return std::log1p(std::exp(v)); }},
      {OpKind::kSoftsign, {}, [](double v) { return v / (1 + std::fabs(v)); }},
      {OpKind::kSwish, {{"alpha", 3.0}}, [](double v) { return v / (1 + std::exp(-3 * v)); }},
      {OpKind::kShrink,
       {{"bias", 0.25}, {"lambd", 0.5}},
       [](double v) { return v < -0.5  ? v + 0.25
                             : v > 0.5 ? v - 0.25
                                       : 0; }},
      {OpKind::kThresholdedRelu, {{"alpha", 0.5}}, [](double v) { return v > 0.5 ? v : 0; }},
  };
  const Doubles x = {-5, -1, -0.5, -1e-5, 0, 1e-5, 0.25, 0.5, 1, 6};
  for (const Row& row : rows) {
    Doubles got = Applied(row.op, x, row.attributes);
    for (size_t i = 0; i < x.size(); ++i) {
      INFO(ToString(row.op) << "(" << x[i] << ")");
      double expected = row.expected(static_cast<float>(x[i]));
      CHECK(got[i] == Approx(expected).epsilon(1e-5).margin(1e-12));
    }
  }
}

TEST_CASE("activations of large arguments neither overflow nor vanish", "[graph][ops]") {
  CHECK(Applied(OpKind::kSoftplus, {1000, -1000}) == Doubles{1000, 0});
  CHECK(Applied(OpKind::kElu, {1000, -1000, -kInf}) == Doubles{1000, -1, -1});
  CHECK(Applied(OpKind::kMish, {1000}) == Doubles{1000});
  CHECK(Applied(OpKind::kGelu, {1000}) == Doubles{1000});
}

TEST_CASE("trigonometric and hyperbolic functions and their inverses", "[graph][ops]") {
  struct Row {
    OpKind op;
    double (*expected)(double);
  };
  const Row rows[] = {
      {OpKind::kAcos, std::acos}, {OpKind::kAsin, std::asin},   {OpKind::kAsinh, std::asinh},
      {OpKind::kAtan, std::atan}, {OpKind::kAtanh, std::atanh}, {OpKind::kCos, std::cos},
      {OpKind::kCosh, std::cosh}, {OpKind::kSin, std::sin},     {OpKind::kSinh, std::sinh},
      {OpKind::kTan, std::tan},
  };
  const Doubles x = {-0.75, -0.25, 0, 0.5, 0.875};
  for (const Row& row : rows) {
    Doubles got = Applied(row.op, x);
    for (size_t i = 0; i < x.size(); ++i) {
      INFO(ToString(row.op) << "(" << x[i] << ")");
      CHECK(got[i] == Approx(row.expected(x[i])).epsilon(1e-6).margin(1e-7));
    }
  }
  CHECK(Applied(OpKind::kAcosh, {1, 2})[1] == Approx(std::acosh(2)));
}

TEST_CASE("infinities are found by their sign", "[graph][ops]") {
  Doubles x = {-kInf, 0, kInf};
  CHECK(Applied(OpKind::kIsInf, x) == Doubles{1, 0, 1});
  CHECK(Applied(OpKind::kIsInf, x, {{"detect_negative", int64_t{0}}}) == Doubles{0, 0, 1});
  CHECK(Applied(OpKind::kIsInf, x, {{"detect_positive", int64_t{0}}}) == Doubles{1, 0, 0});
  CHECK(Applied(OpKind::kIsNaN, {0, std::nan("")}) == Doubles{0, 1});
}

TEST_CASE("bits are shifted out of unsigned integers", "[graph][ops]") {
  for (DTypeCode type :
       {DTypeCode::kUInt8, DTypeCode::kUInt16, DTypeCode::kUInt32, DTypeCode::kUInt64}) {
    auto shifted = [&](const char* direction) {
      return ValuesOf(ResultOf({.op = OpKind::kBitShift,
                                .inputs = {U(type, {255, 3, 1}), U(type, {1, 1, 70})},
                                .attributes = {{"direction", std::string(direction)}}}));
    };
    CHECK(shifted("RIGHT") == Doubles{127, 1, 0});
    CHECK(shifted("LEFT") == Doubles{type == DTypeCode::kUInt8 ? 254.0 : 510.0, 6, 0});
  }
}

TEST_CASE("bitwise functions work on each bit", "[graph][ops]") {
  Tensor a = U(DTypeCode::kInt8, {12, -1});
  Tensor b = U(DTypeCode::kInt8, {10, 5});
  auto result = [&](OpKind op) { return ValuesOf(ResultOf({.op = op, .inputs = {a, b}})); };
  CHECK(result(OpKind::kBitwiseAnd) == Doubles{8, 5});
  CHECK(result(OpKind::kBitwiseOr) == Doubles{14, -1});
  CHECK(result(OpKind::kBitwiseXor) == Doubles{6, -6});
  CHECK(ValuesOf(ResultOf({.op = OpKind::kBitwiseNot, .inputs = {a}})) == Doubles{-13, 0});
  Tensor p = Of(kBool, {4}, {0, 0, 1, 1});
  Tensor q = Of(kBool, {4}, {0, 1, 0, 1});
  CHECK(ValuesOf(ResultOf({.op = OpKind::kXor, .inputs = {p, q}})) == Doubles{0, 1, 1, 0});
}

TEST_CASE("a slope is broadcast over what is below 0", "[graph][ops]") {
  Tensor x = F32({2, 2}, {-1, -2, 3, -4});
  CHECK(ValuesOf(ResultOf({.op = OpKind::kPRelu, .inputs = {x, F32({2, 1}, {0.5, 2})}})) ==
        Doubles{-0.5, -1, 3, -8});
}

TEST_CASE("powers of integers are exact beyond 2^53", "[graph][ops]") {
  auto power = [](const Tensor& base, const Tensor& exponent) {
    return ResultOf({.op = OpKind::kPow, .inputs = {base, exponent}});
  };
  Tensor big = power(I64({3}, {3, -3, 7}), I64({3}, {39, 39, 22}));
  CHECK(ElementAsInt(big, 0) == 4052555153018976267);
  CHECK(ElementAsInt(big, 1) == -4052555153018976267);
  CHECK(ElementAsInt(big, 2) == 3909821048582988049);
  CHECK(ValuesOf(power(Of(kInt32, {5}, {2, 0, 0, 1, -1}), I64({5}, {10, 0, 64, 99, 99}))) ==
        Doubles{1024, 1, 0, 1, -1});
  CHECK(ValuesOf(power(Of(kInt32, {3}, {2, 1, -1}), I64({3}, {-1, -3, -3}))) == Doubles{0, 1, -1});
}
