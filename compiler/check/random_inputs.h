#pragma once

#include <cstdint>
#include <vector>

#include "runtime/artefact/metadata.h"
#include "support/status.h"
#include "support/tensor.h"

namespace tcc {

// Makes random inputs: floats are normal with deviation 1, bools have even odds, integers lie in
// [0, 8), so that they can serve as indices of all but the smallest tables. The same seed gives the
// same inputs. Free dimensions take their least size.
StatusOr<std::vector<Tensor>> RandomInputs(const Metadata& metadata, uint64_t seed);

}  // namespace tcc
