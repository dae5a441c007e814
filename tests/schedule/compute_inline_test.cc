#include "schedule/steps/compute_inline.h"

#include <catch2/catch.hpp>

#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

Function Chain() {
  return FunctionOf(R"(
    fn f(A: f32[6, 4], B: f32[4, 5]) tensor {
      alloc T: f32[4, 6]
      for i in 0..6 @p/i { for j in 0..4 @p/j {
        block p(i: spatial 6 = i, j: spatial 4 = j) { T[j, i] = A[i, j] + 1.0 } } }
      for i in 0..4 @c/i { for j in 0..5 @c/j {
        block c(i: spatial 4 = i, j: spatial 5 = j) { B[i, j] = T[i, j + 1] * T[i, j] } } }
    })");
}

}  // namespace

TEST_CASE("readers compute an inlined producer at the cells that they read", "[schedule][inline]") {
  CheckSteps(Chain(), "compute_inline p", R"(
    fn f(A: f32[6, 4], B: f32[4, 5]) scheduled {
      for i in 0..4 @c/i { for j in 0..5 @c/j {
        block c(i: spatial 4 = i, j: spatial 5 = j) {
          B[i, j] = (A[j + 1, i] + 1.0) * (A[j, i] + 1.0) } } }
    })");
}

TEST_CASE("a producer is inlined wherever it and its readers stand", "[schedule][inline]") {
  CheckStepResult(TwoReadersFunction(5), "compute_inline sum");
  const std::string tiles = "tile t 1 9\nsplit out/i [t]\n";
  for (int64_t t : {1, 3, 9}) {
    CheckStepResult(TwoReadersFunction(5), tiles + "split sum/i [2]\ncompute_inline sum",
                    {{"t", t}});
    CheckStepResult(TwoReadersFunction(5),
                    tiles +
                        "compute_at sum out/i.0\ncache_read A [sum] local A_l\n"
                        "compute_at A_l out/i.0\ncompute_inline sum",
                    {{"t", t}});
  }
}

TEST_CASE("a copy that is inlined is as if it had never been", "[schedule][inline]") {
  CheckSteps(Chain(), "cache_read A [p] local A_l\ncompute_inline A_l\ncompute_inline p", R"(
    fn f(A: f32[6, 4], B: f32[4, 5]) scheduled {
      for i in 0..4 @c/i { for j in 0..5 @c/j {
        block c(i: spatial 4 = i, j: spatial 5 = j) {
          B[i, j] = (A[j + 1, i] + 1.0) * (A[j, i] + 1.0) } } }
    })");
}

TEST_CASE("a value is inlined into indices, predicates and reductions", "[schedule][inline]") {
  CheckStepResult(FunctionOf(R"(
    fn f(X: f32[4, 3], B: f32[5]) tensor {
      alloc N: i64[5]
      alloc L: i64[5]
      for i in 0..5 @rows/i { block rows(i: spatial 5 = i) { N[i] = (i * 3) mod 4 } }
      for i in 0..5 @limits/i { block limits(i: spatial 5 = i) { L[i] = N[i] - 1 } }
      for i in 0..5 @sum/i { for k in 0..3 @sum/k {
        block sum(i: spatial 5 = i, k: reduce 3 = k) where k <= L[i] {
          reduce sum_f32 init (B[i]) with (X[N[i], k]) } } }
    })"),
                  "compute_inline rows\ncompute_inline limits");
}

TEST_CASE("compute_inline says what is no function of its variables", "[schedule][inline]") {
  Function softmax = SoftmaxFunction(3, 4);
  CHECK(RefusalOf(softmax, "compute_inline q") ==
        "no block 'q' in function 'softmax'; it has stat, out");
  CHECK(RefusalOf(softmax, "compute_inline stat") ==
        "compute_inline: block 'stat' is a reduction; expected one that stores a value");
  CHECK(RefusalOf(softmax, "compute_inline out") ==
        "compute_inline: buffer 'Y' is a parameter of the function");
  Function partial = FunctionOf(R"(
    fn f(A: f32[6], B: f32[6]) tensor {
      alloc T: f32[6]
      for i in 0..6 @p/i { block p(i: spatial 6 = i) where i < 3 { T[i] = A[i] } }
      for i in 0..6 @q/i { block q(i: spatial 6 = i) where 3 <= i { T[i] = 2.0 } }
      for i in 0..6 @c/i { block c(i: spatial 6 = i) { B[i] = T[i] } }
    })");
  CHECK(RefusalOf(partial, "compute_inline p") ==
        "compute_inline: block 'p' has a predicate; the cells that it leaves out have no value");
  Function halves = FunctionOf(R"(
    fn f(A: f32[6], B: f32[6]) tensor {
      alloc T: f32[6]
      for i in 0..3 @p/i { block p(i: spatial 3 = i) { T[i] = A[i] } }
      for i in 0..3 @q/i { block q(i: spatial 3 = i) { T[i + 3] = 2.0 } }
      for i in 0..6 @c/i { block c(i: spatial 6 = i) { B[i] = T[i] } }
    })");
  CHECK(RefusalOf(halves, "compute_inline p") ==
        "compute_inline: block 'q' writes buffer 'T' as well");
  Function strided = FunctionOf(R"(
    fn f(A: f32[3], T: f32[6]) tensor {
      alloc S: f32[6]
      for i in 0..3 @p/i { block p(i: spatial 3 = i) { S[i * 2] = A[i] } }
      for i in 0..3 @c/i { block c(i: spatial 3 = i) { T[i * 2] = S[i * 2] } }
    })");
  CHECK(RefusalOf(strided, "compute_inline p") ==
        "block 'p' accesses buffer 'S' by other indices than distinct spatial iteration variables");
}

TEST_CASE("compute_inline says which operand would change before it is read",
          "[schedule][inline]") {
  Function overwritten = FunctionOf(R"(
    fn f(A: f32[6], S: f32[6], B: f32[6]) tensor {
      alloc T: f32[6]
      for i in 0..6 @s/i { block s(i: spatial 6 = i) { S[i] = A[i] } }
      for i in 0..6 @p/i { block p(i: spatial 6 = i) { T[i] = S[i] + 1.0 } }
      for i in 0..6 @q/i { block q(i: spatial 6 = i) { S[i] = 2.0 } }
      for i in 0..6 @c/i { block c(i: spatial 6 = i) { B[i] = T[i] } }
    })");
  CHECK(RefusalOf(overwritten, "compute_inline p") ==
        "compute_inline: block 'p' reads buffer 'S', which block 'q' writes too late");
}

TEST_CASE("compute_inline moves nothing between scopes of threads", "[schedule][inline]") {
  CHECK(RefusalOf(Chain(), "bind p/i threadIdx.x\ncache_read A [p] local A_l\ncompute_inline p") ==
        "compute_inline: buffer 'A_l' is local, but 'T' is global: another thread may run block "
        "'c'");
}

TEST_CASE("compute_inline keeps what lives in a loop there", "[schedule][inline]") {
  CHECK(RefusalOf(Chain(), "cache_read A [p] global A_l\ncompute_at A_l p/i\ncompute_inline p") ==
        "compute_inline: buffer 'A_l' does not live where block 'c' stands");
}

TEST_CASE("compute_inline says which block is no value to be computed again",
          "[schedule][inline]") {
  Function repeated = FunctionOf(R"(
    fn f(A: f32[6], B: f32[6]) tensor {
      alloc T: f32[6]
      for i in 0..6 @p/i { for z in 0..3 @p/z {
        block p(i: spatial 6 = i, z: spatial 3 = z) { T[i] = A[i] } } }
      for i in 0..6 @c/i { block c(i: spatial 6 = i) { B[i] = T[i] } }
    })");
  CHECK(RefusalOf(repeated, "compute_inline p") ==
        "compute_inline: block 'p' has variables that are no index of buffer 'T'");
  Function early = FunctionOf(R"(
    fn f(A: f32[6], B: f32[6]) tensor {
      alloc T: f32[6]
      for i in 0..6 @c/i { block c(i: spatial 6 = i) { B[i] = T[i] } }
      for i in 0..6 @p/i { block p(i: spatial 6 = i) { T[i] = A[i] } }
    })");
  CHECK(RefusalOf(early, "compute_inline p") ==
        "compute_inline: block 'c' reads buffer 'T' before block 'p' writes it");
  Function in_place = FunctionOf(R"(
    fn f(B: f32[6]) tensor {
      for i in 0..6 @p/i { block p(i: spatial 6 = i) { B[i] = B[i] * 2.0 } } })");
  CHECK(RefusalOf(in_place, "compute_inline p") ==
        "compute_inline: block 'p' reads what it writes");
  CHECK(RefusalOf(MatmulFunction(3, 4, 7), R"(
split mm/k [2]
reorder [mm/k.0, mm/i, mm/j, mm/k.1]
cache_read A [mm] global A_s
cache_read A [A_s] global A_t
compute_at A_s mm/k.0
decompose_reduction mm mm/k.0
pipeline mm/k.0 2 pipelined
compute_inline A_t)") == "compute_inline: block 'A_s' copies for a pipeline already");
}

TEST_CASE("a value is not inlined where its operand's rows may be gone", "[schedule][inline]") {
  Function sliding = FunctionOf(R"(
    fn f(A: f32[12], B: f32[10]) tensor {
      alloc T: f32[12]
      alloc U: f32[10]
      for x in 0..12 @t/x { block t(x: spatial 12 = x) { T[x] = A[x] * 2.0 } }
      for i in 0..10 @u/i { block u(i: spatial 10 = i) { U[i] = T[i] + T[i + 1] + T[i + 2] } }
      for i in 0..10 @b/i { block b(i: spatial 10 = i) { B[i] = U[i] + 1.0 } }
    })");
  CHECK(RefusalOf(sliding,
                  "compute_at u b/i\ncompute_at t b/i\nrolling_buffer T 0\ncompute_inline u") ==
        "compute_inline: buffer 'T' is circular; block 'b' may come too late for its rows");
}
