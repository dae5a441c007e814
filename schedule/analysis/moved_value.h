#pragma once

#include "schedule/analysis/placement.h"

// Checks that ComputeInline, Pad and ReIndex share, which change what block computes a value, or in
// which buffer it is passed on.
namespace tcc {

// Checks that the block stores one value per cell, has only spatial variables and no predicate, so
// that the value is a function of the variables, and that no intrinsic emits the block.
Status ExpectElementwise(const char* step, const Path& path);

// Checks that no intrinsic emits the block at the end of the path.
Status ExpectNotTensorized(const char* step, const Path& path);

// Checks that the buffer can be removed: it is no parameter, keeps one version of each cell, and is
// not computed when the model is linked.
Status ExpectRemovable(const char* step, const Function& fn, const Buffer& buffer);

}  // namespace tcc
