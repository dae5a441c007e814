#pragma once

#include <span>
#include <string_view>

#include "ir/expr/function.h"

namespace tcc {

// Something that a step, a pass or a sketch could get wrong, done to a right program.
struct Mistake {
  std::string_view name;
  // Planted in what comes out of this pass (point_check.h); empty: in the scheduled program.
  std::string_view pass;
  // Where a schedule must hold this step for the mistake to be possible.
  std::string_view step;
  // Changes the `which`-th place (modulo their number); the function as it is if there is none.
  Function (*plant)(const Function& fn, uint64_t which);
};

std::span<const Mistake> Mistakes();

// Of a mistake and one program.
enum class Verdict : uint8_t { kNotPlanted, kMissed, kFound };

}  // namespace tcc
