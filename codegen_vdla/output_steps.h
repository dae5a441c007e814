#pragma once

#include <vector>

#include "ir/expr/stmt.h"
#include "runtime/vdla/vdla_isa.h"
#include "support/status.h"

namespace tcc {

// A step of an output stage, with the load that is its operand by channel, if it has one. The
// step's `buffer` is not set.
struct OutputStep {
  VdlaOutputStep step;
  Ref<Load> operand;
};

// A value that an output stage makes of a sum.
struct OutputSteps {
  Ref<Load> sum;
  std::vector<OutputStep> steps;  // none: the sum itself
};

// Reads the steps from a value. Operands are constants of f32, or loads. One load of i32 remains:
// the sum. Unsupported, naming the statement: another form.
StatusOr<OutputSteps> ReadOutputSteps(const Expr& value, const Stmt& in);

}  // namespace tcc
