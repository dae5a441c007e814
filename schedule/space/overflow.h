#pragma once

#include "ir/expr/function.h"
#include "schedule/steps/step.h"
#include "support/status.h"

// The bounds on the numbers in a schedule and on the sizes of its loops and buffers. Within them no
// arithmetic overflows 64 bits.
namespace tcc {

inline constexpr int64_t kMaxOfStep = int64_t{1} << 40;
inline constexpr int64_t kMaxCount = int64_t{1} << 53;

// Checks the numbers of the step. Error: a number, or a product of factors, beyond kMaxOfStep; a
// size without variables that has no value, such as 4 div 0.
Status ExpectModestNumbers(const Step& step);

// Refuses a constraint whose sizes are all known and that does not hold, with its reason.
Status ExpectKnownToHold(const Constraint& constraint);

// Checks the size of loop nests and buffers. Error, naming it: a nest that runs kMaxCount times or
// more, or a buffer of that many bytes, for all values of the free sizes. Nests that are also in
// `before`, a body that passed, are not checked again.
Status ExpectNoOverflow(const Function& fn, const Stmt& before = {});

}  // namespace tcc
