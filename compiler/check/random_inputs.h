#pragma once

#include <cstdint>
#include <vector>

#include "runtime/artefact/metadata.h"
#include "support/status.h"
#include "support/tensor.h"

namespace tcc {

// Something to feed: floats are normal with deviation 1, bools are even odds, integers lie in
// [0, 8), so that they may serve as indices of all but the smallest tables. The same for the same
// seed. Free dimensions take the least size that they may have.
StatusOr<std::vector<Tensor>> RandomInputs(const Metadata& metadata, uint64_t seed);

}  // namespace tcc
