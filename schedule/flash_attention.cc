#include "schedule/flash_attention.h"

#include "schedule/attention_parts.h"
#include "schedule/attention_sketch.h"
#include "schedule/gpu_attention.h"

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
