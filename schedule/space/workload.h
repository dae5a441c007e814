#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "schedule/space/schedule.h"

namespace tcc {

// A kernel before it is scheduled.
struct KernelWork {
  std::vector<Function> variants;  // of the task
  size_t first_variant = 0;        // the variant that is scheduled without a search
  size_t inputs = 0;  // inputs among the parameters, constants included; the rest are outputs
  double flops = 0;   // per call
  std::optional<int64_t> moved_bytes = {};  // per call
};

// A kernel of a network as a unit of tuning: its task, under names that do not depend on the
// network, so that records of one network serve equal kernels of another. Its variants are
// WithCanonicalNames and called "kernel".
struct Workload : KernelWork {
  std::string key;                        // FunctionKey of variants[0]
  std::string name;                       // the kernel's name in this network, for people
  std::vector<std::string> variant_keys;  // FunctionKey of each variant, which records name it by
  double runs = 1;                        // calls per run of the network
};

// The schedule with the best measurement of a workload, in canonical names.
struct TunedSchedule {
  std::string variant_key;  // FunctionKey of the variant that it is for
  std::string rules;        // the rules that made the sketch, Sketch::name
  Schedule schedule;        // schedule.variant is not known: variant_key stands for it
  double seconds = 0;       // per call
};
using TunedSchedules = std::map<std::string, TunedSchedule>;  // by Workload::key

}  // namespace tcc
