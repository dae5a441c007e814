#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/cuda/cuda_api.h"
#include "support/status.h"
#include "support/target.h"

// A CUDA driver in this process whose modules are CUDA C text (GpuCode::kCudaText) and whose
// kernels run on the emulator, so that everything above the driver runs without a GPU. Work is done
// when it is enqueued, or recorded while its stream is captured. The driver is as strict as the
// real one where that pays: contexts must be current, handles must be known, memory is poisoned and
// between red zones, a failed kernel breaks its context, and captures refuse the same calls.
//
// If it is told each buffer's extent (CudaArgumentNote), it restricts kernels to the buffers that
// they are given, not to the arena or the weights around them, and poisons workspaces and outputs
// before a kernel writes them. It does not poison an output that may hold parts that other kernels
// wrote: elements that a kernel leaves unwritten there show their old contents, even those of
// another tensor of the run.
namespace tcc::emulator {

// Returns the driver. All users in a process share one machine. It has one device per arch of the
// target table, or only that of TCC_EMULATED_SM if that is one of them; with any other value,
// cuInit fails.
CudaDriver EmulatedDriver();

// Returns the targets of the machine's devices, by ordinal. Unavailable if TCC_EMULATED_SM is no
// arch of the target table.
StatusOr<std::vector<Target>> EmulatedTargets();
// Returns the ordinal of the device of that arch; -1 if there is none.
int EmulatedOrdinal(int sm);

// The number of live objects over all devices. `lost` counts objects that were not freed before
// their context ended.
struct DriverObjects {
  int64_t contexts = 0;
  int64_t memory = 0;
  int64_t host_memory = 0;
  int64_t pools = 0;
  int64_t modules = 0;
  int64_t streams = 0;
  int64_t captures = 0;
  int64_t events = 0;
  int64_t graphs = 0;
  int64_t graph_execs = 0;
  int64_t lost = 0;
  friend bool operator==(const DriverObjects&, const DriverObjects&) = default;
};
DriverObjects LiveDriverObjects();

// A fault to inject: call number `call`, counted from 0 over all threads, fails with `error`. A
// call that frees something or ends a capture still does so, as real calls may report the failure
// of earlier work. With `sticky` every later call fails too, until the context has ended.
struct DriverFault {
  int64_t call = -1;  // -1: none
  CudaResult error = kCudaSuccess;
  bool sticky = false;
};
// Records all calls from now on, and injects `fault`.
void RecordDriverCalls(const DriverFault& fault = {});

// Injects a fault by the name of a call: "cuEventQuery:5+:600" lets the fifth one and all that
// follow fail with error 600, "cuModuleLoadDataEx:3:700:sticky" the third one and then every call.
// "" none. FailedPrecondition: another form, or no such call.
Status InjectDriverFault(const std::string& text);

// Returns the names of the calls since RecordDriverCalls.
std::vector<std::string> RecordedDriverCalls();

// Returns every error that the driver has a name for.
std::vector<CudaResult> DriverErrors();

}  // namespace tcc::emulator
