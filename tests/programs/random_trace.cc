#include "tests/programs/random_trace.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/space/overflow.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/pad.h"
#include "schedule/steps/re_index.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/split.h"
#include "schedule/steps/tensorize.h"
#include "tests/programs/random_step.h"

namespace tcc {
namespace {

class TraceGrower {
 public:
  TraceGrower(const Function& fn, bool hardware, Random& random)
      : fn_(fn), hardware_(hardware), random_(random) {
    fn_.level = Level::kScheduled;
  }

  // Whether one of `tries` proposals was legal, and taken; of the kind, if one is given.
  bool Grow(int tries, std::optional<size_t> kind = std::nullopt) {
    size_t sizes = trace_.sizes.size();
    for (; tries > 0; --tries) {
      StepProposer proposer(fn_, trace_.sizes, random_, hardware_);
      if (Take(kind ? proposer.Propose(*kind) : proposer.ProposeAny())) return true;
      trace_.sizes.resize(sizes);
    }
    return false;
  }

  bool Take(const Step& step) {
    StatusOr<Constraints> asked = Check(fn_, step);
    if (!asked.ok()) return false;
    for (const Constraint& constraint : *asked) {
      if (!ExpectKnownToHold(constraint).ok()) return false;
    }
    fn_ = Apply(fn_, step);
    trace_.steps.push_back(step);
    return true;
  }

  // What makes a nest of the sizes of the outer product, of a reduction over matrices: no draw
  // would hit upon it.
  bool TakeOuterProduct() {
    for (const Ref<Block>& block : BlocksOf(fn_.body)) {
      if (!block->body.as<Reduce>()) continue;
      std::vector<LoopRef> spatial, reduce;
      for (const IterVar& iter : block->iters) {
        (iter.kind == IterKind::kReduce ? reduce : spatial).push_back(BaseKey(block->name, iter));
      }
      if (spatial.size() < 2 || reduce.empty()) continue;
      // Rows of pixels where windows do not skip any, or rows of images.
      size_t rows = random_.OneIn(2) ? spatial.size() - 2 : random_.Below(spatial.size() - 1);
      std::string i = spatial[rows], j = spatial.back(), k = reduce.back();
      spatial.erase(spatial.begin() + static_cast<std::ptrdiff_t>(rows));
      spatial.pop_back();
      bool taken =
          Take(Split{i, {Expr(8)}}) && Take(Split{j, {Expr(16)}}) && Take(Split{k, {Expr(1)}});
      reduce.pop_back();
      std::vector<LoopRef> order = spatial;
      order.insert(order.end(), {i + ".0", j + ".0"});
      order.insert(order.end(), reduce.begin(), reduce.end());
      order.insert(order.end(), {k + ".0", i + ".1", j + ".1", k + ".1"});
      const LoopRef& first = reduce.empty() ? order[order.size() - 4] : reduce.front();
      if (taken && Take(Reorder{order}) && Take(DecomposeReduction{block->name, first})) {
        return Take(Tensorize{i + ".1", "outer_product_f32_8x16"});
      }
      return false;
    }
    return false;
  }

  // Copies of all that some block works on, and the block padded: few draws would make them all.
  bool TakePaddedCopies() {
    std::vector<Ref<Block>> blocks = BlocksOf(fn_.body);
    const Ref<Block>& block = blocks[random_.Below(blocks.size())];
    for (const Buffer& param : std::vector<Buffer>(fn_.params)) {
      const std::string& of = param.var->name;
      std::string name = of + "_c" + std::to_string(trace_.steps.size());
      Scope scope = random_.OneIn(2) ? Scope::kLocal : Scope::kGlobal;
      if (random_.OneIn(4)) {
        Take(ReIndex{block->name, of, scope, name});
      } else if (Writes(block->body, param.var)) {
        Take(CacheWrite{block->name, of, scope, name});
      } else if (Reads(block->body, param.var)) {
        Take(CacheRead{of, {block->name}, scope, name});
      }
    }
    Expr multiple(random_.Between(2, 5));
    if (!random_.OneIn(4)) {
      trace_.sizes.push_back({TileVar("t" + std::to_string(trace_.sizes.size()), 1, 9)});
      multiple = trace_.sizes.back().var;
    }
    size_t first = random_.Below(block->iters.size() + 1);
    for (size_t i = 0; i < block->iters.size(); ++i) {
      const IterVar& axis = block->iters[(first + i) % block->iters.size()];
      if (Take(Pad{block->name, axis.var->name, multiple})) return true;
    }
    if (!AsConstant(multiple)) trace_.sizes.pop_back();
    return false;
  }

  // Threads share no memory but the global one between launches.
  void ShareBetweenLaunches() {
    for (Stmt stmt = fn_.body; const auto* allocate = stmt.as<Allocate>(); stmt = allocate->body) {
      bool own =
          allocate->buffer.scope != Scope::kGlobal && allocate->buffer.scope != Scope::kConstant;
      if (own) Take(SetScope{allocate->buffer.var->name, Scope::kGlobal});
    }
  }

  const Trace& trace() const { return trace_; }

 private:
  Function fn_;
  Trace trace_;
  bool hardware_;
  Random& random_;
};

constexpr int kTries = 12;

// Whether the wanted kind was taken, after some others or at once.
bool GrowTowards(size_t wanted, int steps, Random& random, TraceGrower& grower) {
  constexpr int kWantedTries = 24;
  if (StepNames()[wanted] == "tensorize" && random.OneIn(2)) return grower.TakeOuterProduct();
  if (StepNames()[wanted] == "pad" && random.OneIn(2)) return grower.TakePaddedCopies();
  for (int step = 0; step < steps; ++step) {
    if (!random.OneIn(3) && grower.Grow(kWantedTries, wanted)) return true;
    grower.Grow(kTries);
  }
  return grower.Grow(kWantedTries, wanted);
}

}  // namespace

Trace RandomTrace(const Function& fn, const RandomTraceOptions& options, Random& random) {
  constexpr int kRestarts = 6;
  bool has_loops = false;
  PreOrder(fn.body, [&](const Stmt& stmt) { has_loops = has_loops || stmt.as<For>(); });
  if (!has_loops) return {};
  for (int restart = 0;; ++restart) {
    TraceGrower grower(fn, options.hardware, random);
    bool found = !options.wanted || GrowTowards(*options.wanted, options.steps, random, grower);
    if (!found && restart < kRestarts) continue;
    auto steps = static_cast<size_t>(options.steps);
    // Now and then nothing follows what was wanted.
    while (grower.trace().steps.size() < steps && !random.OneIn(12)) grower.Grow(kTries);
    if (options.hardware) grower.ShareBetweenLaunches();
    return grower.trace();
  }
}

bool Contains(const Trace& trace, size_t kind) {
  return std::ranges::any_of(
      trace.steps, [&](const Step& step) { return static_cast<size_t>(step.kind()) == kind; });
}

Decisions RandomDecisions(const Trace& trace, Random& random) {
  Decisions decisions;
  for (const FreeSize& size : trace.sizes) {
    std::vector<int64_t> values = ValuesOf(size);
    // Ranges end at extents: what does not divide their ends leaves tails.
    std::vector<int64_t> ragged;
    for (int64_t value : values) {
      if (size.var->high % value != 0) ragged.push_back(value);
    }
    if (!ragged.empty() && random.OneIn(2)) values = ragged;
    int64_t wanted = random.OneIn(8) ? 1 : random.Between(2, random.OneIn(4) ? 31 : 7);
    auto near = std::ranges::lower_bound(values, wanted);
    decisions[size.var->name] = near == values.end() ? values.back() : *near;
  }
  return decisions;
}

}  // namespace tcc
