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

// Small multiples of `unit`, one for each channel of a result.
Tensor ByChannel(const ProductCase& c, DType type, double unit, uint64_t seed) {
  const bool is_window = c.op == OpKind::kConvInteger;
  std::vector<int64_t> shape = {is_window ? c.y[1] : c.y.back()};
  if (is_window) shape.resize(c.y.size() - 1, 1);
  Tensor tensor = MakeZeroTensor(type, shape);
  Random random(seed);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    SetElement(tensor, i, static_cast<double>(random.Between(-31, 31)) * unit);
  }
  return tensor;
}

const std::map<std::string, Attribute> kToFloat = {{"axis", int64_t{1}},
                                                   {"to", ToString(kFloat32)}};

std::map<std::string, Attribute> ToBytes(DType type) {
  return {{"axis", int64_t{1}}, {"to", ToString(type)}};
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
  ValueId x = builder.Input("x", c.x);
  ValueId step = builder.Constant("step", Number(kFloat32, 0.02));
  ValueId bytes = builder.Emit("bytes", OpKind::kQuantizeLinear, {x, step}, ToBytes(kI8), kI8);
  ValueId w = builder.Constant("w", Bytes(kI8, c.w, 9));
  ValueId sums = builder.Emit("sums", c.op, {bytes, w}, c.attributes, kInt32);
  ValueId real = builder.Emit("real", OpKind::kCast, {sums}, kToFloat);
  builder.Output(builder.Emit("relu", OpKind::kRelu, {real}), c.y);
  return builder.Take();
}

Graph NarrowedProduct(const ProductCase& c, DType bytes, int64_t zero_point) {
  GraphBuilder builder("product", 5);
  ValueId x = builder.Input("x", c.x);
  ValueId zero = builder.Constant("zero", Number(bytes, static_cast<double>(zero_point)));
  auto quantized = [&](const std::string& name, ValueId value, double step, DType to) {
    std::vector<ValueId> inputs = {value, builder.Scalar(name + "_step", step)};
    if (to == bytes) inputs.push_back(zero);
    return builder.Emit(name, OpKind::kQuantizeLinear, inputs, ToBytes(to), to);
  };
  ValueId w = builder.Constant("w", Bytes(kI8, c.w, 9));
  ValueId y = builder.Emit("sums", c.op, {quantized("bytes", x, 0.02, bytes), w, zero},
                           c.attributes, kInt32);
  ValueId more = builder.Constant("more", ByChannel(c, kInt32, 1, 2));
  y = builder.Emit("shifted", OpKind::kAdd, {y, more}, {}, kInt32);
  y = builder.Emit("real", OpKind::kCast, {y}, kToFloat);
  const double unit = 1.0 / 1024;
  y = builder.Emit("scaled", OpKind::kMul,
                   {y, builder.Constant("scale", ByChannel(c, kFloat32, unit, 3))});
  y = builder.Emit("biased", OpKind::kAdd,
                   {y, builder.Constant("offset", ByChannel(c, kFloat32, unit, 4))});
  y = quantized("fine", y, 32, bytes == kI8 ? kU8 : kI8);
  y = builder.Emit("again", OpKind::kDequantizeLinear, {y, builder.Scalar("step", 32)}, kToFloat);
  y = builder.Emit("relu", OpKind::kRelu, {y});
  builder.Output(quantized("narrow", y, 64, bytes), c.y);
  return builder.Take();
}

}  // namespace tcc
