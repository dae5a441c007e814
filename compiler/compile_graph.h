#pragma once

#include "compiler/kernels.h"
#include "runtime/artefact/artefact.h"
#include "runtime/artefact/gpu_program.h"

namespace tcc {

struct CompileOptions {
  Target target;
  int threads = 1;      // compiler threads; the artefact is the same for any number
  bool verify = false;  // checks the IR after every pass
  ProgressHook progress = {};
  std::function<void(const std::string& message)> warn = {};  // of what works, but should not be so
  std::stop_token stop = {};                  // Cancelled soon after it asks for a stop
  Schedules schedules = {};                   // for kernels that are not to get the default one
  std::vector<SketchRule> sketch_rules = {};  // as KernelOptions has them
  NumericMode numeric = NumericMode::kStrict;
  GpuCode gpu_code = GpuCode::kCubin;  // of CUDA targets; text is for the emulator
  TunedSchedules tuned = {};           // as KernelOptions has them
};

// The whole way from a network to what runs it: graph passes, fusion, schedules, lowering, code,
// plan. Deterministic: the same graph and target give the same bytes.
StatusOr<Artefact> CompileGraph(Graph graph, const CompileOptions& options);

// Unimplemented where inputs have dimensions that nobody has bound, all of which the message names:
// kernels are made for one size.
Status ExpectBoundInputs(const Graph& graph);

KernelOptions KernelOptionsOf(const CompileOptions& options);

// The code generator of a target, with the user's cache; Unimplemented for targets that have none.
StatusOr<std::unique_ptr<Backend>> MakeBackend(const Target& target,
                                               GpuCode gpu_code = GpuCode::kCubin);

}  // namespace tcc
