#include "schedule/sketches/flash_attention.h"

#include "schedule/sketches/cpu/cpu_rules.h"
#include "schedule/sketches/gpu/gpu_rules.h"
#include "schedule/sketches/parts/attention_parts.h"

namespace tcc {

bool HasFlashAttention(const Function& fn, const Target& target) {
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    if (!IsAttentionCore(*block)) continue;
    SketchState start(fn);
    switch (target.kind) {
      case TargetKind::kCpu:
        if (ScheduleAttention(start, *block, target)) return true;
        break;
      case TargetKind::kCuda:
        if (ScheduleThreadAttention(start, *block)) return true;
        break;
      case TargetKind::kReference:
        break;
    }
  }
  return false;
}

}  // namespace tcc
