#pragma once

#include <span>
#include <string_view>

namespace tcc {

// The most instructions of a class that a core begins in a cycle, as its maker's optimization guide
// says. They turn counted instructions into cycles where nothing can be timed.
struct CoreRates {
  std::string_view name;    // "neoverse-n1"
  std::string_view target;  // the row that it stands for
  double vector = 0;        // SIMD and floating point, of 128 bits
  double loads = 0;
  double stores = 0;
  double all = 0;
  double hertz = 0;  // of a machine with the core
};

std::span<const CoreRates> AllCores();
// Returns the first core of the target; nullptr if none is known.
const CoreRates* FindCore(std::string_view target);

}  // namespace tcc
