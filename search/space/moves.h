#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/space/task_space.h"
#include "support/random.h"

// Small changes of a candidate over the whole space of a task: the sizes of a sketch, the sketches
// of a variant, the variants.
namespace tcc {

// Returns, for each point in order, a legal point one move away; nullopt if several tries found
// none. A move is one of these:
//   a prime factor goes from one level of an axis to another;
//   a size is doubled, halved, set to its next value, or drawn anew;
//   the sizes go over to another live sketch of the variant;
//   a live sketch of another variant, one move from its start.
std::vector<std::optional<SearchPoint>> MutateMany(TaskSpace& space,
                                                   std::span<const SearchPoint> from,
                                                   Random& random);

// Returns a legal point of the first parent's sketch that takes each axis from one of the parents;
// nullopt if the parents are of different variants, or none was found.
std::optional<SearchPoint> Recombine(TaskSpace& space, const SearchPoint& a, const SearchPoint& b,
                                     Random& random);

}  // namespace tcc
