#pragma once

#include <optional>

#include "schedule/space/trace.h"
#include "support/random.h"

namespace tcc {

struct RandomTraceOptions {
  int steps = 8;
  // Loops may be bound to threads, and buffers be in shared memory. The launches may not be whole
  // (schedule/space/whole_launches.h): for that, buffers must have been placed well.
  bool hardware = false;
  // A kind of step (random_step.h) that is to occur, if a place is found where it is legal.
  std::optional<size_t> wanted = std::nullopt;
};

// A random trace of legal steps for `fn`: proposals of any kind and place, kept where Check says
// yes with the sizes free, and what it asks of known sizes holds, so that Instantiate takes them.
// Most split factors are free variables.
Trace RandomTrace(const Function& fn, const RandomTraceOptions& options, Random& random);

bool Contains(const Trace& trace, size_t kind);

// A value for every variable: 1, larger than the extents and non-divisors all occur.
Decisions RandomDecisions(const Trace& trace, Random& random);

}  // namespace tcc
