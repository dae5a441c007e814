#include "schedule/steps/software_pipeline.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

const std::string kStaged = R"(
split mm/k [2]
reorder [mm/k.0, mm/i, mm/j, mm/k.1]
cache_read A [mm] global A_s
compute_at A_s mm/k.0
decompose_reduction mm mm/k.0
)";

}  // namespace

TEST_CASE("pipeline marks the loop and gives its staged buffers versions", "[schedule][pipeline]") {
  Function before = FunctionOf(R"(
    fn f(A: f32[10], B: f32[10]) tensor {
      for i in 0..10 @b/i { block b(i: spatial 10 = i) { B[i] = A[i] * 2.0 } }
    })");
  CheckSteps(before,
             "tile s 1 4\nsplit b/i [2]\ncache_read A [b] global A_s\ncompute_at A_s b/i.0\n"
             "pipeline b/i.0 s pipelined",
             R"(
    fn f<tile s in 1..=4>(A: f32[10], B: f32[10]) scheduled {
      for i0 in 0..5 pipelined @b/i.0 {
        alloc A_s: f32[10] window [i0 * 2] size [2] versions s
        for ax0 in 0..2 @A_s/ax0 {
          block A_s(ax0: spatial 10 = i0 * 2 + ax0) { A_s[ax0] = A[ax0] }
        }
        for i1 in 0..2 @b/i.1 {
          block b(i: spatial 10 = i0 * 2 + i1) guard (i0 * 2 + i1 < 10) { B[i] = A_s[i] * 2.0 }
        }
      }
    })",
             {{"s", 3}});
}

TEST_CASE("a pipeline on one thread is right for any number of stages", "[schedule][pipeline]") {
  for (const char* kind : {"pipelined", "pipelined_async"}) {
    for (int64_t stages : {1, 2, 3, 5}) {
      CheckStepResult(MatmulFunction(3, 4, 7),
                      "tile s 1 5\n" + kStaged + "pipeline mm/k.0 s " + kind, {{"s", stages}});
    }
  }
}

TEST_CASE("nothing comes between the copies and the uses of a pipeline", "[schedule][pipeline]") {
  Function mm = MatmulFunction(3, 4, 7);
  const std::string tiles = R"(split mm/k [4]
rfactor_tile mm mm/k.0 combined global P
pipeline mm/k.0 2 pipelined
)";
  CheckStepResult(mm, tiles);
  CHECK(RefusalOf(mm, tiles + "rfactor P P/k.1 0 local Q") ==
        "rfactor: loop 'mm/k.0' round it is pipelined already");
}

TEST_CASE("pipeline says what is wrong with the loop or its body", "[schedule][pipeline]") {
  Function mm = MatmulFunction(3, 4, 7);
  CHECK(RefusalOf(mm, "pipeline mm/k 2 pipelined") ==
        "pipeline: in loop 'mm/k' lives no shared or global buffer that is written first and then "
        "read; cache an operand and compute it at the loop");
  CHECK(RefusalOf(mm, kStaged + "pipeline mm/k.0 2 unrolled") ==
        "pipeline: loop 'mm/k.0' to be unrolled; expected pipelined or pipelined_async");
  CHECK(RefusalOf(mm, kStaged + "pipeline mm/k.0 0 pipelined") ==
        "pipeline: loop 'mm/k.0' in 0 stages; expected at least 1 and at most 64");
  CHECK(RefusalOf(mm, kStaged + "pipeline mm/k.0 2 pipelined\npipeline mm/k.0 2 pipelined") ==
        "pipeline: loop 'mm/k.0' is pipelined; expected a serial loop");
  CHECK(RefusalOf(mm, kStaged + "cache_read B [mm] global B_s\ncompute_at B_s mm/i\n"
                                "pipeline mm/k.0 2 pipelined\npipeline mm/i 2 pipelined") ==
        "pipeline: loop 'mm/k.0' is pipelined already");
  CHECK(RefusalOf(mm, "cache_read B [mm] global B_s\n" + kStaged +
                          "pipeline mm/k.0 2 pipelined\ncompute_at B_s mm/k.0") ==
        "compute_at: loop 'mm/k.0' is pipelined already; place what it computes before");
  CHECK(RefusalOf(mm, kStaged + "pipeline mm/k.0 2 pipelined\ncompute_at A_s mm/i") ==
        "compute_at: buffer 'A_s' is part of a pipeline already");
  CHECK(RefusalOf(mm, kStaged + "pipeline mm/k.0 2 pipelined\nset_scope A_s local") ==
        "set_scope: buffer 'A_s' is part of a pipeline already");
  // The copy would run before the store that it reads.
  Function scan = FunctionOf(R"(
    fn f(A: f32[10], B: f32[11]) scheduled {
      for i in 0..10 @i {
        alloc S: f32[11] window [i] size [1]
        block s(x: reduce 11 = i) { S[x] = B[x] }
        block b(i: reduce 10 = i) { B[i + 1] = S[i] + A[i] }
      }
    })");
  CHECK(RefusalOf(scan, "pipeline i 2 pipelined") ==
        "pipeline: the uses in loop 'i' write buffer 'B', which its copies access");
  // The initialisation of the other element would stand between two that are staged.
  CHECK(RefusalOf(SoftmaxFunction(5, 4),
                  "cache_read l [] local c0\ncache_write c0 c0 global c1\n"
                  "decompose_reduction stat stat/j\nreverse_compute_at c0 stat/i\n"
                  "pipeline stat/i 1 pipelined_async") ==
        "pipeline: a copy in loop 'stat/i' writes buffer 'm', too, which is not staged");
}

TEST_CASE("pipeline says what its copies would read or leave too early", "[schedule][pipeline]") {
  // A copy by way of a register, whose value another statement wants.
  auto staged = [](const std::string& size, const std::string& first, const std::string& second,
                   const std::string& value) {
    return FunctionOf(R"(
      fn f(A: f32[10], B: f32[10]) scheduled {
        for i in 0..10 @i {
          alloc L: f32[10] window [i] size [1] local
          alloc R: f32[10] window [0] size [)" +
                      size + "]\nalloc S: f32[10] window [i] size [1]\n" + first + second +
                      "block b(i: spatial 10 = i) { B[i] = " + value + " } } }");
  };
  const std::string l = "block l(i: spatial 10 = i) { L[i] = A[i] }\n";
  const std::string r = "block r(i: spatial 10 = i) { R[i] = A[i] }\n";
  const std::string s = "block s(i: spatial 10 = i) { S[i] = L[i] }\n";
  CHECK(RefusalOf(staged("10", r + l, s, "R[i] + S[i]"), "pipeline i 2 pipelined") ==
        "pipeline: something stands between the copies of loop 'i'");
  CHECK(RefusalOf(staged("10", l, s, "L[i] + S[i]"), "pipeline i 2 pipelined") ==
        "pipeline: buffer 'L' is written on the way to a copy of loop 'i' and read by its uses");
  CHECK(RefusalOf(staged("i + 1", r, "", "R[i]"), "pipeline i 2 pipelined") ==
        "pipeline: the size of buffer 'R' changes with loop 'i'");
}

TEST_CASE("a pipeline stages what depends on nothing of its step, and moves late copies in front",
          "[schedule][pipeline]") {
  // B_s is copied where its reader begins, after A_t was computed from A_s.
  const std::string schedule = R"(
tile s 1 3
split mm/k [2]
reorder [mm/k.0, mm/i, mm/j, mm/k.1]
cache_read A [mm] global A_t
cache_read A [A_t] global A_s
compute_at A_t mm/k.0
compute_at A_s mm/k.0
cache_read B [mm] global B_s
compute_at B_s mm/k.0
decompose_reduction mm mm/k.0
pipeline mm/k.0 s pipelined)";
  const Function fn = MatmulFunction(3, 4, 7);
  const Function piped = Instantiate(fn, ParseTrace(schedule).value(), {{"s", 2}}).value().fn;
  std::vector<Buffer> buffers = DeclaredBuffers(piped);
  for (const Buffer& buffer : buffers) {
    const std::string& name = buffer.var->name;
    if (name.size() != 3) continue;
    INFO(name);
    CHECK(static_cast<bool>(buffer.versions) == (name != "A_t"));
  }
  std::vector<std::string> order;
  for (const Ref<Block>& block : BlocksOf(piped.body)) order.push_back(block->name);
  CHECK(order == std::vector<std::string>{"mm.init", "A_s", "B_s", "A_t", "mm"});
  for (int64_t stages : {1, 2, 3}) CheckStepResult(fn, schedule, {{"s", stages}});
}
