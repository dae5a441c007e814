#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/report/plot_frame.h"
#include "cli/report/report_data.h"

namespace tcc {

// A trial of a task.
struct TaskMark {
  double trial = 0;    // its number in the task, from 1
  double seconds = 0;  // 0: not timed
  size_t searcher = 0;
  bool improved = false;
};

// The best time of a task, by trials of the task.
struct TaskProgress {
  double start_seconds = 0;     // before the first trial; 0: not known
  double trials = 0;            // their number
  std::vector<PlotPoint> best;  // seconds after a trial that improved it
  std::vector<TaskMark> marks;
};

// The trials that a searcher proposed.
struct SearcherTally {
  std::string name;
  int64_t trials = 0;
  int64_t right = 0;
  int64_t improvements = 0;
  double ln_gain = 0;           // sum of ln(best before / best after) of its improvements
  std::vector<PlotPoint> gain;  // that sum, by trials of the run
};

// A kind of failure that trials ended with.
struct FailureTally {
  std::string status;
  int64_t count = 0;
  std::string task;     // of the first
  std::string message;  // of the first that has one
};

// The progress of a run, from its trials.
struct RunProgress {
  // The seconds of the network relative to its constructed schedules, by seconds since the begin.
  // Empty: no task is known to have been timed.
  std::vector<PlotPoint> network;
  std::vector<TaskProgress> tasks;  // as RunData::tasks
  std::vector<SearcherTally> searchers;
  std::vector<FailureTally> failures;  // the most frequent first
};

RunProgress ProgressOf(const RunData& run);

}  // namespace tcc
