#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/artefact/gpu_program.h"
#include "schedule/sketches/parts/sketch.h"
#include "search/candidate/lower_schedule.h"
#include "search/database/tuned_schedules.h"
#include "support/numeric_mode.h"
#include "support/target.h"

namespace tcc {

// Called with a stage of work and how much of it is done, for progress displays.
using ProgressHook = std::function<void(const std::string& stage, int64_t done, int64_t total)>;

struct CompileOptions {
  Target target;
  int threads = 1;      // compiler threads; the artefact is the same for any number
  bool verify = false;  // checks the IR after every pass
  ProgressHook progress = {};
  std::function<void(const std::string& message)> warn = {};  // about what works, but should not
  std::stop_token stop = {};                  // Cancelled soon after it asks for a stop
  Schedules schedules = {};                   // for kernels that are not to get their first sketch
  std::vector<SketchRule> sketch_rules = {};  // in place of the target's own; empty: those
  NumericMode numeric = NumericMode::kStrict;
  GpuCode gpu_code = GpuCode::kCubin;  // of CUDA targets; text is for the emulator
  TunedSchedules tuned = {};           // by workload, for kernels that are not given one
};

}  // namespace tcc
