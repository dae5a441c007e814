#pragma once

#include <span>

#include "runtime/executor/device.h"

namespace tcc {

// What a library of the embedding API runs artefacts on: each has its own list.
std::span<const DeviceRow> EmbeddedDevices();

}  // namespace tcc
