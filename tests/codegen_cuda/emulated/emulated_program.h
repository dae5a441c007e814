#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen_cuda/emulator/emulator.h"
#include "codegen_cuda/text/cuda_source.h"
#include "lower/split_prepare.h"
#include "support/tensor.h"

namespace tcc {

// Lowered GPU functions as CUDA text, compiled for the emulator: what a device would run.
class EmulatedProgram {
 public:
  // kLowered functions whose names differ. Error: EmitCuda's, emulator::Program::Compile's.
  static StatusOr<EmulatedProgram> Compile(std::vector<Function> functions, const Target& target);

  // A text that was made from the functions, perhaps with a mistake in it.
  static StatusOr<EmulatedProgram> Compile(std::vector<Function> functions, CudaSource source);

  // Runs function `which` on the tensors, one a parameter, in place: those that it writes hold
  // poison before. `shapes` are the values of its Shape variables. Error: what the emulator finds,
  // with the line of the text.
  Status Run(size_t which, std::vector<Tensor>& arguments, std::span<const int64_t> shapes,
             emulator::BlockOrder order = emulator::BlockOrder::kForward) const;

  const CudaSource& source() const { return source_; }

 private:
  EmulatedProgram() = default;

  std::vector<Function> functions_;
  CudaSource source_;
  std::unique_ptr<emulator::Program> program_;
};

// What the compiler makes of a function for a GPU: each part lowered. EmitCuda takes `main`.
StatusOr<PreparedFunction> LoweredParts(const Function& fn);

// Whether any launch writes parameter number `parameter`.
bool IsWritten(const LaunchPlan& plan, size_t parameter);

// Runs a function of any level, without Shape variables, in place: what computes constants is
// interpreted first, as the compiler does; `run` gets the lowered rest and its operands.
using RunMain = std::function<Status(const Function& main, std::vector<Tensor>& operands)>;
Status RunParts(const Function& fn, std::vector<Tensor>& arguments, const RunMain& run);

// A function of any level, without Shape variables, on the target's text, in place; what computes
// constants is interpreted first, as the compiler does.
Status RunEmulated(const Function& fn, const Target& target, std::vector<Tensor>& arguments);

// Of the text: the kernels, after the prelude.
std::string KernelsOf(const CudaSource& source);

}  // namespace tcc
