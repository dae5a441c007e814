#pragma once

#include <span>
#include <string>

#include "support/random.h"

namespace tcc {

// A few random changes to bytes of any format: flipped bits, overwritten, removed, doubled and
// inserted ranges, a cut end, a piece of `donor`, integers at the edges of their types.
std::string MutatedBytes(std::string bytes, const std::string& donor, Random& random);

// A number that arithmetic on sizes may trip over: 0, -1, powers of two and their neighbours.
int64_t EdgeNumber(Random& random);

}  // namespace tcc
