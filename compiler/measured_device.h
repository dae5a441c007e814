#pragma once

#include <optional>
#include <string>

#include "runtime/artefact/artefact.h"
#include "runtime/artefact/gpu_program.h"
#include "runtime/measure/measure_protocol.h"
#include "search/database/database.h"
#include "support/target.h"

namespace tcc {

// The device that runs candidates, as their records name it.
struct MeasuredDevice {
  Environment environment;  // with the policy that `auto` chose
  MeasurePolicy policy = MeasurePolicy::kWarm;
  GpuCode code = GpuCode::kCubin;  // of CUDA: kCudaText where the worker's driver is emulated
  bool is_apart = false;           // candidates can be built while others run
  GpuTimingLimits timing = {};
};

// The memory of a network, by which `auto` chooses what is cold when a GPU's kernel is timed.
struct NetworkBytes {
  int64_t weights = 0, arena = 0;
};
NetworkBytes BytesOf(const Artefact& skeleton);

// Returns the device of a worker that measures for the target with that many threads. A CPU of
// this machine is described as LocalEnvironment does, one of a worker elsewhere as the worker does.
// `policy` none: `auto`, which is in-place on CPUs here, rotate-64M on others; on GPUs it keeps
// warm what fits 0.8 of the L2 cache together, else rotates weights while the arena fits, else all
// operands. Unavailable: the device does not run the target's code, or there is no NVRTC for it.
// FailedPrecondition: a policy that the device does not have.
StatusOr<MeasuredDevice> DeviceFor(const Target& target, const ReadyMessage& ready, int threads,
                                   std::optional<MeasurePolicy> policy, const NetworkBytes& bytes,
                                   bool elsewhere = false);

// Returns the environment whose records count in a compilation for the target on this machine. On a
// GPU none of the machine's does: a compilation gives the same bytes everywhere. Of the devices
// whose text contains `device`, that with records of the most workloads is chosen, ties by the
// text. A CPU target without `device` takes the records of this machine's CPU.
// FailedPrecondition: none contains `device`; the message lists all.
StatusOr<Environment> RecordedEnvironment(const Database& database, const Target& target,
                                          int threads, const std::string& device,
                                          const std::function<void(const std::string&)>& warn);

// Returns the environment that kernels of a CPU target are measured in on this machine.
Environment LocalEnvironment(const Target& target, int threads,
                             MeasurePolicy policy = MeasurePolicy::kRotate64M);

}  // namespace tcc
