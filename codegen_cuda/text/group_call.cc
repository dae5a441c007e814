#include "codegen_cuda/text/group_call.h"

#include <algorithm>
#include <optional>

#include "codegen_cuda/text/divisor.h"
#include "ir/expr/compare.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

constexpr int64_t kWarps = 4;        // of a group
constexpr int64_t kTileRows = 16;    // of a warp
constexpr int64_t kTileColumns = 8;  // of a call
constexpr int64_t kRows = 8;         // of a swizzle's pattern
constexpr int64_t kChunkBytes = 16;  // that a swizzle moves together
constexpr int64_t kLineBytes = 128;  // whose number says how its chunks are swizzled
constexpr int64_t kSpans[] = {128, 64, 32};
constexpr int64_t kNoLead = kChunkBytes;  // of a descriptor that needs none

struct GroupFunction {
  std::string_view intrinsic;
  GroupType type;
};

constexpr GroupFunction kFunctions[] = {
    {"group_mma_m16n8k16_f16_f32", GroupType::kF16},
    {"group_mma_m16n8k16_bf16_f32", GroupType::kBF16},
    {"group_mma_m16n8k8_tf32_f32", GroupType::kTf32},
    {"group_mma_m16n8k32_s8_s32", GroupType::kS8},
};

// Where a descriptor says that elements lie: the span is 128, 64 or 32 bytes, as the mode is 1, 2
// or 3.
struct Form {
  int64_t span = 0, bytes = 0;  // of a span and of an element
  bool transposed = false;
  int64_t lead = 0, stride = 0;

  // Returns the address of an element by the hardware's rule (PTX ISA, "matrix descriptor"); `row`
  // runs along M or N.
  int64_t AddressOf(int64_t start, int64_t row, int64_t k) const {
    int64_t along = row * bytes;
    int64_t address = transposed ? start + along / span * lead + along % span + k % kRows * span +
                                       k / kRows * stride
                                 : start + row % kRows * span + row / kRows * stride + k * bytes;
    int64_t chunks = span / kChunkBytes;
    return address ^ address / kLineBytes % chunks * kChunkBytes;
  }
  bool IsStart(int64_t address) const {
    return address % kChunkBytes == 0 && address % (kRows * span) < span;
  }
  int mode() const { return span == 128 ? 1 : span == 64 ? 2 : 3; }
};

// An index of shared memory as the sum of what the tile and the warp say and of what is the same
// for all threads.
struct Split {
  Expr own, rest;
};

class GroupReader {
 public:
  GroupReader(const IntrinsicCall& first, const GroupPlace& place, const Bounds& bounds)
      : intrinsic_(first.intrinsic), place_(place), bounds_(bounds) {}

  // Reads the instruction that the first calls are together, and takes those.
  StatusOr<GroupProduct> Take(std::span<const IntrinsicCall* const>& calls) {
    TCC_RETURN_IF_ERROR(CheckWarps());
    GroupProduct product;
    std::vector<ProductTile> tiles;
    for (const IntrinsicCall* call : calls) {
      if (call->intrinsic != intrinsic_) break;
      TCC_ASSIGN_OR_RETURN(ProductTile tile, ProductTileOf(*call));
      TCC_ASSIGN_OR_RETURN(FragmentWords c, SumOf(tile));
      int64_t at = c.word / c.words;
      if (tiles.empty()) {
        product.c = c.buffer;
        product.first = at;
      } else if (!GoesOn(tiles[0], tile) || !(c.buffer == product.c) ||
                 at != product.first + std::ssize(tiles)) {
        break;
      }
      tiles.push_back(std::move(tile));
    }
    calls = calls.subspan(tiles.size());
    const auto* known = std::ranges::find(kFunctions, intrinsic_, &GroupFunction::intrinsic);
    if (known == std::end(kFunctions)) return Refuse("it has no such instruction");
    auto columns = kTileColumns * std::ssize(tiles);
    if (!IsGroupColumns(known->type, columns)) {
      return Refuse("there is none of {} columns", columns);
    }
    TCC_ASSIGN_OR_RETURN(product.a, LeftOf(tiles[0]));
    TCC_ASSIGN_OR_RETURN(product.b, RightOf(tiles));
    product.mma = {known->type, static_cast<int>(columns), product.a.transposed,
                   product.b.transposed};
    return product;
  }

 private:
  // The address of a group's element, by row and k; nullopt if it is not known.
  using Address = std::function<std::optional<int64_t>(int64_t group, int64_t row, int64_t k)>;

  template <typename... Args>
  Status Refuse(fmt::format_string<Args...> format, Args&&... args) const {
    return RefuseCall(intrinsic_, format, std::forward<Args>(args)...);
  }

  Status CheckWarps() const {
    if (place_.warps > 0 && place_.warps % kWarps == 0) return OkStatus();
    return Refuse("a block has {} warps; expected a multiple of {}", place_.warps, kWarps);
  }

  StatusOr<FragmentWords> SumOf(const ProductTile& product) const {
    const CallTile& tile = product.tile;
    const WarpInstruction& instruction = *FindWarpInstruction(intrinsic_);
    TileIndex index(tile, {0, 1}, tile.store->indices[0], bounds_);
    return FragmentAt(tile, tile.store->buffer, index, instruction.operands[0].fragment);
  }

  // Returns whether `next` reads the same A, and its columns of the same B.
  static bool GoesOn(const ProductTile& first, const ProductTile& next) {
    Substitution renamed;
    for (size_t l = 0; l < first.tile.loops.size(); ++l) {
      renamed[next.tile.loops[l]] = first.tile.loops[l];
    }
    return next.a->buffer == first.a->buffer && next.b->buffer == first.b->buffer &&
           Equal(Substitute(next.a->indices[0], renamed), first.a->indices[0]);
  }

  // Returns the index with the number of its warp as `place_.warp`.
  StatusOr<Split> SplitOf(const CallTile& tile, const Load& load) const {
    Substitution warps, uniform;
    for (const Var& var : VarsOf(load.indices[0])) {
      if (std::ranges::find(tile.loops, var) != tile.loops.end()) continue;
      if (place_.is_warp(var)) {
        warps[var] = place_.warp;
      } else if (place_.is_uniform(var)) {
        uniform[var] = Expr(0);
      } else {
        return Refuse("its tile of '{}' differs between the lanes of a warp", load.buffer->name);
      }
    }
    Bounds bounds = bounds_;
    for (size_t l = 0; l < tile.loops.size(); ++l) {
      bounds[tile.loops[l]] = {0, tile.extents[l] - 1};
    }
    bounds[place_.warp] = {0, place_.warps - 1};
    Split split;
    Expr index = Substitute(load.indices[0], warps);
    split.own = Simplify(Substitute(index, uniform), bounds);
    split.rest = Simplify(index - split.own, bounds);
    bool apart = std::ranges::all_of(VarsOf(split.rest),
                                     [&](const Var& var) { return uniform.contains(var); });
    if (apart) return split;
    return Refuse("its tile of '{}' does not lie alike at all steps", load.buffer->name);
  }

  // Finds the form in which `address` has all cells of the operand in each group that `groups`
  // counts, and in which the index may begin.
  StatusOr<GroupOperand> OperandOf(const Load& load, const Expr& start, const Expr& rest,
                                   int64_t rows, int64_t groups, const Address& address) const {
    const int64_t bytes = load.buffer.dtype().bytes(), depth = 2 * kChunkBytes / bytes;
    for (int64_t span : kSpans) {
      for (bool transposed : {false, true}) {
        if (transposed && bytes != 2) continue;
        if (place_.alignment(load.buffer) % (kRows * span) != 0) continue;
        if (DivisorOf(rest) * bytes % (kRows * span) != 0) continue;
        std::optional<Form> form = FormAt(span, bytes, transposed, rows, depth, address);
        bool fits = form.has_value();
        for (int64_t group = 0; fits && group < groups; ++group) {
          fits = LiesSo(*form, rows, depth, group, address);
        }
        if (!fits) continue;
        return GroupOperand{.buffer = load.buffer,
                            .index = start,
                            .mode = form->mode(),
                            .lead_bytes = form->lead,
                            .stride_bytes = form->stride,
                            .transposed = transposed};
      }
    }
    return Refuse("its tile of '{}' lies as no descriptor of shared memory says",
                  load.buffer->name);
  }

  // Reads the strides of such a form off the addresses of the first group.
  static std::optional<Form> FormAt(int64_t span, int64_t bytes, bool transposed, int64_t rows,
                                    int64_t depth, const Address& address) {
    Form form{.span = span, .bytes = bytes, .transposed = transposed};
    auto step = [&](int64_t row, int64_t k) -> std::optional<int64_t> {
      std::optional<int64_t> from = address(0, 0, 0), to = address(0, row, k);
      return from && to ? std::optional(*to - *from) : std::nullopt;
    };
    std::optional<int64_t> lead = kNoLead, stride = kRows * span;
    if (transposed) {
      if (rows * bytes > span) lead = step(span / bytes, 0);
      if (depth > kRows) stride = step(0, kRows);
    } else if (rows > kRows) {
      stride = step(kRows, 0);
    }
    if (!lead || !stride || *lead <= 0 || *stride <= 0) return std::nullopt;
    form.lead = *lead;
    form.stride = *stride;
    return form;
  }

  static bool LiesSo(const Form& form, int64_t rows, int64_t depth, int64_t group,
                     const Address& address) {
    std::optional<int64_t> start = address(group, 0, 0);
    if (!start || !form.IsStart(*start)) return false;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t k = 0; k < depth; ++k) {
        if (address(group, row, k) != form.AddressOf(*start, row, k)) return false;
      }
    }
    return true;
  }

  // Returns the index of the operand's first element, as the group's first warp has it.
  Expr StartOf(const CallTile& tile, const Load& load) const {
    Substitution first;
    for (const Var& var : VarsOf(load.indices[0])) {
      if (place_.is_warp(var)) first[var] = FloorDivide(var, Expr(kWarps)) * Expr(kWarps);
    }
    for (const Var& loop : tile.loops) first[loop] = Expr(0);
    return Simplify(Substitute(load.indices[0], first), bounds_);
  }

  std::optional<int64_t> Evaluated(const CallTile& tile, const Load& load, const Split& split,
                                   int64_t warp, const std::array<int64_t, 3>& at) const {
    Assignment values = {{place_.warp, warp}};
    for (size_t l = 0; l < at.size(); ++l) values[tile.loops[l]] = at[l];
    std::optional<int64_t> index = EvaluateInt(split.own, values);
    return index ? std::optional(*index * load.buffer.dtype().bytes()) : std::nullopt;
  }

  // Reads A: the rows of a group's warps follow each other.
  StatusOr<GroupOperand> LeftOf(const ProductTile& product) const {
    const CallTile& tile = product.tile;
    const Load& load = *product.a;
    TCC_ASSIGN_OR_RETURN(Split split, SplitOf(tile, load));
    auto address = [&](int64_t group, int64_t row, int64_t k) {
      int64_t warp = group * kWarps + row / kTileRows;
      return Evaluated(tile, load, split, warp, {row % kTileRows, 0, k});
    };
    return OperandOf(load, StartOf(tile, load), split.rest, kWarps * kTileRows,
                     place_.warps / kWarps, address);
  }

  // Reads B: the warps of a group share the columns of all tiles.
  StatusOr<GroupOperand> RightOf(const std::vector<ProductTile>& tiles) const {
    std::vector<Split> splits;
    bool by_group = false;
    for (const ProductTile& product : tiles) {
      TCC_ASSIGN_OR_RETURN(Split split, SplitOf(product.tile, *product.b));
      TCC_RETURN_IF_ERROR(CheckAlike(product, split));
      by_group = by_group || UsesVar(split.own, place_.warp);
      if (!splits.empty() && !Equal(split.rest, splits[0].rest)) {
        return Refuse("its tiles of '{}' do not lie alike", product.b->buffer->name);
      }
      splits.push_back(std::move(split));
    }
    const ProductTile& first = tiles[0];
    auto address = [&](int64_t group, int64_t row, int64_t k) {
      auto t = static_cast<size_t>(row / kTileColumns);
      return Evaluated(tiles[t].tile, *tiles[t].b, splits[t], group * kWarps,
                       {0, row % kTileColumns, k});
    };
    return OperandOf(*first.b, StartOf(first.tile, *first.b), splits[0].rest,
                     kTileColumns * std::ssize(tiles), by_group ? place_.warps / kWarps : 1,
                     address);
  }

  // Checks that the warps of a group read the same.
  Status CheckAlike(const ProductTile& product, const Split& split) const {
    Var group = LoopVar("group"), within = LoopVar("within");
    Bounds bounds = bounds_;
    for (size_t l = 0; l < product.tile.loops.size(); ++l) {
      bounds[product.tile.loops[l]] = {0, product.tile.extents[l] - 1};
    }
    bounds[group] = {0, place_.warps / kWarps - 1};
    bounds[within] = {0, kWarps - 1};
    Expr index = Substitute(split.own, place_.warp, Expr(group) * Expr(kWarps) + Expr(within));
    if (!UsesVar(Simplify(index, bounds), within)) return OkStatus();
    return Refuse("four neighbouring warps read different columns of '{}'",
                  product.b->buffer->name);
  }

  std::string intrinsic_;
  const GroupPlace& place_;
  const Bounds& bounds_;
};

}  // namespace

StatusOr<std::vector<GroupProduct>> ReadGroupProducts(std::span<const IntrinsicCall* const> calls,
                                                      const GroupPlace& place,
                                                      const Bounds& bounds) {
  std::vector<GroupProduct> products;
  while (!calls.empty()) {
    TCC_ASSIGN_OR_RETURN(products.emplace_back(),
                         GroupReader(*calls[0], place, bounds).Take(calls));
  }
  return products;
}

}  // namespace tcc
