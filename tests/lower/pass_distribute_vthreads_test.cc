#include <catch2/catch.hpp>

#include "ir/text/printer.h"
#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"
#include "tests/lower/threaded_check.h"
#include "tests/programs/spike_programs.h"

using namespace tcc;

namespace {

// A block of threads and virtual threads on both axes, operands staged in shared memory.
std::string MatmulTrace(int rows, int columns, int threads, int depth) {
  return fmt::format(R"(
split mm/i [{0}, {2}, 2]
split mm/j [{1}, {2}]
split mm/k [{3}]
reorder [mm/i.0, mm/j.0, mm/i.1, mm/j.1, mm/i.2, mm/j.2, mm/k.0, mm/k.1, mm/i.3]
bind mm/i.0 blockIdx.y
bind mm/j.0 blockIdx.x
bind mm/i.1 vthread
bind mm/j.1 vthread
bind mm/i.2 threadIdx.y
bind mm/j.2 threadIdx.x
cache_write mm C local C_l
reverse_compute_at C_l mm/j.2
cache_read A [mm] shared A_s
cache_read B [mm] shared B_s
compute_at A_s mm/k.0
compute_at B_s mm/k.0
fuse A_s/ax0 A_s/ax1
split A_s/(ax0*ax1) [{2}]
bind A_s/(ax0*ax1).1 threadIdx.x
split B_s/ax1 [{2}]
bind B_s/ax0 threadIdx.y
bind B_s/ax1.1 threadIdx.x
decompose_reduction mm mm/k.0
)",
                     rows, columns, threads, depth);
}

}  // namespace

TEST_CASE("a vthread loop becomes copies between barriers, with a version of each local buffer",
          "[lower][passes][vthreads]") {
  Function before = ParsedFunction(R"(
    fn f(A: f32[12], B: f32[12]) scheduled {
      alloc S: f32[12] shared
      for v in 0..3 vthread @v { for t in 0..4 threadIdx.x @t {
        alloc R: f32[1] local
        R[0] = A[v * 4 + t]
        S[v * 4 + t] = R[0] * 2.0
        barrier(shared)
        B[v * 4 + t] = S[11 - v * 4 - t] + R[0]
      } }
    })");
  Function after = DistributeVthreads(before);
  CHECK(Print(after) == Print(ParsedFunction(R"(
    fn f(A: f32[12], B: f32[12]) scheduled {
      alloc S: f32[12] shared
      for t in 0..4 threadIdx.x @t {
        alloc R: f32[3] local
        for v in 0..3 unrolled @v.0 {
          R[v * 1 + 0] = A[v * 4 + t]
          S[v * 4 + t] = R[v * 1 + 0] * 2.0
        }
        barrier(shared)
        for v in 0..3 unrolled @v.1 {
          B[v * 4 + t] = S[11 - v * 4 - t] + R[v * 1 + 0]
        }
      }
    })")));
  CheckSameResult(after, before);
}

TEST_CASE("what all virtual threads do alike in shared memory is done once",
          "[lower][passes][vthreads]") {
  Function mm = MatmulFunction(9, 11, 7);
  Function lowered = CheckThreaded(mm, ScheduledBy(mm, MatmulTrace(2, 2, 3, 4)));
  std::string text = Print(lowered);
  CHECK(text.find("vthread") == std::string::npos);
  // A copy of A and one of B: had each virtual thread its own, there would be 4 of each.
  int copies = 0;
  for (size_t at = text.find("A_s["); at != std::string::npos; at = text.find("A_s[", at + 1)) {
    copies += text.compare(text.find(']', at) + 1, 3, " = ") == 0;
  }
  CHECK(copies == 1);
}

TEST_CASE("a matmul with virtual threads on both axes is right at any sizes",
          "[lower][passes][vthreads]") {
  for (int rows : {1, 2, 3}) {
    for (int threads : {1, 2, 4}) {
      for (int depth : {1, 3, 8}) {
        INFO(rows << " x 2 virtual threads, " << threads << " threads, depth " << depth);
        Function mm = MatmulFunction(13, 7, 6);
        CheckThreaded(mm, ScheduledBy(mm, MatmulTrace(rows, 2, threads, depth)));
      }
    }
  }
}

TEST_CASE("virtual threads that exchange values in shared memory meet at a barrier",
          "[lower][passes][vthreads]") {
  // Each thread reads what its own other virtual thread wrote.
  Function fn = ParsedFunction(R"(
    fn f(A: f32[8], B: f32[8]) scheduled {
      alloc T: f32[8] shared
      for v in 0..2 vthread @v { for t in 0..4 threadIdx.x @t {
        block w(v: spatial 2 = v, t: spatial 4 = t) { T[v * 4 + t] = A[v * 4 + t] }
        block r(v: spatial 2 = v, t: spatial 4 = t) { B[v * 4 + t] = T[4 - v * 4 + t] }
      } }
    })");
  Function plain = ParsedFunction(R"(
    fn f(A: f32[8], B: f32[8]) tensor {
      for i in 0..8 @w/i { block w(i: spatial 8 = i) { B[i] = A[(i + 4) mod 8] } }
    })");
  Function lowered = CheckThreaded(plain, fn);
  CHECK(CountKind(lowered, StmtKind::kBarrier) == 1);
}

TEST_CASE("two threads never write one cell that their leaf's bindings share",
          "[lower][passes][vthreads]") {
  Function fn = ParsedFunction(R"(
    fn f(A: f32[4], B: f32[4], C: f32[4, 3]) scheduled {
      for i in 0..4 threadIdx.x @b/i {
        for j in 0..3 threadIdx.y @b/j {
          block b(i: spatial 4 = i) { B[i] = A[i] + 1.0 }
          block c(i: spatial 4 = i, j: spatial 3 = j) { C[i, j] = A[i] }
        }
      }
    })");
  Function plain = ParsedFunction(R"(
    fn f(A: f32[4], B: f32[4], C: f32[4, 3]) tensor {
      for i in 0..4 @b/i { block b(i: spatial 4 = i) { B[i] = A[i] + 1.0 } }
      for i in 0..4 @c/i { for j in 0..3 @c/j {
        block c(i: spatial 4 = i, j: spatial 3 = j) { C[i, j] = A[i] }
      } }
    })");
  CheckThreaded(plain, fn);
  // A leaf outside every loop of an axis of its launch.
  Function outside = ParsedFunction(R"(
    fn f(A: f32[4], B: f32[4], C: f32[4, 3]) scheduled {
      for i in 0..4 threadIdx.x @b/i {
        block b(i: spatial 4 = i) { B[i] = A[i] + 1.0 }
        for j in 0..3 threadIdx.y @c/j {
          block c(i: spatial 4 = i, j: spatial 3 = j) { C[i, j] = A[i] }
        }
      }
    })");
  CheckThreaded(plain, outside);
}

// Round the loops the copies would be far from each other, and what they share read twice or kept
// in registers for long.
TEST_CASE("a condition that is the same for all virtual threads stays round their copies",
          "[lower][passes][vthreads]") {
  Function before = ParsedFunction(R"(
    fn f(A: f32[12], B: f32[24]) scheduled {
      for v in 0..2 vthread @v { for t in 0..4 threadIdx.x @t {
        if t < 3 { for k in 0..3 unrolled @k { B[v * 12 + k * 4 + t] = A[k * 4 + t] } }
      } }
    })");
  Function after = DistributeVthreads(before);
  CHECK(Print(after) == Print(ParsedFunction(R"(
    fn f(A: f32[12], B: f32[24]) scheduled {
      for t in 0..4 threadIdx.x @t {
        if t < 3 { for k in 0..3 unrolled @k {
          for v in 0..2 unrolled @v.0 { B[v * 12 + k * 4 + t] = A[k * 4 + t] }
        } }
      }
    })")));
  CheckSameResult(after, before);
}

TEST_CASE("virtual threads of an accelerator's program take turns at what it calls",
          "[lower][passes][vthreads]") {
  Function before = ParsedFunction(R"(
    fn f(X: i8[64], B: i8[256], Y: i32[32]) scheduled {
      for v in 0..2 vthread @v {
        alloc C: i32[16] local
        for p in 0..16 @p { C[p] = 0 }
        for k in 0..2 @k {
          alloc A: i8[16] local
          for l in 0..16 @l { A[l] = X[v * 32 + k * 16 + l] }
          intrinsic vdla_gemv_16x16 { for o in 0..16 @o { for i in 0..16 @i {
            C[o] = C[o] + i32(A[i]) * i32(B[o * 16 + i])
          } } }
        }
        for q in 0..16 @q { Y[v * 16 + q] = C[q] }
      }
    })");
  Function after = DistributeVthreads(before);
  CHECK(Print(after) == Print(ParsedFunction(R"(
    fn f(X: i8[64], B: i8[256], Y: i32[32]) scheduled {
      alloc C: i32[32] local
      for v in 0..2 unrolled @v.0 { for p in 0..16 @p { C[v * 16 + p] = 0 } }
      for k in 0..2 @k {
        alloc A: i8[32] local
        for v in 0..2 unrolled @v.1 {
          for l in 0..16 @l { A[v * 16 + l] = X[v * 32 + k * 16 + l] }
        }
        for v in 0..2 unrolled @v.2 {
          intrinsic vdla_gemv_16x16 { for o in 0..16 @o { for i in 0..16 @i {
            C[v * 16 + o] = C[v * 16 + o] + i32(A[v * 16 + i]) * i32(B[o * 16 + i])
          } } }
        }
      }
      for v in 0..2 unrolled @v.3 { for q in 0..16 @q { Y[v * 16 + q] = C[v * 16 + q] } }
    })")));
  CheckSameResult(after, before);
}
