#pragma once

#include <span>

#include "schedule/sketches/parts/sketch.h"

// The tables behind SketchRules.
namespace tcc {

std::span<const SketchRule> CpuSketchRules();
std::span<const SketchRule> GpuSketchRules();

}  // namespace tcc
