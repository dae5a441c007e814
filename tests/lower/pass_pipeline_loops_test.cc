#include <catch2/catch.hpp>

#include "ir/expr/visitor.h"
#include "ir/text/printer.h"
#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"
#include "tests/lower/threaded_check.h"
#include "tests/programs/spike_programs.h"

using namespace tcc;

namespace {

std::string MatmulTrace(int stages, const std::string& kind, int depth) {
  return fmt::format(R"(
split mm/i [3, 2]
split mm/j [4]
split mm/k [{2}]
reorder [mm/i.0, mm/j.0, mm/i.1, mm/j.1, mm/k.0, mm/k.1, mm/i.2]
bind mm/i.0 blockIdx.y
bind mm/j.0 blockIdx.x
bind mm/i.1 threadIdx.y
bind mm/j.1 threadIdx.x
cache_write mm C local C_l
reverse_compute_at C_l mm/j.1
cache_read A [mm] shared A_s
cache_read B [mm] shared B_s
compute_at A_s mm/k.0
compute_at B_s mm/k.0
fuse A_s/ax0 A_s/ax1
split A_s/(ax0*ax1) [3, 4]
bind A_s/(ax0*ax1).1 threadIdx.y
bind A_s/(ax0*ax1).2 threadIdx.x
fuse B_s/ax0 B_s/ax1
split B_s/(ax0*ax1) [3, 4]
bind B_s/(ax0*ax1).1 threadIdx.y
bind B_s/(ax0*ax1).2 threadIdx.x
decompose_reduction mm mm/k.0
pipeline mm/k.0 {0} {1}
)",
                     stages, kind, depth);
}

int CountUnder(const Stmt& stmt, StmtKind kind) {
  int count = 0;
  PreOrder(stmt, [&](const Stmt& s) { count += s.kind() == kind; });
  return count;
}

// The longest loop over k0: the steady state.
Stmt SteadyLoop(const Function& fn) {
  Stmt steady;
  int64_t most = 0;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (!loop || loop->var->name != "k0") return;
    int64_t extent = AsConstant(loop->extent).value_or(0);
    if (extent <= most) return;
    most = extent;
    steady = stmt;
  });
  return steady;
}

}  // namespace

TEST_CASE("copies run ahead of their uses into versions of their own",
          "[lower][passes][pipeline]") {
  Function before = ParsedFunction(R"(
    fn f(A: f32[10], B: f32[10]) scheduled {
      for k in 0..5 pipelined @k {
        alloc S: f32[2] versions 3
        for a in 0..2 @a { S[a] = A[k * 2 + a] }
        for b in 0..2 @b { B[k * 2 + b] = S[1 - b] }
      }
    })");
  Function after = PipelineLoops(before);
  CHECK(Print(after) == Print(ParsedFunction(R"(
    fn f(A: f32[10], B: f32[10]) scheduled {
      alloc S: f32[6]
      if 0 < 5 { for a in 0..2 @a.ahead0 { S[0 mod 3 * 2 + a] = A[0 * 2 + a] } }
      if 1 < 5 { for a in 0..2 @a.ahead1 { S[1 mod 3 * 2 + a] = A[1 * 2 + a] } }
      for k in 0..5 partitioned @k {
        if k + 2 < 5 {
          for a in 0..2 @a.ahead2 { S[(k + 2) mod 3 * 2 + a] = A[(k + 2) * 2 + a] }
        }
        for b in 0..2 @b { B[k * 2 + b] = S[k mod 3 * 2 + (1 - b)] }
      }
    })")));
  CheckSameResult(after, before);
}

TEST_CASE("a hint in front of the copies is no use of them", "[lower][passes][pipeline]") {
  Function before = ParsedFunction(R"(
    fn f(A: f32[10], B: f32[10]) scheduled {
      for k in 0..5 pipelined @k {
        alloc S: f32[2] versions 2
        prefetch A[k * 2 + 6]
        for a in 0..2 @a { S[a] = A[k * 2 + a] }
        for b in 0..2 @b { B[k * 2 + b] = S[1 - b] }
      }
    })");
  CheckSameResult(PipelineLoops(before), before);
}

TEST_CASE("what is copied from a buffer of the loop itself is copied at once",
          "[lower][passes][pipeline]") {
  Function before = ParsedFunction(R"(
    fn f(A: f32[10], B: f32[10]) scheduled {
      for k in 0..5 pipelined_async @k {
        alloc S: f32[2] versions 2
        for a in 0..2 @a { alloc R: f32[1] local; R[0] = A[k * 2 + a]; S[a] = R[0] }
        for b in 0..2 @b { B[k * 2 + b] = S[1 - b] }
      }
    })");
  Function after = PipelineLoops(before);
  CHECK(CountKind(after, StmtKind::kAsyncCopy) == 0);
  CheckSameResult(after, before);
}

TEST_CASE("a copy where a condition holds is asynchronous, zeros elsewhere too",
          "[lower][passes][pipeline]") {
  auto copies = [](const char* elsewhere) {
    Function before = ParsedFunction(fmt::format(R"(
      fn f(A: f32[10], B: f32[12]) scheduled {{
        for k in 0..6 pipelined_async @k {{
          alloc S: f32[2] versions 2
          for a in 0..2 @a {{
            S[a] = select(0 < k * 2 + a && k * 2 + a < 11, A[k * 2 + a - 1], {})
          }}
          for b in 0..2 @b {{ B[k * 2 + b] = S[1 - b] }}
        }}
      }})",
                                                 elsewhere));
    Function after = PipelineLoops(before);
    CheckSameResult(after, before);
    std::pair<int, int> kept_and_always;
    PreOrder(after.body, [&](const Stmt& stmt) {
      if (const auto* copy = stmt.as<AsyncCopy>()) {
        ++(copy->keep ? kept_and_always.first : kept_and_always.second);
      }
    });
    CHECK(CountKind(after, StmtKind::kStore) == (kept_and_always.second > 0 ? 3 : 1));
    return kept_and_always;
  };
  CHECK(copies("0.0") == std::pair(2, 0));
  // The hardware writes no other number, nor the sign of this zero.
  CHECK(copies("1.0") == std::pair(0, 2));
  CHECK(copies("-0.0") == std::pair(0, 2));
}

TEST_CASE("interior steps of a pipeline copy without conditions on the step",
          "[lower][passes][pipeline]") {
  Function before = ParsedFunction(R"(
    fn f(A: f32[18], B: f32[20]) scheduled {
      for k in 0..10 pipelined_async @k {
        alloc S: f32[2] versions 2
        for a in 0..2 @a {
          S[a] = select(0 < k * 2 + a && k * 2 + a < 19, A[k * 2 + a - 1], 0.0)
        }
        for b in 0..2 @b { B[k * 2 + b] = S[1 - b] }
      }
    })");
  Function after = ResolveConditions(PartitionLoops(PipelineLoops(before)));
  CheckSameResult(after, before);
  INFO(Print(after));
  bool unconditional = false;
  PreOrder(after.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (!loop || AsConstant(loop->extent) <= 2) return;
    PreOrder(loop->body, [&](const Stmt& inner) {
      const auto* copy = inner.as<AsyncCopy>();
      unconditional = unconditional || (copy && !copy->keep);
    });
  });
  CHECK(unconditional);
}

TEST_CASE("vectors that a condition holds for as a whole are copied as a whole",
          "[lower][passes][pipeline]") {
  auto copies = [](const std::string& value) {
    Function before = ParsedFunction(R"(
      fn f(A: f32[120], B: f32[160]) scheduled {
        for k in 0..10 pipelined_async @k {
          alloc S: f32[16] versions 2
          for a in 0..4 @a { for v in 0..4 vectorized @v { S[a * 4 + v] = )" +
                                     value + R"( } }
          for b in 0..16 @b { B[k * 16 + b] = S[b] }
        }
      })");
    Function after = PipelineLoops(before);
    CheckSameResult(after, before);
    int wide = 0;
    PreOrder(after.body, [&](const Stmt& stmt) {
      const auto* copy = stmt.as<AsyncCopy>();
      wide += copy && copy->count == 4;
    });
    return wide;
  };
  CHECK(copies("select(a * 4 + v < 12, select(k < 9, A[k * 12 + a * 4 + v], 0.0), 0.0)") > 0);
  CHECK(copies("select(a * 4 + v < 11, A[k * 12 + a * 4 + v], 0.0)") == 0);
  CHECK(copies("select(a * 4 + v < 12, select(k < 9, A[k * 12 + a * 4 + v], 1.0), 0.0)") == 0);
}

TEST_CASE("a tail that ends between vectors does not keep them from being copied as a whole",
          "[lower][passes][pipeline]") {
  auto copies = [](int end) {
    Function before = ParsedFunction(fmt::format(R"(
      fn f(A: f32[120], B: f32[120]) scheduled {{
        for k in 0..10 pipelined_async @k {{
          alloc S: f32[16] versions 2
          for a in 0..4 @a {{
            for v in 0..4 vectorized @v {{
              if a * 4 + v < {0} {{ S[a * 4 + v] = A[k * 12 + a * 4 + v] }}
            }}
          }}
          for b in 0..{0} @b {{ B[k * 12 + b] = S[b] }}
        }}
      }})",
                                                 end));
    Function after = PipelineLoops(before);
    CheckSameResult(after, before);
    return CountKind(after, StmtKind::kAsyncCopy);
  };
  CHECK(copies(12) > 0);
  CHECK(copies(11) == 0);
}

TEST_CASE("values on their way through registers are stored after the uses",
          "[lower][passes][pipeline]") {
  Function before = ParsedFunction(R"(
    fn f(A: f32[10], B: f32[10]) scheduled {
      for k in 0..5 pipelined @k {
        alloc S: f32[2] versions 2
        alloc R: f32[2] local
        for r in 0..2 @r { R[r] = A[k * 2 + r] }
        for a in 0..2 @a { S[a] = R[a] }
        for b in 0..2 @b { B[k * 2 + b] = S[1 - b] }
      }
    })");
  Function after = PipelineLoops(before);
  std::string text = Print(after);
  size_t loop = text.find("for k ");
  REQUIRE(loop != std::string::npos);
  size_t load = text.find("R[", loop);
  size_t use = text.find("B[", loop);
  size_t store = text.find("S[(k + 1)", loop);
  CHECK(load < use);
  CHECK(use < store);
  CHECK(store != std::string::npos);
  CheckSameResult(after, before);
}

TEST_CASE("virtual threads issue the copies of a pipeline once", "[lower][passes][pipeline]") {
  Function mm = MatmulFunction(12, 8, 6);
  for (int stages : {1, 2, 3}) {
    INFO(stages << " stages");
    CheckThreaded(mm, ScheduledBy(mm, fmt::format(R"(
split mm/i [2, 3]
split mm/j [4]
split mm/k [2]
reorder [mm/i.0, mm/j.0, mm/i.1, mm/j.1, mm/k.0, mm/k.1, mm/i.2]
bind mm/i.0 blockIdx.y
bind mm/j.0 blockIdx.x
bind mm/i.1 vthread
bind mm/j.1 threadIdx.x
cache_write mm C local C_l
reverse_compute_at C_l mm/j.1
cache_read A [mm] shared A_s
compute_at A_s mm/k.0
fuse A_s/ax0 A_s/ax1
split A_s/(ax0*ax1) [4]
bind A_s/(ax0*ax1).1 threadIdx.x
decompose_reduction mm mm/k.0
pipeline mm/k.0 {} pipelined
)",
                                                  stages)));
  }
}

TEST_CASE("a pipelined matmul is right with any number of stages, also more than iterations",
          "[lower][passes][pipeline]") {
  Function mm = MatmulFunction(13, 7, 9);
  for (const char* kind : {"pipelined", "pipelined_async"}) {
    for (int stages : {1, 2, 3, 4, 6}) {
      for (int depth : {1, 2, 4, 9, 12}) {
        INFO(kind << ", " << stages << " stages, depth " << depth);
        CheckThreaded(mm, ScheduledBy(mm, MatmulTrace(stages, kind, depth)));
      }
    }
  }
}

TEST_CASE("the steady state has one barrier, one wait, and copies without a condition on the end",
          "[lower][passes][pipeline]") {
  Function mm = MatmulFunction(12, 8, 72);
  Function plain = CheckThreaded(mm, ScheduledBy(mm, MatmulTrace(1, "pipelined", 6)));
  CHECK(CountUnder(SteadyLoop(plain), StmtKind::kBarrier) == 2);
  for (int stages : {2, 3, 4}) {
    INFO(stages << " stages");
    Function lowered =
        CheckThreaded(mm, ScheduledBy(mm, MatmulTrace(stages, "pipelined_async", 6)));
    Stmt steady = SteadyLoop(lowered);
    REQUIRE(steady);
    CHECK(AsConstant(steady.as<For>()->extent) == 12 - (stages - 1));
    CHECK(CountUnder(steady, StmtKind::kBarrier) == 1);
    CHECK(CountUnder(steady, StmtKind::kAsyncWait) == 1);
    CHECK(CountUnder(steady, StmtKind::kAsyncCommit) == 1);
    CHECK(CountUnder(steady, StmtKind::kAsyncCopy) == 2);
    // Shared memory: A_s 6 x 6 and B_s 6 x 4, a version a stage.
    int64_t cells = 0;
    for (const Buffer& buffer : DeclaredBuffers(lowered)) {
      if (buffer.scope == Scope::kShared) cells += AsConstant(buffer.shape[0]).value();
    }
    CHECK(cells == stages * (6 * 6 + 6 * 4));
  }
}

TEST_CASE("each barrier and each wait of a pipeline is needed, and its removal caught",
          "[lower][passes][pipeline]") {
  Function mm = MatmulFunction(12, 8, 24);
  Random random(5);
  std::vector<Tensor> arguments = RandomArguments(mm, random);
  std::vector<Tensor> want = RunInterpreter(mm, arguments).value();
  for (int stages : {2, 3}) {
    Function lowered =
        CheckThreaded(mm, ScheduledBy(mm, MatmulTrace(stages, "pipelined_async", 2)));
    for (StmtKind kind : {StmtKind::kBarrier, StmtKind::kAsyncWait}) {
      // The last wait only drains groups that nobody reads.
      int count = CountKind(lowered, kind) - (kind == StmtKind::kAsyncWait);
      CHECK(count >= 2);
      int caught = 0;
      for (int i = 0; i < count; ++i) {
        caught += IsCaught(WithoutStatement(lowered, kind, i), arguments, want);
      }
      INFO(stages << " stages: " << caught << " of " << count << " removals caught");
      CHECK(caught == count);
    }
  }
}
