#include "api/schedule_choice.h"

#include <vector>

namespace tcc {

std::optional<Sketch> ScheduleChoice(const Function& fn, const Target& target,
                                     std::span<const SketchRule> rules, size_t index) {
  // Without the work for the others.
  if (index == 0) return FirstSketch(fn, target, rules);
  if (target.kind != TargetKind::kCuda) return std::nullopt;
  std::vector<Sketch> sketches = GenerateSketches(fn, target, rules);
  if (index < sketches.size()) return std::move(sketches[index]);
  if (index == sketches.size()) return FirstSketch(fn, target, rules.last(1));
  return std::nullopt;
}

}  // namespace tcc
