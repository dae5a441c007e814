#include "schedule/steps/tensorize.h"

#include <catch2/catch.hpp>

#include "ir/analysis/verifier.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "lower/pipeline.h"
#include "schedule/analysis/tensor_intrinsics.h"
#include "tests/programs/compare_programs.h"
#include "tests/programs/satisfies.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

const std::string kOuterProduct = R"(
split mm/i [8]
split mm/j [16]
split mm/k [1]
reorder [mm/i.0, mm/j.0, mm/k.0, mm/i.1, mm/j.1, mm/k.1]
decompose_reduction mm mm/k.0
)";

Function HalfMatmul(int64_t m, int64_t n, int64_t k) {
  return FunctionOf(fmt::format(R"(
    fn mm(A: f16[{0}, {2}], B: f16[{2}, {1}], C: f32[{0}, {1}]) tensor {{
      for i in 0..{0} @mm/i {{ for j in 0..{1} @mm/j {{ for k in 0..{2} @mm/k {{
        block mm(i: spatial {0} = i, j: spatial {1} = j, k: reduce {2} = k) {{
          reduce sum_f32 init (C[i, j]) with (f32(A[i, k]) * f32(B[k, j]))
        }}
      }} }} }}
    }})",
                                m, n, k));
}

const std::string kMma = R"(
split mm/i [16]
split mm/j [8]
split mm/k [16]
reorder [mm/i.0, mm/j.0, mm/k.0, mm/i.1, mm/j.1, mm/k.1]
decompose_reduction mm mm/k.0
)";

int CountCalls(const Function& fn, const std::string& intrinsic) {
  int count = 0;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* call = stmt.as<IntrinsicCall>();
    count += call && call->intrinsic == intrinsic;
  });
  return count;
}

}  // namespace

TEST_CASE("a loop round an intrinsic is not vectorized", "[schedule][tensorize]") {
  CHECK(RefusalOf(MatmulFunction(8, 16, 3),
                  kOuterProduct + "tensorize mm/i.1 outer_product_f32_8x16\nvectorize mm/i.0") ==
        "vectorize: loop 'mm/i.0' holds an intrinsic; expected only serial and unrolled loops");
}

TEST_CASE("every intrinsic declares one block, and matches its own meaning",
          "[schedule][tensorize]") {
  for (const TensorIntrinsic& intrinsic : TensorIntrinsics()) {
    INFO(intrinsic.name);
    Function meaning = MeaningOf(intrinsic);
    CHECK(Verify(meaning).ok());
    std::vector<Ref<Block>> blocks = BlocksOf(meaning.body);
    REQUIRE(blocks.size() == 1);
    std::string outermost = meaning.body.as<For>()->key;
    CHECK(RefusalOf(meaning, fmt::format("tensorize {} {}", outermost, intrinsic.name)).empty());
  }
}

TEST_CASE("a nest that means an intrinsic becomes its call, and computes the same",
          "[schedule][tensorize]") {
  Function mm = MatmulFunction(16, 32, 5);
  const std::string steps = kOuterProduct + "tensorize mm/i.1 outer_product_f32_8x16";
  CheckStepResult(mm, steps);
  Function lowered = RunPipeline(ProgramOf(mm, steps).fn).value();
  CHECK(CountCalls(lowered, "outer_product_f32_8x16") == 1);
}

TEST_CASE("m16n8k16 stands for f16 products summed in f32", "[schedule][tensorize]") {
  for (const char* order : {"", "reorder [mm/k.1, mm/j.1, mm/i.1]\n"}) {
    Function mm = HalfMatmul(32, 16, 32);
    std::string steps = kMma + order;
    steps +=
        *order ? "tensorize mm/k.1 mma_m16n8k16_f16_f32" : "tensorize mm/i.1 mma_m16n8k16_f16_f32";
    CheckStepResult(mm, steps);
    CHECK(CountCalls(ProgramOf(mm, steps).fn, "mma_m16n8k16_f16_f32") == 1);
  }
}

TEST_CASE("operands of an intrinsic may be staged tiles of larger buffers",
          "[schedule][tensorize]") {
  CheckStepResult(HalfMatmul(32, 16, 32), R"(
split mm/i [16]
split mm/j [8]
split mm/k [16]
reorder [mm/i.0, mm/j.0, mm/k.0, mm/i.1, mm/j.1, mm/k.1]
cache_write mm C local C_l
reverse_compute_at C_l mm/j.0
cache_read A [mm] global A_s
cache_read B [mm] global B_s
compute_at A_s mm/k.0
compute_at B_s mm/k.0
decompose_reduction mm mm/k.0
tensorize mm/i.1 mma_m16n8k16_f16_f32
)");
}

TEST_CASE("a byte dot product is found in a convolution's innermost loops",
          "[schedule][tensorize]") {
  Function fn = FunctionOf(R"(
    fn f(A: u8[6, 8], B: i8[32, 8], C: i32[6, 32]) tensor {
      for i in 0..6 @d/i { for j in 0..32 @d/j { for k in 0..8 @d/k {
        block d(i: spatial 6 = i, j: spatial 32 = j, k: reduce 8 = k) {
          reduce sum_i32 init (C[i, j]) with (i32(B[j, k]) * i32(A[i, k]))
        }
      } } }
    })");
  CheckStepResult(fn, R"(
split d/j [16]
split d/k [4]
reorder [d/i, d/j.0, d/k.0, d/j.1, d/k.1]
decompose_reduction d d/k.0
tensorize d/j.1 dot_u8s8_i32_16x4
)");
}

// A tile of 32 x 16 of C in one warp, its operands in shared memory.
const std::string kFragments = R"(
split mm/i [2, 16]
split mm/j [2, 8]
split mm/k [16]
reorder [mm/i.0, mm/j.0, mm/k.0, mm/i.1, mm/j.1, mm/i.2, mm/j.2, mm/k.1]
bind mm/i.0 threadIdx.y
cache_write mm C warp mm.out
reverse_compute_at mm.out mm/j.0
cache_read A [mm] warp mm.af
compute_at mm.af mm/k.0
cache_read A [mm.af] shared mm.a
compute_at mm.a mm/k.0
split mm.a/ax0 [32]
bind mm.a/ax0.1 threadIdx.x
cache_read B [mm] warp mm.bf
compute_at mm.bf mm/k.0
split mm.af/ax0 [16]
decompose_reduction mm mm/k.0
)";

TEST_CASE("operands that a warp holds lie as its instruction has them", "[schedule][tensorize]") {
  for (const char* type : {"f16", "bf16"}) {
    std::string product = fmt::format("mma_m16n8k16_{}_f32", type);
    for (std::string transposed : {"", "B"}) {
      Function mm = FunctionOf(fmt::format(R"(
        fn mm(A: {0}[64, 32], B: {0}[32, 32], C: f32[64, 32]) tensor {{
          for i in 0..64 @mm/i {{ for j in 0..32 @mm/j {{ for k in 0..32 @mm/k {{
            block mm(i: spatial 64 = i, j: spatial 32 = j, k: reduce 32 = k) {{
              reduce sum_f32 init (C[i, j]) with (f32(A[i, k]) * f32(B[{1}]))
            }}
          }} }} }}
        }})",
                                           type, transposed.empty() ? "k, j" : "j, k"));
      std::string steps = kFragments + "tensorize mm/i.2 " + product +
                          fmt::format("\ntensorize mm.af/ax0.1 load_matrices_16x16_{}", type);
      CheckStepResult(mm, steps);
      Function fn = Simplify(ProgramOf(mm, steps).fn);
      std::string text = Print(fn);
      // Rows of 16 and columns of 8, and of C the pairs of a row in neighbouring registers.
      CHECK_THAT(text, Catch::Contains("size [32, 16] strides [256, 128, 64, 4, 1, 32] "
                                       "blocks [0 by 16, 2 by 8, 1 by 8, 4 by 2]"));
      CHECK(CountCalls(fn, product) == 1);
    }
  }
}

TEST_CASE("what a warp does together is refused where it cannot be", "[schedule][tensorize]") {
  Function mm = HalfMatmul(64, 32, 32);
  auto refusal = [&](const std::string& more, const std::string& call) {
    return RefusalOf(mm, kFragments + more + call);
  };
  const std::string product = "tensorize mm/i.2 mma_m16n8k16_f16_f32";
  const std::string at = ", at loop 'mm/i.2', is not mma_m16n8k16_f16_f32";
  CHECK(refusal("set_scope mm.bf local\n", product) ==
        "tensorize: buffer 'mm.bf' is local; expected warp, as others are" + at);
  CHECK(refusal("transform_layout mm.af [] [1, 0]\n", product) ==
        "tensorize: buffer 'mm.af' has another layout" + at);
  CHECK(refusal("bind mm/j.1 threadIdx.x\n", product) ==
        "tensorize: it is inside loop 'mm/j.1' over the lanes of a warp, which do it together" +
            at);
  CHECK(refusal("bind mm/j.1 vthread\n", product) ==
        "tensorize: it is inside loop 'mm/j.1' of virtual threads, which share a warp's buffers" +
            at);
  CHECK(refusal("set_scope mm.a local\n", "tensorize mm.af/ax0.1 load_matrices_16x16_f16") ==
        "tensorize: buffer 'mm.a' is local; expected shared, at loop 'mm.af/ax0.1', is not "
        "load_matrices_16x16_f16");
}

TEST_CASE("with free sizes the tiles' extents are constraints", "[schedule][tensorize]") {
  SymbolicProgram program = ProgramOf(MatmulFunction(16, 32, 5), R"(
tile t 1 16
split mm/i [t]
split mm/j [16]
split mm/k [1]
reorder [mm/i.0, mm/j.0, mm/k.0, mm/i.1, mm/j.1, mm/k.1]
decompose_reduction mm mm/k.0
tensorize mm/i.1 outer_product_f32_8x16
)");
  CHECK(Satisfies(program, {{"t", 8}}));
  CHECK_FALSE(Satisfies(program, {{"t", 4}}));
  CHECK_FALSE(Satisfies(program, {{"t", 16}}));
}

TEST_CASE("tensorize says what is not as the intrinsic is", "[schedule][tensorize]") {
  const std::string call = "tensorize mm/i.1 outer_product_f32_8x16";
  const std::string at = ", at loop 'mm/i.1', is not outer_product_f32_8x16";
  CHECK_THAT(RefusalOf(MatmulFunction(16, 32, 5), kOuterProduct + "tensorize mm/i.1 wgmma"),
             Catch::StartsWith("no tensor intrinsic 'wgmma'; there are outer_product_f32_8x16, "
                               "dot_u8s8_i32_16x4, vdla_gemv_16x16, tile_dot_u8i8x4, "));
  CHECK(RefusalOf(MatmulFunction(13, 32, 5), kOuterProduct + call) ==
        "tensorize: i0 * 8 + i1 < 13 cuts a tile of 8; pad the axis" + at);
  CHECK(RefusalOf(HalfMatmul(16, 32, 5), kOuterProduct + call) ==
        "tensorize: block 'mm' does not read or write as the intrinsic does" + at);
  CHECK(RefusalOf(MatmulFunction(16, 32, 5), kOuterProduct + "tensorize mm/j.1 "
                                                             "outer_product_f32_8x16") ==
        "tensorize: the nest has 2 loops; expected 3, at loop 'mm/j.1', is not "
        "outer_product_f32_8x16");
  CHECK(RefusalOf(MatmulFunction(16, 32, 5),
                  "split mm/i [4]\nsplit mm/j [16]\nsplit mm/k [1]\n"
                  "reorder [mm/i.0, mm/j.0, mm/k.0, mm/i.1, mm/j.1, mm/k.1]\n"
                  "decompose_reduction mm mm/k.0\n" +
                      call) == "tensorize: loop 'mm/i.1' has 4 iterations" + at);
  CHECK(RefusalOf(MatmulFunction(16, 32, 5),
                  "split mm/i [8]\nsplit mm/j [16]\nsplit mm/k [1]\n"
                  "reorder [mm/i.0, mm/j.0, mm/k.0, mm/i.1, mm/j.1, mm/k.1]\n" +
                      call) == "tensorize: block 'mm' is no decomposed reduction" + at);
  CHECK(RefusalOf(MatmulFunction(16, 32, 5), kOuterProduct + "unroll mm/j.1\n" + call) ==
        "tensorize: loop 'mm/j.1' is unrolled; expected a serial loop");
  CHECK(RefusalOf(MatmulFunction(16, 32, 5), kOuterProduct + call + "\n" + call) ==
        "tensorize: loop 'mm/i.1' is in an intrinsic already");
}

TEST_CASE("tensorize asks for the intrinsic's body in one chain of loops",
          "[schedule][tensorize]") {
  Function mm = MatmulFunction(16, 32, 5);
  CHECK(RefusalOf(mm, "decompose_reduction mm mm/k\ntensorize mm/i outer_product_f32_8x16") ==
        "tensorize: loop 'mm/i' is not one chain of loops round one block");
  CHECK(RefusalOf(mm, kOuterProduct + "tensorize mm/i.1 load_matrices_16x16_f16") ==
        "tensorize: block 'mm' is no copy, at loop 'mm/i.1', is not load_matrices_16x16_f16");
  Function most = FunctionOf(R"(
    fn mm(A: f32[16, 5], B: f32[5, 32], C: f32[16, 32]) tensor {
      for i in 0..16 @mm/i { for j in 0..32 @mm/j { for k in 0..5 @mm/k {
        block mm(i: spatial 16 = i, j: spatial 32 = j, k: reduce 5 = k) {
          reduce max_f32 init (C[i, j]) with (A[i, k] * B[k, j])
        }
      } } }
    })");
  CHECK(RefusalOf(most, kOuterProduct + "tensorize mm/i.1 outer_product_f32_8x16") ==
        "tensorize: block 'mm' reduces by max_f32; expected sum_f32, at loop 'mm/i.1', is not "
        "outer_product_f32_8x16");
}

TEST_CASE("a warp's tile has no free extent", "[schedule][tensorize]") {
  std::string free = kFragments;
  free.replace(free.find("[2, 16]"), 7, "[2, t]");
  CHECK(RefusalOf(HalfMatmul(64, 32, 32),
                  "tile t 1 16\n" + free + "tensorize mm/i.2 mma_m16n8k16_f16_f32") ==
        "tensorize: loop 'mm/i.2' has a free extent; expected 16, at loop 'mm/i.2', is not "
        "mma_m16n8k16_f16_f32");
}
