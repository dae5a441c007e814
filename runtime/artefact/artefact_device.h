#pragma once

#include <string>

#include "support/check.h"
#include "support/target.h"

namespace tcc {

// Returns the device that runs artefacts for a target, Artefact::device.
inline std::string ArtefactDevice(TargetKind kind) {
  switch (kind) {
    case TargetKind::kCpu:
      return "cpu";
    case TargetKind::kGpu:
      return "cuda";
    case TargetKind::kReference:
      return "reference";
  }
  TCC_UNREACHABLE();
}

}  // namespace tcc
