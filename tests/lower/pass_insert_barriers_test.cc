#include <catch2/catch.hpp>

#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"
#include "tests/lower/threaded_check.h"
#include "tests/programs/compare_programs.h"
#include "tests/programs/random_trace.h"

#include "tests/programs/spike_programs.h"

using namespace tcc;

namespace {

Stmt WithoutBarrier(const Stmt& stmt, int& skip) {
  auto remove = [&](const Stmt& s) -> Stmt {
    if (s.as<Barrier>() && skip-- == 0) return Nothing();
    if (const auto* seq = s.as<Seq>()) return SeqOf(seq->stmts);
    return s;
  };
  return RewriteBottomUp(stmt, remove, [](const Expr& expr) { return expr; });
}

// Of 24 random points, those where the removal of each barrier is caught. With its barriers each
// point must be right.
std::vector<int> CatchesOfRemoval(const Trace& trace, size_t barriers,
                                  Function (*build)(Random& random)) {
  std::vector<int> caught(barriers, 0);
  for (uint64_t seed = 0; seed < 24; ++seed) {
    Random random(seed);
    Function original = build(random);
    StatusOr<Function> fn = Replay(original, trace, RandomDecisions(trace, random));
    INFO(fn.status());
    REQUIRE(fn.ok());
    std::vector<Tensor> arguments = RandomArguments(original, random);
    std::vector<Tensor> want = RunInterpreter(original, arguments).value();
    Function whole = InsertBarriers(Simplify(*fn));
    INFO(Print(whole));
    CHECK_FALSE(IsCaught(whole, arguments, want));
    REQUIRE(CountKind(whole, StmtKind::kBarrier) == static_cast<int>(barriers));
    for (size_t b = 0; b < barriers; ++b) {
      int skip = static_cast<int>(b);
      Function without = whole;
      without.body = WithoutBarrier(whole.body, skip);
      caught[b] += IsCaught(without, arguments, want);
    }
  }
  return caught;
}

Trace Parsed(const std::string& text) {
  StatusOr<Trace> trace = ParseTrace(text);
  INFO(trace.status());
  REQUIRE(trace.ok());
  return *trace;
}

Trace SpikeTrace(const std::string& name) {
  for (size_t index = 0; index < SpikeCount(); ++index) {
    Random random(1);
    SpikeProgram spike = BuildSpike(index, random);
    if (spike.name == name) return spike.trace;
  }
  FAIL("no spike is called " << name);
  return {};
}

// Threads x of 8 write T[i] and read T[`read`], `times` times over.
Function Exchange(const std::string& read, const std::string& around = "for s in 0..3 @s/s") {
  return ParsedFunction(fmt::format(R"(
    fn f(A: f32[8], B: f32[8]) scheduled {{
      alloc T: f32[8] shared
      {} {{
        for i in 0..8 threadIdx.x @w/i {{ block w(i: spatial 8 = i) {{ T[i] = A[i] }} }}
        for i in 0..8 threadIdx.x @r/i {{ block r(i: spatial 8 = i) {{ B[i] = T[{}] }} }}
      }}
    }})",
                                    around, read));
}

int BarriersIn(const Function& fn) {
  return CountKind(InsertBarriers(fn), StmtKind::kBarrier);
}

}  // namespace

TEST_CASE("a matmul staged in shared memory needs two barriers and each removal is caught",
          "[lower][passes][barriers]") {
  Trace trace = SpikeTrace("matmul on threads, staged in shared memory");
  std::vector<int> caught =
      CatchesOfRemoval(trace, 2, [](Random&) { return MatmulFunction(13, 11, 9); });
  INFO("caught " << caught[0] << " and " << caught[1] << " of 24");
  CHECK(caught[0] >= 12);
  CHECK(caught[1] >= 12);
}

TEST_CASE("softmax statistics in shared memory are read by other threads after a barrier",
          "[lower][passes][barriers]") {
  Trace trace = Parsed(R"(
tile t 2 6
set_scope m shared
set_scope l shared
split stat/i [t]
bind stat/i.1 threadIdx.x
split out/j [t]
reorder [out/j.1, out/j.0, out/i]
bind out/j.1 threadIdx.x
)");
  std::vector<int> caught = CatchesOfRemoval(trace, 1, [](Random& random) {
    return SoftmaxFunction(random.Between(2, 6), random.Between(2, 7));
  });
  INFO("caught " << caught[0] << " of 24");
  CHECK(caught[0] >= 12);
}

TEST_CASE("no barrier stands where each thread owns its cells", "[lower][passes][barriers]") {
  CHECK(BarriersIn(Exchange("i")) == 0);
  // Rows on threads in both statements, whatever the columns do.
  CHECK(BarriersIn(ParsedFunction(R"(
    fn f(X: f32[4, 5], Y: f32[4, 5]) scheduled {
      alloc m: f32[4] shared
      alloc l: f32[4] shared
      for i in 0..4 threadIdx.x @stat/i { for j in 0..5 @stat/j {
        block stat(i: spatial 4 = i, j: reduce 5 = j) {
          reduce softmax_f32 init (m[i], l[i]) with (X[i, j], 1.0)
        }
      } }
      for i in 0..4 threadIdx.x @out/i { for j in 0..5 @out/j {
        block out(i: spatial 4 = i, j: spatial 5 = j) {
          Y[i, j] = exp_diff(X[i, j], m[i]) / l[i]
        }
      } }
    })")) == 0);
}

TEST_CASE("threads that go through a row in the same steps meet their own cells",
          "[lower][passes][barriers]") {
  // Rows of 30 from a window's begin, vectors of 2: by 4 threads, and read again somehow.
  auto read = [](const std::string& loops, const std::string& place) {
    return ParsedFunction(fmt::format(R"(
      fn f(A: f32[60], B: f32[60]) scheduled {{
        for w in 0..2 @w/w {{
          alloc T: f32[60] shared window [w * 30] size [32]
          for s in 0..4 @w/s {{ for i in 0..4 threadIdx.x @w/i {{ for v in 0..2 @w/v {{
            block w(c: spatial 60 = w * 30 + (s * 4 + i) * 2 + v)
                guard (s * 8 + i * 2 + v < 30) {{ T[c] = A[c] }}
          }} }} }}
          {0}
            block r(c: spatial 60 = w * 30 + {1}) guard ({1} < 30) {{ B[c] = T[c] }}
          }} }} }}
        }}
      }})",
                                      loops, place));
  };
  const std::string same =
      "for s in 0..4 @r/s { for i in 0..4 threadIdx.x @r/i { for v in 0..2 @r/v {";
  Function own = read(same, "s * 8 + i * 2 + v");
  CHECK(BarriersIn(own) == 0);  // the next row takes the same places
  Function others = read(same, "s * 8 + i + v * 4");
  CHECK(BarriersIn(others) == 2);
  Function longer =
      read("for s in 0..2 @r/s { for i in 0..8 threadIdx.x @r/i { for v in 0..2 @r/v {",
           "s * 16 + i * 2 + v");
  CHECK(BarriersIn(longer) == 2);
  Random random(3);
  for (const Function& fn : {own, others, longer}) {
    std::vector<Tensor> arguments = RandomArguments(fn, random);
    std::vector<Tensor> want = {arguments[0], arguments[0]};
    CHECK_FALSE(IsCaught(InsertBarriers(fn), arguments, want));
  }
}

TEST_CASE("a thread that reads its neighbour's cell waits before and after, round a loop",
          "[lower][passes][barriers]") {
  CHECK(BarriersIn(Exchange("7 - i")) == 2);
  CHECK(BarriersIn(Exchange("7 - i", "for s in 0..1 blockIdx.x @s/s")) == 1);
}

TEST_CASE("a second thread axis that the cells do not name makes them shared",
          "[lower][passes][barriers]") {
  CHECK(BarriersIn(ParsedFunction(R"(
    fn f(A: f32[4], B: f32[4, 3]) scheduled {
      alloc T: f32[4] shared
      for i in 0..4 threadIdx.x @w/i { block w(i: spatial 4 = i) { T[i] = A[i] } }
      for i in 0..4 threadIdx.x @r/i { for j in 0..3 threadIdx.y @r/j {
        block r(i: spatial 4 = i, j: spatial 3 = j) { B[i, j] = T[i] }
      } }
    })")) == 1);
}

TEST_CASE("a predicate that reads another thread's cell waits for it",
          "[lower][passes][barriers]") {
  CHECK(BarriersIn(ParsedFunction(R"(
    fn f(A: f32[4], B: f32[4]) scheduled {
      alloc T: f32[4] shared
      for i in 0..4 threadIdx.x @w/i { block w(i: spatial 4 = i) { T[i] = A[i] } }
      for i in 0..4 threadIdx.x @r/i {
        block r(i: spatial 4 = i) where T[3 - i] < 0.5 { B[i] = 1.0 }
      }
    })")) == 1);
}

TEST_CASE("a buffer that two statements only read needs no barrier between them",
          "[lower][passes][barriers]") {
  CHECK(BarriersIn(ParsedFunction(R"(
    fn f(A: f32[4], B: f32[4], C: f32[4]) scheduled {
      alloc T: f32[4] shared
      for i in 0..4 threadIdx.x @w/i { block w(i: spatial 4 = i) { T[i] = A[i] } }
      for i in 0..4 threadIdx.x @r/i { block r(i: spatial 4 = i) { B[i] = T[3 - i] } }
      for i in 0..4 threadIdx.x @s/i { block s(i: spatial 4 = i) { C[i] = T[3 - i] } }
    })")) == 1);
}

TEST_CASE("what each thread began and one goes on with in global memory waits for all",
          "[lower][passes][barriers]") {
  Function matmul = MatmulFunction(5, 4, 3);
  const std::string init = "decompose_reduction mm mm/j\nbind mm.init/j threadIdx.x\n";
  for (const char* round : {"parallel mm/i", "bind mm/i blockIdx.x", "split mm/i [2]"}) {
    Function fn = ScheduledBy(matmul, init + round);
    CHECK(BarriersIn(fn) > 0);
    CheckThreaded(matmul, fn);
  }
  // The same threads go on.
  CHECK(BarriersIn(ScheduledBy(matmul,
                               "bind mm/j threadIdx.x\nbind mm/i threadIdx.y\n"
                               "decompose_reduction mm mm/k")) == 0);
}

TEST_CASE("all threads that copy what one of them wrote to global memory wait for it",
          "[lower][passes][barriers]") {
  CHECK(BarriersIn(ParsedFunction(R"(
    fn f(A: f32[4], C: f32[4], B: f32[4, 3]) scheduled {
      for b in 0..4 blockIdx.x @c/b {
        block c(i: spatial 4 = b) { C[i] = A[i] }
        alloc L: f32[1] local
        block l(i: spatial 4 = b) { L[0] = C[i] }
        for j in 0..3 threadIdx.x @r/j {
          block r(i: spatial 4 = b, j: spatial 3 = j) { B[i, j] = L[0] }
        }
      }
    })")) == 1);
}

TEST_CASE("virtual threads that share a buffer wait for each other where there are no others",
          "[lower][passes][barriers]") {
  Function matmul = MatmulFunction(5, 4, 3);
  Function fn = ScheduledBy(matmul, R"(bind mm/j vthread
cache_read B [mm] shared B_s
compute_at B_s mm/j
)");
  CHECK(BarriersIn(fn) == 2);
  CheckThreaded(matmul, fn);
}

TEST_CASE("global buffers between launches and local buffers need no barrier",
          "[lower][passes][barriers]") {
  Random random(3);
  for (const char* scope : {"local", "global"}) {
    StatusOr<Function> fn =
        Replay(TwoReadersFunction(7), Parsed(std::string("set_scope T ") + scope));
    REQUIRE(fn.ok());
    CHECK(BarriersIn(*fn) == 0);
  }
}

TEST_CASE("a barrier inside a loop that may run no iteration does not count for what follows",
          "[lower][passes][barriers]") {
  Function fn = ParsedFunction(R"(
    fn f<shape N in 0..=4>(A: f32[8], B: f32[8], C: f32[8]) scheduled {
      alloc T: f32[8] shared
      alloc U: f32[8] shared
      for i in 0..8 threadIdx.x @w/i { block w(i: spatial 8 = i) { T[i] = A[i] } }
      for s in 0..N @s/s {
        for i in 0..8 threadIdx.x @u/i { block u(i: spatial 8 = i) { U[i] = A[i] } }
        for i in 0..8 threadIdx.x @v/i { block v(i: spatial 8 = i) { B[i] = U[7 - i] } }
      }
      for i in 0..8 threadIdx.x @r/i { block r(i: spatial 8 = i) { C[i] = T[7 - i] } }
    })");
  Function with = InsertBarriers(fn);
  Random random(1);
  std::vector<Tensor> arguments = RandomArguments(fn, random);
  InterpretOptions options;
  options.detect_races = true;
  for (int64_t n : {0, 2}) {
    options.var_values = {n};
    INFO(Print(with));
    CHECK(RunInterpreter(with, arguments, options).ok());
  }
}
