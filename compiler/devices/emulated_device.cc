#include "compiler/devices/emulated_device.h"

#include "codegen_cuda/emulator/driver.h"
#include "codegen_cuda/emulator/host_compiler.h"
#include "compiler/devices/foreign_cpu_device.h"
#include "compiler/devices/reference_device.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_driver.h"
#include "support/target_api.h"
#include "support/temporary_folder.h"

namespace tcc {
namespace {

constexpr DeviceRow kEmulatedDevices[] = {
    {"cuda",
     [](const DeviceOptions& options) {
       return MakeCudaDevice(emulator::EmulatedDriver(), options.ordinal);
     }},
};

constexpr DeviceRow kForeignDevices[] = {
    {"cpu", [](const DeviceOptions& options) { return MakeForeignCpuDevice(options.pool); }},
};

}  // namespace

StatusOr<LoadOptions> LoadOptionsFor(const Target& target, Execution execution) {
  LoadOptions load;
  load.devices = AllDevices();
  if (execution == Execution::kDevice) {
    if (IsCuda(target)) TCC_RETURN_IF_ERROR(OpenCudaDriver().status());
    return load;
  }
  if (IsForeignCpu(target)) {
    // Without this a missing worker would show after compiling.
    TCC_RETURN_IF_ERROR(FindForeignWorker(target.arch).status());
    load.devices = kForeignDevices;
    return load;
  }
  if (target.kind != TargetKind::kGpu) {
    return UsageError("--emulate runs kernels for GPUs and foreign CPUs; target '{}' is neither",
                      target.name);
  }
  if (!IsCuda(target)) {
    return UsageError("--emulate runs CUDA's kernels; those for '{}' are in another language",
                      target.name);
  }
  // Check these here, because a driver can only report that it could not load a module.
  TCC_RETURN_IF_ERROR(emulator::FindHostCompiler().status());
  TCC_RETURN_IF_ERROR(TemporaryFolder::Make("the emulated kernels").status());
  TCC_RETURN_IF_ERROR(emulator::EmulatedTargets().status());
  load.devices = kEmulatedDevices;
  load.ordinal = emulator::EmulatedOrdinal(target.sm);
  if (load.ordinal < 0) {
    return absl::UnavailableError("no " + target.name +
                                  " is emulated; unset TCC_EMULATED_SM, which names another");
  }
  return load;
}

}  // namespace tcc
