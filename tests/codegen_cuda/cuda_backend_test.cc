#include "codegen_cuda/cuda_backend.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string_view>

#include "codegen_cuda/kernel_facts.h"
#include "codegen_cuda/nvrtc/cuda_programs.h"
#include "codegen_cuda/text/prelude.h"
#include "tests/codegen_cuda/nvrtc_rig.h"

using namespace tcc;
using namespace tcc::test;

namespace {

Function Doubled(const std::string& name, const std::string& blocks = "4") {
  Function fn = MustParse("fn f(X: f32[512], Y: f32[512]) lowered { for b in 0.." + blocks +
                          " blockIdx.x { for t in 0..128 threadIdx.x { Y[b * 128 + t] = X[b * "
                          "128 + t] + X[b * 128 + t] } } }");
  fn.name = name;
  return fn;
}

GpuProgram ProgramOf(const CompiledModule& compiled) {
  StatusOr<GpuProgram> program = ParseGpuProgram(compiled.image);
  INFO(Message(program.status()));
  REQUIRE(program.ok());
  return *program;
}

Metadata MetadataOf(const LoweredModule& module) {
  Metadata metadata;
  for (const Function& fn : module.kernels) metadata.kernels.push_back({fn.name, {}, 0});
  return metadata;
}

}  // namespace

TEST_CASE("small kernels share a program, large ones have their own", "[codegen_cuda]") {
  std::vector<KernelTextInfo> kernels(5, {.bytes = 1000, .symbols = {}});
  for (size_t i = 0; i < kernels.size(); ++i) kernels[i].symbols = {"k" + std::to_string(i)};
  kernels[2].bytes = 100000;
  CHECK(GroupKernels(kernels) == std::vector<std::vector<size_t>>{{0, 1, 3, 4}, {2}});
  CHECK(GroupKernels(std::vector<KernelTextInfo>(100, {3000, {}})).size() > 10);
}

TEST_CASE("launches of one name get programs of their own", "[codegen_cuda]") {
  // A kernel of two launches, and one that is called as the first of these.
  std::vector<KernelTextInfo> kernels = {{100, {"a_0", "a_1"}}, {100, {"a_0"}}, {100, {"b"}}};
  CHECK(GroupKernels(kernels) == std::vector<std::vector<size_t>>{{0}, {1, 2}});
}

TEST_CASE("text for the emulator needs no NVRTC and says how to launch", "[codegen_cuda]") {
  LoweredModule module{.kernels = {Doubled("float"), Doubled("second")}};
  auto backend = MakeCudaBackend(GpuTarget("sm_86"), {.code = GpuCode::kCudaText});
  StatusOr<CompiledModule> compiled = backend->Compile(module, {});
  INFO(Message(compiled.status()));
  REQUIRE(compiled.ok());
  GpuProgram program = ProgramOf(*compiled);
  CHECK(VerifyGpuProgram(program, MetadataOf(module)).ok());
  CHECK(program.sm == 86);
  REQUIRE(program.images.size() == 1);
  std::string text(program.images[0].code.begin(), program.images[0].code.end());
  CHECK(text.starts_with(CudaPrelude()));
  REQUIRE(program.kernels.size() == 2);
  const GpuLaunch& launch = program.kernels[0].launches.at(0);
  // The kernel's own name is a word of C++.
  CHECK(launch.symbol == "k_float");
  CHECK(launch.grid[0].AsConstant() == 4);
  CHECK(launch.block == std::array<uint32_t, 3>{128, 1, 1});
  CHECK(launch.arguments.size() == 2);
}

TEST_CASE("machine code is the same for any number of threads", "[codegen_cuda][nvrtc]") {
  if (!FindNvrtc()) return;
  LoweredModule module;
  for (int i = 0; i < 20; ++i) module.kernels.push_back(Doubled("k" + std::to_string(i)));
  for (const std::string& target : GpuTargets()) {
    auto one = MakeCudaBackend(GpuTarget(target))->Compile(module, {.threads = 1});
    auto three = MakeCudaBackend(GpuTarget(target))->Compile(module, {.threads = 3});
    REQUIRE(one.ok());
    REQUIRE(three.ok());
    CHECK(one->image == three->image);
    GpuProgram program = ProgramOf(*one);
    CHECK(VerifyGpuProgram(program, MetadataOf(module)).ok());
    const GpuImage& image = program.images[0];
    CHECK(std::string_view(reinterpret_cast<const char*>(image.code.data()), 4) ==
          "\x7f"
          "ELF");
    // PTX for sm_90a runs nowhere else.
    CHECK(image.ptx.empty() == (target == "sm_90a"));
  }
}

TEST_CASE("a function that no launch can be made of is refused, the others are not",
          "[codegen_cuda]") {
  LoweredModule module{.kernels = {Doubled("good"), Doubled("bad")}};
  module.kernels[1] = MustParse(
      "fn bad(X: f32[4096], Y: f32[4096]) lowered { for t in 0..4096 threadIdx.x { Y[t] = X[t] } "
      "}");
  auto backend = MakeCudaBackend(GpuTarget("sm_86"), {.code = GpuCode::kCudaText});
  StatusOr<CompiledModule> compiled = backend->Compile(module, {});
  REQUIRE(compiled.ok());
  CHECK(compiled->image.empty());
  CHECK(compiled->kernels[0].refused.ok());
  CHECK(Message(compiled->kernels[1].refused).find("4096 x 1 x 1 threads") != std::string::npos);
}

// What ptxas of CUDA 13 says of a kernel that spills by itself and calls the slow way of sin.
TEST_CASE("what a kernel spills is not forgotten for a callee that spills nothing",
          "[codegen_cuda]") {
  std::vector<KernelResources> kernels = ParseResources(
      "ptxas info    : Compiling entry function 'k' for 'sm_86'\n"
      "ptxas info    : Function properties for k\n"
      "ptxas         .     152 bytes stack frame, 216 bytes spill stores, 220 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 152 bytes cumulative stack size\n"
      "ptxas info    : Function properties for __internal_trig_reduction_slowpathd\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Compiling entry function 'calls' for 'sm_86'\n"
      "ptxas info    : Function properties for calls\n"
      "ptxas         .     40 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 64 registers, used 0 barriers, 40 bytes cumulative stack size\n"
      "ptxas info    : Function properties for __internal_accurate_pow\n"
      "ptxas         .     8 bytes stack frame, 244 bytes spill stores, 256 bytes spill loads\n"
      "ptxas info    : Function properties for __internal_trig_reduction_slowpathd\n"
      "ptxas         .     0 bytes stack frame, 156 bytes spill stores, 144 bytes spill loads\n");
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].stack_bytes == 152);
  CHECK(kernels[0].spill_stores == 216);
  CHECK(kernels[0].spill_loads == 220);
  CHECK(kernels[0].registers == 255);
  CHECK(kernels[1].stack_bytes == 48);
  CHECK(kernels[1].spill_stores == 400);
  CHECK(kernels[1].spill_loads == 400);
}

TEST_CASE("a warning of ptxas is a worse fault than a spill of a few bytes", "[codegen_cuda]") {
  Launch launch;
  launch.kernel = "k";
  launch.grid = {1, 1, 1};
  auto described = [&](int64_t spilled, const std::string& warning) {
    LaunchFacts facts{&launch, {.kernel = "k"}, {}};
    facts.resources.spill_stores = spilled;
    facts.resources.warning = warning;
    facts.code.registers = 64;
    CompiledKernel kernel;
    DescribeKernel({facts}, 86, kernel);
    return kernel;
  };
  CompiledKernel clean = described(0, ""), spills = described(24, ""), warned = described(0, "C75");
  CompiledKernel both = described(24, "C75");
  CHECK(clean.fault_cost == 0);
  CHECK(clean.fault.empty());
  CHECK(spills.fault_cost > 0);
  CHECK(spills.fault == "spills 24 bytes with 64 registers");
  CHECK(warned.fault_cost > spills.fault_cost);
  CHECK(warned.fault == "C75");
  CHECK(both.fault_cost > warned.fault_cost);
  CHECK(both.fault == "spills 24 bytes with 64 registers; C75");
}

TEST_CASE("rows of a matrix that meet in a bank are a fault, below spills of some KiB",
          "[codegen_cuda]") {
  Launch launch;
  launch.kernel = "k";
  launch.grid = {1, 1, 1};
  auto described = [&](int64_t rows, int64_t spilled = 0) {
    launch.rows_per_bank = rows;
    LaunchFacts facts{&launch, {.kernel = "k"}, {}};
    facts.resources.spill_stores = spilled;
    CompiledKernel kernel;
    DescribeKernel({facts}, 86, kernel);
    return kernel;
  };
  auto conflicts = [](const CompiledKernel& kernel) {
    std::map<std::string, int64_t> all(kernel.statistics.begin(), kernel.statistics.end());
    return all.contains("ldmatrix_conflicts") ? all.at("ldmatrix_conflicts") : -1;
  };
  CHECK(described(0).fault.empty());
  CHECK(conflicts(described(0)) == -1);
  CHECK(described(1).fault.empty());
  CHECK(described(1).fault_cost == 0);
  CHECK(conflicts(described(1)) == 0);
  CHECK(described(4).fault == "loads matrices of which 4 rows meet in a bank");
  CHECK(conflicts(described(4)) == 3);
  CHECK(described(4).fault_cost > 0);
  CHECK(described(8).fault_cost > described(4).fault_cost);
  CHECK(described(0, 2048).fault_cost > described(8).fault_cost);
  CHECK(described(8, 24).fault ==
        "spills 24 bytes with 0 registers; loads matrices of which 8 rows meet in a bank");
}

TEST_CASE("buffers of a thread in local memory are a fault as spills are", "[codegen_cuda]") {
  Launch launch;
  launch.kernel = "k";
  launch.grid = {1, 1, 1};
  auto described = [&](int64_t bytes, int64_t words, int64_t spilled = 0) {
    LaunchFacts facts{&launch, {.kernel = "k"}, {}};
    facts.resources.spill_stores = spilled;
    facts.code.local_bytes = bytes;
    facts.code.registers = 64;
    facts.code.facts.all.of_kind[static_cast<size_t>(SassKind::kLdl)] = words;
    CompiledKernel kernel;
    DescribeKernel({facts}, 86, kernel);
    return kernel;
  };
  // What no buffer of the text needs is the device library's: the slow way of sin.
  CHECK(described(32, 8).fault.empty());
  CHECK(described(32, 8).fault_cost == 0);
  launch.indexes_locals = true;
  CHECK(described(0, 0).fault.empty());
  CHECK(described(288, 72).fault == "keeps 288 bytes of a thread in local memory");
  CHECK(described(288, 72).fault_cost == 288);
  CHECK(described(288, 176).fault_cost > described(288, 72).fault_cost);
  // Spills are local memory, too, and count once.
  CHECK(described(288, 78, 24).fault_cost == described(288, 78).fault_cost);
  CHECK(described(288, 78, 24).fault ==
        "spills 24 bytes with 64 registers; keeps 288 bytes of a thread in local memory");
}

TEST_CASE("warnings of ptxas belong to the kernel that they name", "[codegen_cuda]") {
  std::vector<KernelResources> kernels = ParseResources(
      "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored in function 'b'\n"
      "ptxas info    : Compiling entry function 'a' for 'sm_90a'\n"
      "ptxas info    : Function properties for a\n"
      "ptxas         .     8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 10 registers, used 0 barriers, 64 bytes smem, 376 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_90a'\n"
      "ptxas info    : Used 20 registers, used 1 barriers\n");
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].warning.empty());
  CHECK(kernels[0].spill_stores == 4);
  CHECK(kernels[0].spill_loads == 12);
  CHECK(kernels[0].stack_bytes == 8);
  CHECK(kernels[0].shared_bytes == 64);
  CHECK(kernels[1].warning.find("C7508") != std::string::npos);
}
