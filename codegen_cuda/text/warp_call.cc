#include "codegen_cuda/text/warp_call.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <set>

#include "codegen_cuda/text/divisor.h"
#include "ir/expr/compare.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "support/device_profile.h"

namespace tcc {
namespace {

constexpr int64_t kRows = 8;  // the rows of a matrix that ldmatrix loads
constexpr int64_t kRowBytes = 16;
constexpr int64_t kWordBytes = 4;

struct MmaFunction {
  std::string_view intrinsic;
  std::string_view function;
};

constexpr MmaFunction kMmaFunctions[] = {
    {"mma_m16n8k16_f16_f32", "tcc_mma_m16n8k16_f16"},
    {"mma_m16n8k16_bf16_f32", "tcc_mma_m16n8k16_bf16"},
    {"mma_m16n8k8_f16_f32", "tcc_mma_m16n8k8_f16"},
    {"mma_m16n8k8_tf32_f32", "tcc_mma_m16n8k8_tf32"},
    {"mma_m16n8k8_3xtf32_f32", "tcc_mma_m16n8k8_3xtf32"},
    {"mma_m16n8k32_s8_s32", "tcc_mma_m16n8k32_s8"},
    {"mma_m8n8k16_s8_s32", "tcc_mma_m8n8k16_s8"},
};

// The loops of a body, outermost first, and the store that they run.
struct Tile {
  std::string intrinsic;
  std::vector<Var> loops;
  std::vector<int64_t> extents;
  const Store* store = nullptr;
};

template <typename... Args>
Status Refuse(const std::string& intrinsic, fmt::format_string<Args...> format, Args&&... args) {
  return Unsupported("intrinsic '{}': {}", intrinsic,
                     fmt::format(format, std::forward<Args>(args)...));
}

StatusOr<Tile> TileOf(const IntrinsicCall& call) {
  Tile tile;
  tile.intrinsic = call.intrinsic;
  Stmt at = call.body;
  while (const auto* loop = at.as<For>()) {
    std::optional<int64_t> extent = AsConstant(loop->extent);
    if (!extent) return Refuse(tile.intrinsic, "loop '{}' has a free extent", loop->var->name);
    tile.loops.push_back(loop->var);
    tile.extents.push_back(*extent);
    at = loop->body;
  }
  tile.store = at.as<Store>();
  if (tile.store && !tile.store->mask) return tile;
  return Refuse(tile.intrinsic, "its tile is cut by a condition");
}

// An index as a function of two of the tile's loops; the others are at 0.
class TileIndex {
 public:
  TileIndex(const Tile& tile, std::array<size_t, 2> axes, const Expr& index, const Bounds& bounds)
      : tile_(tile), axes_(axes), index_(Simplify(index, WithLoops(bounds))) {}

  int64_t extent(int dim) const { return tile_.extents[axes_[static_cast<size_t>(dim)]]; }

  // Returns nullopt if the index has other variables.
  std::optional<int64_t> At(int64_t row, int64_t column) const {
    Assignment values;
    for (const Var& loop : tile_.loops) values[loop] = 0;
    values[tile_.loops[axes_[0]]] = row;
    values[tile_.loops[axes_[1]]] = column;
    return EvaluateInt(index_, values);
  }

  Expr At(const Expr& row, const Expr& column, const Bounds& bounds) const {
    Substitution values;
    for (const Var& loop : tile_.loops) values[loop] = Expr(0);
    values[tile_.loops[axes_[0]]] = row;
    values[tile_.loops[axes_[1]]] = column;
    return Simplify(Substitute(index_, values), bounds);
  }

 private:
  Bounds WithLoops(Bounds bounds) const {
    for (size_t i = 0; i < tile_.loops.size(); ++i) {
      bounds[tile_.loops[i]] = {0, tile_.extents[i] - 1};
    }
    return bounds;
  }

  const Tile& tile_;
  std::array<size_t, 2> axes_;
  Expr index_;
};

int64_t ElementsOfWord(const Var& buffer) {
  return std::max<int64_t>(1, kWordBytes / buffer.dtype().bytes());
}

// Returns the words that hold the tile's fragment.
StatusOr<MmaCall::Operand> OperandAt(const Tile& tile, const Var& buffer, const TileIndex& index,
                                     Fragment fragment) {
  std::optional<int64_t> first = index.At(0, 0);
  int64_t cells = index.extent(0) * index.extent(1);
  bool fits = first && *first % cells == 0;
  for (int64_t row = 0; fits && row < index.extent(0); ++row) {
    for (int64_t column = 0; fits && column < index.extent(1); ++column) {
      fits = index.At(row, column) == *first + PlaceOf(fragment, std::array{row, column});
    }
  }
  if (!fits) {
    return Refuse(tile.intrinsic, "its tile of '{}' does not lie in the registers that it takes",
                  buffer->name);
  }
  int64_t of_word = Target::kWarp * ElementsOfWord(buffer);
  return MmaCall::Operand{buffer, *first / of_word, cells / of_word};
}

const Load* LoadIn(const Expr& expr, const std::function<bool(const Load&)>& wanted) {
  const Load* found = nullptr;
  PreOrder(expr, [&](const Expr& e) {
    const auto* load = e.as<Load>();
    if (load && wanted(*load)) found = load;
  });
  return found;
}

bool IsSame(const Load& load, const Var& buffer, const Expr& index) {
  return load.buffer == buffer && Equal(load.indices[0], index);
}

// Checks whether the store adds to its cell a product of the two loads, or a sum of products where
// one call stands for several instructions, that reads nothing else.
bool AddsProduct(const Store& store, const Load& a, const Load& b) {
  const auto* sum = store.value.as<Add>();
  if (!sum) return false;
  auto is_cell = [&](const Expr& expr) {
    const auto* load = expr.as<Load>();
    return load && IsSame(*load, store.buffer, store.indices[0]);
  };
  if (is_cell(sum->a) == is_cell(sum->b)) return false;
  const Expr& product = is_cell(sum->a) ? sum->b : sum->a;
  return (product.as<Mul>() || product.as<Add>()) && !LoadIn(product, [&](const Load& load) {
           return !IsSame(load, a.buffer, a.indices[0]) && !IsSame(load, b.buffer, b.indices[0]);
         });
}

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
  TCC_ASSIGN_OR_RETURN(Tile tile, TileOf(call));
  MmaCall mma;
  for (const MmaFunction& row : kMmaFunctions) {
    if (row.intrinsic == call.intrinsic) mma.function = row.function;
  }
  const Expr& value = tile.store->value;
  auto uses = [&](const Load& load, size_t axis) {
    return UsesVar(load.indices[0], tile.loops[axis]);
  };
  bool three = tile.loops.size() == 3;
  const Load* a =
      three ? LoadIn(value, [&](const Load& load) { return uses(load, 0) && uses(load, 2); })
            : nullptr;
  const Load* b =
      three ? LoadIn(value, [&](const Load& load) { return uses(load, 1) && uses(load, 2); })
            : nullptr;
  if (mma.function.empty() || !a || !b) return Refuse(call.intrinsic, "it has no such instruction");
  if (!AddsProduct(*tile.store, *a, *b)) {
    return Refuse(call.intrinsic, "its tile is no sum of products");
  }
  const auto& fragments = instruction.operands;
  TCC_ASSIGN_OR_RETURN(mma.a, OperandAt(tile, a->buffer, {tile, {0, 2}, a->indices[0], bounds},
                                        fragments[0].fragment));
  TCC_ASSIGN_OR_RETURN(mma.b, OperandAt(tile, b->buffer, {tile, {2, 1}, b->indices[0], bounds},
                                        fragments[1].fragment));
  TCC_ASSIGN_OR_RETURN(
      mma.c, OperandAt(tile, tile.store->buffer, {tile, {0, 1}, tile.store->indices[0], bounds},
                       fragments[2].fragment));
  return mma;
}

StatusOr<LoadMatricesCall> ReadLoadMatrices(const IntrinsicCall& call, const Var& lane,
                                            const Bounds& bounds) {
  TCC_ASSIGN_OR_RETURN(Tile tile, TileOf(call));
  const auto* load = tile.store->value.as<Load>();
  if (!load || tile.loops.size() != 2) return Refuse(call.intrinsic, "it is no copy of a tile");
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
    return Refuse(call.intrinsic, "its tile of '{}' does not lie in the registers that it fills",
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
  return Refuse(call.intrinsic, "rows of '{}' are no whole {} bytes", result.from->name, kRowBytes);
}

std::optional<int64_t> OwnRegister(const Expr& index, const Bounds& bounds,
                                   const std::function<bool(const Var&)>& is_lane) {
  Expr lane = Simplify(FloorModulo(index, Expr(Target::kWarp)), bounds);
  const auto* var = lane.as<VarNode>();
  if (!var || !is_lane(Var(var))) return std::nullopt;
  return AsConstant(Simplify(FloorDivide(index, Expr(Target::kWarp)), bounds));
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
