#include <catch2/catch.hpp>

#include "codegen_cuda/cubin/cubin.h"
#include "ir/simplify/simplify.h"
#include "lower/pipeline.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/trace.h"
#include "tests/codegen_cuda/nvrtc_rig.h"
#include "tests/programs/compare_programs.h"
#include "tests/programs/spike_programs.h"

// Reductions across threads as CUDA text.
using namespace tcc;
using namespace tcc::test;

namespace {

Function Scheduled(const Function& fn, const std::string& steps) {
  StatusOr<Function> scheduled = Replay(fn, ParseTrace(steps).value());
  INFO(Message(scheduled.status()));
  REQUIRE(scheduled.ok());
  return Simplify(*scheduled);
}

// What the text gives on the emulator, or what it finds there.
std::string FirstWrong(const Function& fn, const EmulatedProgram& program) {
  Random random(3);
  std::vector<Tensor> arguments = RandomArguments(fn, random);
  std::vector<Tensor> want = RunInterpreter(fn, arguments).value();
  Status status = program.Run(0, arguments, {});
  return status.ok() ? FirstDifference(arguments, want) : Message(status);
}

Function Lowered(const Function& scheduled) {
  StatusOr<Function> lowered = RunPipeline(scheduled);
  INFO(Message(lowered.status()));
  REQUIRE(lowered.ok());
  return *lowered;
}

struct Reduction {
  const char* what;  // after "reduce": combiner, outputs, inputs
  const char* outputs;
};

// Floats, pairs with 64-bit integers, triples, bools.
const Reduction kReductions[] = {
    {"sum_f32 init (B[i]) with (A[i, r])", "B: f32[5]"},
    {"argmax_first_f32 init (C[i], B[i]) with (A[i, r], r)", "B: i64[5], C: f32[5]"},
    {"attention_f32 init (B[i], C[i], D[i]) with (A[i, r], 1.0, A[i, r])",
     "B: f32[5], C: f32[5], D: f32[5]"},
    {"or_bool init (B[i]) with (0.9 < A[i, r])", "B: bool[5]"},
};

Function FunctionOf(const Reduction& reduction) {
  return MustParse(fmt::format(R"(
    fn f(A: f32[5, 300], {}) tensor {{
      for i in 0..5 @s/i {{ for r in 0..300 @s/r {{
        block s(i: spatial 5 = i, r: reduce 300 = r) {{ reduce {} }} }} }}
    }})",
                               reduction.outputs, reduction.what));
}

std::string TraceOf(int rows, int threads, int lanes) {
  return fmt::format(R"(
split s/i [{}]
bind s/i.0 blockIdx.x
bind s/i.1 threadIdx.y
split s/r [{}, {}]
bind s/r.1 threadIdx.x
vectorize s/r.2
)",
                     rows, threads, lanes);
}

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  size_t found = text.find(what, text.find("\nTCC_ONE_BLOCK_KERNEL("));
  REQUIRE(found != std::string::npos);
  return text.replace(found, what.size(), by);
}

}  // namespace

TEST_CASE("reductions across threads run as interpreted", "[codegen_cuda][across_threads]") {
  for (const Reduction& reduction : kReductions) {
    Function fn = FunctionOf(reduction);
    for (auto [rows, threads, lanes] : {std::array{4, 8, 1},
                                        {2, 32, 4},
                                        {1, 96, 1},
                                        {2, 64, 2},
                                        {1, 256, 1},
                                        {3, 7, 2},
                                        {3, 32, 4}}) {
      INFO(reduction.what << " by " << threads);
      Function lowered = Lowered(Scheduled(fn, TraceOf(rows, threads, lanes)));
      StatusOr<EmulatedProgram> program = EmulatedProgram::Compile({lowered}, GpuTarget("sm_86"));
      REQUIRE(program.ok());
      INFO(KernelsOf(program->source()));
      CHECK(FirstWrong(lowered, *program) == "");
    }
  }
}

TEST_CASE("mistakes in the text of an exchange are noticed", "[codegen_cuda][across_threads]") {
  Function lowered = Lowered(Scheduled(FunctionOf(kReductions[0]), TraceOf(1, 96, 1)));
  CudaSource source = SourceOf({lowered});
  auto first_wrong = [&](const std::string& what, const std::string& by) {
    CudaSource changed = source;
    changed.text = Replaced(changed.text, what, by);
    StatusOr<EmulatedProgram> program = EmulatedProgram::Compile({lowered}, std::move(changed));
    REQUIRE(program.ok());
    return FirstWrong(lowered, *program);
  };
  CHECK(first_wrong("tcc_barrier();", "tcc_barrier();") == "");
  CHECK(first_wrong("tcc_barrier();", "") != "");
  CHECK(first_wrong("tcc_shuffle_xor<float>(", "1 + tcc_shuffle_xor<float>(") != "");
  CHECK(first_wrong("[0], (int)(", "[0], 16 ^ (int)(") != "");
  CHECK(first_wrong("[0], (int)(", "[0], 2 * (int)(") != "");
}

TEST_CASE("softmax is one launch with shuffles and without spills",
          "[codegen_cuda][across_threads][nvrtc]") {
  struct Case {
    int rows, row, bytes;
  };
  for (Case softmax : {Case{2364, 197, 4}, Case{512, 1024, 16}}) {
    INFO(softmax.row);
    Function fn = SoftmaxByBlocks(softmax.rows, softmax.row);
    Target target = GpuTarget("sm_86");
    Sketch sketch = FirstSketch(fn, target);
    CHECK(sketch.name == "row_reduction");
    Function lowered = Lowered(Simplify(Replay(fn, sketch.trace, sketch.start).value()));
    CudaSource source = SourceOf({lowered});
    REQUIRE(source.plans[0].launches.size() == 1);
    std::optional<Cubin> cubin = MustCompile(source);
    if (!cubin) return;
    INFO(KernelsOf(source));
    CHECK(cubin->kernels[0].spill_stores == 0);
    CHECK(cubin->kernels[0].stack_bytes == 0);
    SassFacts facts = ReadCubin(cubin->image, target.sm).value().at(0).facts;
    CHECK(facts.all.of(SassKind::kShfl) >= 10);
    CHECK(facts.all.of(SassKind::kLdl) == 0);
    // A warp a row, whose threads meet their own elements.
    CHECK(facts.all.of(SassKind::kBar) == 0);
    CHECK(facts.load_bytes_widest == softmax.bytes);
    CHECK(facts.store_bytes_widest == softmax.bytes);
  }
}

TEST_CASE("lanes exchange what they wrote themselves, in whole warps; else the text is refused",
          "[codegen_cuda]") {
  auto error = [](int threads, const char* write, const char* read) {
    Function fn = MustParse(fmt::format(R"(
      fn f(A: f32[{0}], B: f32[{0}]) lowered {{
        for b in 0..1 blockIdx.x {{
          alloc W: f32[32] warp
          for t in 0..{0} threadIdx.x {{
            W[{1}] = A[t]
            barrier(warp)
            B[t] = W[{2}]
          }}
        }}
      }})",
                                        threads, write, read));
    StatusOr<CudaSource> source = EmitCuda(std::vector<Function>{fn}, FindTarget("sm_86").value());
    return source.ok() ? "" : Message(source.status());
  };
  const char* own = "t mod 32";
  const char* partner = "bit_xor(t mod 32, 4)";
  using Catch::Contains;
  CHECK_THAT(error(64, own, partner), Catch::Equals(""));
  CHECK_THAT(error(32, "t", "bit_xor(t, 4)"), Catch::Equals(""));
  CHECK_THAT(error(64, "(t + 1) mod 32", partner), Contains("no lane of the thread's own"));
  CHECK_THAT(error(64, own, "bit_xor((t + 1) mod 32, 4)"), Contains("no exclusive or"));
  CHECK_THAT(error(64, own, "(t + 1) mod 32"), Contains("no exclusive or"));
  CHECK_THAT(error(48, own, partner), Contains("48 threads; expected a multiple of 32"));
  CHECK_THAT(error(16, own, partner), Contains("16 threads;"));
}
