#include "schedule/sketches/gpu/mma_product.h"

#include <algorithm>

#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "ir/expr/warp_instruction.h"
#include "schedule/analysis/tensor_intrinsics.h"
#include "schedule/analysis/tensor_reading.h"
#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// The instructions; the first that fits is taken.
constexpr MmaRow kMmas[] = {
    {DTypeCode::kFloat16, MmaBy::kGroup, 16, 16, "group_mma_m16n8k16_f16_f32"},
    {DTypeCode::kBFloat16, MmaBy::kGroup, 16, 16, "group_mma_m16n8k16_bf16_f32"},
    {DTypeCode::kTFloat32, MmaBy::kGroup, 16, 8, "group_mma_m16n8k8_tf32_f32"},
    {DTypeCode::kInt8, MmaBy::kGroup, 16, 32, "group_mma_m16n8k32_s8_s32"},
    {DTypeCode::kFloat16, MmaBy::kWarp, 16, 16, "mma_m16n8k16_f16_f32"},
    {DTypeCode::kBFloat16, MmaBy::kWarp, 16, 16, "mma_m16n8k16_bf16_f32"},
    {DTypeCode::kInt8, MmaBy::kWarp, 16, 32, "mma_m16n8k32_s8_s32"},
    {DTypeCode::kInt8, MmaBy::kWarp, 8, 16, "mma_m8n8k16_s8_s32"},
    {DTypeCode::kFloat16, MmaBy::kWarp, 16, 8, "mma_m16n8k8_f16_f32"},
    {DTypeCode::kTFloat32, MmaBy::kWarp, 16, 8, "mma_m16n8k8_tf32_f32"},
    {DTypeCode::kFloat32, MmaBy::kWarp, 16, 8, "mma_m16n8k8_tf32_f32_round_a"},
    {DTypeCode::kTFloat32, MmaBy::kWarp, 16, 8, "mma_m16n8k8_tf32_f32_round_b"},
    {DTypeCode::kFloat32, MmaBy::kWarp, 16, 8, "mma_m16n8k8_tf32_f32_round_ab"},
    {DTypeCode::kFloat32, MmaBy::kWarp, 16, 8, "mma_m16n8k8_3xtf32_f32"},
};

// Returns the only dimension of `read` whose index uses the variable, and is exactly that variable;
// nullopt if there is none.
std::optional<size_t> DimOf(const Access& read, const Var& var) {
  std::optional<size_t> found;
  for (size_t d = 0; d < read.indices.size(); ++d) {
    if (!UsesVar(read.indices[d], var)) continue;
    if (found || !read.indices[d].same_as(var)) return std::nullopt;
    found = d;
  }
  return found;
}

bool Uses(const Access& read, const Var& var) {
  return std::ranges::any_of(read.indices, [&](const Expr& index) { return UsesVar(index, var); });
}

// Returns the last spatial variable that only `read` uses and has as a dimension.
std::optional<size_t> OwnAxis(const Block& block, const Access& read, const Access& other) {
  std::optional<size_t> axis;
  for (size_t i : ItersOf(block, IterKind::kSpatial)) {
    const Var& var = block.iters[i].var;
    if (DimOf(read, var) && !Uses(other, var)) axis = i;
  }
  return axis;
}

// The instruction, the accesses that it multiplies, and their own axes.
struct Reading {
  const MmaRow* mma;
  Access a, b;
  size_t of_a, of_b;
};

// Reads the block's products such that the result is contiguous along B's axis, the later one.
// Returns nullopt if the target has no instruction for them.
std::optional<Reading> ReadProducts(const Block& block, MmaBy by, const Target& target) {
  const auto* reduce = block.body.as<Reduce>();
  if (!reduce || !IsConstant(block.predicate, 1)) return std::nullopt;
  for (const MmaRow& row : kMmas) {
    if (row.by != by || !FindWarpInstruction(row.intrinsic)->IsIn(target.sm)) continue;
    LoopNest meaning = MeaningNest(*FindTensorIntrinsic(row.intrinsic).value());
    const auto& sum = *meaning.block->body.as<Reduce>();
    if (!Equal(sum.combiner, reduce->combiner)) continue;
    for (const IntrinsicOperands& operands : ReadValue(sum.inputs[0], reduce->inputs[0])) {
      const Access& a = operands.at("A");
      const Access& b = operands.at("B");
      if (a.buffer.dtype().code() != row.operand || a.buffer == b.buffer) continue;
      std::optional<size_t> of_a = OwnAxis(block, a, b), of_b = OwnAxis(block, b, a);
      if (of_a && of_b && *of_a < *of_b) return Reading{&row, a, b, *of_a, *of_b};
    }
  }
  return std::nullopt;
}

// Returns the longest reduce variable that both have as a dimension.
std::optional<size_t> SharedAxis(const Block& block, const Access& a, const Access& b) {
  std::optional<size_t> axis;
  for (size_t i : ItersOf(block, IterKind::kReduce)) {
    const Var& var = block.iters[i].var;
    if (!DimOf(a, var) || !DimOf(b, var)) continue;
    if (!axis || ExtentOf(block, i) > ExtentOf(block, *axis)) axis = i;
  }
  return axis;
}

}  // namespace

std::optional<MmaOperand> MmaOperandOf(const Function& fn, const Block& block, const Access& read,
                                       size_t axis, size_t k) {
  MmaOperand operand{.buffer = read.buffer->name,
                     .axis_dim = *DimOf(read, block.iters[axis].var),
                     .k_dim = *DimOf(read, block.iters[k].var),
                     .rank = read.indices.size(),
                     .type = read.buffer.dtype(),
                     .bytes = WholeBytes(read.buffer.dtype())};
  std::optional<int64_t> row = AsConstant(FindBuffer(fn, read.buffer)->shape.back());
  if (std::max(operand.axis_dim, operand.k_dim) + 1 != operand.rank || !row) return std::nullopt;
  operand.row = *row;
  return operand;
}

std::optional<MmaProduct> MmaProductOf(const Function& fn, const Block& block, MmaBy by,
                                       const Target& target) {
  std::optional<Reading> reading = ReadProducts(block, by, target);
  if (!reading) return std::nullopt;
  std::optional<size_t> k = SharedAxis(block, reading->a, reading->b);
  if (!k) return std::nullopt;
  MmaProduct product;
  product.mma = reading->mma;
  product.m = reading->of_a;
  product.n = reading->of_b;
  product.k = *k;
  std::optional<MmaOperand> left = MmaOperandOf(fn, block, reading->a, product.m, *k);
  std::optional<MmaOperand> right = MmaOperandOf(fn, block, reading->b, product.n, *k);
  int64_t rows = by == MmaBy::kGroup ? kMinGroupRows : kMinMmaExtent;
  bool large = ExtentOf(block, product.m) >= rows && ExtentOf(block, product.n) >= kMinMmaExtent &&
               ExtentOf(block, *k) >= product.mma->depth;
  if (!left || !right || !large) return std::nullopt;
  product.a = *std::move(left);
  product.b = *std::move(right);
  return product;
}

int64_t ResultsOnTensorCores(const Function& fn, const Target& target) {
  int64_t most = 0;
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    bool fits = IsReduction(*block) && WritesPlainly(*block) && HasKnownExtents(*block);
    std::optional<MmaProduct> product =
        fits ? MmaProductOf(fn, *block, MmaBy::kWarp, target) : std::nullopt;
    if (product) {
      most = std::max(most, ExtentOf(*block, product->m) * ExtentOf(*block, product->n));
    }
  }
  return most;
}

}  // namespace tcc
