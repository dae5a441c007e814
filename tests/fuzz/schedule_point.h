#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/space/trace.h"
#include "support/target.h"
#include "tests/fuzz/fuzz.h"
#include "tests/programs/point_check.h"

namespace tcc {

// A function and a trace for it, to be checked at a random point.
struct ScheduledFunction {
  std::string name;  // in messages
  Function fn;
  Trace trace;
  std::optional<Decisions> start = std::nullopt;  // tried first
};

// What is checked of it, beside point_check.h.
struct PointLimits {
  int64_t instances = 200'000;  // that are issued
  int64_t statements = 2'000;   // that are unrolled and copied
  int draws = 20;
  std::optional<Target> target = std::nullopt;  // whose limits a point keeps
};

// A random legal point that is small enough; nullopt where none of the draws was.
std::optional<Decisions> DrawPoint(const ScheduledFunction& scheduled, const PointLimits& limits,
                                   Random& random);

// Holds the function at a point, small enough for the interpreter, against what it must equal, and
// gives the point; nullopt where no draw was legal and small enough. Histogram: what was drawn
// again, and how the tiles of splits divide their loops.
StatusOr<std::optional<Decisions>> CheckAtRandomPoint(const ScheduledFunction& scheduled,
                                                      PointCheckOptions options,
                                                      const PointLimits& limits, Random& random,
                                                      Histogram& histogram);

}  // namespace tcc
