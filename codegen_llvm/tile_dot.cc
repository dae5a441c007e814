#include "codegen_llvm/tile_dot.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "ir/analysis/affine.h"
#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "support/word_tile.h"

namespace tcc {
namespace {

// An access of the innermost statement: its index is first + sum strides[l] * loops[l].
struct StridedAccess {
  Var buffer;
  Expr first;
  std::array<int64_t, 3> strides;  // by loop; 0 where it does not move
};

std::optional<StridedAccess> ReadAccess(const Var& buffer, const std::vector<Expr>& indices,
                                        const std::vector<Var>& loops) {
  if (indices.size() != 1) return std::nullopt;
  std::optional<AffineForm> form = ToAffine(indices[0], loops);
  if (!form) return std::nullopt;
  StridedAccess access{buffer, Simplify(form->rest), {}};
  for (size_t i = 0; i < form->vars.size(); ++i) {
    std::optional<int64_t> stride = AsConstant(Simplify(form->coefficients[i]));
    auto loop = std::ranges::find(loops, form->vars[i]) - loops.begin();
    if (!stride) return std::nullopt;
    access.strides[static_cast<size_t>(loop)] = *stride;
  }
  return access;
}

// The innermost statement c = c + dot(a, b).
struct Sum {
  const Store* store;
  const Call* dot;
};

std::optional<Sum> ReadSum(const Store& store) {
  const auto* add = store.value.as<Add>();
  if (!add || store.mask) return std::nullopt;
  for (const auto& [old, term] : {std::pair(add->a, add->b), std::pair(add->b, add->a)}) {
    const auto* load = old.as<Load>();
    const auto* call = term.as<Call>();
    bool adds = load && call && load->buffer == store.buffer && load->indices.size() == 1 &&
                store.indices.size() == 1 && Equal(load->indices[0], store.indices[0]);
    if (adds) return Sum{&store, call};
  }
  return std::nullopt;
}

// Returns the tile whose rows the loop `row` counts, and whose columns are neighbours.
std::optional<Tile> TileOf(const StridedAccess& access, size_t row, size_t column, size_t other) {
  if (access.strides[column] != 1 || access.strides[other] != 0) return std::nullopt;
  return Tile{access.buffer, access.first, access.strides[row]};
}

}  // namespace

std::optional<TileDot> ReadTileDot(const IntrinsicCall& call, int64_t edge) {
  const bool is_amx = edge == kAmxTile;
  if (!call.intrinsic.starts_with(is_amx ? "tile_dot_" : "mmla_")) return std::nullopt;
  std::vector<Var> loops;
  Expr condition;
  Stmt at = call.body;
  for (;;) {
    if (const auto* loop = at.as<For>()) {
      if (AsConstant(loop->extent) != edge) return std::nullopt;
      loops.push_back(loop->var);
      at = loop->body;
    } else if (const auto* guard = at.as<If>(); guard && !guard->else_body) {
      condition = condition ? BothOf(condition, guard->condition) : guard->condition;
      at = guard->then_body;
    } else {
      break;
    }
  }
  // A guard holds for all instances of a tile or for none (Tensorize), as for the first.
  if (condition) {
    Substitution first;
    for (const Var& loop : loops) first.emplace(loop, Expr(0));
    condition = Simplify(Substitute(condition, first));
  }
  const auto* store = at.as<Store>();
  std::optional<Sum> sum = store ? ReadSum(*store) : std::nullopt;
  const auto* a_load = sum ? sum->dot->args[0].as<Load>() : nullptr;
  const auto* b_load = sum ? sum->dot->args[1].as<Load>() : nullptr;
  if (loops.size() != 3 || !a_load || !b_load) return std::nullopt;
  auto c = ReadAccess(store->buffer, store->indices, loops);
  auto a = ReadAccess(a_load->buffer, a_load->indices, loops);
  auto b = ReadAccess(b_load->buffer, b_load->indices, loops);
  if (!a || !b || !c) return std::nullopt;
  // The loop that each operand lacks tells its part.
  auto still = [](const StridedAccess& access) {
    return static_cast<size_t>(std::ranges::find(access.strides, 0) - access.strides.begin());
  };
  size_t i = still(*b), j = still(*a), k = still(*c);
  if (i + j + k != 3 || i == j || j == k || i == k) return std::nullopt;
  std::optional<Tile> tile_a = TileOf(*a, i, k, j), tile_c = TileOf(*c, i, j, k),
                      tile_b = is_amx ? TileOf(*b, k, j, i) : TileOf(*b, j, k, i);
  if (!tile_a || !tile_b || !tile_c) return std::nullopt;
  return TileDot{sum->dot->op, *tile_a, *tile_b, *tile_c, condition};
}

}  // namespace tcc
