#include "tests/programs/random_trace.h"

#include <algorithm>

#include "ir/visitor.h"

namespace tcc {
namespace {

// Proposes steps over what the function has at the moment.
class Proposer {
 public:
  Proposer(const Function& fn, Trace& trace, Random& random) : trace_(trace), random_(random) {
    PreOrder(fn.body, [&](const Stmt& stmt) {
      if (const auto* loop = stmt.as<For>()) {
        loops_.push_back(loop->key);
        if (loop->body.as<Allocate>()) holders_.push_back(loop->key);
      }
      if (const auto* block = stmt.as<Block>()) blocks_.push_back(block->name);
    });
    for (const Buffer& buffer : DeclaredBuffers(fn)) {
      buffers_.push_back(buffer.var->name);
      ranks_.push_back(buffer.rank());
      if (!buffer.window.size.empty()) placed_.push_back(buffer.var->name);
    }
  }

  Step Propose() {
    // Rare otherwise: few buffers are placed, and few loops hold one.
    if (!placed_.empty() && random_.OneIn(8)) {
      return RollingBuffer{Pick(placed_), static_cast<int64_t>(random_.Below(3))};
    }
    if (!holders_.empty() && random_.OneIn(8)) return Pipelined(Pick(holders_));
    switch (random_.Below(22)) {
      case 0:
      case 1:
      case 2:
        return Split{AnyLoop(), Factors()};
      case 3:
        return FuseChild();
      case 4:
      case 5:
        return Reorder{{AnyLoop(), AnyLoop()}};
      case 6:
        return CacheRead{AnyBuffer(), {}, AnyScope(), NewName()};
      case 7:
        return CacheWrite{AnyBlock(), AnyBuffer(), AnyScope(), NewName()};
      case 8:
      case 9:
      case 10:
        return ComputeAt{AnyBlock(), AnyLoop()};
      case 11:
      case 12:
        return ReverseComputeAt{AnyBlock(), AnyLoop()};
      case 13:
        switch (random_.Below(4)) {
          case 0:
            return RFactor{AnyBlock(), AnyLoop(), AnyAxis(), AnyScope(), NewName()};
          case 1:
            return RFactorTile{AnyBlock(), AnyLoop(), AnyForm(), AnyScope(), NewName()};
          case 2:
            return DecomposeTuple{AnyBlock()};
          default:
            return DecomposeReduction{AnyBlock(), AnyLoop()};
        }
      case 14:
        return random_.OneIn(2) ? Step(Unroll{AnyLoop()}) : Step(Vectorize{AnyLoop()});
      case 15:
        return AnyLayout();
      case 16:
        return Prepack{AnyBlock()};
      case 17:
        return Partition{AnyLoop()};
      case 18:
        return RollingBuffer{AnyBuffer(), static_cast<int64_t>(random_.Below(3))};
      case 19:
        return random_.OneIn(2) ? Step(Prefetch{AnyBlock(), AnyBuffer(), AnyLoop(), AnyLoop(),
                                                random_.Between(1, 3)})
                                : Step(Rasterized());
      case 20:
        return Pipelined(AnyLoop());
      default:
        return Parallel{AnyLoop()};
    }
  }

 private:
  const std::string& Pick(const std::vector<std::string>& list) {
    return list[random_.Below(list.size())];
  }
  LoopRef AnyLoop() { return Pick(loops_); }
  std::string AnyBlock() { return Pick(blocks_); }
  std::string AnyBuffer() { return Pick(buffers_); }
  Scope AnyScope() { return random_.OneIn(2) ? Scope::kLocal : Scope::kGlobal; }
  TileForm AnyForm() { return random_.OneIn(3) ? TileForm::kCombined : TileForm::kDirect; }
  int64_t AnyAxis() { return random_.Between(-1, 2); }
  std::string NewName() { return "c" + std::to_string(trace_.steps.size()); }

  // Loops come in pre-order, so the next one is often the child.
  Step FuseChild() {
    size_t i = random_.Below(loops_.size());
    return Fuse{loops_[i], loops_[std::min(i + 1, loops_.size() - 1)]};
  }

  // One block or none, the stored dimensions in any order.
  Step AnyLayout() {
    size_t b = random_.Below(buffers_.size());
    TransformLayout layout{buffers_[b], {}, {}};
    size_t stored = ranks_[b];
    if (stored > 0 && !random_.OneIn(4)) {
      int dim = static_cast<int>(random_.Below(stored));
      layout.blocks.push_back({dim, AnyFactor()});
      ++stored;
    }
    for (size_t d = 0; d < stored; ++d) layout.order.push_back(static_cast<int64_t>(d));
    for (size_t d = stored; d > 1; --d) {
      std::swap(layout.order[d - 1], layout.order[random_.Below(d)]);
    }
    return layout;
  }

  Step Pipelined(const LoopRef& loop) {
    ForKind kind = random_.OneIn(2) ? ForKind::kPipelined : ForKind::kPipelinedAsync;
    return SoftwarePipeline{loop, random_.Between(1, 4), kind};
  }

  Step Rasterized() {
    size_t i = random_.Below(loops_.size());
    return Rasterize{loops_[i], loops_[std::min(i + 1, loops_.size() - 1)], random_.Between(1, 4)};
  }

  std::vector<Expr> Factors() {
    std::vector<Expr> factors;
    for (uint64_t levels = 1 + random_.Below(2); levels > 0; --levels) {
      factors.push_back(AnyFactor());
    }
    return factors;
  }

  Expr AnyFactor() {
    if (random_.OneIn(4)) return Expr(random_.Between(1, 4));
    trace_.sizes.push_back({TileVar("t" + std::to_string(trace_.sizes.size()), 1, 15)});
    return trace_.sizes.back().var;
  }

  Trace& trace_;
  Random& random_;
  std::vector<std::string> loops_, blocks_, buffers_, placed_, holders_;
  std::vector<size_t> ranks_;  // of buffers_
};

}  // namespace

Trace RandomTrace(const Function& fn, int steps, Random& random) {
  Trace trace;
  Function current = fn;
  current.level = Level::kScheduled;
  for (int tries = 0; tries < 12 * steps && static_cast<int>(trace.steps.size()) < steps; ++tries) {
    size_t sizes = trace.sizes.size();
    Step step = Proposer(current, trace, random).Propose();
    if (!Check(current, step).ok()) {
      trace.sizes.resize(sizes);
      continue;
    }
    current = Apply(current, step);
    trace.steps.push_back(std::move(step));
  }
  return trace;
}

Decisions RandomDecisions(const Trace& trace, Random& random) {
  Decisions decisions;
  for (const FreeSize& size : trace.sizes) {
    std::vector<int64_t> values = ValuesOf(size);
    int64_t wanted = random.OneIn(6) ? 1 : random.Between(1, random.OneIn(4) ? 15 : 5);
    auto near = std::lower_bound(values.begin(), values.end(), wanted);
    decisions[size.var->name] = near == values.end() ? values.back() : *near;
  }
  return decisions;
}

}  // namespace tcc
