#include "tests/codegen_cuda/nvrtc_rig.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <iostream>

#include "codegen_cuda/nvrtc/cuda_programs.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/variants/task.h"
#include "ir/simplify/simplify.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "lower/pipeline.h"
#include "models/zoo/zoo.h"
#include "schedule/sketches/parts/sketch.h"
#include "support/check.h"
#include "support/environment.h"

namespace tcc::test {

const Nvrtc* FindNvrtc() {
  static const StatusOr<Nvrtc> nvrtc = Nvrtc::Open();
  if (nvrtc.ok()) return &*nvrtc;
  std::cout << "skipped: nothing is compiled for a GPU: " << Message(nvrtc.status()) << "\n";
  return nullptr;
}

Target GpuTarget(const std::string& name) {
  StatusOr<Target> target = FindTarget(name);
  TCC_CHECK(target.ok()) << Message(target.status());
  return *target;
}

const std::vector<std::string>& GpuTargets() {
  static const std::vector<std::string> names = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a"};
  return names;
}

CudaSource SourceOf(const std::vector<Function>& functions, const std::string& target) {
  StatusOr<CudaSource> source = EmitCuda(functions, GpuTarget(target));
  INFO(Message(source.status()));
  REQUIRE(source.ok());
  return *source;
}

StatusOr<Cubin> CompileOnce(const std::string& text, const std::string& target) {
  CudaPrograms programs(GpuTarget(target), {.cache_folder = CacheFolder()});
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<const Cubin> cubin, programs.Compile(text));
  return *cubin;
}

std::optional<Cubin> MustCompile(const CudaSource& source, const std::string& target) {
  if (!FindNvrtc()) return std::nullopt;
  StatusOr<Cubin> cubin = CompileOnce(source.text, target);
  INFO(KernelsOf(source) << Message(cubin.status()));
  REQUIRE(cubin.ok());
  size_t launches = 0;
  for (const LaunchPlan& plan : source.plans) launches += plan.launches.size();
  bool all = cubin->kernels.size() == launches;
  CHECK(all);
  return *cubin;
}

Sketch WarpProductSketch(const Function& fn, const std::string& target) {
  for (Sketch& sketch : GenerateSketches(fn, GpuTarget(target))) {
    if (sketch.name.starts_with("mma")) return std::move(sketch);
  }
  FAIL("no sketch of " << fn.name << " for " << target << " multiplies in each warp by itself");
  return {};
}

std::vector<Function> LoweredSketches(const Function& fn, const std::string& target) {
  std::vector<Function> result;
  for (const Sketch& sketch : GenerateSketches(fn, GpuTarget(target))) {
    INFO(fn.name << ": " << sketch.name);
    StatusOr<Function> scheduled = Replay(fn, sketch.trace, sketch.start);
    INFO(Message(scheduled.status()));
    REQUIRE(scheduled.ok());
    StatusOr<Function> lowered = RunPipeline(Simplify(*scheduled));
    INFO(Message(lowered.status()));
    REQUIRE(lowered.ok());
    lowered->name += fmt::format("_s{}", result.size());
    result.push_back(*lowered);
  }
  return result;
}

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
    for (Function& lowered : LoweredSketches(task->variants[0].fn, target)) {
      lowered.name = fmt::format("k{}", kernels.size());
      kernels.push_back(std::move(lowered));
    }
  }
  return kernels;
}

Function MustParse(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  TCC_CHECK(fn.ok()) << Message(fn.status()) << " in\n" << text;
  return *fn;
}

}  // namespace tcc::test
