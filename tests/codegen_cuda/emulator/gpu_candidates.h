#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/artefact/artefact.h"
#include "runtime/artefact/gpu_program.h"
#include "runtime/executor/device.h"
#include "runtime/measure/cuda_measuring_queue.h"

// Candidates for the emulated driver, as a search builds them: kernels of an input x, a constant w
// and a result y, 64 elements each; y is to be x + 2 w.
namespace tcc::test {

inline constexpr int64_t kCandidateCount = 64;  // elements of each operand

// The devices of the emulated driver. Untold: it does not learn where each buffer ends, as a real
// one does not.
std::span<const DeviceRow> ToldDevices();
std::span<const DeviceRow> UntoldDevices();
CudaMeasuringOptions OptionsFor(std::span<const DeviceRow> devices);

// A kernel of one launch of the symbol.
GpuKernel KernelOf(const std::string& name, uint32_t buffers);
// An artefact of kernels whose plan has their operands and is empty.
Artefact ArtefactOf(std::vector<std::pair<std::string, GpuKernel>> kernels);

Artefact Candidate(const std::string& name);
Artefact WithSharedBytes(int64_t bytes);
Artefact WithWorkspace(int64_t bytes);
// Its prepare kernel doubles w.
Artefact Prepared();

}  // namespace tcc::test
