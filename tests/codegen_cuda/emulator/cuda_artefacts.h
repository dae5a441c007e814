#pragma once

#include <string>
#include <vector>

#include "runtime/artefact/artefact.h"
#include "runtime/artefact/gpu_program.h"
#include "runtime/executor/executor.h"

// Artefacts of device "cuda" whose kernels are CUDA text written by hand, for the emulated driver.
namespace tcc::test {

// The emulated driver's device of that arch.
std::span<const DeviceRow> EmulatedDevices();
inline constexpr int kSm = 86;

// A program of one image with the kernels below.
GpuProgram HandProgram();

// y = ((x + 2 * w) + 2 * w) reversed, f32[4], with w = {1, 2, 3, 4}. Kernels: "scale_add", one
// launch; "reverse", two launches with a workspace between them and 64 KiB of shared memory.
Artefact ScaleReverseArtefact();

// y = x + the counter of each trip, in blocks of 128, f32[N] with 0 <= N <= 4096: a copy, a kernel
// whose grid depends on N, no loop.
Artefact DynamicArtefact();

// y = x + 2 * x, likewise; the last of two blocks adds up what both have stored.
Artefact PartsArtefact();

// y = 2 * x, f32[N] as above, copied in boxes of a tensor map of rank 1; for sm_90a, every kernel
// waits for the launch before.
Artefact MapArtefact();

// state = x; for i in 0..12, at most M times, while state < 1000: state = 2 * state + i; y = state.
Artefact LoopArtefact();

// An artefact of these for sm_90a: every kernel waits for the launch before.
Artefact Waiting(Artefact artefact);

// What Module and Executor need for it; an arch of 75 or 90 other than that of the artefacts.
StatusOr<Executor> MakeExecutor(Artefact artefact, int sm = kSm);
Executor Made(Artefact artefact);  // which is to be loaded well
StatusOr<std::vector<double>> RunOne(Executor& executor, const std::vector<Tensor>& inputs);
Tensor Floats(std::vector<int64_t> shape, const std::vector<double>& values);

}  // namespace tcc::test
