#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tcc::emulator {

// In which order the threads of a block get their turns between two meetings. A right kernel
// computes the same in all of them.
enum class ThreadOrder { kForward, kReverse, kShuffled };

inline constexpr std::array kThreadOrders = {ThreadOrder::kForward, ThreadOrder::kReverse,
                                             ThreadOrder::kShuffled};

std::string_view Name(ThreadOrder order);

// The threads 0..count in that order; shuffled: another one for each seed.
std::vector<int> Permutation(ThreadOrder order, int count, uint64_t seed);

}  // namespace tcc::emulator
