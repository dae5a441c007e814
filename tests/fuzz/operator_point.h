#pragma once

#include <string>
#include <vector>

#include "support/dtype.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/schedule_point.h"

namespace tcc {

// The operators that schedules are tried on: models of one node (operator_models.h), and functions
// in text for what no model's operator becomes.
std::vector<std::string> OperatorNames();

// One task of the operator under a random trace of steps that holds `wanted` (random_step.h) if it
// can, or under a sketch for the CPU or a GPU. With `emit`, the whole model with that task so
// scheduled is written there for another runtime to judge: model.onnx, input_*.npy, output_*.npy,
// schedule.txt.
enum class ScheduleSource : uint8_t { kSteps, kThreadedSteps, kCpuSketch, kGpuSketch };
struct OperatorPoint {
  size_t op = 0;
  ScheduleSource source = ScheduleSource::kSteps;
  size_t wanted = 0;
  std::string emit = {};  // "": nothing is written
  std::string gpu = "sm_86";
  DTypeCode real = DTypeCode::kFloat32;  // of the model's floats
  PointLimits limits = {};
  // How the scheduled program is run besides the interpreter; empty: by machine code of this CPU,
  // now and then, if it has no threads.
  RunFunction run_scheduled = nullptr;
};
Status CheckOperatorPoint(const OperatorPoint& point, uint64_t seed, Histogram& histogram);

}  // namespace tcc
