#include "schedule/sketches/flash_attention.h"

#include <algorithm>

#include "schedule/sketches/cpu/cpu_rules.h"
#include "schedule/sketches/gpu/gpu_rules.h"
#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/parts/attention_parts.h"

namespace tcc {
namespace {

// Returns whether a GPU can run the sketch: values that are too wide need too many threads.
bool FitsThreads(const Function& fn, const std::optional<SketchState>& attention,
                 const Target& target) {
  if (!attention) return false;
  Sketch sketch = attention->sketch();
  return StartWithinLimits(fn, target, sketch);
}

}  // namespace

bool HasMmaAttention(const Function& fn, const Target& target) {
  if (target.kind != TargetKind::kGpu) return false;
  SketchState start(fn);
  return std::ranges::any_of(BlocksOf(fn.body), [&](const Ref<Block>& block) {
    return IsAttentionCore(*block) &&
           FitsThreads(fn, ScheduleMmaAttention(start, *block, target), target);
  });
}

bool HasFlashAttention(const Function& fn, const Target& target) {
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    if (!IsAttentionCore(*block)) continue;
    SketchState start(fn);
    switch (target.kind) {
      case TargetKind::kCpu:
        if (ScheduleAttention(start, *block, target)) return true;
        break;
      case TargetKind::kGpu:
        if (FitsThreads(fn, ScheduleTiledAttention(start, *block, target), target)) return true;
        break;
      case TargetKind::kReference:
        break;
    }
  }
  return false;
}

bool HasMmaForAttention(const Target& target) {
  return target.kind == TargetKind::kGpu && target.sm >= kAsyncCopies;
}

}  // namespace tcc
