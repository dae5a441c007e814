#pragma once

#include "ir/expr/function.h"
#include "schedule/steps/step.h"
#include "support/status.h"

// Numbers that a schedule may name, and sizes that its loops and buffers may come to, so that no
// arithmetic on them leaves 64 bits.
namespace tcc {

inline constexpr int64_t kMaxOfStep = int64_t{1} << 40;
inline constexpr int64_t kMaxCount = int64_t{1} << 53;

// Error: a number of the step beyond kMaxOfStep, or factors whose product is; a size without
// variables that has no value, as 4 div 0.
Status ExpectModestNumbers(const Step& step);

// Error, saying why it is asked: a condition of sizes that are all known does not hold.
Status ExpectKnownToHold(const Constraint& constraint);

// Error, naming it: a nest of loops that runs kMaxCount times or more, or a buffer of as many
// bytes, wherever free sizes lie. Nests that `before` has too, a body that passed, are taken as
// they are.
Status ExpectCountable(const Function& fn, const Stmt& before = {});

}  // namespace tcc
