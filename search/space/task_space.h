#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/space.h"
#include "schedule/space/workload.h"
#include "search/candidate/build_candidates.h"

namespace tcc {

// A candidate as a searcher sees it: a sketch of the task and a value for each of its sizes.
struct SearchPoint {
  size_t sketch = 0;
  Point point;
  auto operator<=>(const SearchPoint&) const = default;
};

// The sketches of all variants of a task as one space. The sketches of the variant that is
// scheduled without a search come first, and first of all the sketch that is compiled without a
// search where FasterStart names no other. A sketch is instantiated on first use. One thread at a
// time.
class TaskSpace {
 public:
  // `rules` replace the target's own; empty: the target's own.
  TaskSpace(const Workload& workload, const Target& target, std::span<const SketchRule> rules = {});
  // Takes the given sketches alone, in their order.
  TaskSpace(const Workload& workload, const Target& target, std::vector<Sketch> sketches);

  const Target& target() const { return target_; }
  size_t size() const { return sketches_.size(); }
  const Sketch& sketch(size_t sketch) const { return sketches_[sketch].sketch; }

  // Returns the points of a sketch; nullptr if it cannot be instantiated, which retires it.
  const SearchSpace* Points(size_t sketch);
  // Returns the program of the sketch's Points, with the target's limits among its constraints;
  // nullptr if there are no points.
  const SymbolicProgram* Program(size_t sketch);
  // Returns the start of the sketch; nullopt if it has no points.
  std::optional<SearchPoint> Start(size_t sketch);
  // Returns the sketches in the order in which a compilation tries their starts: first the one of
  // FasterStart.
  std::vector<size_t> ByDefault() const;
  Candidate ToCandidate(const SearchPoint& point);

  // Returns the point of a recorded schedule. nullopt: its sketch no longer exists, or the sketch's
  // space no longer has the point.
  std::optional<SearchPoint> Find(const std::string& variant_key, const Schedule& schedule);

  // Removes a sketch from live(): searchers no longer visit it.
  void Retire(size_t sketch);
  bool IsLive(size_t sketch) const { return sketches_[sketch].live; }
  std::vector<size_t> live() const;

 private:
  struct Entry {
    Sketch sketch;
    std::string text;  // Print of its trace
    bool live = true;
    bool instantiated = false;
    std::shared_ptr<const LimitedProgram> limited = {};
  };

  void Add(Sketch sketch);

  const Workload* workload_;
  Target target_;
  std::vector<Entry> sketches_;
};

}  // namespace tcc
