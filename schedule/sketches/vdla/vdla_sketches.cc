#include <algorithm>

#include "ir/expr/visitor.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/operand_panels.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/sketches/vdla/vdla_product.h"
#include "schedule/sketches/vdla/vdla_rules.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/split.h"
#include "schedule/steps/tensorize.h"

namespace tcc {
namespace {

constexpr int64_t kContexts = 2;  // of VdlaContexts but kNone

class VdlaTiling {
 public:
  VdlaTiling(const SketchState& state, const VdlaProduct& product, const VdlaTile& tile)
      : state_(state), product_(product), tile_(tile) {}

  std::optional<SketchState> Build() && {
    const std::string& name = product_.block->name;
    const std::string weight = CopyName(name, product_.weight.var->name);
    const std::vector<LoopRef> order = SplitLoops();
    const LoopRef step = LevelKey(Key(product_.input_block), 0);
    const LoopRef tile = context_.empty() ? LevelKey(Key(product_.output_block), 0) : context_;
    const bool legal =
        state_.Try(Reorder{order}) &&
        (context_.empty() || state_.Try(Bind{context_, ForKind::kVthread})) &&
        state_.Try(SetScope{product_.sums.var->name, Scope::kLocal}) &&
        state_.Try(ReverseComputeAt{product_.result_block, tile}) &&
        state_.Try(CacheRead{product_.weight.var->name, {name}, Scope::kLocal, weight}) &&
        state_.Try(ComputeAt{weight, step}) &&
        state_.Try(SetScope{product_.data.var->name, Scope::kLocal}) &&
        state_.Try(ComputeAt{product_.data_block, step}) &&
        state_.Try(DecomposeReduction{name, step}) &&
        state_.Try(Tensorize{Key(product_.output), "vdla_gemv_16x16"});
    if (!legal) return std::nullopt;
    for (const std::string& done :
         {name, name + ".init", weight, product_.data_block, product_.result_block}) {
      state_.MarkDone(done);
    }
    return std::move(state_);
  }

 private:
  LoopRef Key(size_t iter) const { return BaseKey(product_.block->name, Iter(iter)); }
  const IterVar& Iter(size_t iter) const { return product_.block->iters[iter]; }

  // Splits a loop by a size that divides its extent, and the loop over tiles by the contexts, if
  // they are along it. Returns the loop inside a tile.
  LoopRef SplitEvenly(size_t iter, int64_t start, VdlaContexts contexts) {
    const bool has_contexts = tile_.contexts == contexts;
    const size_t inside = has_contexts ? 2 : 1;
    const int64_t most = ExtentOf(*product_.block, iter) / (has_contexts ? kContexts : 1);
    const Domain divisors = {DomainKind::kDivisors, {most}};
    const Expr size = state_.Size(LevelKey(Key(iter), inside), most, divisors, start);
    if (!has_contexts) {
      state_.Do(Split{Key(iter), {size}});
    } else {
      state_.Do(Split{Key(iter), {Expr(kContexts), size}});
      context_ = LevelKey(Key(iter), 1);
    }
    return LevelKey(Key(iter), inside);
  }

  // Splits the reduction into steps. Returns the loop inside one.
  LoopRef SplitInputs() {
    const LoopRef key = Key(product_.input_block), inside = LevelKey(key, 1);
    const int64_t extent = ExtentOf(*product_.block, product_.input_block);
    const Domain divisors = {DomainKind::kDivisors, {extent}};
    state_.Do(Split{key, {state_.Size(inside, extent, divisors, tile_.input_blocks)}});
    return inside;
  }

  // Splits the loops that a tile has parts of. Returns all loops in order.
  std::vector<LoopRef> SplitLoops() {
    std::vector<LoopRef> outer, inner;
    for (size_t i : product_.images) outer.push_back(Key(i));
    for (size_t p = 0; p < product_.pixels.size(); ++p) {
      const bool is_row = p + 1 < product_.pixels.size();
      inner.push_back(SplitEvenly(product_.pixels[p], is_row ? tile_.rows : tile_.columns,
                                  is_row ? VdlaContexts::kRows : VdlaContexts::kColumns));
      outer.push_back(LevelKey(Key(product_.pixels[p]), 0));
    }
    const LoopRef outputs =
        SplitEvenly(product_.output_block, tile_.output_blocks, VdlaContexts::kOutputs);
    const LoopRef inputs = SplitInputs();
    outer.push_back(LevelKey(Key(product_.output_block), 0));
    if (!context_.empty()) outer.push_back(context_);
    outer.push_back(LevelKey(Key(product_.input_block), 0));
    for (size_t tap : product_.taps) inner.push_back(Key(tap));
    inner.insert(inner.end(), {inputs, outputs, Key(product_.output), Key(product_.input)});
    outer.insert(outer.end(), inner.begin(), inner.end());
    return outer;
  }

  SketchState state_;
  const VdlaProduct& product_;
  const VdlaTile tile_;
  LoopRef context_;  // the loop over contexts; "": there is one
};

}  // namespace

std::vector<SketchState> TileForVdla(const SketchState& state, const Block& block, const Target&) {
  const std::optional<VdlaProduct> product = FindVdlaProduct(state.fn(), block);
  if (!product || state.IsDone(product->block->name)) return {};
  if (block.name != product->block->name && block.name != product->data_block) return {};
  std::vector<SketchState> forks;
  for (const VdlaTile& tile : ChooseVdlaTiles(product->work, VdlaConfig())) {
    std::optional<SketchState> tiled = VdlaTiling(state, *product, tile).Build();
    if (tiled) forks.push_back(*std::move(tiled));
  }
  return forks;
}

bool HasVdlaTile(const Function& fn) {
  return Contains(fn.body, [&](const Stmt& stmt) {
    const auto* block = stmt.as<Block>();
    const auto product = block ? FindVdlaProduct(fn, *block) : std::nullopt;
    return product && !ChooseVdlaTiles(product->work, VdlaConfig()).empty();
  });
}

std::span<const SketchRule> VdlaSketchRules() {
  static const auto* rules = [] {
    auto* all =
        new std::vector<SketchRule>{{"vdla", TileForVdla, "products of blocks of 16 x 16 bytes"}};
    const std::span<const SketchRule> others = CpuSketchRules();
    all->insert(all->end(), others.begin(), others.end());
    return all;
  }();
  return *rules;
}

}  // namespace tcc
