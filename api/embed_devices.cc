#include "api/embed/devices.h"
#include "api/reference_device.h"

namespace tcc {

std::span<const DeviceRow> EmbeddedDevices() {
  return AllDevices();
}

}  // namespace tcc
