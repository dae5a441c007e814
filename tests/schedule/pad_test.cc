#include "schedule/steps/pad.h"

#include <catch2/catch.hpp>

#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

const std::string kCopies =
    "cache_write mm C local C_l\ncache_read A [mm] global A_s\ncache_read B [mm] global B_s\n";

// The maximum, minimum, product or sum of what is made of rows.
Function Rows(const std::string& combiner, const std::string& input) {
  return FunctionOf(
      "fn f(A: f32[6, 5], C: f32[6]) tensor { "
      "for i in 0..6 @r/i { for k in 0..5 @r/k { "
      "block r(i: spatial 6 = i, k: reduce 5 = k) { reduce " +
      combiner + " init (C[i]) with (" + input + ") } } } }");
}

}  // namespace

TEST_CASE("a spatial variable is padded where it is copied in and out", "[schedule][pad]") {
  CheckSteps(FunctionOf(R"(
    fn f(A: f32[6], B: f32[6]) tensor {
      for i in 0..6 @p/i { block p(i: spatial 6 = i) { B[i] = A[i] + 1.0 } } })"),
             "cache_write p B local B_l\ncache_read A [p] local A_l\npad p i 4", R"(
    fn f(A: f32[6], B: f32[6]) scheduled {
      alloc A_l: f32[8] local
      alloc B_l: f32[8] local
      for a in 0..8 @A_l/ax0 {
        block A_l(a: spatial 8 = a) { A_l[a] = select(a < 6, A[a], 0.0) } }
      for i in 0..8 @p/i { block p(i: spatial 8 = i) { B_l[i] = A_l[i] + 1.0 } }
      for b in 0..6 @B_l/ax0 { block B_l(b: spatial 6 = b) { B[b] = B_l[b] } }
    })");
}

TEST_CASE("the operands of a product are 0 beyond the reduce variable", "[schedule][pad]") {
  CheckSteps(MatmulFunction(3, 4, 5), kCopies + "pad mm k 4", R"(
    fn mm(A: f32[3, 5], B: f32[5, 4], C: f32[3, 4]) scheduled {
      alloc B_s: f32[8, 4]
      alloc A_s: f32[3, 8]
      alloc C_l: f32[3, 4] local
      for a in 0..3 @A_s/ax0 { for b in 0..8 @A_s/ax1 {
        block A_s(a: spatial 3 = a, b: spatial 8 = b) {
          A_s[a, b] = select(b < 5, A[a, b], 0.0) } } }
      for a in 0..8 @B_s/ax0 { for b in 0..4 @B_s/ax1 {
        block B_s(a: spatial 8 = a, b: spatial 4 = b) {
          B_s[a, b] = select(a < 5, B[a, b], 0.0) } } }
      for i in 0..3 @mm/i { for j in 0..4 @mm/j { for k in 0..8 @mm/k {
        block mm(i: spatial 3 = i, j: spatial 4 = j, k: reduce 8 = k) {
          reduce sum_f32 init (C_l[i, j]) with (A_s[i, k] * B_s[k, j]) } } } }
      for a in 0..3 @C_l/ax0 { for b in 0..4 @C_l/ax1 {
        block C_l(a: spatial 3 = a, b: spatial 4 = b) { C[a, b] = C_l[a, b] } } }
    })");
}

TEST_CASE("all variables are padded and tiled, by any free multiple", "[schedule][pad]") {
  const std::string steps = "tile t 1 9\ntile u 1 9\n" + kCopies + R"(pad mm i t
pad mm j 4
pad mm k u
split mm/i [t]
split mm/j [4]
split mm/k [u]
reorder [mm/i.0, mm/j.0, mm/k.0, mm/i.1, mm/j.1, mm/k.1]
reverse_compute_at C_l mm/j.0
compute_at A_s mm/k.0
compute_at B_s mm/k.0
decompose_reduction mm mm/k.0
vectorize mm/j.1)";
  for (auto [t, u] : {std::pair(1, 1), {2, 3}, {4, 7}, {9, 9}}) {
    CheckStepResult(MatmulFunction(5, 6, 7), steps, {{"t", t}, {"u", u}});
  }
}

TEST_CASE("a convolution pads channels and filters", "[schedule][pad]") {
  CheckStepResult(ConvFunction({}),
                  "cache_write conv Y local Y_l\ncache_read X [conv] global X_s\n"
                  "cache_read W [conv] global W_s\npad conv c 4\npad conv o 8\nsplit conv/o [8]\n"
                  "vectorize conv/o.1");
}

TEST_CASE("copies are filled with what the combiner ignores", "[schedule][pad]") {
  const std::string steps = "cache_read A [r] global A_s\npad r k 4";
  CheckStepResult(Rows("max_f32", "A[i, k]"), steps);
  CheckStepResult(Rows("min_f32", "A[i, k]"), steps);
  CheckStepResult(Rows("product_f32", "A[i, k]"), steps);
  CheckStepResult(Rows("sum_f32", "A[i, k] * A[i, k]"), steps);
}

TEST_CASE("padded constants are computed when the model is linked", "[schedule][pad]") {
  CheckStepResult(FunctionOf(R"(
    fn mm(A: f32[3, 5], B: f32[5, 6] constant, C: f32[3, 6]) tensor {
      for i in 0..3 @mm/i { for j in 0..6 @mm/j { for k in 0..5 @mm/k {
        block mm(i: spatial 3 = i, j: spatial 6 = j, k: reduce 5 = k) {
          reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j]) } } } } })"),
                  kCopies + "pad mm j 4\ntransform_layout B_s [1 by 4] [1, 0, 2]\nprepack B_s");
}

TEST_CASE("pad asks for copies that it can extend", "[schedule][pad]") {
  Function mm = MatmulFunction(5, 6, 7);
  CHECK(RefusalOf(mm, "pad nn i 4") == "no block 'nn' in function 'mm'; it has mm");
  CHECK(RefusalOf(mm, "pad mm x 4") == "pad: block 'mm' has no variable 'x'; it has i, j, k");
  CHECK(RefusalOf(mm, "pad mm i 4") == "pad: buffer 'A' is a parameter; let block 'mm' use a copy");
  CHECK(RefusalOf(mm, "cache_read A [mm] global A_s\npad mm i 4") ==
        "pad: buffer 'C' is a parameter; let block 'mm' use a copy");
  CHECK(RefusalOf(mm, kCopies + "split mm/i [4]\npad mm i 4") ==
        "pad: variable 'i' of block 'mm' is no whole loop; pad before splitting");
  CHECK(RefusalOf(mm, kCopies + "compute_at A_s mm/j\npad mm j 4") ==
        "pad: loop 'mm/j' holds other blocks than 'mm'");
  CHECK(RefusalOf(mm, kCopies + "compute_at A_s mm/i\npad mm k 4") ==
        "pad: buffer 'A_s' is placed under a loop already; pad before");
  CHECK(RefusalOf(mm, kCopies + "transform_layout A_s [] [1, 0]\npad mm k 4") ==
        "pad: buffer 'A_s' has a layout already; place it before");
  CHECK(RefusalOf(mm, kCopies + "pad mm i 0") ==
        "pad: variable 'i' of block 'mm' to a multiple of 0; expected at least 1");
  CHECK(RefusalOf(mm, kCopies + "decompose_reduction mm mm/i\npad mm i 4") ==
        "pad: block 'mm.init' writes buffer 'C_l' as well; pad before");
}

TEST_CASE("pad asks for operands that are read at just the variable", "[schedule][pad]") {
  CHECK(RefusalOf(ConvFunction({}),
                  "cache_write conv Y local Y_l\ncache_read X [conv] global X_s\n"
                  "cache_read W [conv] global W_s\npad conv kx 4") ==
        "pad: index 1 of buffer 'X_s' in block 'conv' is more than variable 'kx'");
  CHECK(RefusalOf(TwoReadersFunction(4), "cache_write out B local B_l\npad out i 4") ==
        "pad: index 0 of buffer 'A' in block 'out' is more than variable 'i'");
}

TEST_CASE("pad asks for a filling that leaves a reduction as it is", "[schedule][pad]") {
  const std::string copy = "cache_read A [r] global A_s\n";
  CHECK(RefusalOf(Rows("sum_f32", "cos(A[i, k])"), copy + "pad r k 4") ==
        "pad: whatever the operands hold beyond variable 'k', the inputs of reduction 'r' are not "
        "the identity of 'sum_f32'");
  CHECK(RefusalOf(SoftmaxFunction(3, 5), "cache_read X [stat] global X_s\npad stat j 4") ==
        "pad: whatever the operands hold beyond variable 'j', the inputs of reduction 'stat' are "
        "not the identity of 'softmax_f32'");
  CHECK(RefusalOf(FunctionOf(R"(
    fn f(A: i32[6], B: i32[6]) tensor {
      for i in 0..6 @p/i { block p(i: spatial 6 = i) { B[i] = trunc_div(A[i], A[i]) } } })"),
                  "cache_write p B local B_l\ncache_read A [p] local A_l\npad p i 4") ==
        "pad: block 'p' divides by what it reads, which may be 0");
}

TEST_CASE("pad asks for an operand as long as the variable, of one writer", "[schedule][pad]") {
  CHECK(RefusalOf(FunctionOf(R"(
    fn f(A: f32[6], B: f32[4]) tensor {
      for i in 0..4 @p/i { block p(i: spatial 4 = i) { B[i] = A[i] } } })"),
                  "cache_write p B local B_l\ncache_read A [p] local A_l\npad p i 3") ==
        "pad: dimension 0 of buffer 'A_l' is not as long as variable 'i'");
  CHECK(RefusalOf(FunctionOf(R"(
    fn f(A: f32[6, 5], B: f32[6]) tensor {
      alloc T: f32[6]
      for i in 0..6 @r/i { for k in 0..5 @r/k {
        block r(i: spatial 6 = i, k: reduce 5 = k) {
          reduce sum_f32 init (T[i]) with (A[i, k]) } } }
      for i in 0..6 @p/i { block p(i: spatial 6 = i) { B[i] = T[i] } } })"),
                  "cache_write p B local B_l\ndecompose_reduction r r/k\npad p i 4") ==
        "pad: buffer 'T' has 2 writers; expected one");
  CHECK(RefusalOf(MatmulFunction(8, 16, 3),
                  "split mm/i [8]\nsplit mm/j [16]\nsplit mm/k [1]\n"
                  "reorder [mm/i.0, mm/j.0, mm/k.0, mm/i.1, mm/j.1, mm/k.1]\n"
                  "decompose_reduction mm mm/k.0\ntensorize mm/i.1 outer_product_f32_8x16\n"
                  "pad mm i 4") ==
        "pad: block 'mm' is emitted by intrinsic 'outer_product_f32_8x16'");
}
