#pragma once

#include "ir/support/random.h"
#include "schedule/trace.h"

namespace tcc {

// A random trace of legal steps for `fn`: proposals of any kind and place, kept where Check says
// yes with the sizes free. Most split factors are free variables.
Trace RandomTrace(const Function& fn, int steps, Random& random);

// A value for every variable: 1, larger than the extents and non-divisors all occur.
Decisions RandomDecisions(const Trace& trace, Random& random);

}  // namespace tcc
