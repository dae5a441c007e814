#include <catch2/catch.hpp>

#include "codegen_cuda/text/cuda_source.h"
#include "ir/simplify/simplify.h"
#include "lower/pipeline.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/trace.h"
#include "tests/codegen_cuda/emulated/emulated_program.h"
#include "tests/codegen_cuda/nvrtc_rig.h"
#include "tests/programs/compare_programs.h"
#include "tests/programs/spike_programs.h"

using namespace tcc;
using namespace tcc::test;

namespace {

// Parts of a product's sums over k, added up by the last block of a tile of 4 x 4.
constexpr const char* kParts = R"(
split mm/k [5]
rfactor mm mm/k.0 0 global part
split part/i [4]
split part/j [4]
reorder [part/i.0, part/j.0, part/k.0, part/i.1, part/j.1, part/k.1]
fuse part/i.0 part/j.0
bind part/(i.0*j.0) blockIdx.x
bind part/k.0 blockIdx.y
bind part/i.1 threadIdx.y
bind part/j.1 threadIdx.x
decompose_reduction part part/k.1
reverse_compute_at mm part/(i.0*j.0)
bind mm/i threadIdx.y
bind mm/j threadIdx.x
decompose_reduction mm mm/p
)";

Function ProductInParts(int64_t m, int64_t n, int64_t k) {
  StatusOr<Function> scheduled = Replay(MatmulFunction(m, n, k), ParseTrace(kParts).value());
  INFO(Message(scheduled.status()));
  REQUIRE(scheduled.ok());
  PipelineOptions options;
  options.verify = true;
  StatusOr<Function> lowered = RunPipeline(Simplify(*scheduled), options);
  INFO(Message(lowered.status()));
  REQUIRE(lowered.ok());
  return *lowered;
}

// Runs a lowered function in one launch, in both orders of its blocks, so that another one is last:
// the results are the interpreter's, and the same to the bit.
void CheckInBothOrders(const Function& lowered, const std::string& target) {
  const CudaSource source = SourceOf({lowered}, target);
  INFO(KernelsOf(source));
  REQUIRE(source.plans[0].launches.size() == 1);
  REQUIRE(KernelsOf(source).find("tcc_is_last(") != std::string::npos);
  StatusOr<EmulatedProgram> program = EmulatedProgram::Compile({lowered}, source);
  INFO(Message(program.status()));
  REQUIRE(program.ok());
  Random random(1);
  std::vector<Tensor> operands = RandomArguments(lowered, random);
  // Small integers, whose sums are exact in any order.
  for (size_t t = 0; t + 1 < operands.size(); ++t) {
    for (int64_t i = 0; i < ElementCount(operands[t].shape).value(); ++i) {
      SetElement(operands[t], i, static_cast<double>(random.Below(17)) - 8);
    }
  }
  StatusOr<std::vector<Tensor>> expected = RunInterpreter(lowered, operands);
  INFO(Message(expected.status()));
  REQUIRE(expected.ok());
  std::vector<std::vector<uint8_t>> results;
  for (auto order : {emulator::BlockOrder::kForward, emulator::BlockOrder::kReverse}) {
    std::vector<Tensor> arguments = operands;
    Status status = program->Run(0, arguments, {}, order);
    INFO(Message(status));
    REQUIRE(status.ok());
    CHECK(FirstDifference(arguments, *expected) == "");
    const std::span<const uint8_t> bytes = arguments.back().bytes;
    results.emplace_back(bytes.begin(), bytes.end());
  }
  CHECK(results[0] == results[1]);
}

}  // namespace

TEST_CASE("the last block of a tile adds up the parts of all", "[codegen_cuda]") {
  CheckInBothOrders(ProductInParts(6, 9, 13), "sm_86");
}

TEST_CASE("a sketch of a long product of few results is one launch", "[codegen_cuda]") {
  for (auto [rows, columns] : {std::pair(32, 48), std::pair(9, 30)}) {
    Function fn = MatmulFunction(rows, columns, 320);
    Sketch sketch = FirstSketch(fn, GpuTarget("sm_90a"));
    INFO(Print(sketch.trace));
    REQUIRE(sketch.name.find("split_k") != std::string::npos);
    StatusOr<Function> scheduled = Replay(fn, sketch.trace, sketch.start);
    REQUIRE(scheduled.ok());
    CheckInBothOrders(RunPipeline(Simplify(*scheduled)).value(), "sm_90a");
  }
}

TEST_CASE("a launch that goes on behind blocks of another form is refused", "[codegen_cuda]") {
  auto refusal = [](const std::string& outer, const std::string& inner) {
    Function fn = MustParse(fmt::format(R"(
fn f(A: f32[4], B: f32[2], P: f32[4]) lowered {{
  for x in 0..2 {} {{
    for p in 0..2 {} {{ P[x * 2 + p] = A[x * 2 + p] }}
    B[x] = P[x * 2] + P[x * 2 + 1]
  }}
}})",
                                        outer, inner));
    return Message(EmitCuda({{fn}}, GpuTarget("sm_86")).status());
  };
  CHECK(refusal("blockIdx.x", "blockIdx.y").empty());
  for (const char* inner : {"blockIdx.x", "blockIdx.z"}) {
    CHECK(refusal("blockIdx.y", inner) ==
          "kernel 'f' goes on behind loops over blocks; expected loops along y "
          "inside those along x");
  }
}
