#include "schedule/sketches/flash_attention.h"

#include "schedule/sketches/cpu/cpu_rules.h"
#include "schedule/sketches/gpu/gpu_rules.h"
#include "schedule/sketches/parts/attention_parts.h"

namespace tcc {
namespace {

// Returns whether a GPU can run the sketch: values that are too wide need too many threads.
bool FitsThreads(const Function& fn, const SketchState& start, const Block& core,
                 const Target& target) {
  std::optional<SketchState> attention = ScheduleTiledAttention(start, core, target);
  if (!attention) return false;
  Sketch sketch = attention->sketch();
  return StartWithinLimits(fn, target, sketch);
}

}  // namespace

bool HasFlashAttention(const Function& fn, const Target& target) {
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    if (!IsAttentionCore(*block)) continue;
    SketchState start(fn);
    switch (target.kind) {
      case TargetKind::kCpu:
        if (ScheduleAttention(start, *block, target)) return true;
        break;
      case TargetKind::kGpu:
        if (FitsThreads(fn, start, *block, target)) return true;
        break;
      case TargetKind::kReference:
        break;
    }
  }
  return false;
}

}  // namespace tcc
