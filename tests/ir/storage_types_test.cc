#include "support/storage_types.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "ir/interpret/interpreter.h"
#include "ir/text/parser.h"

using namespace tcc;

namespace {

const DType kE4M3{DTypeCode::kFloat8E4M3}, kE5M2{DTypeCode::kFloat8E5M2};
const DType kI4{DTypeCode::kInt4}, kU4{DTypeCode::kUInt4};
const DType kI2{DTypeCode::kInt2}, kU2{DTypeCode::kUInt2};

StatusOr<Function> Parsed(const std::string& text) {
  return ParseFunction(text);
}

// One cast of `from` to the type of the other tensor, by the interpreter.
Tensor Casted(const Tensor& from, DType to) {
  StatusOr<Function> fn = Parsed(fmt::format(R"(
fn cast(X: {0}[{2}], Y: {1}[{2}]) tensor {{
  for i in 0..{2} @y/i {{ block y(i: spatial {2} = i) {{ Y[i] = {3} }} }}
}})",
                                             ToString(from.dtype), ToString(to), from.shape[0],
                                             from.dtype == to ? "X[i]" : ToString(to) + "(X[i])"));
  INFO(Message(fn.status()));
  REQUIRE(fn.ok());
  std::vector<Tensor> tensors = {from, MakeZeroTensor(to, from.shape)};
  REQUIRE(Interpret(*fn, tensors).ok());
  return tensors[1];
}

Tensor Reals(std::vector<double> values) {
  Tensor tensor = MakeZeroTensor(kFloat64, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) SetElement(tensor, static_cast<int64_t>(i), values[i]);
  return tensor;
}

Tensor AllCodes(DType dtype) {
  Tensor tensor = MakeZeroTensor(dtype, {256});
  for (int i = 0; i < 256; ++i) MutableBytes(tensor)[i] = static_cast<uint8_t>(i);
  return tensor;
}

// Whole elements, as integers.
std::vector<int64_t> Integers(const Tensor& tensor) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < tensor.shape[0]; ++i) values.push_back(ElementAsInt(tensor, i));
  return values;
}

}  // namespace

// Table 1 of Micikevicius et al., FP8 Formats for Deep Learning, and ONNX's page on float 8.
TEST_CASE("8-bit floats have the values that their formats define", "[ir]") {
  CHECK(Float8ToDouble(kE4M3, 0x7e) == 448);
  CHECK(Float8ToDouble(kE4M3, 0x08) == 0x1p-6);
  CHECK(Float8ToDouble(kE4M3, 0x07) == 0.875 * 0x1p-6);
  CHECK(Float8ToDouble(kE4M3, 0x01) == 0x1p-9);
  CHECK(Float8ToDouble(kE4M3, 0xb8) == -1);
  CHECK(std::isnan(Float8ToDouble(kE4M3, 0x7f)));
  CHECK(std::isnan(Float8ToDouble(kE4M3, 0xff)));
  CHECK(Float8ToDouble(kE5M2, 0x7b) == 57344);
  CHECK(Float8ToDouble(kE5M2, 0x04) == 0x1p-14);
  CHECK(Float8ToDouble(kE5M2, 0x03) == 0.75 * 0x1p-14);
  CHECK(Float8ToDouble(kE5M2, 0x01) == 0x1p-16);
  CHECK(Float8ToDouble(kE5M2, 0x7c) == HUGE_VAL);
  CHECK(Float8ToDouble(kE5M2, 0xfc) == -HUGE_VAL);
  for (int code : {0x7d, 0x7e, 0x7f, 0xfd}) {
    CHECK(std::isnan(Float8ToDouble(kE5M2, static_cast<uint8_t>(code))));
  }
}

// By comparing distances.
TEST_CASE("doubles become the nearest 8-bit float, an even one of two, and saturate", "[ir]") {
  for (DType dtype : {kE4M3, kE5M2}) {
    const int largest = dtype == kE4M3 ? 0x7e : 0x7b;
    auto value = [&](int code) { return Float8ToDouble(dtype, static_cast<uint8_t>(code)); };
    for (int code = 0; code < largest; ++code) {
      const double low = value(code), high = value(code + 1), middle = (low + high) / 2;
      INFO(ToString(dtype) << " " << code);
      REQUIRE(low < high);
      CHECK(DoubleToFloat8(dtype, low) == code);
      CHECK(DoubleToFloat8(dtype, -low) == (code | 0x80));
      CHECK(DoubleToFloat8(dtype, middle) == (code % 2 == 0 ? code : code + 1));
      CHECK(DoubleToFloat8(dtype, std::nextafter(middle, low)) == code);
      CHECK(DoubleToFloat8(dtype, std::nextafter(middle, high)) == code + 1);
    }
    for (double beyond : {value(largest) * 1.0001, 1e6, 1e300}) {
      CHECK(DoubleToFloat8(dtype, beyond) == largest);
      CHECK(DoubleToFloat8(dtype, -beyond) == (largest | 0x80));
    }
    CHECK(DoubleToFloat8(dtype, std::nan("")) == 0x7f);
    CHECK(DoubleToFloat8(dtype, 1e-300) == 0);
  }
}

TEST_CASE("the interpreter reads and writes 8-bit floats", "[ir]") {
  for (DType dtype : {kE4M3, kE5M2}) {
    const Tensor codes = AllCodes(dtype);
    const Tensor same = Casted(codes, dtype);
    const Tensor wide = Casted(codes, kFloat32);
    for (int i = 0; i < 256; ++i) {
      INFO(ToString(dtype) << " " << i);
      const double value = Float8ToDouble(dtype, static_cast<uint8_t>(i));
      const double got = ElementAsDouble(wide, i);
      CHECK((std::isnan(value) ? std::isnan(got) : got == value));
      // Floats are kept as numbers: a NaN stays one, not always the same.
      if (!std::isnan(value)) CHECK(same.bytes[i] == i);
      if (std::isnan(value)) CHECK((same.bytes[i] & 0x7f) == 0x7f);
    }
  }
  const Tensor narrow = Casted(Reals({0.3, -1000, std::nan(""), 17, 19, -0.0}), kE4M3);
  CHECK(std::vector<uint8_t>(narrow.bytes.begin(), narrow.bytes.end()) ==
        std::vector<uint8_t>{0x2a, 0xfe, 0x7f, 0x58, 0x5a, 0x80});
  const Tensor finite = Casted(Reals({HUGE_VAL, -HUGE_VAL, 61441, 6e4}), kE5M2);
  CHECK(std::vector<uint8_t>(finite.bytes.begin(), finite.bytes.end()) ==
        std::vector<uint8_t>{0x7b, 0xfb, 0x7b, 0x7b});
}

TEST_CASE("the interpreter reads and writes nibbles, two a byte", "[ir]") {
  Tensor i4 = MakeTensor(kI4, {5}, std::vector<uint8_t>{0x8f, 0x70, 0x09});
  const Tensor wide = Casted(i4, kInt32);
  const std::vector<int32_t> values(wide.values<int32_t>().begin(), wide.values<int32_t>().end());
  CHECK(values == std::vector<int32_t>{-1, -8, 0, 7, -7});
  const Tensor unsigned_too =
      Casted(MakeTensor(kU4, {3}, std::vector<uint8_t>{0x8f, 0x09}), kInt32);
  CHECK(unsigned_too.values<int32_t>()[0] == 15);
  CHECK(unsigned_too.values<int32_t>()[1] == 8);
  CHECK(unsigned_too.values<int32_t>()[2] == 9);
  const Tensor back = Casted(wide, kI4);
  CHECK(std::vector<uint8_t>(back.bytes.begin(), back.bytes.end()) ==
        std::vector<uint8_t>{0x8f, 0x70, 0x09});
}

TEST_CASE("the interpreter reads and writes elements of two bits, four a byte", "[ir]") {
  const std::vector<uint8_t> bytes = {0b11'10'01'00, 0b10};
  const Tensor wide = Casted(MakeTensor(kI2, {5}, bytes), kInt32);
  CHECK(Integers(wide) == std::vector<int64_t>{0, 1, -2, -1, -2});
  CHECK(Integers(Casted(MakeTensor(kU2, {5}, bytes), kInt32)) ==
        std::vector<int64_t>{0, 1, 2, 3, 2});
  const Tensor back = Casted(wide, kI2);
  CHECK(std::vector<uint8_t>(back.bytes.begin(), back.bytes.end()) == bytes);
  const Tensor reals = Reals({1.9, 2, -2.9, -1e30, HUGE_VAL, std::nan(""), -0.9, 3.99, 4});
  CHECK(Integers(Casted(reals, kI2)) == std::vector<int64_t>{1, 1, -2, -2, 1, 0, 0, 1, 1});
  CHECK(Integers(Casted(reals, kU2)) == std::vector<int64_t>{1, 2, 0, 0, 3, 0, 0, 3, 3});
}

TEST_CASE("integers wrap to nibbles, and floats are cut off and saturate", "[ir]") {
  const std::vector<int64_t> values = {200, -9, 8, 23};
  Tensor wide = MakeZeroTensor(kInt32, {4});
  for (int64_t i = 0; i < 4; ++i) SetElementInt(wide, i, values[static_cast<size_t>(i)]);
  CHECK(Integers(Casted(wide, kI4)) == std::vector<int64_t>{-8, 7, -8, 7});
  CHECK(Integers(Casted(wide, kU4)) == std::vector<int64_t>{8, 7, 8, 7});
  const Tensor reals = Reals({7.9, 8, -8.9, -1e30, HUGE_VAL, std::nan(""), -0.9, 15.99, 16});
  CHECK(Integers(Casted(reals, kI4)) == std::vector<int64_t>{7, 7, -8, -8, 7, 0, 0, 7, 7});
  CHECK(Integers(Casted(reals, kU4)) == std::vector<int64_t>{7, 8, 0, 0, 15, 0, 0, 15, 15});
}
