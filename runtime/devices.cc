#include "runtime/accelerator/vdla_device.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/executor/device.h"
#include "runtime/opencl/opencl_device.h"

namespace tcc {
namespace {

constexpr DeviceRow kDevices[] = {
    {"cpu", [](const DeviceOptions& options) { return MakeCpuDevice(options.pool); }},
    {"vdla", [](const DeviceOptions& options) { return MakeVdlaDevice(options.pool); }},
    {"cuda", [](const DeviceOptions& options) { return MakeCudaDevice(options.ordinal); }},
    {"opencl", [](const DeviceOptions& options) { return MakeOpenClDevice(options.ordinal); }},
};

}  // namespace

std::span<const DeviceRow> RuntimeDevices() {
  return kDevices;
}

StatusOr<int> ChosenOrdinal(std::string_view gpu_device) {
  return gpu_device == "opencl" ? ChosenOpenClOrdinal() : ChosenCudaOrdinal();
}

}  // namespace tcc
