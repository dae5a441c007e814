#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "support/storage_types.h"
#include "tests/codegen_cuda/emulated/emulated_program.h"
#include "tests/codegen_cuda/nvrtc_rig.h"

using namespace tcc;
using namespace tcc::test;

namespace {

// Runs a lowered function in text form on these bytes, one vector a parameter.
void RunOn(const std::string& text, std::vector<std::vector<uint8_t>>& buffers) {
  Function fn = MustParse(text);
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < buffers.size(); ++i) {
    int64_t count = *AsConstant(fn.params[i].shape[0]);
    arguments.push_back(MakeTensor(fn.params[i].dtype(), {count}, buffers[i]));
  }
  Status status = RunEmulated(fn, GpuTarget("sm_86"), arguments);
  INFO(Message(status));
  REQUIRE(status.ok());
  for (size_t i = 0; i < buffers.size(); ++i)
    buffers[i].assign(arguments[i].bytes.begin(), arguments[i].bytes.end());
}

template <typename T>
std::vector<uint8_t> BytesOf(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
T ValueAt(const std::vector<uint8_t>& bytes, size_t i) {
  T value;
  memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

// A float of 8 bits, by its definition.
struct Format {
  const char* name;
  int exponent_bits;
  int mantissa_bits;
  int largest;  // code of the largest number
};
constexpr Format kFormats[] = {{"f8e4m3", 4, 3, 0x7e}, {"f8e5m2", 5, 2, 0x7b}};

double MagnitudeOf(const Format& format, int code) {
  int bias = (1 << (format.exponent_bits - 1)) - 1;
  int exponent = code >> format.mantissa_bits;
  int mantissa = code & ((1 << format.mantissa_bits) - 1);
  if (exponent == 0) return std::ldexp(mantissa, 1 - bias - format.mantissa_bits);
  return std::ldexp(mantissa + (1 << format.mantissa_bits), exponent - bias - format.mantissa_bits);
}

// The nearest number, the even one of two; those beyond the largest become it.
int NearestCode(const Format& format, double magnitude) {
  int best = 0;
  for (int code = 1; code <= format.largest; ++code) {
    double distance = std::abs(MagnitudeOf(format, code) - magnitude);
    double before = std::abs(MagnitudeOf(format, best) - magnitude);
    if (distance < before || (distance == before && code % 2 == 0)) best = code;
  }
  return best;
}

}  // namespace

TEST_CASE("packed elements are read and written by different threads", "[codegen_cuda]") {
  constexpr int kCount = 33;
  for (DTypeCode code :
       {DTypeCode::kInt4, DTypeCode::kUInt4, DTypeCode::kInt2, DTypeCode::kUInt2}) {
    const DType type(code);
    const int per_byte = PackedPerByte(type), values = 1 << type.bits();
    std::vector<uint8_t> packed((kCount + per_byte - 1) / per_byte);
    auto value = [&](int i) { return (i * 7 + 3) % values + static_cast<int>(MinValue(type)); };
    auto shift = [&](int i) { return i % per_byte * type.bits(); };
    for (int i = 0; i < kCount; ++i) {
      packed[i / per_byte] |= static_cast<uint8_t>((value(i) & (values - 1)) << shift(i));
    }
    std::vector<std::vector<uint8_t>> buffers = {packed, std::vector<uint8_t>(kCount * 4),
                                                 std::vector<uint8_t>(packed.size())};
    RunOn(fmt::format(R"(
fn nibbles(X: {0}[33], Y: i32[33], Z: {0}[33]) lowered {{
  for i in 0..33 threadIdx.x {{
    Y[i] = i32(X[i])
    Z[i] = {0}(i32(X[i]) + 1)
  }}
}})",
                      ToString(type)),
          buffers);
    for (int i = 0; i < kCount; ++i) {
      INFO(ToString(type) << " " << i);
      CHECK(ValueAt<int32_t>(buffers[1], i) == value(i));
      CHECK((buffers[2][i / per_byte] >> shift(i) & (values - 1)) ==
            ((value(i) + 1) & (values - 1)));
    }
  }
}

// They were stored by atomic steps, which registers and stacks have no addresses for.
TEST_CASE("a thread's own packed elements are stored without atomics", "[codegen_cuda][nvrtc]") {
  constexpr int kCount = 14;
  for (const auto& [type, least] : {std::pair("i4", -8), {"u2", 0}}) {
    const int values = least == 0 ? 4 : 16;
    auto value = [&](int i) { return i % values + least; };
    std::vector<std::vector<uint8_t>> buffers = {std::vector<uint8_t>(kCount),
                                                 std::vector<uint8_t>(kCount * 4)};
    for (int i = 0; i < kCount; ++i) buffers[0][i] = static_cast<uint8_t>(value(i));
    const std::string text = fmt::format(R"(
fn own(X: i8[14], Y: i32[14]) lowered {{
  for i in 0..2 threadIdx.x {{
    alloc own: {0}[7] local
    for j in 0..7 {{ own[6 - j] = {0}(X[i * 7 + j]) }}
    for j in 0..7 {{ Y[i * 7 + j] = i32(own[j]) }}
  }}
}})",
                                         type);
    RunOn(text, buffers);
    for (int i = 0; i < kCount; ++i) {
      INFO(type << " " << i);
      CHECK(ValueAt<int32_t>(buffers[1], i) == value(i / 7 * 7 + 6 - i % 7));
    }
    CudaSource source = SourceOf({MustParse(text)});
    CHECK(source.text.find("tcc_store_packed(own_") == std::string::npos);
    MustCompile(source);
  }
}

TEST_CASE("an infinity of f8e5m2 that is copied stays one, and a cast makes none",
          "[codegen_cuda]") {
  std::vector<std::vector<uint8_t>> buffers = {{0x7c, 0xfc, 0x7b, 0x81},
                                               BytesOf<float>({INFINITY, -INFINITY, 7e4f, 1}),
                                               std::vector<uint8_t>(4),
                                               std::vector<uint8_t>(4)};
  RunOn(R"(
fn copied(X: f8e5m2[4], V: f32[4], Y: f8e5m2[4], Z: f8e5m2[4]) lowered {
  for i in 0..4 threadIdx.x {
    Y[i] = X[i]
    Z[i] = f8e5m2(V[i])
  }
})",
        buffers);
  CHECK(buffers[2] == buffers[0]);
  CHECK(buffers[3] == std::vector<uint8_t>{0x7b, 0xfb, 0x7b, 0x3c});
}

TEST_CASE("floats beyond a packed type's range saturate, and NaN becomes 0", "[codegen_cuda]") {
  std::vector<std::vector<uint8_t>> buffers = {
      BytesOf<float>({7.9f, 8, -8.9f, -1e30f, INFINITY, NAN, -0.9f, 15.99f}),
      std::vector<uint8_t>(4), std::vector<uint8_t>(4), std::vector<uint8_t>(2),
      std::vector<uint8_t>(2)};
  RunOn(R"(
fn cut(V: f32[8], Y: i4[8], Z: u4[8], S: i2[8], T: u2[8]) lowered {
  for i in 0..8 threadIdx.x {
    Y[i] = i4(V[i])
    Z[i] = u4(V[i])
    S[i] = i2(V[i])
    T[i] = u2(V[i])
  }
})",
        buffers);
  CHECK(buffers[1] == std::vector<uint8_t>{0x77, 0x88, 0x07, 0x70});
  CHECK(buffers[2] == std::vector<uint8_t>{0x87, 0x00, 0x0f, 0xf0});
  CHECK(buffers[3] == std::vector<uint8_t>{0b10'10'01'01, 0b01'00'00'01});
  CHECK(buffers[4] == std::vector<uint8_t>{0b00'00'11'11, 0b11'00'00'11});
}

TEST_CASE("every 8-bit float is widened, and floats are rounded to the nearest one",
          "[codegen_cuda]") {
  for (const Format& format : kFormats) {
    std::vector<uint8_t> codes(256);
    for (int i = 0; i < 256; ++i) codes[i] = static_cast<uint8_t>(i);
    std::vector<float> samples;
    for (int code = 0; code <= format.largest; ++code) {
      double low = MagnitudeOf(format, code);
      double high = code < format.largest ? MagnitudeOf(format, code + 1) : 2 * low;
      for (double x :
           {low, (low + high) / 2, low + (high - low) * 0.49, low + (high - low) * 0.51}) {
        samples.push_back(static_cast<float>(x));
        samples.push_back(static_cast<float>(-x));
      }
    }
    std::vector<std::vector<uint8_t>> buffers = {codes, std::vector<uint8_t>(256 * 4),
                                                 BytesOf(samples),
                                                 std::vector<uint8_t>(samples.size())};
    RunOn(fmt::format(R"(
fn floats(X: {0}[256], Y: f32[256], V: f32[{1}], Z: {0}[{1}]) lowered {{
  for i in 0..256 threadIdx.x {{ Y[i] = f32(X[i]) }}
  for b in 0..{1} blockIdx.x {{ for one in 0..1 threadIdx.x {{ Z[b] = {0}(V[b]) }} }}
}})",
                      format.name, samples.size()),
          buffers);
    for (int code = 0; code <= format.largest; ++code) {
      INFO(format.name << " " << code);
      CHECK(ValueAt<float>(buffers[1], code) == MagnitudeOf(format, code));
      CHECK(ValueAt<float>(buffers[1], code + 128) == -MagnitudeOf(format, code));
    }
    CHECK(std::isnan(ValueAt<float>(buffers[1], 0x7f)));
    for (size_t i = 0; i < samples.size(); ++i) {
      INFO(format.name << " of " << samples[i]);
      int sign = std::signbit(samples[i]) ? 0x80 : 0;
      CHECK(buffers[3][i] == (NearestCode(format, std::abs(double{samples[i]})) | sign));
    }
  }
}
