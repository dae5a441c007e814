#pragma once

#include <functional>

#include "ir/support/tensor.h"
#include "ir/target.h"
#include "tests/fuzz/fuzz.h"

namespace tcc {

struct Function;

// Runs a lowered function on the arguments in place; empty: the interpreter alone does.
using RunLowered = std::function<Status(const Function& lowered, std::vector<Tensor>& arguments)>;

// A sketch at a random point against the function that it schedules (point_check.h). Even seeds go
// through the sketches of the built-in networks' operators in turn, odd ones draw a random model.
Status CheckSketchPoint(uint64_t seed, const Target& target, const RunLowered& run_lowered,
                        Histogram& histogram);

}  // namespace tcc
