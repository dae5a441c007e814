#include "api/devices.h"
#include "compiler/reference_device.h"

namespace tcc {

std::span<const DeviceRow> EmbeddedDevices() {
  return AllDevices();
}

}  // namespace tcc
