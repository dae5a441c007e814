#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/space/task_space.h"
#include "support/random.h"

// Small changes of a candidate, over all that a task's space has: the sizes of a sketch, the
// sketches of a variant, the variants.
namespace tcc {

// A legal point one move away; nullopt where several tries found none. A move is one of these:
//   a prime factor goes from one level of an axis to another;
//   a size is doubled, halved, set to its next value, or drawn anew;
//   the sizes go over to another live sketch of the variant;
//   a live sketch of another variant, one move from its start.
std::optional<SearchPoint> Mutate(TaskSpace& space, const SearchPoint& from, Random& random);

// The same for each point, in their order; many are checked at once.
std::vector<std::optional<SearchPoint>> MutateMany(TaskSpace& space,
                                                   std::span<const SearchPoint> from,
                                                   Random& random);

// A legal point of the first parent's sketch that has each axis from one of the parents, which are
// of the same variant; nullopt where they are not, or none was found.
std::optional<SearchPoint> Recombine(TaskSpace& space, const SearchPoint& a, const SearchPoint& b,
                                     Random& random);

}  // namespace tcc
