#include "ir/expr/warp_instruction.h"

#include <algorithm>

#include "ir/expr/layout.h"
#include "support/check.h"

namespace tcc {
namespace {

using Operand = WarpInstruction::Operand;
using Kind = WarpInstruction::Kind;

// The fragments of PTX ISA, "Matrix Fragments for mma": the lane's parts, then the register's, for
// A (rows i, columns k), B (rows k, columns j) and C (rows i, columns j), all with 8 columns j.
constexpr FragmentPart kSum16x8[] = {{1, 2, 4}, {0, 1, 8}, {1, 1, 2}, {0, 8, 2}};
constexpr FragmentPart kSum8x8[] = {{1, 2, 4}, {0, 1, 8}, {1, 1, 2}};
// Fragments of 16-bit elements: a lane has neighbours along k in one word.
constexpr FragmentPart kHalfA16x16[] = {{1, 2, 4}, {0, 1, 8}, {1, 1, 2}, {0, 8, 2}, {1, 8, 2}};
constexpr FragmentPart kHalfB16x8[] = {{0, 2, 4}, {1, 1, 8}, {0, 1, 2}, {0, 8, 2}};
constexpr FragmentPart kHalfA16x8[] = {{1, 2, 4}, {0, 1, 8}, {1, 1, 2}, {0, 8, 2}};
constexpr FragmentPart kHalfB8x8[] = {{0, 2, 4}, {1, 1, 8}, {0, 1, 2}};
// Fragments of 32-bit elements.
constexpr FragmentPart kWordA16x8[] = {{1, 1, 4}, {0, 1, 8}, {0, 8, 2}, {1, 4, 2}};
constexpr FragmentPart kWordB8x8[] = {{0, 1, 4}, {1, 1, 8}, {0, 4, 2}};
// Fragments of bytes, four per word.
constexpr FragmentPart kByteA16x32[] = {{1, 4, 4}, {0, 1, 8}, {1, 1, 4}, {0, 8, 2}, {1, 16, 2}};
constexpr FragmentPart kByteA8x16[] = {{1, 4, 4}, {0, 1, 8}, {1, 1, 4}};
constexpr FragmentPart kByteB16x8[] = {{0, 4, 4}, {1, 1, 8}, {0, 1, 4}};
constexpr FragmentPart kByteB32x8[] = {{0, 4, 4}, {1, 1, 8}, {0, 1, 4}, {0, 16, 2}};

constexpr Operand kHalf16[] = {{"A", kHalfA16x16}, {"B", kHalfB16x8}, {"C", kSum16x8}};
constexpr Operand kHalf8[] = {{"A", kHalfA16x8}, {"B", kHalfB8x8}, {"C", kSum16x8}};
constexpr Operand kWord8[] = {{"A", kWordA16x8}, {"B", kWordB8x8}, {"C", kSum16x8}};
constexpr Operand kByte16[] = {{"A", kByteA8x16}, {"B", kByteB16x8}, {"C", kSum8x8}};
constexpr Operand kByte32[] = {{"A", kByteA16x32}, {"B", kByteB32x8}, {"C", kSum16x8}};

// A and B of a group's product are no fragments: matrices of shared memory.
constexpr Operand kGroup[] = {{"C", kSum16x8}};

constexpr WarpInstruction kInstructions[] = {
    {"group_mma_m16n8k16_f16_f32", Kind::kGroupMma, 90, kGroup, false},
    {"group_mma_m16n8k16_bf16_f32", Kind::kGroupMma, 90, kGroup, false},
    {"group_mma_m16n8k8_tf32_f32", Kind::kGroupMma, 90, kGroup, false},
    {"group_mma_m16n8k32_s8_s32", Kind::kGroupMma, 90, kGroup, false},
    {"mma_m16n8k16_f16_f32", Kind::kMma, 80, kHalf16},
    {"mma_m16n8k16_bf16_f32", Kind::kMma, 80, kHalf16},
    {"mma_m16n8k8_f16_f32", Kind::kMma, 75, kHalf8},
    {"mma_m16n8k8_tf32_f32", Kind::kMma, 80, kWord8},
    {"mma_m16n8k8_tf32_f32_round_a", Kind::kMma, 80, kWord8},
    {"mma_m16n8k8_tf32_f32_round_b", Kind::kMma, 80, kWord8},
    {"mma_m16n8k8_tf32_f32_round_ab", Kind::kMma, 80, kWord8},
    {"mma_m16n8k8_3xtf32_f32", Kind::kMma, 80, kWord8},
    {"mma_m16n8k32_s8_s32", Kind::kMma, 80, kByte32},
    {"mma_m8n8k16_s8_s32", Kind::kMma, 75, kByte16},
    {"mma_m16n8k256_b1", Kind::kMma, 80, kWord8},  // 8 words along k
    {"load_matrices_16x16_f16", Kind::kLoadMatrices, 75, {}},
    {"load_matrices_16x8_f16", Kind::kLoadMatrices, 75, {}},
    {"load_matrices_8x16_f16", Kind::kLoadMatrices, 75, {}},
    {"load_matrices_16x16_bf16", Kind::kLoadMatrices, 75, {}},
    {"load_matrices_16x8_f32", Kind::kLoadMatrices, 75, {}},
    {"load_matrices_16x8_tf32", Kind::kLoadMatrices, 75, {}},
    {"load_matrices_16x8_i32", Kind::kLoadMatrices, 75, {}},
    {"load_matrices_16x32_i8", Kind::kLoadMatrices, 75, {}},
    {"load_matrices_16x16_i8", Kind::kLoadMatrices, 75, {}},
};

// Returns the parts of one dimension, the slowest first.
std::vector<size_t> PartsOf(Fragment fragment, int dim) {
  std::vector<size_t> parts;
  for (size_t p = 0; p < fragment.size(); ++p) {
    if (fragment[p].dim == dim) parts.push_back(p);
  }
  std::ranges::sort(parts, [&](size_t a, size_t b) { return fragment[a].unit > fragment[b].unit; });
  return parts;
}

}  // namespace

std::span<const WarpInstruction> WarpInstructions() {
  return kInstructions;
}

const WarpInstruction* FindWarpInstruction(std::string_view intrinsic) {
  for (const WarpInstruction& instruction : kInstructions) {
    if (instruction.intrinsic == intrinsic) return &instruction;
  }
  return nullptr;
}

bool IsGroupProduct(const Stmt& stmt) {
  const auto* call = stmt.as<IntrinsicCall>();
  const WarpInstruction* known = call ? FindWarpInstruction(call->intrinsic) : nullptr;
  return known && known->kind == Kind::kGroupMma;
}

int64_t TileExtent(Fragment fragment, int dim) {
  int64_t extent = 1;
  for (const FragmentPart& part : fragment) {
    if (part.dim == dim) extent *= part.extent;
  }
  return extent;
}

int64_t PlaceOf(Fragment fragment, std::span<const int64_t> cell) {
  int64_t place = 0, stride = 1;
  for (const FragmentPart& part : fragment) {
    place += cell[static_cast<size_t>(part.dim)] / part.unit % part.extent * stride;
    stride *= part.extent;
  }
  return place;
}

Layout FragmentLayout(const Buffer& buffer, std::span<const size_t> dims, Fragment fragment) {
  Buffer laid_out = buffer;
  Layout& layout = laid_out.layout;
  layout = {};
  int stored = static_cast<int>(buffer.rank());
  std::vector<int> dim_of_part(fragment.size());
  for (size_t t = 0; t < dims.size(); ++t) {
    int whole = static_cast<int>(dims[t]);
    layout.blocks.push_back({whole, Expr(TileExtent(fragment, static_cast<int>(t)))});
    int rest = stored++;
    for (size_t part : PartsOf(fragment, static_cast<int>(t))) {
      dim_of_part[part] = rest;
      if (fragment[part].unit == 1) continue;
      layout.blocks.push_back({rest, Expr(fragment[part].unit)});
      rest = stored++;
    }
  }
  std::vector<Expr> extents = StoredExtents(laid_out);
  layout.strides.assign(extents.size(), Expr(0));
  int64_t tile = 1;
  for (size_t part = 0; part < fragment.size(); ++part) {
    layout.strides[static_cast<size_t>(dim_of_part[part])] = Expr(tile);
    tile *= fragment[part].extent;
  }
  Expr stride(tile);
  for (size_t d = buffer.rank(); d-- > 0;) {
    layout.strides[d] = stride;
    stride = stride * extents[d];
  }
  return layout;
}

}  // namespace tcc
