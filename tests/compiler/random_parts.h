#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/random.h"
#include "support/tensor.h"

// Graphs of Concats, Splits, Slices and Transposes as text, for the tests of values that lie in
// others.
namespace tcc {

Tensor Ints(const std::vector<int64_t>& values);
// Random numbers of 17 that are exact in f32.
Tensor Weights(const std::vector<int64_t>& shape);

// A random graph: joins of channels until there are enough of them, and parts of what there is.
struct RandomParts {
  std::string text;
  std::vector<std::pair<std::string, Tensor>> given;
};
// The batch is a number or a dimension that the caller declares. With plain nodes only, there is no
// convolution.
enum class PartNodes : uint8_t { kPlain, kConvolutions };
RandomParts MakeRandomParts(Random& random, const std::string& batch, PartNodes nodes);

}  // namespace tcc
