#include "api/devices.h"
#include "compiler/devices/reference_device.h"

namespace tcc {

std::span<const DeviceRow> EmbeddedDevices() {
  return AllDevices();
}

}  // namespace tcc
