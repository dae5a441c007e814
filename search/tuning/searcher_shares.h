#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "search/space/task_history.h"

namespace tcc {

// Returns the shares of a batch for searchers that work together, by their recent gains; they add
// up to 1. A trial gains ln(best before / best after), and a little if it comes near to the best;
// later trials count more. Each searcher gets a floor and a part of the rest by its mean gain; one
// that has proposed nothing yet counts as good as the best.
std::vector<double> SharesOf(const TaskHistory& history, std::span<const std::string_view> names);

}  // namespace tcc
