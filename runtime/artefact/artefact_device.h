#pragma once

#include <string>

#include "support/check.h"
#include "support/target.h"

namespace tcc {

// Returns the device that runs artefacts for a target, Artefact::device.
inline std::string ArtefactDevice(const Target& target) {
  switch (target.kind) {
    case TargetKind::kCpu:
      return target.accelerator == Accelerator::kVdla ? "vdla" : "cpu";
    case TargetKind::kGpu:
      return target.api == GpuApi::kOpenCl ? "opencl" : "cuda";
    case TargetKind::kReference:
      return "reference";
  }
  TCC_UNREACHABLE();
}

}  // namespace tcc
