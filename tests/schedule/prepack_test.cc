#include "schedule/steps/prepack.h"

#include <catch2/catch.hpp>

#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

// C = A * B, B known when the model is compiled.
Function Product() {
  return FunctionOf(R"(
    fn mm(A: f32[5, 7], B: f32[7, 9] constant, C: f32[5, 9]) tensor {
      for i in 0..5 @mm/i { for j in 0..9 @mm/j { for k in 0..7 @mm/k {
        block mm(i: spatial 5 = i, j: spatial 9 = j, k: reduce 7 = k) {
          reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j]) } } } }
    })");
}

// The weights are scaled before they are used.
Function Scaled() {
  return FunctionOf(R"(
    fn f(A: f32[6], W: f32[6] constant, B: f32[6]) tensor {
      alloc U: f32[6]
      for i in 0..6 @u/i { block u(i: spatial 6 = i) { U[i] = W[i] * 2.0 } }
      for i in 0..6 @b/i { block b(i: spatial 6 = i) { B[i] = A[i] + U[5 - i] } }
    })");
}

const std::string kCopy = "cache_read B [mm] global B_p\n";

}  // namespace

TEST_CASE("a copy of constants becomes a constant", "[schedule][prepack]") {
  CheckSteps(Scaled(), "prepack u", R"(
    fn f(A: f32[6], W: f32[6] constant, B: f32[6]) scheduled {
      alloc U: f32[6] constant
      for i in 0..6 @u/i { block u(i: spatial 6 = i) { U[i] = W[i] * 2.0 } }
      for i in 0..6 @b/i { block b(i: spatial 6 = i) { B[i] = A[i] + U[5 - i] } }
    })");
  CheckStepResult(Product(), kCopy + "transform_layout B_p [1 by 4] [1, 0, 2]\nprepack B_p");
}

TEST_CASE("what a constant is computed by can still be scheduled", "[schedule][prepack]") {
  CheckStepResult(Product(),
                  "tile t 1 9\n" + kCopy +
                      "transform_layout B_p [1 by t] [1, 0, 2]\nprepack B_p\n"
                      "split B_p/ax1 [t]\nreorder [B_p/ax1.0, B_p/ax0]\n"
                      "vectorize B_p/ax1.1\nparallel B_p/ax1.0\nsplit mm/j [t]",
                  {{"t", 4}});
  CheckStepResult(Scaled(),
                  "prepack u\ncache_read W [u] local W_l\ncompute_at W_l u/i\n"
                  "cache_write u U global U_c");
  CheckStepResult(Scaled(), "cache_read U [b] global U_s\nprepack u\nprepack U_s");
}

TEST_CASE("prepack says what is not constant", "[schedule][prepack]") {
  CHECK(RefusalOf(Product(), "prepack mm") == "prepack: buffer 'C' is a parameter; copy it first");
  CHECK(RefusalOf(Product(), "cache_read A [mm] global A_p\nprepack A_p") ==
        "prepack: block 'A_p' reads buffer 'A', which is not constant");
  CHECK(RefusalOf(Product(), kCopy + "compute_at B_p mm/i\nprepack B_p") ==
        "prepack: buffer 'B_p' is not global and whole");
  CHECK(RefusalOf(Product(), kCopy + "set_scope B_p local\nprepack B_p") ==
        "prepack: buffer 'B_p' is not global and whole");
  CHECK(RefusalOf(Product(), kCopy + "prepack B_p\nprepack B_p") ==
        "prepack: buffer 'B_p' is not global and whole");
  CHECK(RefusalOf(Product(), kCopy + "bind B_p/ax0 threadIdx.x\nprepack B_p") ==
        "prepack: loop 'B_p/ax0' is bound to threadIdx.x; the host runs it");
  CHECK(RefusalOf(Scaled(), "cache_read U [b] global U_s\nprepack U_s") ==
        "prepack: block 'U_s' reads buffer 'U', which is not constant");
  Function together = FunctionOf(R"(
    fn f(W: f32[6] constant, B: f32[6]) tensor {
      alloc U: f32[6]
      for i in 0..6 @u/i {
        block u(i: spatial 6 = i) { U[i] = W[i] }
        block b(j: spatial 6 = i) { B[j] = U[j] }
      }
    })");
  CHECK(RefusalOf(together, "prepack u") == "prepack: block 'u' stands in loop 'u/i' with others");
  CHECK(RefusalOf(SoftmaxFunction(3, 4), "prepack stat") ==
        "prepack: block 'stat' writes several buffers");
  CHECK(RefusalOf(FunctionOf(R"(
    fn f(A: f32[6]) tensor { for i in 0..6 @p/i { block p(i: spatial 6 = i) { } } })"),
                  "prepack p") == "prepack: block 'p' writes nothing");
}

TEST_CASE("a constant's nest neither moves nor takes others in", "[schedule][prepack]") {
  const std::string packed = kCopy + "prepack B_p\n";
  CHECK(RefusalOf(Product(), packed + "compute_at B_p mm/i") ==
        "compute_at: buffer 'B_p' is made when the model is linked; its nests stay");
  CHECK(RefusalOf(Product(), packed + "set_scope B_p local") ==
        "set_scope: buffer 'B_p' is made when the model is linked; its nests stay");
  CHECK(RefusalOf(Product(), "cache_read B [mm] constant B_p") ==
        "cache_read: nothing can be written to a constant buffer; prepack makes it one later");
  CHECK(RefusalOf(Product(), "cache_write mm C constant C_p") ==
        "cache_write: nothing can be written to a constant buffer; prepack makes it one later");
  CHECK(RefusalOf(Product(), kCopy + "set_scope B_p constant") ==
        "set_scope: nothing can be written to a constant buffer; prepack makes it one later");
}

TEST_CASE("a copy that constants are computed from is read by nothing that runs later",
          "[schedule][prepack]") {
  Function fn = FunctionOf(R"(
    fn f(W: f32[6] constant, B: f32[6]) tensor {
      alloc U: f32[6]
      for i in 0..6 @u/i { block u(i: spatial 6 = i) { U[i] = W[i] } }
      for i in 0..6 @b/i { block b(i: spatial 6 = i) { B[i] = U[i] + W[i] } }
    })");
  CHECK(RefusalOf(fn, "prepack u\ncache_read W [] global W_s") ==
        "cache_read: block 'u' runs when the model is linked and block 'b' later; expected a copy "
        "for each");
  CheckStepResult(fn, "prepack u\ncache_read W [u] global W_s\ncache_read W [b] global W_t");
}

TEST_CASE("what runs when the model is linked is not bound to hardware indices",
          "[schedule][prepack]") {
  CHECK(RefusalOf(Scaled(), "prepack u\nbind u/i threadIdx.x") ==
        "bind: block 'u' runs when the model is linked, on the host");
  CHECK(RefusalOf(Scaled(), "prepack u\nbind b/i threadIdx.x").empty());
}
