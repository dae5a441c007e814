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
  const std::map<std::string, Attribute> to_byte = {{"axis", int64_t{1}}, {"to", ToString(kI8)}};
  ValueId step = builder.Constant("step", Number(kFloat32, 0.02));
  ValueId bytes = builder.Emit("bytes", OpKind::kQuantizeLinear, {x, step}, to_byte, kI8);
  ValueId w = builder.Constant("w", Bytes(kI8, c.w, 9));
  ValueId sums = builder.Emit("sums", c.op, {bytes, w}, c.attributes, kInt32);
  ValueId real =
      builder.Emit("real", OpKind::kCast, {sums}, {{"to", ToString(kFloat32)}}, kFloat32);
  builder.Output(builder.Emit("relu", OpKind::kRelu, {real}, {}, kFloat32), c.y);
  return builder.Take();
}

}  // namespace tcc
