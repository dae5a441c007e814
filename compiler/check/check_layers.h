#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/check/compare_tensors.h"
#include "compiler/notes.h"
#include "runtime/executor/module.h"

namespace tcc {

struct LayerOptions {
  Tolerance tolerance;
  int threads = 1;                             // that interpret
  NumericMode numeric = NumericMode::kStrict;  // the artefact's
  std::function<void(const std::string& stage, int64_t done, int64_t total)> progress = {};
};

// A kernel's call in a run of an artefact, beside the interpreter. The output with the largest
// error stands for all.
struct CheckedCall {
  size_t call = 0;  // in the order of the notes
  size_t kernel = 0;
  std::string value;           // the output
  std::vector<int64_t> shape;  // as the output is stored
  Comparison total;            // the error in the run, to which that of the operands adds
  // The kernel's own error, on the interpreter's operands; absent where `total` does not differ.
  std::optional<Comparison> own = {};

  bool differs() const { return own && own->different > 0; }
};

// Runs an artefact and compares what each call writes with the interpreter's values. A loop counts
// by its last iteration. Returns the calls that ran, in the order of the notes; `graph` is the
// model after the passes, at the size of the inputs; `notes` are the artefact's.
//
// Only its own error makes a kernel wrong. Allowed are `tolerance`, whose atol counts in units of
// the value's root mean square where that is above 1 since a sum errs by its terms, the last bit of
// an output's type, and, where that is not enough, roundings inside the kernel: the spread of its
// results for operands whose last bits and roundings vary (rounding_allowance.h).
//
// Errors: InvalidArgument where the artefact was made of another model or by another compiler; the
// run's.
StatusOr<std::vector<CheckedCall>> CheckLayers(const Module& module, const Graph& graph,
                                               const Notes& notes,
                                               const std::vector<Tensor>& inputs,
                                               const LayerOptions& options);

}  // namespace tcc
