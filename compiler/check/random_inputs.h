#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/artefact/metadata.h"
#include "support/status.h"
#include "support/tensor.h"

namespace tcc {

// Makes random inputs: floats are normal with deviation 1, bools have even odds, integers lie in
// [0, 8), so that they can serve as indices of all but the smallest tables. The same seed gives the
// same inputs. Free dimensions take their usual size, or the first listed one.
StatusOr<std::vector<Tensor>> RandomInputs(const Metadata& metadata, uint64_t seed);
// Makes them for these values of the shape variables.
StatusOr<std::vector<Tensor>> RandomInputs(const Metadata& metadata, uint64_t seed,
                                           std::span<const int64_t> size);

// Returns the values of the shape variables that random inputs have: the first listed size, or the
// usual one, with the values that `dims` give by name. Error (FailedPrecondition): there is no such
// dimension or size.
StatusOr<std::vector<int64_t>> SizeWith(const Metadata& metadata,
                                        const std::map<std::string, int64_t>& dims);

}  // namespace tcc
