#pragma once

#include <functional>
#include <vector>

namespace tcc {

// The number of measurements of each contestant unless a caller says otherwise.
inline constexpr int kRounds = 9;

// Returns the seconds of one call of each contestant, the least of `rounds`. In every round each is
// called for some milliseconds in turn, after a pause that lets the threads of the one before fall
// asleep and a call that warms up: so a drift of the clock or a burst of other load meets all of
// them (reference: cpu_perf, 1.2).
std::vector<double> LeastSeconds(const std::vector<std::function<void()>>& contestants, int rounds);

}  // namespace tcc
