#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/measure/measurement.h"
#include "search/space/task_space.h"

namespace tcc {

// A measured point and its searcher.
struct Trial {
  SearchPoint point;
  MeasureStatus status = MeasureStatus::kOk;
  double seconds = 0;  // per call, where the status has a time
  std::string searcher;
};

// The trials of one task, from all searchers.
class TaskHistory {
 public:
  void Add(Trial trial);
  // Marks the point as proposed, so that it is not proposed again.
  void MarkProposed(const SearchPoint& point) { known_.insert(point); }
  // Returns whether the point was proposed or measured before.
  bool Knows(const SearchPoint& point) const { return known_.contains(point); }

  std::span<const Trial> trials() const { return trials_; }
  // Returns the fastest ok trial, the first of equals; nullptr: there is none. Valid until the next
  // Add.
  const Trial* best() const;
  // Returns the fastest ok trial of each sketch, fastest first.
  std::vector<const Trial*> BestBySketch() const;

 private:
  std::vector<Trial> trials_;
  std::set<SearchPoint> known_;
};

}  // namespace tcc
