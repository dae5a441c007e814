#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/sized_model.h"
#include "runtime/artefact/metadata.h"
#include "support/status.h"

namespace tcc {

// Returns the sizes that a compiled model is checked at, values of its shape variables that agree
// with `given`, which --dim gives: the listed sizes, or without a list the least size, a prime, the
// usual one and twice the usual one, as far as the ranges go. Names of other dimensions in `given`
// do not count. Empty where the model has one size. Error: no listed size agrees.
StatusOr<std::vector<std::vector<int64_t>>> SizesToCheck(const Metadata& metadata,
                                                         const DimSizes& given);

// Returns whether the values of the shape variables agree with `given`.
bool Agrees(const Metadata& metadata, std::span<const int64_t> size, const DimSizes& given);

// Returns the sizes as --at gives them, without the dimensions in `given`.
std::vector<DimSizes> ToListed(const Metadata& metadata,
                               std::span<const std::vector<int64_t>> sizes, const DimSizes& given);

}  // namespace tcc
