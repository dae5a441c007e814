#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "search/space/task_history.h"

namespace tcc {

// How a batch is shared by searchers that work together, by what each gained lately: shares that
// add up to 1. A trial gains ln(best before / best after), and a little where it comes near to the
// best; later trials count more. A searcher gets a floor and the rest by its mean gain; one that
// has proposed nothing yet counts as good as the best.
std::vector<double> SharesOf(const TaskHistory& history, std::span<const std::string_view> names);

}  // namespace tcc
