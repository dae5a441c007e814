#include "support/gpu_occupancy.h"

#include <catch2/catch.hpp>

using namespace tcc;

// By hand from the CUDA programming guide's table of limits.
TEST_CASE("what limits the blocks of a multiprocessor", "[support]") {
  auto blocks = [](const BlockResources& block, int sm) {
    return BlocksPerMultiprocessor(block, GpuProfileOf(sm));
  };
  CHECK(blocks({.threads = 256, .registers = 64}, 86) == 4);
  CHECK(blocks({.threads = 256, .registers = 32}, 86) == 6);
  CHECK(blocks({.threads = 32, .registers = 16}, 86) == 16);
  CHECK(blocks({.threads = 1024, .registers = 32}, 75) == 1);
  CHECK(blocks({.threads = 1024, .registers = 32}, 80) == 2);
  CHECK(blocks({.threads = 128, .registers = 32, .shared_bytes = 48 * 1024}, 86) == 2);
  CHECK(blocks({.threads = 128, .registers = 32, .shared_bytes = 99 * 1024}, 86) == 1);
  CHECK(blocks({.threads = 1024, .registers = 128}, 90) == 0);
}
