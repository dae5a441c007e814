#pragma once

#include "tests/fuzz/fuzz.h"

namespace tcc {

// Plants each known mistake into points of the spike's programs and counts, in the histogram, how
// many points find it: a region one short, a dropped guard, a removed barrier, an Apply that drops
// guards that it can prove. A mistake that no point of a tenth of the run finds counts as a
// failure.
void AddPlantedMistakes(const FuzzOptions& options, FuzzResult& result);

}  // namespace tcc
