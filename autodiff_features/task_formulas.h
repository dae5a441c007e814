#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autodiff_features/learned/kernel_features.h"
#include "autodiff_features/measured_tasks.h"

namespace tcc {

// Checks that a task was measured on the target's kind of device. A name that this tcc does not
// know may be one of either.
Status ExpectMeasuredOn(const Target& target, const MeasuredTask& task);

// Replays a task's sketch. Error: its texts cannot be read; its steps are not legal.
StatusOr<SymbolicProgram> ReplaySketch(const MeasuredTask& task, size_t sketch);

// Returns the values of `sizes` in their order. Error, the same for all points with the same fault:
// a size has no value, or one that it does not allow.
StatusOr<Point> PlacePoint(const Decisions& set, const std::vector<FreeSize>& sizes);

// Returns "'name': reason (3 of 20 points)".
std::string PointProblem(const MeasuredTask& task, const std::string& reason, size_t points);

// The formulas of a measured task's sketches, as far as this tcc can replay them.
class TaskFormulas {
 public:
  static TaskFormulas Of(const MeasuredTask& task, const Target& target,
                         const DeviceProfile& profile);

  // Returns why points cannot be replayed: a text for each reason, with the number of its points.
  const std::vector<std::string>& problems() const { return problems_; }
  // Returns nullptr if the sketch has no formulas.
  const SketchFormulas* sketch(size_t sketch) const {
    return sketches_[sketch] ? &*sketches_[sketch] : nullptr;
  }
  // Returns the point in the order of its sketch's sizes; nullopt if it cannot be replayed: no
  // formulas, or other sizes.
  std::optional<Point> PointOf(const MeasuredPoint& point) const;

  // Returns the features of each point of the task: without rows, and with NaN for the prior, if it
  // cannot be replayed.
  std::vector<KernelFeatures> Features(const MeasuredTask& task) const;

 private:
  // The points of a sketch that can be replayed, and their indices in the task.
  struct PlacedPoints {
    std::vector<size_t> places;
    std::vector<Point> points;
  };
  PlacedPoints PointsOf(const MeasuredTask& task, size_t sketch) const;

  std::vector<std::optional<SketchFormulas>> sketches_;
  std::vector<std::string> problems_;
};

}  // namespace tcc
