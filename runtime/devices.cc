#include "runtime/cpu_device.h"
#include "runtime/cuda_device.h"
#include "runtime/device.h"

namespace tcc {
namespace {

constexpr DeviceRow kDevices[] = {
    {"cpu", [](const DeviceOptions& options) { return MakeCpuDevice(options.pool); }},
    {"cuda", [](const DeviceOptions& options) { return MakeCudaDevice(options.ordinal); }},
};

}  // namespace

std::span<const DeviceRow> RuntimeDevices() {
  return kDevices;
}

}  // namespace tcc
