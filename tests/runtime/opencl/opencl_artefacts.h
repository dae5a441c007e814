#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/artefact/artefact.h"
#include "runtime/artefact/gpu_program.h"
#include "runtime/executor/executor.h"

// Artefacts of device "opencl" whose kernels are OpenCL C written by hand. The fake driver knows
// the same kernels by name (fake/fake_opencl.h).
namespace tcc::test {

// The text of all kernels below.
std::string HandText();

// y = ((x + 2 * w) + 2 * w) reversed, f32[4], with w = {1, 2, 3, 4}. Kernels: "scale_add", one
// launch; "reverse", two launches with a workspace between them, the second of which exchanges
// values in 64 bytes of local memory.
Artefact ScaleReverseArtefact();

// y = x + the number of each element, in blocks of 128, f32[N] with 0 <= N <= 4096: a copy, a
// kernel whose grid depends on N.
Artefact DynamicArtefact();

// y = x + 2 * x, likewise; the last of two blocks adds up what both have stored.
Artefact PartsArtefact();

// state = x; for i in 0..12, at most M times, while state < 1000: state = 2 * state + i; y = state.
Artefact LoopArtefact();

// y = x whose elements are moved up by one, and then down by two, within one buffer; f32[8].
// Kernel: none.
Artefact ShiftArtefact();

// Returns the artefact with a change to its program.
Artefact Changed(Artefact artefact, const std::function<void(GpuProgram&)>& change);

// Loads the artefact for the device of the driver that is opened (opencl_driver.h).
StatusOr<Executor> MakeExecutor(Artefact artefact);
StatusOr<std::vector<double>> RunOne(Executor& executor, const std::vector<Tensor>& inputs);
Tensor Floats(std::vector<int64_t> shape, const std::vector<double>& values);

}  // namespace tcc::test
