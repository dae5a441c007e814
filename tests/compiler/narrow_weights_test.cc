// Products by weights of 4 and 8 bits that few rows read as they are stored.

#include <catch2/catch.hpp>

#include "models/zoo/graph_builder.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

Tensor Numbers(DType type, const std::vector<int64_t>& shape, uint64_t seed) {
  Tensor tensor = MakeZeroTensor(type, shape);
  Random random(seed);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    SetElementInt(tensor, i, random.Between(0, (int64_t{1} << type.bits()) - 1));
  }
  return tensor;
}

struct Case {
  const char* name;
  DType type;
  std::vector<int64_t> rows;
  bool has_zeros = true;
};

constexpr int64_t kDepth = 512, kColumns = 530, kBlock = 32;

// Rows of x times dequantized weights, rectified.
Graph ProductOf(const Case& c) {
  GraphBuilder builder("product", 5);
  std::vector<int64_t> shape = c.rows;
  shape.push_back(kDepth);
  ValueId x = builder.Input("x", shape);
  const std::vector<int64_t> blocks = {kDepth / kBlock, kColumns};
  std::vector<ValueId> inputs = {builder.Constant("q", Numbers(c.type, {kDepth, kColumns}, 3)),
                                 builder.Weight("s", blocks, 0, 0.1)};
  if (c.has_zeros) inputs.push_back(builder.Constant("z", Numbers(c.type, blocks, 5)));
  ValueId w =
      builder.Emit("w", OpKind::kDequantizeLinear, inputs,
                   {{"axis", int64_t{0}}, {"block_size", kBlock}, {"to", ToString(kFloat32)}});
  ValueId y = builder.Relu("relu", builder.Emit("y", OpKind::kMatMul, {x, w}));
  shape.back() = kColumns;
  builder.Output(y, shape);
  return builder.Take();
}

}  // namespace

TEST_CASE("machine code multiplies by weights in words, for rows of any dimensions",
          "[compiler][codegen_llvm]") {
  const Case cases[] = {
      {"nibbles", DType(DTypeCode::kUInt4), {1}},
      {"two bits", DType(DTypeCode::kUInt2), {1}},
      {"signed bits", DType(DTypeCode::kInt2), {3}, false},
      {"bytes", DType(DTypeCode::kUInt8), {3}},
      {"without zeros", DType(DTypeCode::kUInt4), {2}, false},
      {"rows of two dimensions", DType(DTypeCode::kUInt4), {2, 2}},
      {"rows of three dimensions", DType(DTypeCode::kUInt8), {1, 3, 1}},
  };
  for (const Case& c : cases) {
    for (const char* target : {"native", "x86-64-v3"}) {
      INFO(c.name << " on " << target);
      Graph graph = ProductOf(c);
      // As f32 they would take four bytes each.
      CHECK(Compiled(graph, target).weights.bytes.size() < 2 * kDepth * kColumns);
      Status status = DifferenceOn(graph, target);
      INFO(status);
      CHECK(status.ok());
    }
  }
}

}  // namespace tcc
