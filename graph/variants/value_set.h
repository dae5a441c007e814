#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

// The integers low, low + step, .., high. The step is a power of two.
struct ValueSet {
  int64_t low = 0;
  int64_t high = 0;
  int64_t step = 1;
  friend bool operator==(const ValueSet&, const ValueSet&) = default;
};

// The widest sets that are told exactly span this many steps. A constant with more values has the
// bounds of its type.
inline constexpr int64_t kMaxSteps = 15;

// Returns all values of an integer type, storage types included, of at most 32 bits; nullopt of
// others.
std::optional<ValueSet> ValuesOfType(DType dtype);

// Returns a set that holds every element that each of these values may have: of constants by their
// elements, of others by their types and by what computes them (a cast of fewer bits, a Clip, also
// before QuantizeLinear, a copy of elements). nullopt of values that are no integers of at most 32
// bits.
std::vector<std::optional<ValueSet>> ValueSetsOf(const Graph& graph, std::span<const ValueId> ids);

}  // namespace tcc
