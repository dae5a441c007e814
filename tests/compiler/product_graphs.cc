#include "tests/compiler/product_graphs.h"

#include "models/zoo/graph_builder.h"
#include "support/random.h"
#include "support/tensor.h"

namespace tcc {
namespace {

const DType kU8 = DType(DTypeCode::kUInt8);
const DType kI8 = DType(DTypeCode::kInt8);

Tensor Bytes(DType type, const std::vector<int64_t>& shape, uint64_t seed) {
  Tensor tensor = MakeZeroTensor(type, shape);
  Random random(seed);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    SetElementInt(tensor, i, random.Between(0, 255) - (type == kI8 ? 128 : 0));
  }
  return tensor;
}

Tensor Number(DType type, double value) {
  Tensor tensor = MakeZeroTensor(type, {});
  SetElement(tensor, 0, value);
  return tensor;
}

// Multiples of 2^-10, one for each channel of a result.
Tensor ByChannel(const ProductCase& c, uint64_t seed) {
  const bool is_window = c.op == OpKind::kConvInteger;
  std::vector<int64_t> shape = {is_window ? c.y[1] : c.y.back()};
  if (is_window) shape.resize(c.y.size() - 1, 1);
  Tensor tensor = MakeZeroTensor(kFloat32, shape);
  Random random(seed);
  for (int64_t i = 0; i < shape[0]; ++i) {
    SetElement(tensor, i, static_cast<double>(random.Between(-31, 31)) / 1024);
  }
  return tensor;
}

// The sums of signed bytes in steps of 0.02 by constant bytes.
ValueId SignedSums(GraphBuilder& builder, const ProductCase& c) {
  ValueId x = builder.Input("x", c.x);
  const std::map<std::string, Attribute> to_byte = {{"axis", int64_t{1}}, {"to", ToString(kI8)}};
  ValueId step = builder.Constant("step", Number(kFloat32, 0.02));
  ValueId bytes = builder.Emit("bytes", OpKind::kQuantizeLinear, {x, step}, to_byte, kI8);
  ValueId w = builder.Constant("w", Bytes(kI8, c.w, 9));
  ValueId sums = builder.Emit("sums", c.op, {bytes, w}, c.attributes, kInt32);
  return builder.Emit("real", OpKind::kCast, {sums}, {{"to", ToString(kFloat32)}}, kFloat32);
}

}  // namespace

Graph FloatProduct(const ProductCase& c) {
  GraphBuilder builder("product", 5);
  ValueId x = builder.Input("x", c.x);
  ValueId w = builder.Weight("w", c.w, 0, 1);
  ValueId y = builder.Emit("y", c.op, {x, w}, c.attributes, kFloat32);
  builder.Output(builder.Emit("relu", OpKind::kRelu, {y}, {}, kFloat32), c.y);
  return builder.Take();
}

Graph ByteProduct(const ProductCase& c) {
  GraphBuilder builder("product", 5);
  ValueId x = builder.Input("x", c.x);
  const std::map<std::string, Attribute> to_byte = {{"axis", int64_t{1}}, {"to", ToString(kU8)}};
  ValueId zero = builder.Constant("zero", Number(kU8, 121));
  ValueId step = builder.Constant("step", Number(kFloat32, 0.02));
  ValueId bytes = builder.Emit("bytes", OpKind::kQuantizeLinear, {x, step, zero}, to_byte, kU8);
  ValueId w = builder.Constant("w", Bytes(kI8, c.w, 9));
  ValueId sums = builder.Emit("sums", c.op, {bytes, w, zero}, c.attributes, kInt32);
  ValueId real =
      builder.Emit("real", OpKind::kCast, {sums}, {{"to", ToString(kFloat32)}}, kFloat32);
  ValueId rough = builder.Constant("rough", Number(kFloat32, 2048));
  ValueId coarse =
      builder.Emit("coarse", OpKind::kQuantizeLinear, {real, rough, zero}, to_byte, kU8);
  builder.Output(real, c.y);
  builder.Output(coarse, c.y);
  return builder.Take();
}

Graph SignedByteProduct(const ProductCase& c) {
  GraphBuilder builder("product", 5);
  ValueId real = SignedSums(builder, c);
  builder.Output(builder.Emit("relu", OpKind::kRelu, {real}, {}, kFloat32), c.y);
  return builder.Take();
}

Graph NarrowedProduct(const ProductCase& c) {
  GraphBuilder builder("product", 5);
  const std::map<std::string, Attribute> to_byte = {{"axis", int64_t{1}}, {"to", ToString(kI8)}};
  const std::map<std::string, Attribute> to_float = {{"axis", int64_t{1}},
                                                     {"to", ToString(kFloat32)}};
  ValueId scale = builder.Constant("scale", ByChannel(c, 3));
  ValueId offset = builder.Constant("offset", ByChannel(c, 4));
  ValueId step = builder.Constant("fine", Number(kFloat32, 32));
  ValueId coarse = builder.Constant("coarse", Number(kFloat32, 64));
  ValueId value = builder.Emit("scaled", OpKind::kMul, {SignedSums(builder, c), scale});
  value = builder.Emit("biased", OpKind::kAdd, {value, offset});
  value = builder.Emit("fine_bytes", OpKind::kQuantizeLinear, {value, step}, to_byte, kI8);
  value = builder.Emit("fine_numbers", OpKind::kDequantizeLinear, {value, step}, to_float);
  value = builder.Emit("relu", OpKind::kRelu, {value});
  value = builder.Emit("narrow", OpKind::kQuantizeLinear, {value, coarse}, to_byte, kI8);
  builder.Output(value, c.y);
  return builder.Take();
}

}  // namespace tcc
