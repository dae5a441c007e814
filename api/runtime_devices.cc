#include "api/devices.h"

namespace tcc {

std::span<const DeviceRow> EmbeddedDevices() {
  return RuntimeDevices();
}

}  // namespace tcc
