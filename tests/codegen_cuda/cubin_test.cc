#include "codegen_cuda/cubin/cubin.h"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>

#include "codegen_cuda/kernel_facts.h"
#include "tests/codegen_cuda/kernels/group_kernels.h"
#include "tests/codegen_cuda/nvrtc_rig.h"

using namespace tcc;
using namespace tcc::test;
namespace fs = std::filesystem;

namespace {

// One of NVIDIA's tools from the venv, as a path; "" and a line that says so where it is absent.
std::string FindTool(const std::string& name) {
  const char* named = std::getenv("TCC_VENV");
  std::error_code ignored;
  for (const auto& python :
       fs::directory_iterator(fs::path(named ? named : "build/venv") / "lib", ignored)) {
    fs::path tool = python.path() / "site-packages/nvidia/cu13/bin" / name;
    if (fs::exists(tool)) return tool.string();
  }
  std::cout << "skipped: the cubin reader is not held against " << name
            << ", which scripts/setup.sh installs\n";
  return "";
}

// What a tool says of an image.
std::string OutputOf(const std::string& command, const std::vector<uint8_t>& image) {
  fs::path path = fs::temp_directory_path() / fmt::format("tcc-{}.cubin", getpid());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(image.data()), static_cast<int64_t>(image.size()));
  FILE* pipe = popen((command + " " + path.string()).c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 4096> piece;
  while (size_t bytes = fread(piece.data(), 1, piece.size(), pipe))
    text.append(piece.data(), bytes);
  REQUIRE(pclose(pipe) == 0);
  fs::remove(path);
  return text;
}

// Of nvdisasm's text, "/*0040*/  @!P0 BRA ...": how often each kernel has each operation.
std::map<std::string, std::map<std::string, int64_t>> OperationsIn(const std::string& text) {
  std::map<std::string, std::map<std::string, int64_t>> counts;
  const std::regex section(R"(^\.text\.(\w+):)");
  const std::regex instruction(R"(^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*))");
  std::string kernel, line;
  std::istringstream lines(text);
  std::smatch match;
  while (std::getline(lines, line)) {
    if (std::regex_search(line, match, section)) kernel = match[1];
    if (line.starts_with("//-")) kernel.clear();
    if (!kernel.empty() && std::regex_search(line, match, instruction)) ++counts[kernel][match[1]];
  }
  return counts;
}

struct Mnemonic {
  SassKind kind;
  const char* name;
};
constexpr Mnemonic kMnemonics[] = {
    {SassKind::kFfma, "FFMA"},       {SassKind::kHmma, "HMMA"},   {SassKind::kImma, "IMMA"},
    {SassKind::kLdg, "LDG"},         {SassKind::kStg, "STG"},     {SassKind::kLdgsts, "LDGSTS"},
    {SassKind::kLds, "LDS"},         {SassKind::kSts, "STS"},     {SassKind::kLdsm, "LDSM"},
    {SassKind::kLdl, "LDL"},         {SassKind::kStl, "STL"},     {SassKind::kBar, "BAR"},
    {SassKind::kShfl, "SHFL"},       {SassKind::kF2f, "F2F"},     {SassKind::kF2fp, "F2FP"},
    {SassKind::kAcqbulk, "ACQBULK"}, {SassKind::kHgmma, "HGMMA"}, {SassKind::kIgmma, "IGMMA"},
};
static_assert(std::size(kMnemonics) + 1 == kSassKinds);  // all but kOther

std::vector<CubinKernel> MustRead(const Cubin& cubin, const std::string& target) {
  StatusOr<std::vector<CubinKernel>> kernels = ReadCubin(cubin.image, GpuTarget(target).sm);
  INFO(Message(kernels.status()));
  REQUIRE(kernels.ok());
  return *kernels;
}

std::vector<Function> SomeKernels(const std::string& target) {
  std::vector<Function> kernels = KernelsOfNetwork("dqn", target);
  for (Function& fn : KernelsOfNetwork("vit_b_16", target)) {
    if (kernels.size() >= 24) break;
    fn.name = fmt::format("v{}", kernels.size());
    kernels.push_back(std::move(fn));
  }
  return kernels;
}

// Checks that a cubin has the operations that nvdisasm lists, and returns the sum over its kernels.
SassCounts CheckedOperations(const std::string& nvdisasm, const Cubin& cubin,
                             const std::string& target) {
  auto expected = OperationsIn(OutputOf(nvdisasm, cubin.image));
  std::vector<CubinKernel> kernels = MustRead(cubin, target);
  CHECK(kernels.size() == expected.size());
  SassCounts sum;
  for (const CubinKernel& kernel : kernels) {
    INFO(target << " " << kernel.name);
    int64_t total = 0;
    for (const auto& [name, count] : expected[kernel.name]) total += name == "NOP" ? 0 : count;
    CHECK(kernel.facts.all.total == total);
    for (const auto& [kind, name] : kMnemonics) {
      INFO(name);
      CHECK(kernel.facts.all.of(kind) == expected[kernel.name][name]);
      sum.of_kind[static_cast<size_t>(kind)] += kernel.facts.all.of(kind);
    }
    CHECK(kernel.facts.main_loop.total <= kernel.facts.all.total);
  }
  return sum;
}

}  // namespace

TEST_CASE("the operations of a cubin are those that nvdisasm lists", "[codegen_cuda][nvrtc]") {
  std::string nvdisasm = FindTool("nvdisasm");
  if (nvdisasm.empty()) return;
  for (const std::string& target : GpuTargets()) {
    std::optional<Cubin> cubin = MustCompile(SourceOf(SomeKernels(target), target), target);
    if (!cubin) return;
    CHECK(CheckedOperations(nvdisasm, *cubin, target).of(SassKind::kFfma) > 100);
  }
}

TEST_CASE("the products of warp groups in a cubin are those that nvdisasm lists",
          "[codegen_cuda][nvrtc]") {
  std::string nvdisasm = FindTool("nvdisasm");
  if (nvdisasm.empty() || !FindNvrtc()) return;
  const Form forms[] = {{GroupType::kF16, 24, kAlongK, kAlongK},
                        {GroupType::kS8, 8, kAlongK, kAlongK}};
  StatusOr<Cubin> cubin = CompileOnce(TextOf(forms), "sm_90a");
  REQUIRE(cubin.ok());
  SassCounts counts = CheckedOperations(nvdisasm, *cubin, "sm_90a");
  CHECK(counts.of(SassKind::kHgmma) == 4);
  CHECK(counts.of(SassKind::kIgmma) == 4);
}

TEST_CASE("the registers and stacks of a cubin are those that cuobjdump lists",
          "[codegen_cuda][nvrtc]") {
  std::string cuobjdump = FindTool("cuobjdump");
  if (cuobjdump.empty()) return;
  for (const std::string& target : GpuTargets()) {
    std::optional<Cubin> cubin = MustCompile(SourceOf(SomeKernels(target), target), target);
    if (!cubin) return;
    std::string text = OutputOf(cuobjdump + " -res-usage", cubin->image);
    for (const CubinKernel& kernel : MustRead(*cubin, target)) {
      const std::regex usage("Function " + kernel.name + R"(:\s+REG:(\d+) STACK:(\d+))");
      std::smatch match;
      INFO(target << " " << kernel.name);
      REQUIRE(std::regex_search(text, match, usage));
      CHECK(kernel.registers == std::stoll(match[1]));
      CHECK(kernel.local_bytes == std::stoll(match[2]));
    }
  }
}

TEST_CASE("the widest accesses and the main loop of a kernel are found", "[codegen_cuda][nvrtc]") {
  Function fn = MustParse(R"(fn f(A: f32[65536], B: f32[64], C: f32[1024]) lowered {
    for t in 0..256 threadIdx.x {
      alloc s: f32[4] local
      s[0] = 0.0; s[1] = 0.0; s[2] = 0.0; s[3] = 0.0
      for k in 0..64 {
        s[0] = s[0] + A[k * 1024 + t * 4] * B[k]
        s[1] = s[1] + A[k * 1024 + t * 4 + 1] * B[k]
        s[2] = s[2] + A[k * 1024 + t * 4 + 2] * B[k]
        s[3] = s[3] + A[k * 1024 + t * 4 + 3] * B[k]
      }
      C[t * 4] = s[0]; C[t * 4 + 1] = s[1]; C[t * 4 + 2] = s[2]; C[t * 4 + 3] = s[3]
    } })");
  for (const std::string& target : GpuTargets()) {
    std::optional<Cubin> cubin = MustCompile(SourceOf({fn}, target), target);
    if (!cubin) return;
    CubinKernel kernel = MustRead(*cubin, target).at(0);
    INFO(target);
    const SassFacts& facts = kernel.facts;
    CHECK(facts.load_bytes_widest >= 4);
    CHECK(facts.main_loop.of(SassKind::kFfma) >= 4);
    // Where the loop is kept, the code before and after it is not counted.
    CHECK(facts.main_loop.of(SassKind::kStg) == 0);
    CHECK(facts.all.of(SassKind::kStg) > 0);
  }
}

TEST_CASE("a cubin that is cut off anywhere or damaged does no harm", "[codegen_cuda][nvrtc]") {
  std::optional<Cubin> cubin = MustCompile(SourceOf(SomeKernels("sm_86")));
  if (!cubin) return;
  const std::vector<uint8_t>& image = cubin->image;
  for (size_t bytes = 0; bytes < image.size(); bytes += bytes < 4096 ? 1 : 509) {
    std::vector<uint8_t> cut(image.begin(), image.begin() + static_cast<int64_t>(bytes));
    (void)ReadCubin(cut, 86);
  }
  for (size_t at = 0; at < image.size(); at += 7) {
    std::vector<uint8_t> damaged = image;
    damaged[at] ^= 0xff;
    (void)ReadCubin(damaged, 86);
  }
  CHECK(!ReadCubin({}, 86).ok());
  CHECK(!ReadCubin(std::vector<uint8_t>(1000, 7), 86).ok());
}

TEST_CASE("blocks that all fit at a time are one wave", "[codegen_cuda]") {
  CHECK(WavesOf(288, {.threads = 256, .registers = 64}, 86) == 1.0);
}
