#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "support/status.h"
#include "support/tensor.h"

namespace tcc {

// The order in which the threads of a block, and the iterations of parallel loops, run.
enum class ThreadOrder : uint8_t { kForward, kBackward, kShuffled };

struct InterpretOptions {
  ThreadOrder order = ThreadOrder::kForward;
  uint64_t seed = 0;  // of kShuffled
  // Reports a race where two threads of a thread block, or two iterations of a parallel loop, touch
  // one cell between barriers and one of them writes (even the same value).
  bool detect_races = false;
  // The most block instances, dead ones included; beyond it the run fails with ResourceExhausted.
  // 0: no limit.
  int64_t max_instances = 0;
  // The values of the function's free Shape and Tile variables, in the order of `vars`.
  std::vector<int64_t> var_values = {};
  // The number of real threads that share the iterations of large nests. Results do not depend on
  // it.
  int threads = 1;
  // The seed for stochastic rounding (stochastic_rounding.h) of casts to f16, bf16 and tf32 and of
  // results of these types, which shows the effect of rounding. Without a seed they round to
  // nearest.
  std::optional<uint64_t> rounding_seed = {};
  // A read of a cell never written gives NaN, or a large integer, instead of an error: for lowered
  // functions that compute what they drop (lower/passes/version_tiles.cc).
  bool reads_garbage = false;
  // The number of instances that are evaluated together, at least 1. Results do not depend on it.
  int max_lanes = 256;
};

struct InterpretReport {
  int64_t instances_issued = 0;    // leaf instances reached by loops, dead ones included
  int64_t instances_executed = 0;  // instances that existed
  int64_t barriers = 0;
};

// Runs `fn` (any level) in place on the tensors, one per parameter: the reference that tests
// compare schedules, passes and backends with. The caller must be the only owner of tensors that
// the function writes.
//
// Floating-point values are kept as doubles, in intermediate buffers too, and rounded when a
// parameter is written back at the end; only a Cast rounds before. Integers wrap in their own
// width. Undefined behaviour is reported as Internal with the buffer, indices and loops: an index
// outside a window, a read of a cell never written (buffers are poisoned), a race, a barrier not
// reached by all threads, a division by zero. Wrong tensors (count, dtype, shape; at kLowered only
// the element count) are InvalidArgument. Expects Verify to have agreed.
//
// Thread loops: a block's leaf runs where the index of each thread axis is below the extent of its
// innermost loop of that axis, and, if it stores to anything but local memory, only at index 0 of
// an axis or vthread that its bindings ignore. At kLowered there are no bindings: only the extents
// count, and conditions express the rest. A buffer of several versions has one at a time until
// pipelined loops are lowered. An AsyncCopy happens as late as allowed.
//
// It translates a function into operations on vectors of instances instead of walking its trees,
// because `tcc check` runs whole networks by it and fuzzers thousands of functions. An oracle of
// that size needs checks of its own: results that ONNX publishes for its operators, convolutions
// written out as loops (tests/ir/interpreter_test.cc), and the same functions one instance at a
// time, whose results must be equal (tests/ir/interpreter_lanes_test.cc).
StatusOr<InterpretReport> Interpret(const Function& fn, std::vector<Tensor>& arguments,
                                    const InterpretOptions& options = {});

}  // namespace tcc
