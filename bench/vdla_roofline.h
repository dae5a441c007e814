#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/vdla_config.h"

namespace tcc {

// A layer on the accelerator.
struct RooflinePoint {
  std::string name;
  int contexts = 1;
  int64_t cycles = 0;
  int64_t multiply_cycles = 0;
  int64_t bytes = 0;  // loaded and stored
};

// Returns a picture of what layers reach, as a file of its own: operations a second over operations
// a byte of memory, both on logarithmic axes, below what the multipliers and the memory allow
// (Williams et al., Roofline, 2009). Layers with one context are open circles, with two full ones.
std::string RooflineSvg(const std::vector<RooflinePoint>& points, const VdlaConfig& config);

}  // namespace tcc
