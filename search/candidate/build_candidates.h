#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "lower/backend.h"
#include "lower/lower_kernel.h"
#include "schedule/space/workload.h"

namespace tcc {

// A schedule to measure. schedule.variant is an index into Workload::variants.
struct Candidate {
  Schedule schedule;
  std::string rules;  // the rules that made its sketch, Sketch::name
};

struct BuiltCandidate {
  Status status;         // not OK: why it has no artefact
  bool refused = false;  // true: the schedule is illegal or beyond limits; false: building failed
  std::string lowered_key;        // "" where it was not lowered
  int64_t code_size = 0;          // CodeSizeOf; 0 where it was not lowered
  std::string fault;              // CompiledKernel::fault of its first kernel that has one
  bool known = false;             // BuildFilter::known returned true: it has no artefact
  std::vector<uint8_t> artefact;  // ArtefactBytes
  double build_seconds = 0;
};

// The filter of candidates that are worth an artefact.
struct BuildFilter {
  // Returns whether the lowered key is known; called from several threads. Empty: no key is known.
  std::function<bool(const std::string& lowered_key)> known = {};
  // The largest CodeSizeOf of a candidate that is not refused (MostCodeBeside); 0: no limit.
  int64_t most_code = 0;
};

struct BuildOptions {
  Target target;
  Backend* backend = nullptr;
  int threads = 1;  // the number of build threads; each candidate is built by one of them
  std::stop_token stop = {};
  BuildFilter filter = {};
};

// Builds artefacts of one kernel each. Each candidate gets its own call of the backend, so that a
// fault of one does not affect others. The result's order is that of `candidates`.
//
// The artefact's kernels are prepare_0, prepare_1, .., kernel. Its inputs and outputs are the
// parameters of the tensor function, p0, p1, .., each as one row of elements as the lowered kernel
// addresses them; the plan has a buffer for each parameter in order, then one in the arena for each
// prepared constant; it calls the prepare kernels, then the kernel.
std::vector<BuiltCandidate> BuildCandidates(const Workload& workload,
                                            std::span<const Candidate> candidates,
                                            const BuildOptions& options);

// Returns the number of statements and expressions in the lowered functions, which the code
// generator's time grows with.
int64_t CodeSizeOf(const LoweredKernel& kernel);

// Returns the largest CodeSizeOf of candidates that are worth building beside a default schedule of
// this size. Code that unrolls many times more takes the code generator seconds and was never found
// to be fast.
int64_t MostCodeBeside(int64_t default_size, const Target& target);

// Returns the functions of a kernel under their names in its artefact.
LoweredModule ModuleOf(const LoweredKernel& kernel);

}  // namespace tcc
