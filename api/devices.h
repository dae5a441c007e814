#pragma once

#include <span>

#include "runtime/executor/device.h"

namespace tcc {

// Returns the devices that this library of the embedding API runs artefacts on; each library has
// its own list.
std::span<const DeviceRow> EmbeddedDevices();

}  // namespace tcc
