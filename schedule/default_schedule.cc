#include "schedule/default_schedule.h"

#include "schedule/sketch.h"

namespace tcc {

Schedule DefaultSchedule(const Function& fn, const Target& target) {
  if (target.kind == TargetKind::kReference) return {};
  Sketch sketch = FirstSketch(fn, target, SketchRules(target));
  return {std::move(sketch.trace), std::move(sketch.start)};
}

}  // namespace tcc
