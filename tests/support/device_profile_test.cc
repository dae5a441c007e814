#include "support/device_profile.h"

#include <catch2/catch.hpp>

#include "support/core_rates.h"

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

TEST_CASE("an ARM target has the rates of the core that it stands for", "[support][profile]") {
  const CpuProfile n1 = ProfileOf(*FindTarget("aarch64-v8.2"));
  const CpuProfile n2 = ProfileOf(*FindTarget("aarch64-v8.6"));
  const CpuProfile sve = ProfileOf(*FindTarget("aarch64-sve"));
  CHECK(n1.stores_per_cycle == 1);
  CHECK(n2.stores_per_cycle == 2);
  CHECK(n2.loads_per_cycle == 3);
  CHECK(n1.hertz == FindCore("aarch64-v8.2")->hertz);
  CHECK(sve.ops_per_cycle == n2.ops_per_cycle);
  CHECK(ProfileOf(*FindTarget("x86-64-v3")).loads_per_cycle == CpuProfile().loads_per_cycle);
}

}  // namespace tcc
