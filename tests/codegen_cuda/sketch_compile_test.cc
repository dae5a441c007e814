#include <catch2/catch.hpp>

#include "models/zoo/zoo.h"
#include "tests/codegen_cuda/nvrtc_rig.h"

using namespace tcc;
using namespace tcc::test;

TEST_CASE("the sketches of a small network compile for every GPU", "[codegen_cuda][nvrtc]") {
  for (const std::string& target : GpuTargets()) {
    std::vector<Function> kernels = KernelsOfNetwork("dqn", target);
    CHECK(kernels.size() >= 4);
    std::optional<Cubin> cubin = MustCompile(SourceOf(kernels, target), target);
    if (!cubin) return;
    CHECK(cubin->image.size() > 4);
    for (const KernelResources& kernel : cubin->kernels) {
      INFO(target << " " << kernel.kernel);
      CHECK(kernel.registers > 0);
      CHECK(kernel.spill_stores == 0);
      CHECK(kernel.spill_loads == 0);
    }
  }
}

TEST_CASE("the sketches of all small networks compile without spills", "[codegen_cuda][nvrtc]") {
  for (const std::string& name : ZooNames()) {
    INFO(name);
    CudaSource source = SourceOf(KernelsOfNetwork(name, "sm_86"));
    std::optional<Cubin> cubin = MustCompile(source);
    if (!cubin) return;
    for (const KernelResources& kernel : cubin->kernels) {
      INFO(kernel.kernel);
      CHECK(kernel.spill_stores == 0);
      CHECK(kernel.stack_bytes == 0);
    }
  }
}
