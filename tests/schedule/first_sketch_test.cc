#include "schedule/sketches/parts/sketch.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "ir/analysis/verifier.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "lower/pipeline.h"
#include "schedule/space/schedule.h"
#include "schedule/space/trace.h"
#include "tests/programs/compare_programs.h"
#include "tests/schedule/step_check.h"
#include "tests/schedule/tensor_functions.h"

using namespace tcc;

namespace {

Target TargetNamed(const char* name) {
  StatusOr<Target> target = FindTarget(name);
  REQUIRE(target.ok());
  return *target;
}

// The first sketch of `fn` replays at its start, verifies, lowers and computes what `fn` computes.
// The lowered function is returned.
Function CheckDefault(const Function& fn, const Target& target, Random& random) {
  Sketch sketch = FirstSketch(fn, target);
  INFO(target.name << "\n" << Print(fn) << Print(Schedule{sketch.trace, sketch.start}));
  StatusOr<Function> scheduled = Replay(fn, sketch.trace, sketch.start);
  INFO(scheduled.status());
  REQUIRE(scheduled.ok());
  REQUIRE(Verify(*scheduled) == OkStatus());
  PipelineOptions options;
  options.verify = true;
  StatusOr<Function> lowered = RunPipeline(*scheduled, options);
  INFO(lowered.status());
  REQUIRE(lowered.ok());
  std::vector<Tensor> arguments = RandomArguments(fn, random);
  std::vector<Tensor> want = RunInterpreter(fn, arguments).value();
  for (const Function& got : {*scheduled, *lowered}) {
    StatusOr<std::vector<Tensor>> results = RunInterpreter(got, arguments);
    INFO(Print(got));
    INFO(results.status());
    REQUIRE(results.ok());
    REQUIRE(FirstDifference(*results, want) == "");
  }
  return *lowered;
}

bool IsRegisterIndex(const Expr& index) {
  if (const auto* ramp = index.as<Ramp>())
    return AsConstant(ramp->base) && AsConstant(ramp->stride);
  return AsConstant(index).has_value();
}

// Accesses of local buffers whose indices are not known.
int AddressedLocals(const Function& fn) {
  int count = 0;
  auto check = [&](const Var& var, const std::vector<Expr>& indices) {
    const Buffer* buffer = FindBuffer(fn, var);
    REQUIRE(buffer != nullptr);
    if (buffer->scope != Scope::kLocal) return;
    for (const Expr& index : indices) count += !IsRegisterIndex(index);
  };
  PreOrder(fn.body, [&](const Stmt& stmt) {
    if (const auto* store = stmt.as<Store>()) check(store->buffer, store->indices);
  });
  PreOrderExprs(fn.body, [&](const Expr& expr) {
    if (const auto* load = expr.as<Load>()) check(load->buffer, load->indices);
  });
  return count;
}

bool HasLocal(const Function& fn) {
  for (const Buffer& buffer : DeclaredBuffers(fn)) {
    if (buffer.scope == Scope::kLocal) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("the first sketch is legal at its start and right for every kind of function and extent",
          "[schedule][sketch]") {
  for (const TensorFunctionKind& kind : TensorFunctionKinds()) {
    for (const char* name : {"x86-64-v3", "x86-64-v4"}) {
      for (uint64_t seed = 0; seed < 6; ++seed) {
        Random random(seed);
        Function fn = FunctionOf(kind.text(random));
        INFO(kind.name << " seed " << seed);
        REQUIRE(Verify(fn) == OkStatus());
        Function lowered = CheckDefault(fn, TargetNamed(name), random);
        CHECK(AddressedLocals(lowered) == 0);
      }
    }
  }
}

TEST_CASE("accumulators are registers where tiles divide and where they do not",
          "[schedule][sketch]") {
  for (const char* name : {"x86-64-v3", "x86-64-v4"}) {
    for (int64_t rows : {4, 12, 13, 31}) {
      for (int64_t columns : {16, 32, 64, 31}) {
        Random random(1);
        Function lowered =
            CheckDefault(FunctionOf(MatmulText(rows, columns, 7, "")), TargetNamed(name), random);
        INFO(rows << " x " << columns << "\n" << Print(lowered));
        CHECK(HasLocal(lowered));
        CHECK(AddressedLocals(lowered) == 0);
      }
    }
  }
}

TEST_CASE("functions without elements have a sketch", "[schedule][sketch]") {
  Random random(1);
  for (auto [rows, columns, depth] : {std::tuple{0, 4, 3}, {4, 0, 3}, {4, 3, 0}, {0, 0, 0}}) {
    CheckDefault(FunctionOf(MatmulText(rows, columns, depth, "")), TargetNamed("x86-64-v4"),
                 random);
  }
}

TEST_CASE("a product of constants in front of a map of what runs later has sketches",
          "[schedule][sketch]") {
  // The first step of an LSTM: its initial state is zeros.
  Function fn = FunctionOf(R"(
    fn f(H: f32[3, 20] constant, W: f32[20, 40] constant, X: f32[3, 40], Y: f32[3, 40]) tensor {
      alloc S: f32[3, 40]
      for i in 0..3 @mm/i { for j in 0..40 @mm/j { for k in 0..20 @mm/k {
        block mm(i: spatial 3 = i, j: spatial 40 = j, k: reduce 20 = k) {
          reduce sum_f32 init (S[i, j]) with (H[i, k] * W[k, j]) } } } }
      for i in 0..3 @y/i { for j in 0..40 @y/j {
        block y(i: spatial 3 = i, j: spatial 40 = j) { Y[i, j] = S[i, j] + X[i, j] } } }
    })");
  for (const char* target : {"x86-64-v3", "x86-64-v4", "sm_86"}) {
    for (const Sketch& sketch : GenerateSketches(fn, FindTarget(target).value())) {
      INFO(target << " " << sketch.name);
      CheckStepResult(fn, Print(sketch.trace), sketch.start);
    }
  }
}

TEST_CASE("the reference target gets no steps", "[schedule][sketch]") {
  CHECK(FirstSketch(FunctionOf(MatmulText(4, 16, 7, "")), TargetNamed("reference"))
            .trace.steps.empty());
}

TEST_CASE("large nests run in parallel and small ones do not", "[schedule][sketch]") {
  auto is_parallel = [](const Function& fn, const Target& target) {
    return Print(FirstSketch(fn, target).trace).find("\nparallel ") != std::string::npos;
  };
  Target target = TargetNamed("x86-64-v3");
  CHECK(is_parallel(FunctionOf(MatmulText(64, 64, 64, "")), target));
  CHECK_FALSE(is_parallel(FunctionOf(MatmulText(8, 8, 8, "")), target));
}

TEST_CASE("a product of few columns, all in one panel, has pieces of rows for several threads",
          "[schedule][sketch]") {
  Target target = TargetNamed("x86-64-v3");
  auto pieces = [&](int64_t rows, int64_t columns, int64_t depth) {
    Function fn = FunctionOf(MatmulText(rows, columns, depth, ""));
    Sketch sketch = FirstSketch(fn, target);
    Function scheduled = Replay(fn, sketch.trace, sketch.start).value();
    Expr extent(1);
    PreOrder(scheduled.body, [&](const Stmt& stmt) {
      const auto* loop = stmt.as<For>();
      if (loop && loop->for_kind == ForKind::kParallel) extent = loop->extent;
    });
    return AsConstant(Simplify(extent)).value();
  };
  CHECK(pieces(512, 8, 512) >= 8);
  CHECK(pieces(512, 16, 8) >= 8);
  // Enough panels of columns.
  CHECK(pieces(64, 512, 512) == 512 / 16);
  // All panels of columns for each of several rows.
  CHECK(pieces(512, 512, 64) > 16);
  CHECK(pieces(512, 512, 64) <= 32);
  // Too little for several threads.
  CHECK(pieces(8, 8, 8) == 1);
}

namespace {

// A depthwise convolution of `taps` x `taps`.
Function Depthwise(int64_t taps) {
  return FunctionOf(fmt::format(R"(
    fn f(X: f32[{0}, {1}, 40], W: f32[{2}, {2}, 40], Y: f32[6, 9, 40]) tensor {{
      for h in 0..6 @y/h {{ for w in 0..9 @y/w {{ for c in 0..40 @y/c {{
        for a in 0..{2} @y/a {{ for b in 0..{2} @y/b {{
          block y(h: spatial 6 = h, w: spatial 9 = w, c: spatial 40 = c,
                  a: reduce {2} = a, b: reduce {2} = b) {{
            reduce sum_f32 init (Y[h, w, c]) with (X[h + a, w + b, c] * W[a, b, c]) }} }} }} }} }} }}
    }})",
                                5 + taps, 8 + taps, taps));
}

// A convolution whose results share cells along the last axis, too.
Function Convolution() {
  return FunctionOf(R"(
    fn f(X: f32[8, 11, 16], W: f32[3, 3, 16, 40], Y: f32[6, 9, 40]) tensor {
      for h in 0..6 @y/h { for w in 0..9 @y/w { for o in 0..40 @y/o {
        for a in 0..3 @y/a { for b in 0..3 @y/b { for c in 0..16 @y/c {
          block y(h: spatial 6 = h, w: spatial 9 = w, o: spatial 40 = o,
                  a: reduce 3 = a, b: reduce 3 = b, c: reduce 16 = c) {
            reduce sum_f32 init (Y[h, w, o]) with (X[h + a, w + b, c] * W[a, b, c, o]) } } } } } } }
    })");
}

// The traces of the sketches that copy nothing to shared memory; they are right.
std::vector<std::string> WithoutSharedMemory(const Function& fn) {
  std::vector<std::string> traces;
  for (const Sketch& sketch : GenerateSketches(fn, FindTarget("sm_90a").value())) {
    std::string trace = Print(sketch.trace);
    if (trace.find("cache_read") != std::string::npos) continue;
    CheckStepResult(fn, trace, sketch.start);
    traces.push_back(trace);
  }
  return traces;
}

bool Unrolls(const std::string& trace, const std::string& loop) {
  return trace.find("\nunroll " + loop + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("a depthwise convolution may have a thread for each result, which reads through L1",
          "[schedule][window]") {
  std::vector<std::string> small = WithoutSharedMemory(Depthwise(3));
  REQUIRE(small.size() == 1);
  CHECK(Unrolls(small[0], "y/a"));
  CHECK(Unrolls(small[0], "y/b"));

  std::vector<std::string> large = WithoutSharedMemory(Depthwise(7));
  REQUIRE(large.size() == 1);
  CHECK_FALSE(Unrolls(large[0], "y/a"));
  CHECK_FALSE(Unrolls(large[0], "y/b"));

  CHECK(WithoutSharedMemory(Convolution()).empty());
}
