#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/executor/module.h"
#include "runtime/measure/measure_protocol.h"
#include "support/dtype.h"
#include "support/status.h"

namespace tcc {

// A call of a kernel on buffers of the plan: parameters first, then prepared operands.
struct KernelCall {
  size_t kernel = 0;
  std::vector<size_t> buffers;
  std::vector<int64_t> bytes;
  std::vector<int64_t> shape_args;
};

// A candidate's artefact, ready to run piece by piece.
struct LoadedCandidate {
  Module module;
  std::vector<DType> dtypes;      // of the parameters
  std::vector<int64_t> bytes;     // of the plan's buffers
  std::vector<KernelCall> calls;  // the prepare kernels', then the kernel's
};

// A candidate whose kernels a queue launches on a stream of the caller's.
struct QueuedCandidate {
  LoadedCandidate loaded;
  std::unique_ptr<DeviceQueue> queue;

  // Returns the call that is not for preparing.
  const KernelCall& kernel() const { return loaded.calls.back(); }
};

// Loads an artefact. Its plan has a buffer for each operand of the task in their order, then one
// for each prepared operand; it calls kernels that fill these, and the kernel once. Fails like
// Module::FromBytes, and with InvalidArgument where the plan is another.
StatusOr<LoadedCandidate> LoadCandidate(std::vector<uint8_t> artefact,
                                        std::span<const OperandRole> roles,
                                        const LoadOptions& options);

// Loads an artefact like LoadCandidate. InvalidArgument as well: its kernels run on host memory.
StatusOr<QueuedCandidate> QueueCandidate(std::vector<uint8_t> artefact,
                                         std::span<const OperandRole> roles,
                                         const LoadOptions& options, void* stream);

Status LaunchCall(const LoadedCandidate& candidate, const KernelCall& call,
                  std::span<void* const> buffers);
Status LaunchCall(const QueuedCandidate& candidate, const KernelCall& call,
                  std::span<void* const> buffers);

// Returns the buffers of a call, given the memory of the operands and of the prepared ones.
std::vector<void*> BuffersOf(const KernelCall& call, std::span<void* const> operands,
                             std::span<uint8_t* const> prepared);

// Returns the operands that are constants; prepared ones depend on nothing else.
std::vector<void*> ConstantsOf(std::span<const OperandRole> roles, std::span<void* const> operands);

}  // namespace tcc
