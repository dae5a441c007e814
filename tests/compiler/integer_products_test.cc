// Products of bytes as machine code: in pairs, in quads, and by Winograd's transforms.

#include <catch2/catch.hpp>

#include "models/zoo/graph_builder.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

using Ints = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;

const DType kU8 = DType(DTypeCode::kUInt8);
const DType kI8 = DType(DTypeCode::kInt8);

Tensor Bytes(DType type, const Ints& shape, uint64_t seed) {
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

struct Case {
  const char* name;
  OpKind op;
  Ints x, w, y;
  Attributes attributes = {};
};

// An f32 input in bytes, whose product with constant bytes is brought back to bytes.
Graph ProductOf(const Case& c) {
  GraphBuilder builder("product", 5);
  ValueId x = builder.Input("x", c.x);
  const Attributes to_byte = {{"axis", int64_t{1}}, {"to", ToString(kU8)}};
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

}  // namespace

TEST_CASE("machine code multiplies bytes as the interpreter does", "[compiler][codegen_llvm]") {
  const Attributes padded = {{"pads", Ints{1, 1, 1, 1}}};
  const Case cases[] = {
      {"by transforms",
       OpKind::kConvInteger,
       {1, 32, 13, 14},
       {40, 32, 3, 3},
       {1, 40, 13, 14},
       padded},
      {"odd channels", OpKind::kConvInteger, {2, 3, 9, 8}, {12, 3, 5, 5}, {2, 12, 5, 4}},
      {"one tap", OpKind::kConvInteger, {1, 20, 7, 7}, {24, 20, 1, 1}, {1, 24, 7, 7}},
      {"depthwise",
       OpKind::kConvInteger,
       {1, 16, 8, 8},
       {16, 1, 3, 3},
       {1, 16, 8, 8},
       {{"pads", Ints{1, 1, 1, 1}}, {"group", int64_t{16}}}},
      {"product", OpKind::kMatMulInteger, {5, 33}, {33, 18}, {5, 18}},
  };
  for (const Case& c : cases) {
    // Without the instruction, quads are as right and slower.
    Target in_quads = *FindTarget("x86-64-v3");
    in_quads.dots_bytes = true;
    for (const Target& target : {*FindTarget("native"), *FindTarget("x86-64-v3"), in_quads}) {
      INFO(c.name << " on " << target.name << (target.dots_bytes ? ", in quads" : ""));
      Status status = DifferenceOn(ProductOf(c), target);
      INFO(status);
      CHECK(status.ok());
    }
  }
}

}  // namespace tcc
