#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/space.h"
#include "search/candidate/build_candidates.h"
#include "search/candidate/workload.h"

namespace tcc {

// A candidate as a searcher sees it: a sketch of the task and a value for each of its sizes.
struct SearchPoint {
  size_t sketch = 0;
  Point point;
  auto operator<=>(const SearchPoint&) const = default;
};

// The sketches of all variants of a task as one space. Sketches of the variant that is scheduled
// without a search come first, the one that is compiled without a search before all others. A
// sketch is instantiated when it is first asked for. One thread at a time.
class TaskSpace {
 public:
  // `rules` replace the target's own; empty: those.
  TaskSpace(const Workload& workload, const Target& target, std::span<const SketchRule> rules = {});
  // The given sketches alone, in their order.
  TaskSpace(const Workload& workload, const Target& target, std::vector<Sketch> sketches);

  size_t size() const { return sketches_.size(); }
  const Sketch& sketch(size_t sketch) const { return sketches_[sketch].sketch; }

  // The points of a sketch; nullptr where it cannot be instantiated, which retires it.
  const SearchSpace* Points(size_t sketch);
  // The program that Points are points of, limits among its constraints; nullptr where there are
  // none.
  const SymbolicProgram* Program(size_t sketch);
  // Where the sketch starts; nullopt where it has no points.
  std::optional<SearchPoint> Start(size_t sketch);
  Candidate ToCandidate(const SearchPoint& point);

  // The point of a recorded schedule. nullopt: there is no such sketch any more, or its space no
  // longer has the point.
  std::optional<SearchPoint> Find(const std::string& variant_key, const Schedule& schedule);

  // Takes a sketch out of live(): searchers no longer go there.
  void Retire(size_t sketch);
  bool IsLive(size_t sketch) const { return sketches_[sketch].live; }
  std::vector<size_t> live() const;

 private:
  struct Entry {
    Sketch sketch;
    std::string text;  // Print of its trace
    bool live = true;
    bool instantiated = false;
    std::optional<SymbolicProgram> program = {};
    std::optional<SearchSpace> points = {};
  };

  void Add(Sketch sketch);

  const Workload* workload_;
  Target target_;
  std::vector<Entry> sketches_;
};

}  // namespace tcc
