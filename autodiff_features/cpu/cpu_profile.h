#pragma once

#include <string_view>
#include <vector>

#include "ir/expr/expr.h"
#include "support/target.h"

namespace tcc {

// The constants of a CPU: name, start value, meaning. The start values are measured ones of a Zen 5
// (reference: cpu_perf, sections 1 and 5); gather, enter, dead, spill and usable are guesses until
// they are fitted. Rates are per core except the `all` ones, cycles are per vector.
#define TCC_CPU_CONSTANTS(X)                                                     \
  X(hertz, 3.9e9, "cycles per second")                                           \
  X(fma_per_cycle, 2, "multiply-adds that begin per cycle")                      \
  X(loads_per_cycle, 2, "")                                                      \
  X(stores_per_cycle, 1, "")                                                     \
  X(ops_per_cycle, 8, "operations of any kind that begin per cycle")             \
  X(fma_latency, 4, "cycles from a multiply-add to one that needs its result")   \
  X(in_flight, 320, "operations that a core looks ahead")                        \
  X(divide_cycles, 2.4, "")                                                      \
  X(root_cycles, 4.5, "")                                                        \
  X(special_cycles, 6, "of an exponential")                                      \
  X(gather_cycles, 1, "of an element that is moved alone")                       \
  X(prefetch_cycles, 0.7, "of asking for a line ahead of its use")               \
  X(enter_cycles, 5, "of starting an innermost loop")                            \
  X(dead_cycles, 2, "of skipping an iteration beyond an extent")                 \
  X(spill, 0.5, "slowdown at twice as many values as registers")                 \
  X(l1_bytes, 48e3, "")                                                          \
  X(l2_bytes, 1e6, "")                                                           \
  X(l3_bytes, 32e6, "")                                                          \
  X(usable, 0.8, "share of a cache that a loop's data may take and stay")        \
  X(l2_rate, 218e9, "bytes per second from L2")                                  \
  X(l3_rate, 115e9, "bytes per second from L3")                                  \
  X(l3_all_rate, 120e9, "bytes per second from L3 to all cores together")        \
  X(memory_rate, 44e9, "bytes per second from memory")                           \
  X(memory_all_rate, 50e9, "bytes per second from memory to all cores together") \
  X(fork_seconds, 0.4e-6, "of dealing a parallel loop to the threads")           \
  X(call_seconds, 0.3e-6, "of calling a kernel")                                 \
  X(overlap, 3.5, "p: times t_i that overlap take (sum of t_i^p)^(1/p) in all")

// The constants of one kind of CPU.
struct CpuProfile {
#define TCC_CPU_CONSTANT(name, start, meaning) double name = start;
  TCC_CPU_CONSTANTS(TCC_CPU_CONSTANT)
#undef TCC_CPU_CONSTANT
};

struct CpuConstantRow {
  std::string_view name;
  std::string_view meaning;
  double CpuProfile::* value;
};
// Returns a row for each constant, in the order of the table.
const std::vector<CpuConstantRow>& CpuConstantRows();

// Returns the start values with the caches of a CPU target.
CpuProfile ProfileOf(const Target& target);

// The same as f64 formulas: constants if the numbers are given, variables if they are fitted.
struct CpuConstants {
#define TCC_CPU_CONSTANT(name, start, meaning) Expr name;
  TCC_CPU_CONSTANTS(TCC_CPU_CONSTANT)
#undef TCC_CPU_CONSTANT
};
CpuConstants ConstantsOf(const CpuProfile& profile);
// Returns variables for the constants; `variables` gets one for each row, in the order of the
// table.
CpuConstants VariableConstants(std::vector<Var>& variables);

}  // namespace tcc
