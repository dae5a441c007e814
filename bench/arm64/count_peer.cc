// usage: count_peer product ROWS COLUMNS DEPTH
//        count_peer convolution SIZE CHANNELS FILTERS KERNEL STRIDE GROUPS
//
// Runs an operator of the library that this program is linked with twice on one thread, under
// qemu-aarch64 with tools/qemu/count_plugin.c, and prints the instructions of the second run as
// JSON. Exit code 2: the library has no such operator.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/arm64/peer.h"

namespace tcc::peers {

void Fail(const char* what) {
  std::fprintf(stderr, "count_peer: %s\n", what);
  std::exit(1);
}

namespace {

// The plugin's counters, in its order.
constexpr std::array kNames = {"all",      "vector",     "loads",        "stores",
                               "branches", "multiplies", "multiply_adds"};
using Counts = std::array<uint64_t, kNames.size()>;

constexpr double kTolerance = 1e-3;  // of a sum of ones, which Winograd's transforms round

const volatile uint64_t* MapCounters() {
  const char* path = std::getenv("TCC_COUNTS");
  const int file = path != nullptr ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void* counters =
      file >= 0 ? mmap(nullptr, sizeof(Counts), PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
  if (counters == MAP_FAILED) Fail("TCC_COUNTS names no file; expected qemu's plugin to make it");
  return static_cast<const volatile uint64_t*>(counters);
}

Counts Read(const volatile uint64_t* counters) {
  Counts counts;
  std::copy(counters, counters + counts.size(), counts.begin());
  return counts;
}

// Returns the operator that the arguments describe, and the terms of its longest sums.
Operator Make(int count, char** arguments, size_t& terms) {
  std::array<size_t, 6> numbers{};
  for (int i = 2; i < count && i < 8; ++i)
    numbers[i - 2] = std::strtoull(arguments[i], nullptr, 10);
  const auto [a, b, c, d, e, f] = numbers;
  if (count == 5 && std::strcmp(arguments[1], "product") == 0) {
    terms = c;
    return MakeProduct({.rows = a, .columns = b, .depth = c});
  }
  if (count == 8 && std::strcmp(arguments[1], "convolution") == 0 && e > 0 && f > 0) {
    terms = b / f * d * d;
    return MakeConvolution(
        {.size = a, .channels = b, .filters = c, .kernel = d, .stride = e, .groups = f});
  }
  Fail(
      "expected product ROWS COLUMNS DEPTH or "
      "convolution SIZE CHANNELS FILTERS KERNEL STRIDE GROUPS");
}

int Main(int count, char** arguments) {
  size_t terms = 0;
  const Operator measured = Make(count, arguments, terms);
  if (!measured.run) return 2;
  const volatile uint64_t* counters = MapCounters();
  measured.run();
  const Counts before = Read(counters);
  measured.run();
  const Counts after = Read(counters);

  const std::vector<float> output = measured.output();
  const double largest = *std::max_element(output.begin(), output.end());
  const auto expected = static_cast<double>(terms);
  if (std::abs(largest - expected) > kTolerance * expected) Fail("the result is wrong");
  for (size_t i = 0; i < kNames.size(); ++i) {
    std::printf("%s\"%s\": %llu", i == 0 ? "{" : ", ", kNames[i],
                static_cast<unsigned long long>(after[i] - before[i]));
  }
  std::printf("}\n");
  return 0;
}

}  // namespace
}  // namespace tcc::peers

int main(int count, char** arguments) {
  return tcc::peers::Main(count, arguments);
}
