#include "schedule/steps/re_index.h"

#include <catch2/catch.hpp>

#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

// A convolution of a row with 2 taps and stride 2 as a matrix product: pixels and images are one
// variable, taps and channels another.
Function ImplicitGemm() {
  return FunctionOf(R"(
    fn conv(X: f32[2, 9, 3], W: f32[2, 3, 5], Y: f32[2, 4, 5]) tensor {
      for m in 0..8 @mm/m { for o in 0..5 @mm/o { for k in 0..6 @mm/k {
        block mm(m: spatial 8 = m, o: spatial 5 = o, k: reduce 6 = k) {
          reduce sum_f32 init (Y[m div 4, m mod 4, o])
            with (X[m div 4, m mod 4 * 2 + k div 3, k mod 3] * W[k div 3, k mod 3, o])
        } } } } })");
}

}  // namespace

TEST_CASE("an operand is copied into the block's own space", "[schedule][reindex]") {
  CheckSteps(FunctionOf(R"(
    fn f(X: f32[3, 9], W: f32[3], Y: f32[4, 5]) tensor {
      for o in 0..5 @c/o { for y in 0..4 @c/y { for k in 0..3 @c/k {
        block c(o: spatial 5 = o, y: spatial 4 = y, k: reduce 3 = k) {
          reduce sum_f32 init (Y[y, o]) with (X[k, y * 2 + k] * W[k]) } } } } })"),
             "reindex c X local X_r", R"(
    fn f(X: f32[3, 9], W: f32[3], Y: f32[4, 5]) scheduled {
      alloc X_r: f32[4, 3] local
      for a in 0..4 @X_r/y { for b in 0..3 @X_r/k {
        block X_r(y: spatial 4 = a, k: spatial 3 = b) { X_r[y, k] = X[k, y * 2 + k] } } }
      for o in 0..5 @c/o { for y in 0..4 @c/y { for k in 0..3 @c/k {
        block c(o: spatial 5 = o, y: spatial 4 = y, k: reduce 3 = k) {
          reduce sum_f32 init (Y[y, o]) with (X_r[y, k] * W[k]) } } } } })");
}

TEST_CASE("a result is computed in the block's own space and written back", "[schedule][reindex]") {
  CheckSteps(FunctionOf(R"(
    fn f(A: f32[4, 5], B: f32[5, 8]) tensor {
      for i in 0..4 @p/i { for j in 0..5 @p/j {
        block p(i: spatial 4 = i, j: spatial 5 = j) where i < 3 { B[j, 2 * i] = A[i, j] } } } })"),
             "reindex p B global B_r", R"(
    fn f(A: f32[4, 5], B: f32[5, 8]) scheduled {
      alloc B_r: f32[4, 5]
      for i in 0..4 @p/i { for j in 0..5 @p/j {
        block p(i: spatial 4 = i, j: spatial 5 = j) where i < 3 { B_r[i, j] = A[i, j] } } }
      for a in 0..4 @B_r/i { for b in 0..5 @B_r/j {
        block B_r(i: spatial 4 = a, j: spatial 5 = b) where i < 3 { B[j, 2 * i] = B_r[i, j] } } }
    })");
}

TEST_CASE("a convolution's window and its padding are copied out", "[schedule][reindex]") {
  for (const char* step :
       {"reindex conv X global X_r", "reindex conv W local W_r", "reindex conv Y local Y_r"}) {
    CheckStepResult(ConvFunction({}), step);
    CheckStepResult(ConvFunction({.kernel_h = 1, .kernel_w = 3, .stride = 1, .pad = 2}), step);
  }
}

TEST_CASE("a window's copy is whole, so that it can be copied again", "[schedule][reindex]") {
  CheckStepResult(ConvFunction({}), "reindex conv X global X_r\ncache_read X_r [conv] local X_l");
}

TEST_CASE("an implicit matrix product is tiled like any other", "[schedule][reindex]") {
  const std::string steps = R"(
tile m1 1 9
tile o1 1 6
tile k1 1 7
reindex mm X global X_s
reindex mm W global W_s
reindex mm Y local Y_l
split mm/m [m1]
split mm/o [o1]
split mm/k [k1]
reorder [mm/m.0, mm/o.0, mm/k.0, mm/k.1, mm/m.1, mm/o.1]
reverse_compute_at Y_l mm/o.0
compute_at X_s mm/k.0
compute_at W_s mm/k.0
vectorize mm/o.1)";
  for (auto [m, o, k] : {std::tuple(1, 1, 1), {4, 2, 3}, {3, 5, 4}, {9, 6, 7}}) {
    CheckStepResult(ImplicitGemm(), steps, {{"m1", m}, {"o1", o}, {"k1", k}});
  }
}

TEST_CASE("what a gather picks is copied", "[schedule][reindex]") {
  CheckStepResult(FunctionOf(R"(
    fn f(X: f32[7, 3], B: f32[5, 3]) tensor {
      alloc N: i64[5]
      for i in 0..5 @rows/i { block rows(i: spatial 5 = i) { N[i] = (i * 3) mod 7 } }
      for i in 0..5 @pick/i { for j in 0..3 @pick/j {
        block pick(i: spatial 5 = i, j: spatial 3 = j) { B[i, j] = X[N[i], j] * 2.0 } } } })"),
                  "reindex pick X global X_r");
}

TEST_CASE("reindex says what is no copy in the block's space", "[schedule][reindex]") {
  Function conv = ConvFunction({});
  CHECK(RefusalOf(conv, "reindex cc X global X_r") ==
        "no block 'cc' in function 'conv'; it has conv");
  CHECK(RefusalOf(conv, "reindex conv Q global X_r") ==
        "no buffer 'Q' in function 'conv'; it has X, W, Y");
  CHECK(RefusalOf(conv, "reindex conv X global W") == "the name 'W' for a copy is empty or in use");
  CHECK(RefusalOf(TwoReadersFunction(4), "reindex sum A global A_r") ==
        "reindex: block 'sum' accesses several cells of buffer 'A'");
  CHECK(RefusalOf(TwoReadersFunction(4), "reindex sum B global B_r") ==
        "reindex: block 'sum' does not access buffer 'B'");
  CHECK(RefusalOf(TwoReadersFunction(4), "compute_at sum out/i\nreindex sum T global T_r") ==
        "buffer 'T' is placed under a loop already; cache it before");
  CHECK(RefusalOf(EmptyReductionFunction(3), "reindex total C global C_r") ==
        "reindex: block 'total.init' writes buffer 'C'; expected 'total' to be its one writer");
  Function ordered = FunctionOf(R"(
    fn f(A: f32[6], B: f32[3]) tensor {
      for t in 0..6 @p/t { block p(t: reduce 6 = t) { B[t mod 3] = A[t] } } })");
  CHECK(RefusalOf(ordered, "reindex p B global B_r") ==
        "reindex: where block 'p' writes depends on 't', which runs in order");
  Function one = FunctionOf(R"(
    fn f(A: f32[4], B: f32[4]) tensor {
      for i in 0..4 @p/i { block p(i: spatial 4 = i) { B[i] = A[3] } } })");
  CHECK(RefusalOf(one, "reindex p A global A_r") ==
        "reindex: block 'p' accesses one cell of buffer 'A'");
  Function in_place = FunctionOf(R"(
    fn f(B: f32[6]) tensor {
      for i in 0..6 @p/i { block p(i: spatial 6 = i) { B[i] = B[i] * 2.0 } } })");
  CHECK(RefusalOf(in_place, "reindex p B global B_r") ==
        "reindex: block 'p' reads and writes buffer 'B'");
  Function chosen = FunctionOf(R"(
    fn f(A: f32[4], L: i64[4], B: f32[4]) tensor {
      for i in 0..4 @p/i { block p(i: spatial 4 = i) where i < L[i] { B[i] = A[3 - i] } } })");
  CHECK(RefusalOf(chosen, "reindex p A global A_r") ==
        "reindex: the predicate of block 'p' depends on data");
}

TEST_CASE("reindex reads nothing that the block would not have read", "[schedule][reindex]") {
  Function shifted = FunctionOf(R"(
    fn f(A: f32[4], B: f32[4]) tensor {
      for i in 0..4 @p/i { block p(i: spatial 4 = i) {
        B[i] = select(1 <= i, A[i - 1], 0.0) } } })");
  CHECK(RefusalOf(shifted, "reindex p A global A_r") ==
        "reindex: the indices of buffer 'A' may leave it where block 'p' does not read it");
  Function masked = FunctionOf(R"(
    fn f(A: f32[4], B: f32[4, 4]) tensor {
      for i in 0..4 @p/i { for j in 0..4 @p/j {
        block p(i: spatial 4 = i, j: spatial 4 = j) where 1 <= i + j && i < 3 {
          B[i, j] = A[j] + 1.0 } } } })");
  CheckStepResult(masked, "reindex p A global A_r");
  CheckStepResult(masked, "reindex p B global B_r");
}
