#pragma once

#include <map>
#include <string>

#include "schedule/space/schedule.h"

namespace tcc {

// The schedule with the best measurement of a workload, in canonical names.
struct TunedSchedule {
  std::string variant_key;  // FunctionKey of the variant that it is for
  std::string rules;        // the rules that made the sketch, Sketch::name
  Schedule schedule;        // schedule.variant is not known: variant_key stands for it
  double seconds = 0;       // per call
};
using TunedSchedules = std::map<std::string, TunedSchedule>;  // by Workload::key

}  // namespace tcc
