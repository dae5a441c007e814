#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>

#include "lower/graph/graph_pipeline.h"
#include "lower/task.h"
#include "models/zoo.h"
#include "tests/codegen_cuda/nvrtc_rig.h"
#include "tests/programs/spike_programs.h"

using namespace tcc;
using namespace tcc::test;

namespace {

// Every sketch of every task of a small network, named apart.
std::vector<Function> KernelsOfNetwork(const std::string& name, const std::string& target) {
  StatusOr<Graph> graph = BuildZoo(name, {.small = true});
  REQUIRE(graph.ok());
  REQUIRE(RunGraphPasses(*graph).ok());
  std::vector<Function> kernels;
  for (const Subgraph& subgraph : FuseGraph(*graph)) {
    if (subgraph.kind != SubgraphKind::kKernel) continue;
    StatusOr<Task> task = BuildTask(*graph, subgraph);
    REQUIRE(task.ok());
    for (Function& lowered : LoweredSketches(task->variants[0], target)) {
      lowered.name = fmt::format("k{}", kernels.size());
      kernels.push_back(std::move(lowered));
    }
  }
  return kernels;
}

}  // namespace

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
