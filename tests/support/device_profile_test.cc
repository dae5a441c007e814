#include "support/device_profile.h"

#include <catch2/catch.hpp>

namespace tcc {

TEST_CASE("A GPU has the constants of its name and the sizes that its driver tells", "[support]") {
  const GpuProfile& typical = GpuProfileOf(90);
  CHECK(typical.device == "NVIDIA H200");

  const int64_t l2_bytes = int64_t{50} << 20;
  GpuProfile h100 = GpuProfileOf({90, "NVIDIA H100 80GB HBM3", 132, l2_bytes});
  CHECK(h100.memory_rate < 0.8 * typical.memory_rate);
  CHECK(h100.l2_bytes == static_cast<double>(l2_bytes));
  GpuProfile pcie = GpuProfileOf({90, "NVIDIA H100 PCIe", 114, l2_bytes});
  CHECK(pcie.memory_rate < h100.memory_rate);
  CHECK(pcie.multiprocessors == 114);
}

TEST_CASE("A GPU without a row of its own has the constants of its architecture's typical device",
          "[support]") {
  GpuProfile other = GpuProfileOf({86, "NVIDIA GeForce RTX 3050", 20, 0});
  CHECK(other.device == GpuProfileOf(86).device);
  CHECK(other.memory_rate == GpuProfileOf(86).memory_rate);
  CHECK(other.multiprocessors == 20);
  CHECK(other.l2_bytes == GpuProfileOf(86).l2_bytes);
  CHECK(GpuProfileOf(121).device == GpuProfileOf(90).device);
  // A name of another architecture.
  CHECK(GpuProfileOf({80, "NVIDIA H200", 0, 0}).sm == 80);
}

}  // namespace tcc
