#pragma once

#include <string>

#include "cli/report/page.h"
#include "cli/report/run_progress.h"

namespace tcc {

// The most marks of a task that are drawn: improvements, and others at even distances.
inline constexpr size_t kMaxMarks = 1000;

// Plots the time of the network relative to its constructed schedules, by seconds. Expects some
// points.
std::string NetworkPlot(const RunProgress& progress);

// Plots a line per searcher: its sum of ln gains, by trials of the run.
std::string GainPlot(const RunProgress& progress, size_t trials);

// Plots the times of a task's trials relative to its constructed schedule, and the best of them, by
// trials of the task. Trials without a time are crosses at the top. Expects a constructed time.
std::string TaskPlot(const RunTask& task, const TaskProgress& progress, size_t searchers);

}  // namespace tcc
