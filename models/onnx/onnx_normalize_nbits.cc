// MatMulNBits: a product with weights of 2, 4 or 8 bits, as a DequantizeLinear by blocks and a
// MatMul.

#include "models/onnx/onnx_normalize.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

enum Input : size_t { kA, kB, kScales, kZeroPoints, kGroupIndex, kBias };

struct Blocks {
  int64_t columns = 0;  // of the product: rows of the stored weights
  int64_t depth = 0;
  int64_t size = 0;   // elements along the depth that share a scale
  int64_t count = 0;  // in each row
  int64_t bits = 4;   // of a weight

  int64_t per_byte() const { return 8 / bits; }
};

StatusOr<Blocks> ReadBlocks(const OnnxNodeContext& context) {
  const Node& node = context.node;
  Blocks blocks{.columns = node.Int("N", 0),
                .depth = node.Int("K", 0),
                .size = node.Int("block_size", 0),
                .bits = node.Int("bits", 4)};
  if (blocks.bits != 2 && blocks.bits != 4 && blocks.bits != 8) {
    return context.NotSupported(
        fmt::format("attribute 'bits' is {}; supported are 2, 4 and 8", blocks.bits));
  }
  constexpr int64_t kMaxExtent = INT32_MAX;
  for (int64_t value : {blocks.columns, blocks.depth, blocks.size}) {
    if (value < 1 || value > kMaxExtent) {
      return context.Invalid(fmt::format("K is {}, N {} and block_size {}; expected 1 to {}",
                                         blocks.depth, blocks.columns, blocks.size, kMaxExtent));
    }
  }
  if (blocks.size % blocks.per_byte() != 0) {
    return context.Invalid(fmt::format("block_size is {}; expected a multiple of {} for {} bits",
                                       blocks.size, blocks.per_byte(), blocks.bits));
  }
  blocks.count = CeilDivision(blocks.depth, blocks.size);
  return blocks;
}

DType StoredType(const Blocks& blocks) {
  if (blocks.bits == 8) return DTypeCode::kUInt8;
  return blocks.bits == 4 ? DTypeCode::kUInt4 : DTypeCode::kUInt2;
}

// Returns the numbers of a constant input of u8 as [columns, count]. Rows begin at whole bytes,
// each byte holds its first number in the lowest bits.
StatusOr<Tensor> Numbers(const OnnxNodeContext& context, size_t input, const Blocks& blocks,
                         int64_t count) {
  const Tensor* packed = context.ConstantInput(input);
  if (!packed)
    return context.NotSupported(fmt::format("input {} is computed; expected a constant", input));
  if (packed->dtype.code() != DTypeCode::kUInt8) {
    return context.NotSupported(
        fmt::format("input {} is {}; supported is u8", input, ToString(packed->dtype)));
  }
  int64_t row_bytes = CeilDivision(count, blocks.per_byte());
  const std::vector<int64_t> packed_shape = {blocks.columns, row_bytes};
  TCC_ASSIGN_OR_RETURN(int64_t bytes, ByteCount(DTypeCode::kUInt8, packed_shape));
  if (bytes != static_cast<int64_t>(packed->bytes.size())) {
    return context.Invalid(fmt::format("input {} is {}; expected {} bytes for K, N and block_size",
                                       input, ToString(*packed), bytes));
  }
  DType type = StoredType(blocks);
  if (count % blocks.per_byte() == 0) {
    return Tensor{type, {blocks.columns, count}, packed->owner, packed->bytes};
  }
  Tensor numbers = MakeZeroTensor(type, {blocks.columns, count});
  int64_t mask = (int64_t{1} << blocks.bits) - 1;
  for (int64_t row = 0; row < blocks.columns; ++row) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t byte = packed->bytes[row * row_bytes + i / blocks.per_byte()];
      SetElementInt(numbers, row * count + i, byte >> (i % blocks.per_byte() * blocks.bits) & mask);
    }
  }
  return numbers;
}

// Returns an input of floats with an entry for each block as [columns, count].
ValueId OfBlocks(OnnxNodeContext& context, size_t input, const Blocks& blocks) {
  ValueId shape = context.AddInts("blocks", {blocks.columns, blocks.count});
  return context.Emit(OpKind::kReshape, {context.node.inputs[input], shape},
                      {{"allowzero", int64_t{0}}}, context.InputType(input));
}

// Returns one zero point for each block: in bits as the weights, in floats of the scales' type, or
// the middle of the weights' range.
StatusOr<ValueId> ZeroPoints(OnnxNodeContext& context, const Blocks& blocks) {
  if (!context.HasInput(kZeroPoints)) {
    Tensor middle = MakeZeroTensor(StoredType(blocks), {1});
    SetElementInt(middle, 0, int64_t{1} << (blocks.bits - 1));
    return context.AddConstant("zeros", middle);
  }
  DType type = context.InputType(kZeroPoints);
  if (type == context.InputType(kScales)) return OfBlocks(context, kZeroPoints, blocks);
  if (type.is_float()) {
    return context.Invalid(fmt::format("input {} is {}; expected u8 or {} as the scales",
                                       int{kZeroPoints}, ToString(type),
                                       ToString(context.InputType(kScales))));
  }
  TCC_ASSIGN_OR_RETURN(Tensor zeros, Numbers(context, kZeroPoints, blocks, blocks.count));
  return context.AddConstant("zeros", zeros);
}

}  // namespace

// A * dequantized(B)^T + bias: row n of B holds column n of the weights.
Status NormalizeMatMulNBits(OnnxNodeContext& context) {
  Node& node = context.node;
  if (context.HasInput(kGroupIndex)) return context.NotSupported("input 4 (g_idx); expected none");
  TCC_ASSIGN_OR_RETURN(Blocks blocks, ReadBlocks(context));
  TCC_ASSIGN_OR_RETURN(Tensor weights, Numbers(context, kB, blocks, blocks.count * blocks.size));
  TCC_ASSIGN_OR_RETURN(ValueId zeros, ZeroPoints(context, blocks));
  DType dtype = context.InputType(kA);
  ValueId scales = OfBlocks(context, kScales, blocks);
  ValueId rows = context.Emit(
      OpKind::kDequantizeLinear, {context.AddConstant("weights", weights), scales, zeros},
      {{"axis", int64_t{1}}, {"block_size", blocks.size}, {"to", ToString(dtype)}}, dtype);
  if (blocks.count * blocks.size != blocks.depth) {
    rows = context.Emit(OpKind::kSlice,
                        {rows, context.AddInts("from", {0}), context.AddInts("to", {blocks.depth}),
                         context.AddInts("axes", {1})},
                        {}, dtype);
  }
  ValueId columns =
      context.Emit(OpKind::kTranspose, {rows}, {{"perm", std::vector<int64_t>{1, 0}}}, dtype);
  node.attributes.clear();
  std::vector<ValueId> product = {node.inputs[kA], columns};
  if (context.HasInput(kBias)) {
    ValueId value = context.Emit(OpKind::kMatMul, product, {}, dtype);
    node.op = OpKind::kAdd;
    product = {value, node.inputs[kBias]};
  }
  node.inputs = product;
  return OkStatus();
}

}  // namespace tcc
