#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cpu/interleaved_timing.h"
#include "bench/gpu/calibration.h"
#include "bench/gpu/gpu_bench.h"
#include "bench/operator/operator.h"
#include "bench/operator_report.h"
#include "runtime/executor/module.h"
#include "support/device_profile.h"
#include "support/numeric_mode.h"

namespace tcc {

struct OperatorOptions {
  Target target;
  GpuProfile gpu;  // GPU targets: what times are predicted for
  NumericMode numeric = NumericMode::kStrict;
  GpuCode code = GpuCode::kCubin;
  int compile_threads = 1;
  int threads = 1;                 // of CPU kernels
  std::vector<std::string> peers;  // the peers wanted; all if none is named
  int rounds = kRounds;
  bool quick = false;  // few launches: only to see that it works

  bool Wants(std::string_view peer) const;
};

// A compiled operator and its inputs, channels first even where the artefact takes them last.
struct CompiledOperator {
  BenchOperator op;
  Artefact artefact;
  // The mode in which it computes: strict if there was nothing to round.
  NumericMode numeric = NumericMode::kStrict;
  std::vector<Tensor> constants, inputs;
  double seconds = 0;                       // of compiling
  std::optional<double> predicted_seconds;  // of a run
  std::vector<std::string> warnings;        // of the compiler
};

// Compiles an operator. Inputs are uniform in [-1, 1]; those of networks are RandomInputs.
StatusOr<CompiledOperator> CompileOperator(const BenchOperator& op, const OperatorOptions& options);

// Returns a result with what is known before anything runs.
OperatorResult ResultOf(const CompiledOperator& compiled, const OperatorOptions& options);

// Makes tensors for the outputs of the artefact, as it lays them out.
StatusOr<std::vector<Tensor>> OutputsOf(const Artefact& artefact);

// The peak rates of the device or CPU in use.
struct Ceiling {
  std::string instructions = "fma";  // whose rate `gflops` is: "fma", "tf32 mma"
  double gflops = 0, gbytes = 0;
  double fma_gflops = 0;  // of the part of a network that stays strict in any mode
};

// Measure the time of our kernels and of the peers, all checked (operator_check.h). A peer that
// fails becomes a note.
Status MeasureOnGpu(const CompiledOperator& compiled, const OperatorOptions& options,
                    const GpuBench& bench, OperatorResult& result);
Status MeasureOnCpu(const CompiledOperator& compiled, const OperatorOptions& options,
                    OperatorResult& result);

// Fills in the least time that the ceiling allows.
void ApplyCeiling(const Ceiling& ceiling, OperatorResult& result);

}  // namespace tcc
