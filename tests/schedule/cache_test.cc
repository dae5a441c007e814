#include "schedule/steps/cache.h"

#include <catch2/catch.hpp>

#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "schedule/space/trace.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

// T is a result and an operand: the second block may stand in the first one's nest.
Function Chain() {
  return FunctionOf(R"(
    fn f(A: f32[6], T: f32[6], B: f32[6]) tensor {
      for i in 0..6 @p/i { block p(i: spatial 6 = i) { T[i] = A[i] + 1.0 } }
      for i in 0..6 @c/i { block c(i: spatial 6 = i) { B[i] = T[i] * 2.0 } }
    })");
}

}  // namespace

TEST_CASE("readers read a copy that is made before the first of them", "[schedule][cache]") {
  CheckSteps(Chain(), "cache_read A [p] local A_l", R"(
    fn f(A: f32[6], T: f32[6], B: f32[6]) scheduled {
      alloc A_l: f32[6] local
      for a in 0..6 @A_l/ax0 { block A_l(a: spatial 6 = a) { A_l[a] = A[a] } }
      for i in 0..6 @p/i { block p(i: spatial 6 = i) { T[i] = A_l[i] + 1.0 } }
      for i in 0..6 @c/i { block c(i: spatial 6 = i) { B[i] = T[i] * 2.0 } }
    })");
}

TEST_CASE("readers that are not listed keep the buffer", "[schedule][cache]") {
  CheckSteps(TwoReadersFunction(4), "cache_read A [out] global A_s", R"(
    fn stencil(A: f32[6], B: f32[4]) scheduled {
      alloc A_s: f32[6]
      alloc T: f32[4]
      for i in 0..4 @sum/i { block sum(i: spatial 4 = i) { T[i] = A[i] + A[i + 1] + A[i + 2] } }
      for a in 0..6 @A_s/ax0 { block A_s(a: spatial 6 = a) { A_s[a] = A[a] } }
      for i in 0..4 @out/i { block out(i: spatial 4 = i) { B[i] = T[i] + A_s[i + 1] * 3.0 } }
    })");
  CheckStepResult(TwoReadersFunction(4), "cache_read A [] global A_s");
  CheckStepResult(TwoReadersFunction(4), "cache_read T [] global T_s");
}

TEST_CASE("a block writes a copy and a write-back follows it", "[schedule][cache]") {
  CheckSteps(Chain(), "cache_write p T global T_c", R"(
    fn f(A: f32[6], T: f32[6], B: f32[6]) scheduled {
      alloc T_c: f32[6]
      for i in 0..6 @p/i { block p(i: spatial 6 = i) { T_c[i] = A[i] + 1.0 } }
      for a in 0..6 @T_c/ax0 { block T_c(a: spatial 6 = a) { T[a] = T_c[a] } }
      for i in 0..6 @c/i { block c(i: spatial 6 = i) { B[i] = T[i] * 2.0 } }
    })");
  CheckStepResult(MatmulFunction(3, 4, 5), "cache_write mm C local C_l");
  CheckStepResult(SoftmaxFunction(3, 4),
                  "cache_write stat m global m_c\ncache_write stat l global l_c");
}

TEST_CASE("a write-back copies only what was written", "[schedule][cache]") {
  CheckSteps(FunctionOf(R"(
    fn f(A: f32[9], B: f32[8, 4]) tensor {
      for i in 0..9 @p/i { for j in 0..4 @p/j {
        block p(i: spatial 9 = i, j: spatial 4 = j) where i < 7 && j < 3 {
          B[i, j] = A[i] + 1.0 } } } })"),
             "cache_write p B local B_l", R"(
    fn f(A: f32[9], B: f32[8, 4]) scheduled {
      alloc B_l: f32[8, 4] local
      for i in 0..9 @p/i { for j in 0..4 @p/j {
        block p(i: spatial 9 = i, j: spatial 4 = j) where i < 7 && j < 3 {
          B_l[i, j] = A[i] + 1.0 } } }
      for a in 0..9 @B_l/ax0 { for b in 0..4 @B_l/ax1 {
        block B_l(i: spatial 9 = a, j: spatial 4 = b) where i < 7 && j < 3 {
          B[i, j] = B_l[i, j] } } } })");
  CheckStepResult(FunctionOf(R"(
    fn f(A: f32[3, 5], B: f32[5, 8]) tensor {
      for i in 0..3 @p/i { for j in 0..5 @p/j {
        block p(i: spatial 3 = i, j: spatial 5 = j) { B[j, 2 * i + 1] = A[i, j] } } } })"),
                  "cache_write p B global B_c");
}

TEST_CASE("what reindex wrote under a predicate is copied again", "[schedule][cache]") {
  Function some = FunctionOf(R"(
    fn f(A: f32[9], B: f32[18]) tensor {
      for i in 0..9 @p/i { block p(i: spatial 9 = i) where i < 7 { B[2 * i] = A[i] } } })");
  CheckStepResult(some, "reindex p B global B_r\ncache_write p B_r local B_l");
  CheckStepResult(some, "reindex p B global B_r\ncache_write B_r B local B_l");
  CHECK(RefusalOf(some, "reindex p B global B_r\ncache_read B_r [] local B_l") ==
        "cache_read: block 'p' may leave out cells of buffer 'B_r'; expected a whole buffer");
}

TEST_CASE("a copy that would read cells that nothing wrote is refused", "[schedule][cache]") {
  Function half = FunctionOf(R"(
    fn f(A: f32[4], B: f32[4]) tensor {
      alloc T: f32[8]
      for i in 0..4 @p/i { block p(i: spatial 4 = i) { T[2 * i] = A[i] } }
      for i in 0..8 @c/i { block c(i: spatial 8 = i) where i mod 2 == 0 { B[i div 2] = T[i] } } })");
  CHECK(RefusalOf(half, "cache_read T [c] local T_l") ==
        "cache_read: block 'p' may leave out cells of buffer 'T'; expected a whole buffer");
  Function guarded = FunctionOf(R"(
    fn f(A: f32[4], B: f32[4]) tensor {
      alloc T: f32[4]
      for i in 0..4 @p/i { block p(i: spatial 4 = i) where i < 3 { T[i] = A[i] } }
      for i in 0..4 @c/i { block c(i: spatial 4 = i) { B[i] = select(i < 3, T[i], 0.0) } } })");
  CHECK(RefusalOf(guarded, "cache_read T [c] local T_l") ==
        "cache_read: block 'p' may leave out cells of buffer 'T'; expected a whole buffer");
  CHECK(RefusalOf(guarded, "reindex c T local T_l") ==
        "reindex: block 'p' may leave out cells of buffer 'T'; expected a whole buffer");
}

TEST_CASE("what is written in pieces is copied", "[schedule][cache]") {
  CheckStepResult(FunctionOf(R"(
    fn f(A: f32[4], B: f32[7]) tensor {
      alloc T: f32[7]
      for i in 0..4 @p/i { block p(i: spatial 4 = i) { T[i] = A[i] } }
      for i in 0..3 @q/i { block q(i: spatial 3 = i) { T[i + 4] = A[i] * 2.0 } }
      for i in 0..7 @c/i { block c(i: spatial 7 = i) { B[i] = T[i] } } })"),
                  "cache_read T [c] local T_l");
}

TEST_CASE("a copy of a copy reads the copy", "[schedule][cache]") {
  CheckStepResult(MatmulFunction(3, 4, 5),
                  "cache_read A [mm] global A_s\ncache_read A_s [mm] local A_l");
}

TEST_CASE("the scope of a buffer changes where it is declared", "[schedule][cache]") {
  CheckSteps(TwoReadersFunction(4), "set_scope T local", R"(
    fn stencil(A: f32[6], B: f32[4]) scheduled {
      alloc T: f32[4] local
      for i in 0..4 @sum/i { block sum(i: spatial 4 = i) { T[i] = A[i] + A[i + 1] + A[i + 2] } }
      for i in 0..4 @out/i { block out(i: spatial 4 = i) { B[i] = T[i] + A[i + 1] * 3.0 } }
    })");
}

TEST_CASE("a copy that would be made before its source is written is refused",
          "[schedule][cache]") {
  const std::string together = "reverse_compute_at c p/i\n";
  CHECK(RefusalOf(Chain(), together + "cache_read T [c] global T_s") ==
        "cache_read: block 'p' writes buffer 'T' beside or after its reader 'c'; expected all "
        "writers in earlier nests");
  CHECK(
      RefusalOf(Chain(), together + "cache_write p T global T_c") ==
      "cache_write: block 'c' reads buffer 'T' in the nest of its writer 'p'; expected readers in "
      "later nests");
}

TEST_CASE("cache_read says what cannot be copied", "[schedule][cache]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(mm, "cache_read Q [] global Q_s") ==
        "no buffer 'Q' in function 'mm'; it has A, B, C");
  CHECK(RefusalOf(mm, "cache_read A [nn] global A_s") ==
        "no block 'nn' in function 'mm'; it has mm");
  CHECK(RefusalOf(mm, "cache_read C [mm] global C_s") ==
        "cache_read: block 'mm' does not read buffer 'C'");
  CHECK(RefusalOf(mm, "cache_read C [] global C_s") == "cache_read: nothing reads buffer 'C'");
  CHECK(RefusalOf(mm, "cache_read A [] global B") == "the name 'B' for a copy is empty or in use");
  CHECK(RefusalOf(mm, "cache_read A [] global mm") ==
        "the name 'mm' for a copy is empty or in use");
  CHECK(
      RefusalOf(mm, "cache_read A [] global A_s\ncompute_at A_s mm/k\ncache_read A_s [] local x") ==
      "buffer 'A_s' is placed under a loop already; cache it before");
}

TEST_CASE("cache_write says what cannot be copied", "[schedule][cache]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(mm, "cache_write nn C global c") == "no block 'nn' in function 'mm'; it has mm");
  CHECK(RefusalOf(mm, "cache_write mm Q global c") ==
        "no buffer 'Q' in function 'mm'; it has A, B, C");
  CHECK(RefusalOf(mm, "cache_write mm A global c") ==
        "cache_write: block 'mm' does not write buffer 'A'; expected 'mm' to be its one writer");
  CHECK(RefusalOf(mm, "decompose_reduction mm mm/k\ncache_write mm.init C global c") ==
        "cache_write: block 'mm' writes buffer 'C'; expected 'mm.init' to be its one writer");
  CHECK(RefusalOf(mm, "cache_write mm C global A") == "the name 'A' for a copy is empty or in use");
  CHECK(RefusalOf(TwoReadersFunction(4), "compute_at sum out/i\ncache_write sum T global c") ==
        "buffer 'T' is placed under a loop already; cache it before");
  Function scatter = FunctionOf(R"(
    fn f(A: f32[4], I: i64[4], B: f32[9]) tensor {
      for i in 0..4 @p/i { block p(i: spatial 4 = i) { B[I[i]] = A[i] } } })");
  CHECK(RefusalOf(scatter, "cache_write p B global c") ==
        "cache_write: where block 'p' writes depends on data");
}

TEST_CASE("a block that is gone keeps its name while one of its loops is left",
          "[schedule][cache]") {
  Function map = FunctionOf(R"(
    fn f(A: f32[4], B: f32[4]) tensor {
      for i in 0..4 @p/i { block p(i: spatial 4 = i) { B[i] = A[i] + 1.0 } } })");
  CHECK(RefusalOf(map, R"(cache_read A [p] local c0
reverse_compute_at p c0/ax0
compute_inline c0
cache_read A [p] local c0)") == "the name 'c0' for a copy is empty or in use");
}

TEST_CASE("set_scope refuses parameters and buffers that are not there", "[schedule][cache]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(mm, "set_scope A local") ==
        "set_scope: buffer 'A' is a parameter; its memory is the caller's");
  CHECK(RefusalOf(mm, "set_scope Q local") == "no buffer 'Q' in function 'mm'; it has A, B, C");
}

TEST_CASE("a placed buffer that becomes shared holds the cells of all threads",
          "[schedule][cache]") {
  const std::string threads =
      "split out/i [4]\nbind out/i.0 blockIdx.x\nbind out/i.1 threadIdx.x\n";
  const std::string placed = threads + "compute_at sum out/i.1\nset_scope T shared\n";
  const Function fn = TwoReadersFunction(7);
  const Function shared = Simplify(Instantiate(fn, ParseTrace(placed).value()).value().fn);
  for (const Buffer& buffer : DeclaredBuffers(shared)) {
    if (buffer.var->name != "T") continue;
    CHECK(buffer.scope == Scope::kShared);
    CHECK(Print(buffer.window.size[0]) == "4");
  }
  CheckStepResult(fn, placed);
}

TEST_CASE("cache_write takes the initialisation of a reduction along", "[schedule][cache]") {
  CheckStepResult(MatmulFunction(3, 4, 5),
                  "decompose_reduction mm mm/i\ncache_write mm C global c");
  CheckStepResult(MatmulFunction(3, 4, 5),
                  "decompose_reduction mm mm/k\ncache_write mm C global c");
}
