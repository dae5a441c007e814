// MatMulNBits: a product with weights of 4 or 8 bits, as a DequantizeLinear by blocks and a MatMul.

#include "models/onnx/onnx_normalize.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

enum Input : size_t { kA, kB, kScales, kZeroPoints, kGroupIndex, kBias };

struct Blocks {
  int64_t columns = 0;  // of the product: rows of the stored weights
  int64_t depth = 0;
  int64_t size = 0;                // elements along the depth that share a scale
  int64_t count = 0;               // in each row
  DType type = DTypeCode::kUInt4;  // of the weights
};

StatusOr<Blocks> ReadBlocks(const OnnxNodeContext& context) {
  const Node& node = context.node;
  Blocks blocks{
      .columns = node.Int("N", 0), .depth = node.Int("K", 0), .size = node.Int("block_size", 0)};
  int64_t bits = node.Int("bits", 4);
  if (bits != 4 && bits != 8) {
    return context.NotSupported(fmt::format("attribute 'bits' is {}; supported are 4 and 8", bits));
  }
  constexpr int64_t kLargest = INT32_MAX;
  for (int64_t value : {blocks.columns, blocks.depth, blocks.size}) {
    if (value < 1 || value > kLargest) {
      return context.Invalid(fmt::format("K is {}, N {} and block_size {}; expected 1 to {}",
                                         blocks.depth, blocks.columns, blocks.size, kLargest));
    }
  }
  if (blocks.size % 2 != 0) {
    return context.Invalid(fmt::format("block_size is {}; expected an even number", blocks.size));
  }
  blocks.count = CeilDivision(blocks.depth, blocks.size);
  blocks.type = bits == 4 ? DTypeCode::kUInt4 : DTypeCode::kUInt8;
  return blocks;
}

// The bytes of a constant input of u8 under another type and shape.
StatusOr<Tensor> Reinterpreted(const OnnxNodeContext& context, size_t input, DType type,
                               std::vector<int64_t> shape) {
  const Tensor* tensor = context.ConstantInput(input);
  if (!tensor)
    return context.NotSupported(fmt::format("input {} is computed; expected a constant", input));
  if (tensor->dtype.code() != DTypeCode::kUInt8) {
    return context.NotSupported(
        fmt::format("input {} is {}; supported is u8", input, ToString(tensor->dtype)));
  }
  TCC_ASSIGN_OR_RETURN(int64_t bytes, ByteCount(type, shape));
  if (bytes != static_cast<int64_t>(tensor->bytes.size())) {
    return context.Invalid(fmt::format("input {} is {}; expected {} bytes for K, N and block_size",
                                       input, ToString(*tensor), bytes));
  }
  return Tensor{type, std::move(shape), tensor->owner, tensor->bytes};
}

// One for each block; rows of nibbles begin at whole bytes.
StatusOr<Tensor> ZeroPoints(const OnnxNodeContext& context, const Blocks& blocks) {
  bool nibbles = IsNibble(blocks.type);
  if (!context.HasInput(kZeroPoints)) {
    Tensor middle = MakeZeroTensor(blocks.type, {1});
    SetElementInt(middle, 0, nibbles ? 8 : 128);
    return middle;
  }
  int64_t stored = nibbles ? blocks.count + blocks.count % 2 : blocks.count;
  TCC_ASSIGN_OR_RETURN(Tensor padded,
                       Reinterpreted(context, kZeroPoints, blocks.type, {blocks.columns, stored}));
  if (stored == blocks.count) return padded;
  Tensor zeros = MakeZeroTensor(blocks.type, {blocks.columns, blocks.count});
  for (int64_t row = 0; row < blocks.columns; ++row) {
    for (int64_t i = 0; i < blocks.count; ++i) {
      SetElementInt(zeros, row * blocks.count + i, ElementAsInt(padded, row * stored + i));
    }
  }
  return zeros;
}

}  // namespace

// A * dequantized(B)^T + bias: row n of B holds column n of the weights.
Status NormalizeMatMulNBits(OnnxNodeContext& context) {
  Node& node = context.node;
  if (context.HasInput(kGroupIndex))
    return context.NotSupported("input 4 (g_idx); expected none");
  TCC_ASSIGN_OR_RETURN(Blocks blocks, ReadBlocks(context));
  TCC_ASSIGN_OR_RETURN(Tensor weights, Reinterpreted(context, kB, blocks.type,
                                                     {blocks.columns, blocks.count * blocks.size}));
  TCC_ASSIGN_OR_RETURN(Tensor zeros, ZeroPoints(context, blocks));
  DType dtype = context.InputType(kA);
  ValueId shape = context.AddInts("blocks", {blocks.columns, blocks.count});
  ValueId scales = context.Emit(OpKind::kReshape, {node.inputs[kScales], shape},
                                {{"allowzero", int64_t{0}}}, dtype);
  ValueId rows = context.Emit(
      OpKind::kDequantizeLinear,
      {context.AddConstant("weights", weights), scales, context.AddConstant("zeros", zeros)},
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
