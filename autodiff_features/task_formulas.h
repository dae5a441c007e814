#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autodiff_features/measured_tasks.h"
#include "autodiff_features/sketch_formulas.h"

namespace tcc {

// The formulas of a measured task's sketches, as far as this tcc can replay them.
class TaskFormulas {
 public:
  static TaskFormulas Of(const MeasuredTask& task, const Target& target,
                         const CpuProfile& profile);

  // Why sketches have no formulas, one text each.
  const std::vector<std::string>& problems() const { return problems_; }
  // nullptr where it has none.
  const SketchFormulas* sketch(size_t sketch) const {
    return sketches_[sketch] ? &*sketches_[sketch] : nullptr;
  }
  // The point in the order of its sketch's sizes; nullopt where it cannot be replayed: no formulas,
  // or other sizes.
  std::optional<Point> PointOf(const MeasuredPoint& point) const;

  // The prior's ln seconds of each point of the task; NaN where it cannot be replayed.
  std::vector<double> LnSeconds(const MeasuredTask& task) const;

 private:
  std::vector<std::optional<SketchFormulas>> sketches_;
  std::vector<std::string> problems_;
};

}  // namespace tcc
