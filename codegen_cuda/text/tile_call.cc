#include "codegen_cuda/text/tile_call.h"

#include <algorithm>
#include <functional>

#include "ir/expr/compare.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "support/target.h"

namespace tcc {
namespace {

constexpr int64_t kWordBytes = 4;  // of a register

Bounds WithLoops(Bounds bounds, const CallTile& tile) {
  for (size_t i = 0; i < tile.loops.size(); ++i) {
    bounds[tile.loops[i]] = {0, tile.extents[i] - 1};
  }
  return bounds;
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

}  // namespace

StatusOr<CallTile> TileOf(const IntrinsicCall& call) {
  CallTile tile;
  tile.intrinsic = call.intrinsic;
  Stmt at = call.body;
  while (const auto* loop = at.as<For>()) {
    std::optional<int64_t> extent = AsConstant(loop->extent);
    if (!extent) return RefuseCall(tile.intrinsic, "loop '{}' has a free extent", loop->var->name);
    tile.loops.push_back(loop->var);
    tile.extents.push_back(*extent);
    at = loop->body;
  }
  tile.store = at.as<Store>();
  if (tile.store && !tile.store->mask) return tile;
  return RefuseCall(tile.intrinsic, "its tile is cut by a condition");
}

TileIndex::TileIndex(const CallTile& tile, std::array<size_t, 2> axes, const Expr& index,
                     const Bounds& bounds)
    : tile_(tile), axes_(axes), index_(Simplify(index, WithLoops(bounds, tile))) {}

std::optional<int64_t> TileIndex::At(int64_t row, int64_t column) const {
  Assignment values;
  for (const Var& loop : tile_.loops) values[loop] = 0;
  values[tile_.loops[axes_[0]]] = row;
  values[tile_.loops[axes_[1]]] = column;
  return EvaluateInt(index_, values);
}

Expr TileIndex::At(const Expr& row, const Expr& column, const Bounds& bounds) const {
  Substitution values;
  for (const Var& loop : tile_.loops) values[loop] = Expr(0);
  values[tile_.loops[axes_[0]]] = row;
  values[tile_.loops[axes_[1]]] = column;
  return Simplify(Substitute(index_, values), bounds);
}

StatusOr<ProductTile> ProductTileOf(const IntrinsicCall& call) {
  ProductTile product;
  TCC_ASSIGN_OR_RETURN(product.tile, TileOf(call));
  const CallTile& tile = product.tile;
  if (tile.loops.size() != 3) return RefuseCall(call.intrinsic, "its tile is no product");
  const Expr& value = tile.store->value;
  auto uses = [&](const Load& load, size_t axis) {
    return UsesVar(load.indices[0], tile.loops[axis]);
  };
  product.a = LoadIn(value, [&](const Load& load) { return uses(load, 0) && uses(load, 2); });
  product.b = LoadIn(value, [&](const Load& load) { return uses(load, 1) && uses(load, 2); });
  bool adds = product.a && product.b && AddsProduct(*tile.store, *product.a, *product.b);
  if (!adds) return RefuseCall(call.intrinsic, "its tile is no sum of products");
  return product;
}

StatusOr<FragmentWords> FragmentAt(const CallTile& tile, const Var& buffer, const TileIndex& index,
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
    return RefuseCall(tile.intrinsic,
                      "its tile of '{}' does not lie in the registers that it takes", buffer->name);
  }
  int64_t of_word = Target::kWarp * ElementsOfWord(buffer);
  return FragmentWords{buffer, *first / of_word, cells / of_word};
}

int64_t ElementsOfWord(const Var& buffer) {
  return std::max<int64_t>(1, kWordBytes / buffer.dtype().bytes());
}

}  // namespace tcc
