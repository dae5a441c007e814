#pragma once

#include <vector>

#include "ir/expr/function.h"
#include "runtime/artefact/gpu_program.h"
#include "support/target.h"
#include "support/tensor.h"

namespace tcc {

// What RunEmulated does, on the device that the runtime chooses: the text is compiled by NVRTC or,
// for the emulated driver as a library, is handed on. The target's code must run there. Results
// hold poison before.
Status RunOnDevice(const Function& fn, const Target& target, GpuCode code,
                   std::vector<Tensor>& arguments);

// Compiles the same for the target, so that RunOnDevice finds it in the cache of programs; results
// are the interpreter's.
Status CompileForDevice(const Function& fn, const Target& target, std::vector<Tensor>& arguments);

}  // namespace tcc
