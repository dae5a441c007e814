#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "lower/backend.h"
#include "search/candidate/lower_schedule.h"
#include "search/candidate/workload.h"

namespace tcc {

// A schedule to measure. schedule.variant is an index into Workload::variants.
struct Candidate {
  Schedule schedule;
  std::string rules;  // that made its sketch, Sketch::name
};

struct BuiltCandidate {
  Status status;                  // not OK: why it has no artefact
  bool refused = false;           // the schedule is illegal or beyond limits; else building failed
  std::string lowered_key;        // "" where it was not lowered
  int64_t code_size = 0;          // CodeSizeOf; 0 where it was not lowered
  bool known = false;             // BuildFilter::known has its lowered_key: it has no artefact
  std::vector<uint8_t> artefact;  // ArtefactBytes
  double build_seconds = 0;
};

// Which candidates are worth an artefact.
struct BuildFilter {
  // Returns whether candidates of a lowered key are known; several threads ask. Empty: none is.
  std::function<bool(const std::string& lowered_key)> known = {};
  // A candidate of a larger CodeSizeOf is refused; 0: none is. Code that unrolls many times what
  // the constructed schedule does takes the code generator seconds and was never found to be fast.
  int64_t most_code = 0;
};

struct BuildOptions {
  Target target;
  Backend* backend = nullptr;
  int threads = 1;  // that build; a candidate is built by one of them
  std::stop_token stop = {};
  BuildFilter filter = {};
};

// Builds artefacts of one kernel each. A candidate has a call of the backend for itself, so that a
// fault of one is nobody else's. The result's order is that of `candidates`.
//
// The artefact's kernels are prepare_0, prepare_1, .., kernel. Its inputs and outputs are the
// parameters of the tensor function, p0, p1, .., each as one row of elements as the lowered kernel
// addresses them; the plan has a buffer for each parameter in order, then one in the arena for each
// prepared constant; it calls the prepare kernels, then the kernel.
std::vector<BuiltCandidate> BuildCandidates(const Workload& workload,
                                            std::span<const Candidate> candidates,
                                            const BuildOptions& options);

// Statements and expressions of the lowered functions, which the time of the code generator grows
// with.
int64_t CodeSizeOf(const LoweredKernel& kernel);

// The functions of a kernel under the names that its artefact gives them.
LoweredModule ModuleOf(const LoweredKernel& kernel);

}  // namespace tcc
