#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/measure/measurement.h"
#include "search/space/task_space.h"

namespace tcc {

// A point that was measured, and who proposed it.
struct Trial {
  SearchPoint point;
  MeasureStatus status = MeasureStatus::kOk;
  double seconds = 0;  // per call, where the status has a time
  std::string searcher;
};

// Everything that is known of one task, whoever proposed it.
class TaskHistory {
 public:
  void Add(Trial trial);
  // Keeps the point from being proposed again.
  void MarkProposed(const SearchPoint& point) { known_.insert(point); }
  // Returns whether the point was proposed or measured before.
  bool Knows(const SearchPoint& point) const { return known_.contains(point); }

  std::span<const Trial> trials() const { return trials_; }
  // The fastest ok trial, the first of equals; nullptr: there is none. It is valid until Add.
  const Trial* best() const;
  // The fastest ok trials of different sketches, fastest first.
  std::vector<const Trial*> BestBySketch() const;

 private:
  std::vector<Trial> trials_;
  std::set<SearchPoint> known_;
};

}  // namespace tcc
