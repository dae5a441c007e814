#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "codegen_cuda/cubin/cubin.h"
#include "ir/simplify/simplify.h"
#include "lower/pipeline.h"
#include "schedule/space/schedule.h"
#include "tests/codegen_cuda/emulated/emulated_program.h"
#include "tests/codegen_cuda/nvrtc_rig.h"
#include "tests/programs/compare_programs.h"

// The schedules by hand of bench/traces/gpu: what the machine code made of them must be.
using namespace tcc;
using namespace tcc::test;

namespace {

Function Gemm(int64_t rows, int64_t columns, int64_t depth) {
  return MustParse(fmt::format(R"(
fn gemm(A: f32[{0}, {2}], B: f32[{2}, {1}] constant, C: f32[{0}, {1}]) tensor {{
  for i in 0..{0} @mm/i {{ for j in 0..{1} @mm/j {{ for k in 0..{2} @mm/k {{
    block mm(i: spatial {0} = i, j: spatial {1} = j, k: reduce {2} = k) {{
      reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
    }}
  }} }} }}
}})",
                               rows, columns, depth));
}

Function Sum(int64_t rows, int64_t columns) {
  return MustParse(fmt::format(R"(
fn add(A: f32[{0}, {1}], B: f32[{0}, {1}], C: f32[{0}, {1}]) tensor {{
  for i in 0..{0} @add/i {{ for j in 0..{1} @add/j {{
    block add(i: spatial {0} = i, j: spatial {1} = j) {{ C[i, j] = A[i, j] + B[i, j] }}
  }} }}
}})",
                               rows, columns));
}

Function Scheduled(const Function& fn, const std::string& name) {
  std::ifstream file("bench/traces/gpu/" + name + ".trace");
  REQUIRE(file.good());
  std::string text{std::istreambuf_iterator<char>(file), {}};
  StatusOr<Schedule> schedule = ParseSchedule(text);
  INFO(Message(schedule.status()));
  REQUIRE(schedule.ok());
  StatusOr<Function> scheduled = Replay(fn, schedule->trace, schedule->decisions);
  INFO(Message(scheduled.status()));
  REQUIRE(scheduled.ok());
  return *scheduled;
}

// Its only kernel's machine code; nothing where there is no compiler.
std::optional<CubinKernel> MachineCode(const Function& scheduled, const std::string& target) {
  StatusOr<Function> lowered = RunPipeline(Simplify(scheduled));
  REQUIRE(lowered.ok());
  std::optional<Cubin> cubin = MustCompile(SourceOf({*lowered}, target), target);
  if (!cubin) return std::nullopt;
  CHECK(cubin->kernels[0].spill_loads == 0);
  CHECK(cubin->kernels[0].warning == "");
  StatusOr<std::vector<CubinKernel>> kernels = ReadCubin(cubin->image, GpuTarget(target).sm);
  REQUIRE(kernels.ok());
  REQUIRE(kernels->size() == 1);
  return kernels->front();
}

void CheckEmulated(const Function& fn, const Function& scheduled, const std::string& target) {
  Random random(7);
  std::vector<Tensor> arguments = RandomArguments(fn, random);
  StatusOr<std::vector<Tensor>> expected = RunInterpreter(fn, arguments);
  REQUIRE(expected.ok());
  Status status = RunEmulated(scheduled, GpuTarget(target), arguments);
  INFO(Message(status));
  REQUIRE(status.ok());
  CHECK(FirstDifference(arguments, *expected) == "");
}

const std::vector<std::string> kTraced = {"sm_86", "sm_90a"};

}  // namespace

TEST_CASE("a float32 product by hand is multiply-adds in 92 % of its main loop",
          "[codegen_cuda][nvrtc]") {
  for (const std::string& target : kTraced) {
    INFO(target);
    Function scheduled = Scheduled(Gemm(1024, 1024, 1024), "gemm_1024x1024x1024");
    std::optional<CubinKernel> code = MachineCode(scheduled, target);
    if (!code) continue;
    const SassCounts& loop = code->facts.main_loop;
    INFO(loop.of(SassKind::kFfma) << " of " << loop.total);
    CHECK(loop.of(SassKind::kFfma) >= 0.92 * static_cast<double>(loop.total));
    CHECK(code->facts.all.of(SassKind::kLdl) + code->facts.all.of(SassKind::kStl) == 0);
    // Panels come by asynchronous copies alone; those of constants were once loaded and stored a
    // number at a time.
    CHECK(code->facts.all.of(SassKind::kLdg) == 0);
    CHECK(code->facts.all.of(SassKind::kSts) == 0);
    CHECK(code->facts.all.of(SassKind::kLdgsts) > 0);
    CHECK(code->facts.load_bytes_widest == 16);
    CHECK(code->facts.store_bytes_widest == 16);
  }
}

TEST_CASE("a float32 product by hand is right where its tiles do not divide", "[codegen_cuda]") {
  for (const std::string& target : kTraced) {
    INFO(target);
    Function fn = Gemm(300, 140, 40);
    CheckEmulated(fn, Scheduled(fn, "gemm_1024x1024x1024"), target);
  }
}

TEST_CASE("a kernel of memory by hand loads and stores 16 bytes at a time",
          "[codegen_cuda][nvrtc]") {
  for (const std::string& target : kTraced) {
    INFO(target);
    Function fn = Sum(1024, 1024);
    Function scheduled = Scheduled(fn, "add_1024x1024");
    CheckEmulated(fn, scheduled, target);
    std::optional<CubinKernel> code = MachineCode(scheduled, target);
    if (!code) continue;
    CHECK(code->facts.all.of(SassKind::kLdg) == 2);
    CHECK(code->facts.all.of(SassKind::kStg) == 1);
    CHECK(code->facts.load_bytes_widest == 16);
    CHECK(code->facts.store_bytes_widest == 16);
  }
}
