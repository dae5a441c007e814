#include <catch2/catch.hpp>

#include "ir/analysis/cross_thread.h"
#include "ir/expr/visitor.h"
#include "ir/text/printer.h"
#include "lower/passes/passes.h"
#include "lower/pipeline.h"
#include "schedule/space/trace.h"
#include "tests/lower/pass_check.h"
#include "tests/lower/threaded_check.h"

using namespace tcc;

namespace {

struct Shape {
  int64_t rows, row;
  int64_t together, threads;  // rows of a block, threads along x
  int64_t lanes;
};

// B[i] = the sum of a row of A, as a schedule leaves the nest open.
Function RowSum(const Shape& shape) {
  return ParsedFunction(fmt::format(R"(
    fn f(A: f32[{0}, {1}], B: f32[{0}]) tensor {{
      for i in 0..{0} @s/i {{ for r in 0..{1} @s/r {{
        block s(i: spatial {0} = i, r: reduce {1} = r) {{ reduce sum_f32 init (B[i]) with (A[i, r]) }}
      }} }}
    }})",
                                    shape.rows, shape.row));
}

// A maximum and its place, as a tuple.
Function RowArgMax(const Shape& shape) {
  return ParsedFunction(fmt::format(R"(
    fn f(A: f32[{0}, {1}], B: i64[{0}], C: f32[{0}]) tensor {{
      for i in 0..{0} @s/i {{ for r in 0..{1} @s/r {{
        block s(i: spatial {0} = i, r: reduce {1} = r) {{
          reduce argmax_first_f32 init (C[i], B[i]) with (A[i, r], r) }}
      }} }}
    }})",
                                    shape.rows, shape.row));
}

Function RowAttention(const Shape& shape) {
  return ParsedFunction(fmt::format(R"(
    fn f(A: f32[{0}, {1}], N: f32[{0}], M: f32[{0}], V: f32[{0}]) tensor {{
      for i in 0..{0} @s/i {{ for r in 0..{1} @s/r {{
        block s(i: spatial {0} = i, r: reduce {1} = r) {{
          reduce attention_f32 init (N[i], M[i], V[i]) with (A[i, r], 1.0, A[i, r]) }}
      }} }}
    }})",
                                    shape.rows, shape.row));
}

Function RowSoftmax(const Shape& shape) {
  return ParsedFunction(fmt::format(R"(
    fn f(A: f32[{0}, {1}], M: f32[{0}], S: f32[{0}]) tensor {{
      for i in 0..{0} @s/i {{ for r in 0..{1} @s/r {{
        block s(i: spatial {0} = i, r: reduce {1} = r) {{
          reduce softmax_f32 init (M[i], S[i]) with (A[i, r], 1.0) }}
      }} }}
    }})",
                                    shape.rows, shape.row));
}

std::string TraceOf(const Shape& shape) {
  std::string lanes = shape.lanes > 1 ? "vectorize s/r.2\n" : "";
  return fmt::format(R"(
split s/i [{}]
bind s/i.0 blockIdx.x
bind s/i.1 threadIdx.y
split s/r [{}, {}]
bind s/r.1 threadIdx.x
{})",
                     shape.together, shape.threads, shape.lanes, lanes);
}

// Threads that divide a warp, warps, several warps of any number; threads that are no part of a
// warp; rows that are shorter or longer than the threads, or no multiple; idle rows.
const Shape kShapes[] = {
    {3, 100, 1, 32, 1}, {5, 37, 4, 8, 1},   {7, 64, 4, 16, 4},    {3, 197, 1, 64, 1},
    {2, 500, 1, 96, 1}, {3, 300, 2, 64, 2}, {1, 2000, 1, 256, 4}, {3, 50, 1, 7, 1},
    {4, 33, 3, 5, 2},   {2, 10, 2, 32, 1},  {3, 20, 2, 48, 1},    {5, 19, 2, 2, 1},
};

int BarriersOf(const Function& fn, Scope scope) {
  int count = 0;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* barrier = stmt.as<Barrier>();
    count += barrier && barrier->scope == scope;
  });
  return count;
}

// `fn` for a target whose threads exchange values by shared memory.
Function WithoutWarps(Function fn) {
  NoteWarps(fn, FindTarget("opencl").value());
  return fn;
}

// The lowered function is right as it is, and the change is noticed.
void CheckNoticed(const Function& original, const Function& lowered, const Function& changed) {
  Random random(11);
  std::vector<Tensor> arguments = RandomArguments(original, random);
  std::vector<Tensor> want = RunInterpreter(original, arguments).value();
  INFO(Print(changed));
  CHECK_FALSE(IsCaught(lowered, arguments, want));
  CHECK(IsCaught(changed, arguments, want));
}

}  // namespace

// With one thread nothing says whose the result is: the loop would be gone.
TEST_CASE("a row is not reduced across one thread", "[lower][passes][across_threads]") {
  const Shape shape{5, 19, 2, 1, 1};
  Function fn = RowSum(shape);
  CHECK(Message(Replay(fn, ParseTrace(TraceOf(shape)).value(), {}).status()) ==
        "step 5 (bind s/r.1 threadIdx.x): 2 - 1 is 1; expected at most 0, since bind: two threads "
        "or more for loop 's/r.1'");
}

TEST_CASE("threads of any number above one reduce rows of any length",
          "[lower][passes][across_threads]") {
  for (const Shape& shape : kShapes) {
    INFO(shape.row << " by " << shape.threads);
    for (Function (*row)(const Shape&) : {RowSum, RowArgMax, RowAttention, RowSoftmax}) {
      for (const Function& fn : {row(shape), WithoutWarps(row(shape))}) {
        CheckThreaded(fn, ScheduledBy(fn, TraceOf(shape)));
      }
    }
  }
}

TEST_CASE("a warp needs no barrier of the block, several need one",
          "[lower][passes][across_threads]") {
  auto barriers = [](const Shape& shape, Scope scope) {
    Function fn = RowSum(shape);
    return BarriersOf(CheckThreaded(fn, ScheduledBy(fn, TraceOf(shape))), scope);
  };
  CHECK(barriers({8, 100, 4, 32, 1}, Scope::kShared) == 0);
  CHECK(barriers({8, 100, 4, 32, 1}, Scope::kWarp) == 1);
  CHECK(barriers({8, 100, 1, 96, 1}, Scope::kShared) == 1);
  CHECK(barriers({8, 100, 1, 96, 1}, Scope::kWarp) == 2);
  CHECK(barriers({8, 100, 1, 7, 1}, Scope::kShared) == 1);
  CHECK(barriers({8, 100, 1, 7, 1}, Scope::kWarp) == 0);
}

TEST_CASE("without warps a barrier stands before each step of a tree and before its result",
          "[lower][passes][across_threads]") {
  auto barriers = [](const Shape& shape) {
    Function fn = WithoutWarps(RowSum(shape));
    Function lowered = CheckThreaded(fn, ScheduledBy(fn, TraceOf(shape)));
    CHECK(BarriersOf(lowered, Scope::kWarp) == 0);
    return BarriersOf(lowered, Scope::kShared);
  };
  CHECK(barriers({8, 100, 4, 32, 1}) == 5 + 1);
  CHECK(barriers({8, 100, 1, 96, 1}) == 7 + 1);
  CHECK(barriers({8, 100, 1, 7, 1}) == 3 + 1);
  CHECK(barriers({8, 100, 8, 2, 1}) == 1 + 1);
}

TEST_CASE("a local result is that of every thread of the row", "[lower][passes][across_threads]") {
  Function fn = ParsedFunction(R"(
    fn f(A: f32[6, 50], B: f32[6, 50]) tensor {
      alloc S: f32[6]
      for i in 0..6 @s/i { for r in 0..50 @s/r {
        block s(i: spatial 6 = i, r: reduce 50 = r) { reduce sum_f32 init (S[i]) with (A[i, r]) }
      } }
      for i in 0..6 @b/i { for j in 0..50 @b/j {
        block b(i: spatial 6 = i, j: spatial 50 = j) { B[i, j] = A[i, j] - S[i] }
      } }
    })");
  for (int threads : {8, 32, 64, 10}) {
    INFO(threads);
    Function lowered = CheckThreaded(fn, ScheduledBy(fn, fmt::format(R"(
set_scope S local
split b/i [4]
compute_at s b/i.0
bind s/i threadIdx.y
split s/r [{0}]
bind s/r.1 threadIdx.x
bind b/i.0 blockIdx.x
bind b/i.1 threadIdx.y
split b/j [{0}]
bind b/j.1 threadIdx.x
)",
                                                                     threads)));
    // Each thread has the cell of its own row.
    for (const Buffer& buffer : DeclaredBuffers(lowered)) {
      if (buffer.var->name == "S") CHECK(IsConstant(buffer.shape[0], 1));
    }
  }
}

TEST_CASE("each tile of a row is reduced across threads, in a cell of its own",
          "[lower][passes][across_threads]") {
  Function fn = RowSoftmax({3, 100, 1, 32, 1});
  Function lowered = CheckThreaded(fn, ScheduledBy(fn, R"(
split s/r [40]
rfactor_tile s s/r.0 direct local p
split p.0/r.1 [32]
bind p.0/r.1.1 threadIdx.x
split p.1/r.1 [32]
bind p.1/r.1.1 threadIdx.x
bind s/i blockIdx.x
)"));
  CHECK(BarriersOf(lowered, Scope::kWarp) == 2);
}

TEST_CASE("a reduction goes on from what its cell holds", "[lower][passes][across_threads]") {
  Shape shape{3, 100, 1, 64, 1};
  Function fn = RowSum(shape);
  CheckThreaded(fn,
                ScheduledBy(fn,
                            "decompose_reduction s s/r\nsplit s/r [64]\nbind s/r.1 threadIdx.x\n"
                            "bind s/i blockIdx.x\n"));
}

TEST_CASE("other forms of a loop over threads are run in order",
          "[lower][passes][across_threads]") {
  // The loop outside takes part, and holds another block.
  Function fn = ParsedFunction(R"(
    fn f(A: f32[4, 60], B: f32[4], C: f32[4]) scheduled {
      for i in 0..4 blockIdx.x @s/i {
        block s.init(i: spatial 4 = i) { B[i] = 0.0 }
        for r0 in 0..6 @s/r.0 {
          for r1 in 0..10 threadIdx.x @s/r.1 {
            block s(i: spatial 4 = i, r: reduce 60 = r0 * 10 + r1) {
              reduce sum_f32 (B[i]) with (A[i, r]) } }
          block c(i: spatial 4 = i) { C[i] = 1.0 }
        }
      }
    })");
  Function lowered = ReduceAcrossThreads(fn);
  bool threads = false;
  PreOrder(lowered.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    threads = threads || (loop && IsThreadIdx(loop->for_kind));
  });
  CHECK_FALSE(threads);
  CheckSameResult(lowered, lowered);
}

TEST_CASE("mistakes in a tree are noticed", "[lower][passes][across_threads]") {
  Shape shape{4, 300, 2, 8, 1};
  Function fn = WithoutWarps(RowSum(shape));
  Function lowered = CheckThreaded(fn, ScheduledBy(fn, TraceOf(shape)));
  for (int skip = 0; skip < 4; ++skip) {
    CheckNoticed(fn, lowered, WithoutStatement(lowered, StmtKind::kBarrier, skip));
  }
  // One thread fewer folds in a step from eight cells to four, or from four to two.
  for (int64_t folding : {4, 2}) {
    Function changed = lowered;
    auto fewer = [&](const Stmt& stmt) -> Stmt {
      const auto* branch = stmt.as<If>();
      const auto* less = branch ? branch->condition.as<Lt>() : nullptr;
      if (!less || !IsConstant(less->b, folding)) return stmt;
      return MakeStmt<If>(less->a < Expr(folding - 1), branch->then_body, branch->else_body);
    };
    changed.body = RewriteBottomUp(lowered.body, fewer, [](const Expr& expr) { return expr; });
    CheckNoticed(fn, lowered, changed);
  }
}

TEST_CASE("mistakes in an exchange are noticed", "[lower][passes][across_threads]") {
  Shape shape{4, 300, 1, 96, 1};
  Function fn = RowSum(shape);
  Function lowered = CheckThreaded(fn, ScheduledBy(fn, TraceOf(shape)));
  for (int skip = 0; skip < 3; ++skip) {
    CheckNoticed(fn, lowered, WithoutStatement(lowered, StmtKind::kBarrier, skip));
  }
  int steps = 0;
  PreOrder(lowered.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    steps += loop && loop->var->name == "s";
  });
  CHECK(steps == 2);
  // A level less, and another distance.
  auto change = [&](auto&& stmt, auto&& expr) {
    Function changed = lowered;
    changed.body = RewriteBottomUp(lowered.body, stmt, expr);
    return changed;
  };
  auto same_stmt = [](const Stmt& stmt) { return stmt; };
  auto same_expr = [](const Expr& expr) { return expr; };
  CheckNoticed(fn, lowered,
               change(
                   [](const Stmt& stmt) -> Stmt {
                     const auto* loop = stmt.as<For>();
                     if (!loop || loop->var->name != "s") return stmt;
                     return MakeStmt<For>(loop->var, loop->extent - Expr(1), loop->for_kind,
                                          loop->key, loop->body);
                   },
                   same_expr));
  CheckNoticed(fn, lowered, change(same_stmt, [](const Expr& expr) -> Expr {
                 const auto* call = expr.as<Call>();
                 if (!call || call->op != ScalarOp::kShiftLeft) return expr;
                 return Expr(1);
               }));
}
