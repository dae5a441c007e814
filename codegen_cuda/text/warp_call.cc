#include "codegen_cuda/text/warp_call.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <set>

#include "codegen_cuda/text/divisor.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "support/device_profile.h"

namespace tcc {
namespace {

constexpr int64_t kRows = 8;  // the rows of a matrix that ldmatrix loads
constexpr int64_t kRowBytes = 16;

struct MmaFunction {
  std::string_view intrinsic;
  std::string_view function;
};

constexpr MmaFunction kMmaFunctions[] = {
    {"mma_m16n8k16_f16_f32", "tcc_mma_m16n8k16_f16"},
    {"mma_m16n8k16_bf16_f32", "tcc_mma_m16n8k16_bf16"},
    {"mma_m16n8k8_f16_f32", "tcc_mma_m16n8k8_f16"},
    {"mma_m16n8k8_tf32_f32", "tcc_mma_m16n8k8_tf32"},
    {"mma_m16n8k8_tf32_f32_round_a", "tcc_mma_m16n8k8_tf32"},
    {"mma_m16n8k8_tf32_f32_round_b", "tcc_mma_m16n8k8_tf32"},
    {"mma_m16n8k8_tf32_f32_round_ab", "tcc_mma_m16n8k8_tf32"},
    {"mma_m16n8k8_3xtf32_f32", "tcc_mma_m16n8k8_3xtf32"},
    {"mma_m16n8k32_s8_s32", "tcc_mma_m16n8k32_s8"},
    {"mma_m8n8k16_s8_s32", "tcc_mma_m8n8k16_s8"},
    {"mma_m16n8k256_b1", "tcc_mma_m16n8k256_b1"},
};

// One matrix of a load: kRows rows of its tile, each with kRowBytes along the dimension that is
// contiguous in memory.
struct Matrix {
  std::array<int64_t, 2> origin = {0, 0};
  int64_t word = 0;
};

// The order in which ldmatrix reads a tile.
struct Order {
  size_t along = 1;  // the dimension of a row's elements
  bool transposed = false;
};

// Returns the word of `to` that a matrix goes to; nullopt if its cells do not form the fragment
// that ldmatrix writes.
std::optional<int64_t> WordOf(const TileIndex& to, const std::array<int64_t, 2>& origin,
                              const Order& order, int64_t of_word) {
  std::optional<int64_t> first = to.At(origin[0], origin[1]);
  if (!first || *first % (Target::kWarp * of_word) != 0) return std::nullopt;
  for (int64_t lane = 0; lane < Target::kWarp; ++lane) {
    for (int64_t e = 0; e < of_word; ++e) {
      int64_t slow = lane / 4, fast = lane % 4 * of_word + e;
      std::array<int64_t, 2> cell = origin;
      cell[1 - order.along] += order.transposed ? fast : slow;
      cell[order.along] += order.transposed ? slow : fast;
      if (to.At(cell[0], cell[1]) != *first + e * Target::kWarp + lane) return std::nullopt;
    }
  }
  return *first / (Target::kWarp * of_word);
}

// Returns the matrices of a tile, sorted by word; empty if one of them has no word (WordOf).
std::vector<Matrix> MatricesOf(const TileIndex& to, const Order& order, int64_t of_row,
                               int64_t of_word) {
  std::array<int64_t, 2> size = {kRows, kRows};
  size[order.along] = of_row;
  std::vector<Matrix> matrices;
  for (int64_t row = 0; row < to.extent(0); row += size[0]) {
    for (int64_t column = 0; column < to.extent(1); column += size[1]) {
      std::optional<int64_t> word = WordOf(to, {row, column}, order, of_word);
      if (!word) return {};
      matrices.push_back({{row, column}, *word});
    }
  }
  std::ranges::sort(matrices, [](const Matrix& a, const Matrix& b) { return a.word < b.word; });
  return matrices;
}

// Returns the origin of matrix m, provided that each bit of m moves it independently.
std::array<int64_t, 2> OriginByBits(const std::vector<Matrix>& matrices, size_t m) {
  std::array<int64_t, 2> origin = matrices[0].origin;
  for (size_t bit = 1; bit < matrices.size(); bit *= 2) {
    for (size_t d : {0, 1}) {
      if (m & bit) origin[d] += matrices[bit].origin[d] - matrices[0].origin[d];
    }
  }
  return origin;
}

// Returns the cell where the row of a lane begins: row lane % 8 of matrix lane / 8.
std::array<Expr, 2> RowOfLane(const std::vector<Matrix>& matrices, size_t along, const Var& lane) {
  std::array<Expr, 2> at = {Expr(matrices[0].origin[0]), Expr(matrices[0].origin[1])};
  at[1 - along] = at[1 - along] + FloorModulo(lane, Expr(kRows));
  for (size_t bit = 1; bit < matrices.size(); bit *= 2) {
    Expr set = FloorModulo(FloorDivide(lane, Expr(kRows * static_cast<int64_t>(bit))), Expr(2));
    for (size_t d : {0, 1}) {
      int64_t moved = matrices[bit].origin[d] - matrices[0].origin[d];
      if (moved != 0) at[d] = at[d] + set * Expr(moved);
    }
  }
  return at;
}

}  // namespace

const WarpInstruction* InstructionOf(const IntrinsicCall& call,
                                     const std::function<Scope(const Var&)>& scope_of) {
  bool of_warp = Contains(call.body, [&](const Stmt& stmt) {
    const auto* store = stmt.as<Store>();
    return store && scope_of(store->buffer) == Scope::kWarp;
  });
  return of_warp ? FindWarpInstruction(call.intrinsic) : nullptr;
}

StatusOr<MmaCall> ReadMma(const IntrinsicCall& call, const WarpInstruction& instruction,
                          const Bounds& bounds) {
  MmaCall mma;
  for (const MmaFunction& row : kMmaFunctions) {
    if (row.intrinsic == call.intrinsic) mma.function = row.function;
  }
  if (mma.function.empty()) return RefuseCall(call.intrinsic, "it has no such instruction");
  TCC_ASSIGN_OR_RETURN(ProductTile product, ProductTileOf(call));
  const CallTile& tile = product.tile;
  const Load *a = product.a, *b = product.b;
  const auto& fragments = instruction.operands;
  TCC_ASSIGN_OR_RETURN(mma.a, FragmentAt(tile, a->buffer, {tile, {0, 2}, a->indices[0], bounds},
                                         fragments[0].fragment));
  TCC_ASSIGN_OR_RETURN(mma.b, FragmentAt(tile, b->buffer, {tile, {2, 1}, b->indices[0], bounds},
                                         fragments[1].fragment));
  TCC_ASSIGN_OR_RETURN(
      mma.c, FragmentAt(tile, tile.store->buffer, {tile, {0, 1}, tile.store->indices[0], bounds},
                        fragments[2].fragment));
  return mma;
}

StatusOr<LoadMatricesCall> ReadLoadMatrices(const IntrinsicCall& call, const Var& lane,
                                            const Bounds& bounds) {
  TCC_ASSIGN_OR_RETURN(CallTile tile, TileOf(call));
  const auto* load = tile.store->value.as<Load>();
  if (!load || tile.loops.size() != 2) return RefuseCall(call.intrinsic, "it is no copy of a tile");
  LoadMatricesCall result;
  result.from = load->buffer;
  result.to = tile.store->buffer;
  TileIndex from(tile, {0, 1}, load->indices[0], bounds);
  TileIndex to(tile, {0, 1}, tile.store->indices[0], bounds);
  int64_t of_word = ElementsOfWord(result.to);
  int64_t of_row = kRowBytes / result.to.dtype().bytes();

  Bounds with_lane = bounds;
  with_lane[lane] = {0, Target::kWarp - 1};
  Expr step = from.At(Expr(0), Expr(1), with_lane) - from.At(Expr(0), Expr(0), with_lane);
  Order order{.along = IsConstant(Simplify(step, with_lane), 1) ? size_t{1} : size_t{0}};
  std::vector<Matrix> matrices = MatricesOf(to, order, of_row, of_word);
  if (matrices.empty() && of_word == 2) {
    order.transposed = true;
    matrices = MatricesOf(to, order, of_row, of_word);
  }
  bool fits = !matrices.empty() && matrices.size() <= 4 && std::has_single_bit(matrices.size());
  for (size_t m = 0; fits && m < matrices.size(); ++m) {
    fits = OriginByBits(matrices, m) == matrices[m].origin;
  }
  if (!fits) {
    return RefuseCall(call.intrinsic,
                      "its tile of '{}' does not lie in the registers that it fills",
                      result.to->name);
  }
  for (const Matrix& matrix : matrices) result.words.push_back(matrix.word);
  result.transposed = order.transposed;

  std::array<Expr, 2> at = RowOfLane(matrices, order.along, lane);
  result.row = from.At(at[0], at[1], with_lane);
  // The elements of a row must be contiguous, and the row aligned.
  bool whole = DivisorOf(result.row) % of_row == 0;
  for (int64_t e = 1; whole && e < of_row; ++e) {
    std::array<Expr, 2> shifted = at;
    shifted[order.along] = shifted[order.along] + Expr(e);
    Expr difference = from.At(shifted[0], shifted[1], with_lane) - result.row;
    whole = IsConstant(Simplify(difference, with_lane), e);
  }
  if (whole) return result;
  return RefuseCall(call.intrinsic, "rows of '{}' are no whole {} bytes", result.from->name,
                    kRowBytes);
}

bool HoldsFragments(const Stmt& body, const Var& buffer) {
  return Contains(
      body, [&](const Stmt& stmt) { return stmt.as<IntrinsicCall>() && UsesVar(stmt, buffer); });
}

int64_t RowsPerBank(const LoadMatricesCall& call, const Var& lane) {
  constexpr int64_t kBankGroups = kPassBytes / kRowBytes;
  int64_t most = 1;
  int64_t of_row = kRowBytes / call.from.dtype().bytes();
  for (size_t matrix = 0; matrix < call.words.size(); ++matrix) {
    std::array<int64_t, kBankGroups> meet = {};
    for (int64_t row = 0; row < kRows; ++row) {
      Assignment values;
      for (const Var& var : VarsOf(call.row)) values[var] = 0;
      values[lane] = static_cast<int64_t>(matrix) * kRows + row;
      std::optional<int64_t> start = EvaluateInt(call.row, values);
      if (!start) continue;
      int64_t& met = meet[static_cast<size_t>(*start / of_row % kBankGroups)];
      most = std::max(most, ++met);
    }
  }
  return most;
}

}  // namespace tcc
