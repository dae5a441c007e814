#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

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

// The devices whose artefacts are a GPU's: their kernels section is a GpuProgram.
inline constexpr std::string_view kGpuDevices[] = {"cuda", "opencl"};
inline bool IsGpuDevice(std::string_view device) {
  return std::ranges::find(kGpuDevices, device) != std::end(kGpuDevices);
}

}  // namespace tcc
