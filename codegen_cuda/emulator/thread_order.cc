#include "codegen_cuda/emulator/thread_order.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace tcc::emulator {

std::string_view Name(ThreadOrder order) {
  switch (order) {
    case ThreadOrder::kForward:
      return "forward";
    case ThreadOrder::kReverse:
      return "reverse";
    case ThreadOrder::kShuffled:
      return "shuffled";
  }
  __builtin_unreachable();
}

std::vector<int> Permutation(ThreadOrder order, int count, uint64_t seed) {
  std::vector<int> threads(count);
  std::iota(threads.begin(), threads.end(), 0);
  switch (order) {
    case ThreadOrder::kForward:
      break;
    case ThreadOrder::kReverse:
      std::reverse(threads.begin(), threads.end());
      break;
    case ThreadOrder::kShuffled: {
      // std::shuffle differs between standard libraries.
      std::mt19937_64 generator(seed);
      for (int i = count - 1; i > 0; --i) std::swap(threads[i], threads[generator() % (i + 1)]);
      break;
    }
  }
  return threads;
}

}  // namespace tcc::emulator
