#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "support/random.h"
#include "tests/fuzz/mistakes.h"

namespace tcc {

// Something that the generator of CUDA text could get wrong, done to a right text.
struct CudaMistake {
  std::string_view name;
  // Changes the `which`-th place (modulo their number) in the text of kernels; nothing if there is
  // none.
  std::optional<std::string> (*plant)(const std::string& kernels, uint64_t which);
  // What the mistake needs of a schedule: copies that go on while threads compute; fragments;
  // products of four warps; blocks that take tickets. Or a target whose kernels wait for the launch
  // before.
  enum class Needs : uint8_t {
    kNothing,
    kCopies,
    kFragments,
    kGroups,
    kTickets,
    kDependentLaunches
  };
  Needs needs = Needs::kNothing;
};

std::span<const CudaMistake> CudaMistakes();

// In the text of a random schedule with threads, which the emulator then runs: it must complain, or
// the results differ from the interpreter's.
Verdict PlantInText(const CudaMistake& mistake, Random& random);

}  // namespace tcc
