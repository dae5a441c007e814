#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/cuda/cuda_api.h"
#include "support/status.h"
#include "support/target.h"

// A CUDA driver in this process whose modules are CUDA C text (GpuCode::kCudaText) and whose
// kernels run on the emulator, so that everything above the driver runs without a GPU. Work is done
// when it is enqueued, or recorded while its stream is captured. It is as strict as the real one
// where that pays: contexts must be current, handles known, memory is poisoned and between red
// zones, a failed kernel breaks its context, captures refuse what they refuse.
//
// Told each buffer's extent (CudaArgumentNote), it holds kernels to the buffers that they are
// given, not to the arena or the weights around them, and poisons workspaces and outputs before a
// kernel writes them. An output is kept where it may hold parts that other kernels wrote: what a
// kernel leaves unwritten there, or where another tensor of the run lay, shows what was there
// before.
namespace tcc::emulator {

// All users of a process share one machine. It has a device of each arch of the target table, or,
// where TCC_EMULATED_SM is one of them, that one alone; where it is anything else, cuInit fails.
CudaDriver EmulatedDriver();

// The targets of the machine's devices, by ordinal. Unavailable if TCC_EMULATED_SM is no arch of
// the target table.
StatusOr<std::vector<Target>> EmulatedTargets();
// The device of that arch; -1 if there is none.
int EmulatedOrdinal(int sm);

// What exists now, over all devices; `lost` was not given back before its context ended.
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

// From now on, in any thread: call number `call`, counted from 0, fails with `error`. Calls that
// give something back or end a capture do so all the same, as the real ones may report the failure
// of earlier work. With `sticky` every call after it fails so too, until the context has ended.
struct DriverFault {
  int64_t call = -1;  // -1: none
  CudaResult error = kCudaSuccess;
  bool sticky = false;
};
void RecordDriverCalls(const DriverFault& fault = {});

// Names of the calls since then.
std::vector<std::string> RecordedDriverCalls();

// Every error that the driver has a name for.
std::vector<CudaResult> DriverErrors();

}  // namespace tcc::emulator
