#pragma once

#include "ir/expr/function.h"
#include "support/status.h"

namespace tcc {

// Checks that `fn` is well formed at its level. A failure is a bug in tcc for functions that tcc
// made and a mistake of the user for parsed ones; so it is a Status that names the loop, block or
// buffer.
//
// Every level: variables are defined once and before use; loads and stores name declared buffers
//   with the right dtype; extents are i64; divisors are provably >= 1 (Tile variables by their
//   range); `vars` lists every free variable.
// kTensor and kScheduled: loop keys and block names are unique and not empty; indices are scalars,
//   one per dimension; leaf bodies read iteration variables, not loops; reductions write cells that
//   ignore the reduce variables; no Ramp, Broadcast or mask; parallel and vectorized loops feed no
//   reduce variable; no threadIdx or vthread variable in a shared window's origin; barriers are
//   under no condition.
// kTensor: loops are serial, every buffer is global and whole; only parameters have strides.
// kLowered: no Block, Reduce, window, key or layout but FlatLayout; one index per access; lanes
//   agree; no Tile variable; local buffers have constant sizes.
Status Verify(const Function& fn);

}  // namespace tcc
