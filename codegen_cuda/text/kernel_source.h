#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen_cuda/text/dialect.h"
#include "codegen_cuda/text/launch.h"

namespace tcc {

// The text of the kernels of one program, which Dialect::prelude goes before.
struct KernelsSource {
  std::string text;
  std::vector<LaunchPlan> plans;  // one per function
};

// Emits the kernels of kLowered GPU functions, whose names differ and which have no free Tile
// variables. The same functions give the same text. Error: that of FindLaunches; a dtype or
// statement that the dialect has no text for.
StatusOr<KernelsSource> EmitKernels(std::span<const Function> functions, const Target& target,
                                    const Dialect& dialect);

}  // namespace tcc
