#include "runtime/measure/kernel_operands.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/measure/kernel_timing.h"
#include "support/tensor.h"

namespace tcc {
namespace {

template <typename T>
std::span<const uint8_t> BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

template <typename T>
std::span<uint8_t> WritableBytesOf(std::vector<T>& values) {
  return {reinterpret_cast<uint8_t*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

TEST_CASE("guarded memory tells on which side it was damaged", "[runtime][measure]") {
  GuardedMemory memory;
  for (int64_t bytes : {0, 1, 63, 64, 4095, 4096, 100, 20000}) {
    for (size_t slot : {0, 1, 11, 12}) {
      REQUIRE(memory.Reserve(bytes, slot, "m").ok());
      std::span<uint8_t> held = memory.bytes();
      REQUIRE(std::ssize(held) == bytes);
      CHECK(reinterpret_cast<uintptr_t>(held.data()) % 64 == 0);
      std::ranges::fill(held, uint8_t{1});
      CHECK(memory.DamagedSide().empty());
      held.data()[-1] = 0;
      CHECK(memory.DamagedSide() == "before");
      memory.RepairPattern();
      held.data()[-64] = 0;
      CHECK(memory.DamagedSide() == "before");
      memory.RepairPattern();
      held.data()[bytes] = 0;
      CHECK(memory.DamagedSide() == "after");
      memory.RepairPattern();
      held.data()[bytes + 63] = 0;
      CHECK(memory.DamagedSide() == "after");
      memory.RepairPattern();
      CHECK(std::ranges::all_of(held, [](uint8_t byte) { return byte == 1; }));
    }
  }
  CHECK(absl::IsResourceExhausted(memory.Reserve(int64_t{1} << 60, 0, "m")));
}

TEST_CASE("copies of an operand are equal, apart and reuse their memory", "[runtime][measure]") {
  OperandCopies copies;
  std::vector<uint8_t> source(100, 3);
  REQUIRE(copies.Fill(source, 5, 1, "c").ok());
  uint8_t* first = copies.at(0);
  std::ranges::fill(source, uint8_t{4});
  REQUIRE(copies.Fill(source, 3, 1, "c").ok());
  CHECK(copies.at(0) == first);
  CHECK(copies.count() == 3);
  for (int64_t i = 0; i < 3; ++i) {
    CHECK(reinterpret_cast<uintptr_t>(copies.at(i)) % 64 == 0);
    CHECK(std::equal(source.begin(), source.end(), copies.at(i)));
    if (i > 0) CHECK(copies.at(i) - copies.at(i - 1) >= 100);
  }
}

TEST_CASE("values depend on the seed alone and stay in their ranges", "[runtime][measure]") {
  for (const char* name : {"bool", "i8", "i16", "i32", "i64", "u8", "u64", "f16", "bf16", "f32",
                           "f64", "f8e4m3", "i4", "u4"}) {
    INFO(name);
    DType dtype = *ParseDType(name);
    std::vector<uint8_t> bytes(8008), again(8008);
    FillValues(dtype, bytes, 5);
    FillValues(dtype, again, 5);
    CHECK(bytes == again);
    FillValues(dtype, again, 6);
    CHECK(bytes != again);
    bool is_float = dtype.is_float() || dtype == DType(DTypeCode::kFloat8E4M3);
    int64_t count = 8008 * 8 / dtype.bits();
    Tensor view{dtype, {count}, nullptr, bytes};
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      double value = ElementAsDouble(view, i);
      REQUIRE((is_float ? std::abs(value) <= 1.75 : value == 0 || value == 1));
      sum += value;
    }
    CHECK(std::abs(sum / static_cast<double>(count) - (is_float ? 0 : 0.5)) < 0.1);
  }
}

TEST_CASE("extreme values have zeros of both signs, denormals and large ones",
          "[runtime][measure]") {
  for (DType dtype : {kFloat16, DType(DTypeCode::kBFloat16), kFloat32, kFloat64}) {
    INFO(ToString(dtype));
    std::vector<uint8_t> bytes(1 << 16);
    FillValues(dtype, bytes, 5, 1e3);
    int64_t count = (1 << 16) * 8 / dtype.bits();
    Tensor view{dtype, {count}, nullptr, bytes};
    int zeros = 0, negative_zeros = 0, denormals = 0, large = 0;
    for (int64_t i = 0; i < count; ++i) {
      double value = ElementAsDouble(view, i);
      REQUIRE(std::abs(value) <= 1e3);
      if (value == 0) ++(std::signbit(value) ? negative_zeros : zeros);
      if (value != 0 && std::abs(value) < 1e-5) ++denormals;
      if (std::abs(value) > 100) ++large;
    }
    CHECK(zeros > 0);
    CHECK(negative_zeros > 0);
    CHECK(denormals > 0);
    CHECK(large > 0);
  }
}

TEST_CASE("perturbed floats are moved by delta, and integers stay", "[runtime][measure]") {
  constexpr double kDelta = 0x1p-4;
  for (const char* name : {"f16", "bf16", "f32", "f64", "i8", "i64", "bool", "f8e4m3"}) {
    INFO(name);
    DType dtype = *ParseDType(name);
    std::vector<uint8_t> before(4096), after(4096);
    FillValues(dtype, before, 5);
    FillValues(dtype, after, 5);
    PerturbValues(dtype, after, 5, kDelta);
    CHECK((before != after) == dtype.is_float());
    if (!dtype.is_float()) continue;
    int64_t count = 4096 * 8 / dtype.bits(), up = 0;
    Tensor from{dtype, {count}, nullptr, before}, to{dtype, {count}, nullptr, after};
    for (int64_t i = 0; i < count; ++i) {
      double value = ElementAsDouble(from, i);
      if (value == 0) continue;
      double moved = ElementAsDouble(to, i) / value - 1;
      REQUIRE(std::abs(moved) == Approx(kDelta).epsilon(0.07));
      up += moved > 0;
    }
    CHECK(std::abs(2 * up - count) < count / 4);
  }
}

TEST_CASE("the hash of operands sees every byte", "[runtime][measure]") {
  std::vector<uint8_t> bytes(75, 9);
  uint64_t hash = HashOf(bytes);
  for (uint8_t& byte : bytes) {
    byte ^= 1;
    CHECK(HashOf(bytes) != hash);
    byte ^= 1;
  }
  CHECK(HashOf(bytes) == hash);
  bytes.push_back(0);
  CHECK(HashOf(bytes) != hash);
}

namespace {

template <typename T>
double ErrorBetween(DType dtype, std::vector<T> expected, std::vector<T> got,
                    const ErrorBound& bound) {
  ExpectedResult kept = KeepResult(dtype, BytesOf(expected), "e").value();
  return CompareResult(kept, BytesOf(got), bound).error;
}

}  // namespace

TEST_CASE("floats are compared in units of a bound of their rounding", "[runtime][measure]") {
  using Floats = std::vector<float>;
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  ErrorBound bound{.terms = 4, .epsilon = 0x1p-20};
  auto error = [&](const Floats& expected, const Floats& got) {
    return ErrorBetween<float>(kFloat32, expected, got, bound);
  };
  CHECK(error({1, -2}, {1, -2}) == 0);
  CHECK(error({0.0F}, {-0.0F}) == 0);
  // 16 * 2 * 2^-20 * 2 + 4 * 2^-23 * |expected|
  CHECK(error({0, -2}, {0x1p-14F, -2}) == 1);
  CHECK(error({0, -2}, {0x1p-13F, -2}) == 2);
  CHECK(error({0, 2}, {0, 2 + 0x1p-14F}) < 1);
  // Infinities have no part in the largest one.
  CHECK(error({0, -2, inf}, {0x1p-13F, -2, inf}) == 2);
  CHECK(error({nan, inf, -inf}, {-nan, inf, -inf}) == 0);
  CHECK(std::isinf(error({1, nan}, {1, 1})));
  CHECK(std::isinf(error({1, 1}, {1, nan})));
  CHECK(std::isinf(error({inf}, {-inf})));
  CHECK(std::isinf(error({inf}, {3e38F})));
  CHECK(std::isinf(error({0}, {1e-30F})));

  // The type's own epsilon is the least, for every float.
  CHECK(ErrorBetween<float>(kFloat32, {1}, {1 + 0x1p-19F}, {.terms = 1, .epsilon = 0}) < 1);
  CHECK(ErrorBetween<double>(kFloat64, {1}, {1 + 0x1p-47}, {.terms = 1, .epsilon = 0}) > 1);
  CHECK(ErrorBetween<uint16_t>(kFloat16, {FloatToHalf(1)}, {FloatToHalf(1.015F)},
                               {.terms = 1, .epsilon = 0}) < 1);
  CHECK(ErrorBetween<uint16_t>(kFloat16, {FloatToHalf(1)}, {FloatToHalf(1.05F)},
                               {.terms = 1, .epsilon = 0}) > 1);
}

TEST_CASE("one element that is off by 1 percent is found in sums of 1000 terms",
          "[runtime][measure]") {
  constexpr int kTerms = 1000, kRows = 256;
  constexpr double kDelta = 0x1p-8;
  auto sums = [](const std::vector<float>& x, const std::vector<float>& w) {
    std::vector<float> y(kRows);
    for (int i = 0; i < kRows; ++i) {
      for (int k = 0; k < kTerms; ++k) y[i] += x[i + k] * w[k];
    }
    return y;
  };
  for (double extreme : {0.0, 1e3}) {
    std::vector<float> x(kTerms + kRows), w(kTerms);
    FillValues(kFloat32, WritableBytesOf(x), 1, extreme);
    FillValues(kFloat32, WritableBytesOf(w), 2);
    std::vector<float> y = sums(x, w);
    ExpectedResult expected = KeepResult(kFloat32, BytesOf(y), "e").value();
    double largest = expected.scale;
    PerturbValues(kFloat32, WritableBytesOf(x), 1, kDelta);
    NoteSensitivity(expected, BytesOf(sums(x, w)), kDelta);
    CHECK(expected.scale >= largest);
    CHECK(expected.scale < 2 * largest);
    y[17] += static_cast<float>(0.01 * largest);
    ResultError found = CompareResult(expected, BytesOf(y), {.terms = kTerms, .epsilon = 0x1p-23});
    CHECK(found.error > 50);
    CHECK(found.element == 17);
  }
}

TEST_CASE("a sensitivity is of elements that are finite twice, and integers have none",
          "[runtime][measure]") {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  using Floats = std::vector<float>;
  auto scale = [](const Floats& values, const Floats& perturbed) {
    ExpectedResult expected = KeepResult(kFloat32, BytesOf(values), "e").value();
    NoteSensitivity(expected, BytesOf(perturbed), 0.25);
    return expected.scale;
  };
  CHECK(scale({1, -1}, {1, 1}) == 8);
  CHECK(scale({1, -4}, {1.25F, -4}) == 4);
  CHECK(scale({1, inf, nan, 2, 3}, {1, 2, 3, inf, nan}) == 3);
  CHECK(scale({inf, -inf}, {-inf, -inf}) == 0);

  std::vector<int32_t> integers = {1, 2}, others = {1, 9};
  ExpectedResult expected = KeepResult(kInt32, BytesOf(integers), "e").value();
  NoteSensitivity(expected, BytesOf(others), 0.25);
  CHECK(expected.scale == 0);
}

TEST_CASE("integers are equal, but bytes after float arithmetic may be one off",
          "[runtime][measure]") {
  ErrorBound floats{.terms = 1, .epsilon = 0x1p-23}, none{.terms = 1, .epsilon = 0};
  DType i8(DTypeCode::kInt8), u8(DTypeCode::kUInt8);
  CHECK(ErrorBetween<int8_t>(i8, {-128, 5}, {-127, 5}, floats) == 1);
  CHECK(ErrorBetween<int8_t>(i8, {-1, 5}, {0, 4}, floats) == 1);
  CHECK(ErrorBetween<int8_t>(i8, {-128}, {127}, floats) == 255);
  CHECK(std::isinf(ErrorBetween<int8_t>(i8, {3}, {4}, none)));
  CHECK(ErrorBetween<uint8_t>(u8, {255}, {253}, floats) == 2);
  CHECK(std::isinf(ErrorBetween<int32_t>(kInt32, {3}, {4}, floats)));
  CHECK(ErrorBetween<int64_t>(kInt64, {-3}, {-3}, floats) == 0);
  CHECK(std::isinf(ErrorBetween<uint8_t>(kBool, {0}, {1}, floats)));
}

TEST_CASE("timed calls take turns through the copies", "[runtime][measure]") {
  std::vector<int64_t> turns;
  StatusOr<KernelTiming> timing = TimeKernel(3, [&](int64_t copy) {
    turns.push_back(copy);
    usleep(100);
    return OkStatus();
  });
  REQUIRE(timing.ok());
  CHECK(timing->seconds > 0);
  CHECK(timing->spread >= 0);
  CHECK(std::ssize(turns) == timing->calls + 1);
  bool in_turn = true;
  for (size_t i = 0; i < turns.size(); ++i) in_turn &= turns[i] == static_cast<int64_t>(i % 3);
  CHECK(in_turn);
}

TEST_CASE("an error of a timed call ends the timing", "[runtime][measure]") {
  int calls = 0;
  Status status = TimeKernel(1, [&](int64_t) {
                    return ++calls == 3 ? absl::InternalError("third") : OkStatus();
                  }).status();
  CHECK(Message(status) == "third");
  CHECK(calls == 3);
}

}  // namespace tcc
