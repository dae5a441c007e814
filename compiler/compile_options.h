#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/artefact/gpu_program.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/schedule.h"
#include "schedule/space/workload.h"
#include "support/numeric_mode.h"
#include "support/target.h"

namespace tcc {

struct KernelSet;

// A callback for progress displays: a stage of work, and how much of it is done.
using ProgressHook = std::function<void(const std::string& stage, int64_t done, int64_t total)>;

struct CompileOptions {
  Target target;
  int threads = 1;      // compiler threads; the artefact is the same for any number
  bool verify = false;  // checks the IR after every pass
  ProgressHook progress = {};
  std::function<void(const std::string& message)> warn = {};  // about problems that are no errors
  std::function<void(const std::string& message)> note = {};  // about what a cache spared
  // Called with the kernels once each has the schedule that is kept.
  std::function<void(const KernelSet& kernels)> watch = {};
  std::stop_token stop = {};                  // the work is Cancelled soon after a stop request
  Schedules schedules = {};                   // by kernel, instead of the first sketch
  std::vector<SketchRule> sketch_rules = {};  // instead of the target's own, if not empty
  NumericMode numeric = NumericMode::kStrict;
  bool winograd = true;                // whether convolutions may go by Winograd's transforms
  GpuCode gpu_code = GpuCode::kCubin;  // for CUDA targets; text is for the emulator
  TunedSchedules tuned = {};           // by workload, for kernels not in `schedules`
  bool notes = true;                   // whether the artefact gets notes (compiler/notes.h)
};

}  // namespace tcc
