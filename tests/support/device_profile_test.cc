#include "support/device_profile.h"

#include <catch2/catch.hpp>

namespace tcc {

TEST_CASE("A GPU without a row of its own has the constants of its architecture's typical device",
          "[support]") {
  GpuProfile other = GpuProfileOf({86, "NVIDIA GeForce RTX 3050", 20, 0});
  CHECK(other.device == GpuProfileOf(86).device);
  CHECK(other.memory_rate == GpuProfileOf(86).memory_rate);
  CHECK(other.multiprocessors == 20);
  CHECK(other.l2_bytes == GpuProfileOf(86).l2_bytes);
  CHECK(GpuProfileOf(121).device == GpuProfileOf(90).device);
  // The name belongs to another architecture.
  CHECK(GpuProfileOf({80, "NVIDIA H200", 0, 0}).sm == 80);
}

}  // namespace tcc
