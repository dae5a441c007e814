#pragma once

#include "runtime/executor/module.h"
#include "runtime/measure/launch_messages.h"

namespace tcc {

// An artefact's kernels in a worker, launched on memory that comes and goes with each launch.
class ServedKernels {
 public:
  // Error: of Module::FromBytes and EmulatorCounters::OfProcess; InvalidArgument if kernels run on
  // memory of a device.
  static StatusOr<ServedKernels> Load(std::span<const uint8_t> artefact,
                                      std::shared_ptr<ThreadPool> pool);

  // Expects the arguments that the kernel takes. Error: there is no such kernel; bytes outside the
  // weights; no memory; what the launch says.
  StatusOr<LaunchedMessage> Launch(const LaunchMessage& message) const;

 private:
  ServedKernels(Module module, const EmulatorCounters* counters)
      : module_(std::move(module)), counters_(counters) {}
  StatusOr<uint8_t*> PlaceOf(const LaunchBuffer& buffer, std::span<uint8_t* const> regions) const;

  Module module_;
  const EmulatorCounters* counters_;  // null: nothing counts
};

}  // namespace tcc
