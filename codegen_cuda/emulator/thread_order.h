#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tcc::emulator {

// The order in which the threads of a block take turns between two barriers. A correct kernel
// computes the same in all orders.
enum class ThreadOrder { kForward, kReverse, kShuffled };

inline constexpr std::array kThreadOrders = {ThreadOrder::kForward, ThreadOrder::kReverse,
                                             ThreadOrder::kShuffled};

std::string_view Name(ThreadOrder order);

// Returns the threads 0..count in that order; kShuffled depends on the seed.
std::vector<int> Permutation(ThreadOrder order, int count, uint64_t seed);

}  // namespace tcc::emulator
