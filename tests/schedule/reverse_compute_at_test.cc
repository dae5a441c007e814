#include <catch2/catch.hpp>

#include "schedule/steps/compute_at.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

// T[i] = A[i], then B from T by `consumer`.
Function Consuming(const std::string& consumer, const std::string& producer = "T[i] = A[i]") {
  return FunctionOf(fmt::format(R"(
    fn f(A: f32[7], B: f32[7]) tensor {{
      alloc T: f32[7]
      for i in 0..7 @p/i {{ block p(i: spatial 7 = i) {{ {} }} }}
      for a in 0..7 @c/a {{ block c(a: spatial 7 = a) {{ {} }} }}
    }})",
                                producer, consumer));
}

}  // namespace

TEST_CASE("a consumer handles what was written under the loop", "[schedule][compute_at]") {
  CheckSteps(Consuming("B[a] = T[a] * 2.0"), "split p/i [4]\nreverse_compute_at c p/i.0", R"(
    fn f(A: f32[7], B: f32[7]) scheduled {
      for i0 in 0..2 @p/i.0 {
        alloc T: f32[7] window [i0 * 4] size [4]
        for i1 in 0..4 @p/i.1 {
          block p(i: spatial 7 = i0 * 4 + i1) guard (i0 * 4 + i1 < 7) { T[i] = A[i] }
        }
        for a in 0..4 @c/a { block c(a: spatial 7 = i0 * 4 + a) { B[a] = T[a] * 2.0 } }
      }
    })");
}

TEST_CASE("the consumer takes over the guards of the loops above", "[schedule][compute_at]") {
  CheckSteps(Consuming("B[a] = T[a] * 2.0"),
             "split p/i [4]\nsplit p/i.1 [3]\nreverse_compute_at c p/i.1.1", R"(
    fn f(A: f32[7], B: f32[7]) scheduled {
      for i0 in 0..2 @p/i.0 { for i10 in 0..2 @p/i.1.0 { for i11 in 0..3 @p/i.1.1 {
        alloc T: f32[7] window [i0 * 4 + (i10 * 3 + i11)] size [1]
        block p(i: spatial 7 = i0 * 4 + (i10 * 3 + i11))
            guard (i0 * 4 + (i10 * 3 + i11) < 7, i10 * 3 + i11 < 4) { T[i] = A[i] }
        for a in 0..1 @c/a {
          block c(a: spatial 7 = i0 * 4 + (i10 * 3 + i11) + a)
              guard (i0 * 4 + (i10 * 3 + i11) < 7, i10 * 3 + i11 < 4) { B[a] = T[a] * 2.0 }
        }
      } } }
    })");
}

TEST_CASE("a write-back follows its tile at any depth and any tile", "[schedule][compute_at]") {
  for (const char* loop : {"mm/i.0", "mm/j.0", "mm/i.1", "mm/j.1"}) {
    for (int64_t t : {1, 2, 3, 5, 8}) {
      CheckStepResult(MatmulFunction(5, 6, 4),
                      std::string("tile t 1 9\nsplit mm/i [t]\nsplit mm/j [t]\n"
                                  "reorder [mm/i.0, mm/j.0, mm/i.1, mm/j.1]\n"
                                  "cache_write mm C global c\nreverse_compute_at c ") +
                          loop,
                      {{"t", t}});
    }
  }
}

TEST_CASE("a reduction follows what it reads, and its initialisation moves along",
          "[schedule][compute_at]") {
  CheckSteps(MatmulFunction(4, 6, 8),
             "split mm/k [4]\nrfactor mm mm/k.0 0 global part\n"
             "reorder [part/i, part/k.0, part/j]\ndecompose_reduction part part/j\n"
             "reverse_compute_at mm part/i",
             R"(
    fn mm(A: f32[4, 8], B: f32[8, 6], C: f32[4, 6]) scheduled {
      for i in 0..4 @part/i {
        alloc part: f32[2, 4, 6] window [0, i, 0] size [2, 1, 6]
        for k0 in 0..2 @part/k.0 {
          for j in 0..6 @part.init/j {
            block part.init(i: spatial 4 = i, j: spatial 6 = j, p: spatial 2 = k0) {
              part[p, i, j] = 0.0
            }
          }
          for j in 0..6 @part/j { for k1 in 0..4 @part/k.1 {
            block part(i: spatial 4 = i, j: spatial 6 = j, p: spatial 2 = k0,
                       k: reduce 8 = k0 * 4 + k1) guard (k0 * 4 + k1 < 8) {
              reduce sum_f32 (part[p, i, j]) with (A[i, k] * B[k, j])
            }
          } }
        }
        for a in 0..1 @mm.init/i { for j in 0..6 @mm.init/j {
          block mm.init(i: spatial 4 = i + a, j: spatial 6 = j) { C[i, j] = 0.0 }
        } }
        for a in 0..1 @mm/i { for j in 0..6 @mm/j { for p in 0..2 @mm/p {
          block mm(i: spatial 4 = i + a, j: spatial 6 = j, p: reduce 2 = p) {
            reduce sum_f32 (C[i, j]) with (part[p, i, j])
          }
        } } }
      }
    })");
}

TEST_CASE("a buffer with readers elsewhere stays whole", "[schedule][compute_at]") {
  Function fn = FunctionOf(R"(
    fn f(A: f32[7], B: f32[7], C: f32[7]) tensor {
      alloc T: f32[7]
      for i in 0..7 @p/i { block p(i: spatial 7 = i) { T[i] = A[i] } }
      for a in 0..7 @c/a { block c(a: spatial 7 = a) { B[a] = T[a] * 2.0 } }
      for a in 0..7 @d/a { block d(a: spatial 7 = a) { C[a] = T[a] + 1.0 } }
    })");
  CheckSteps(fn, "reverse_compute_at c p/i", R"(
    fn f(A: f32[7], B: f32[7], C: f32[7]) scheduled {
      alloc T: f32[7]
      for i in 0..7 @p/i {
        block p(i: spatial 7 = i) { T[i] = A[i] }
        for a in 0..1 @c/a { block c(a: spatial 7 = i + a) { B[a] = T[a] * 2.0 } }
      }
      for a in 0..7 @d/a { block d(a: spatial 7 = a) { C[a] = T[a] + 1.0 } }
    })");
}

TEST_CASE("reverse_compute_at says which block cannot move", "[schedule][compute_at]") {
  Function simple = Consuming("B[a] = T[a]");
  CHECK(RefusalOf(simple, "reverse_compute_at q p/i") ==
        "no block 'q' in function 'f'; it has p, c");
  CHECK(RefusalOf(simple, "reverse_compute_at c p/q") ==
        "no loop 'p/q' in function 'f'; it has p/i, c/a");
  CHECK(RefusalOf(simple, "reverse_compute_at c c/a") ==
        "reverse_compute_at: block 'c' is under loop 'c/a' already");
  CHECK(RefusalOf(simple, "vectorize p/i\nreverse_compute_at c p/i") ==
        "reverse_compute_at: loop 'p/i' round it is vectorized");
  CHECK(RefusalOf(simple, "reverse_compute_at p c/a") ==
        "reverse_compute_at: block 'p' reads nothing that is written under loop 'c/a'");
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(mm, "cache_read A [mm] global A_s\nreverse_compute_at mm A_s/ax1") ==
        "reverse_compute_at: block 'mm' reduces over 'k', of which only a part is written under "
        "loop 'A_s/ax1'");
  CHECK(RefusalOf(mm,
                  "cache_read A [mm] global A_s\nsplit mm/k [2]\nrfactor mm mm/k.1 0 global part\n"
                  "reverse_compute_at part A_s/ax0") ==
        "reverse_compute_at: loop 'part/k.1' has a part of the terms of block 'part'");
  CHECK(RefusalOf(mm, "cache_write mm C global c\nreverse_compute_at c mm/k") ==
        "reverse_compute_at: loop 'mm/k' is at or inside loop 'mm/k' of the reduction 'mm'");
  CHECK(RefusalOf(mm,
                  "reorder [mm/k, mm/j]\ncache_write mm C global c\n"
                  "reverse_compute_at c mm/j") ==
        "reverse_compute_at: loop 'mm/j' is at or inside loop 'mm/k' of the reduction 'mm'");
  CHECK(RefusalOf(mm,
                  "cache_write mm C global c\ndecompose_reduction mm mm/i\n"
                  "reverse_compute_at c mm/j") ==
        "reverse_compute_at: buffer 'c' has 2 writers; expected one, under loop 'mm/j' (decompose "
        "after placing)");
}

TEST_CASE("reverse_compute_at says which access stands in the way", "[schedule][compute_at]") {
  CHECK(RefusalOf(Consuming("B[a] = T[6 - a]"), "reverse_compute_at c p/i") ==
        "block 'c' accesses buffer 'T' by other indices than distinct iteration variables");
  CHECK(RefusalOf(Consuming("B[a] = T[a]", "T[6 - i] = A[i]"), "reverse_compute_at c p/i") ==
        "block 'p' accesses buffer 'T' by other indices than distinct spatial iteration variables");
  CHECK(RefusalOf(Consuming("B[a] = T[a] + T[6 - a]"), "reverse_compute_at c p/i") ==
        "reverse_compute_at: block 'c' reads several things that are written under loop 'p/i'");
  CHECK(RefusalOf(SoftmaxFunction(4, 5), "reverse_compute_at out stat/i") ==
        "reverse_compute_at: block 'out' reads several things that are written under loop "
        "'stat/i'");
}

TEST_CASE("reverse_compute_at refuses a producer that is not finished under the loop",
          "[schedule][compute_at]") {
  Function simple = Consuming("B[a] = T[a]");
  CHECK(RefusalOf(simple, "split p/i [4]\nsplit p/i.1 [3]\nreverse_compute_at c p/i.0") ==
        "reverse_compute_at: a split inside the loop leaves part of block 'p' undone; place the "
        "consumer first, then split");
  CHECK(RefusalOf(simple, "split p/i [4]\nreorder [p/i.1, p/i.0]\nreverse_compute_at c p/i.1") ==
        "reverse_compute_at: under loop 'p/i.1' block 'p' skips values of 'i'");
}

TEST_CASE("reverse_compute_at refuses a consumer that covers a padded end",
          "[schedule][compute_at]") {
  auto padded = [](const std::string& extent) {
    return FunctionOf(R"(
    fn f(A: f32[7], B: f32[9]) tensor {
      alloc T: f32[7]
      for i in 0..7 @p/i { block p(i: spatial 7 = i) { T[i] = A[i] } }
      for a in 0..)" + extent +
                      R"( @c/a {
        block c(a: spatial )" +
                      extent + R"( = a) { B[a] = select(a < 7, T[a], 0.0) }
      }
    })");
  };
  CHECK(RefusalOf(padded("9"), "reverse_compute_at c p/i") ==
        "reverse_compute_at: block 'c' has 9 instances along 'a'; expected at most 7, of which "
        "block 'p' writes the operands");
  CheckStepResult(padded("6"), "split p/i [4]\nreverse_compute_at c p/i.0");
}

TEST_CASE("a consumer of what was padded to whole tiles of a free extent follows it",
          "[schedule][compute_at]") {
  Function fn = FunctionOf(R"(
    fn f<shape n in 1..=50>(A: f32[n], B: f32[n]) tensor {
      alloc T: f32[ceildiv(n, 4) * 4]
      for i in 0..ceildiv(n, 4) * 4 @p/i {
        block p(i: spatial ceildiv(n, 4) * 4 = i) { T[i] = select(i < n, A[i], 0.0) }
      }
      for a in 0..n @c/a { block c(a: spatial n = a) { B[a] = T[a] * 2.0 } }
    })");
  CHECK(RefusalOf(fn, "reverse_compute_at c p/i").empty());
}

TEST_CASE("reverse_compute_at refuses a consumer of something written only later",
          "[schedule][compute_at]") {
  Function fn = FunctionOf(R"(
    fn f(A: f32[7], B: f32[7]) tensor {
      alloc T: f32[7]
      alloc U: f32[7]
      for i in 0..7 @p/i { block p(i: spatial 7 = i) { T[i] = A[i] } }
      for i in 0..7 @q/i { block q(i: spatial 7 = i) { U[i] = A[i] * 3.0 } }
      for a in 0..7 @c/a { block c(a: spatial 7 = a) { B[a] = T[a] + U[a] } }
    })");
  CHECK(RefusalOf(fn, "reverse_compute_at c p/i") ==
        "reverse_compute_at: block 'c' reads buffer 'U', which block 'q' writes only later");
  CheckStepResult(fn, "reverse_compute_at c q/i");
}

TEST_CASE("a split without a rest inside the loop leaves nothing undone",
          "[schedule][compute_at]") {
  Function fn = FunctionOf(R"(
    fn f(A: f32[16], B: f32[16]) tensor {
      alloc T: f32[16]
      for i in 0..16 @p/i { block p(i: spatial 16 = i) { T[i] = A[i] } }
      for a in 0..16 @c/a { block c(a: spatial 16 = a) { B[a] = T[a] } }
    })");
  CheckStepResult(fn, "split p/i [8]\nsplit p/i.1 [4]\nreverse_compute_at c p/i.0");
  CheckStepResult(fn,
                  "tile t 1 4\ntile u 1 4\nsplit p/i [(t * u)]\nsplit p/i.1 [u]\n"
                  "reverse_compute_at c p/i.0",
                  {{"t", 3}, {"u", 2}});
  CHECK(RefusalOf(fn, "split p/i [8]\nsplit p/i.1 [3]\nreverse_compute_at c p/i.0") ==
        "reverse_compute_at: a split inside the loop leaves part of block 'p' undone; place the "
        "consumer first, then split");
}

TEST_CASE("an initialisation under the loop is a part of its reduction", "[schedule][compute_at]") {
  for (const char* loop : {"mm/i", "mm/j"}) {
    CheckStepResult(MatmulFunction(3, 4, 5), std::string("cache_write mm C local c\n") +
                                                 "decompose_reduction mm mm/k\n" +
                                                 "reverse_compute_at c " + loop);
  }
}
