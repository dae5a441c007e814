#include <cmath>

#include "tests/codegen_llvm/kernel_rig.h"

namespace tcc::test {
namespace {

Expr F32(double value) {
  return FloatConst(kFloat32, value);
}

// y[i, j] = sum over k of x[i] * k, in a buffer that the parallel iteration allocates.
Function WithWorkspace(int64_t rows, Expr columns, Scope scope, std::vector<Var> vars) {
  Buffer x = FlatBuffer("X", kFloat32, rows);
  Buffer y = FlatBuffer("Y", kFloat32, Expr(rows) * columns);
  Buffer w = FlatBuffer("W", kFloat32, columns, scope);
  Var i = LoopVar("i");
  Var j = LoopVar("j");
  Var k = LoopVar("k");
  Stmt fill = Loop(j, columns, StoreTo(w, j, F32(0)));
  Stmt sum = Loop(
      k, 3, Loop(j, columns, StoreTo(w, j, LoadOf(w, j) + LoadOf(x, i) * CastTo(kFloat32, k))));
  Stmt copy = Loop(j, columns, StoreTo(y, Expr(i) * columns + Expr(j), LoadOf(w, j)));
  Stmt body = MakeStmt<Allocate>(w, SeqOf({fill, sum, copy}));
  return LoweredFunction("rows", {x, y}, Loop(i, rows, body, ForKind::kParallel), std::move(vars));
}

int32_t CallJit(const Function& fn, TestRuntime& runtime, const std::vector<void*>& buffers,
                const std::vector<int64_t>& shape_args = {}) {
  std::unique_ptr<JitModule> jit = JitOf(fn);
  TccKernel kernel = jit->Find(fn.name);
  REQUIRE(kernel != nullptr);
  return kernel(&runtime.table, buffers.data(), shape_args.data());
}

}  // namespace

TEST_CASE("loops run their extent, from a shape argument too, and not at all for zero",
          "[codegen_llvm]") {
  Var n = ShapeVar("n", 0, 100);
  Buffer y = FlatBuffer("Y", kInt64, 100);
  Var i = LoopVar("i");
  for (ForKind kind : {ForKind::kSerial, ForKind::kUnrolled, ForKind::kParallel}) {
    Function fn = LoweredFunction("count", {y}, Loop(i, n, StoreTo(y, i, Expr(i) * i), kind), {n});
    for (int64_t extent : {0, 1, 2, 7, 100}) {
      std::vector<int64_t> output(100, -1);
      Run(fn, {output.data()}, {800}, {extent});
      for (int64_t k = 0; k < 100; ++k) REQUIRE(output[k] == (k < extent ? k * k : -1));
    }
  }
}

TEST_CASE("if, else and let choose and name values", "[codegen_llvm]") {
  Buffer y = FlatBuffer("Y", kInt64, 20);
  Var i = LoopVar("i");
  Var v = LoopVar("v");
  Stmt branch = MakeStmt<If>(Expr(v) < Expr(50), StoreTo(y, i, v),
                             MakeStmt<If>(Expr(v) < Expr(80), StoreTo(y, i, Expr(0) - v)));
  Stmt body = Loop(i, 20, MakeStmt<Let>(v, Expr(i) * Expr(5), branch));
  std::vector<int64_t> output(20, 1000);
  RunOn(LoweredFunction("choose", {y}, body), output);
  for (int64_t k = 0; k < 20; ++k) REQUIRE(output[k] == (k < 10 ? 5 * k : k < 16 ? -5 * k : 1000));
}

TEST_CASE("a store under a scalar mask writes only where it holds", "[codegen_llvm]") {
  Buffer y = FlatBuffer("Y", kInt64, 10);
  Var i = LoopVar("i");
  Stmt body = Loop(i, 1000, StoreTo(y, i, Expr(i) + Expr(1), Expr(i) < Expr(10)));
  std::vector<int64_t> output(10, 0);
  RunOn(LoweredFunction("some", {y}, body), output);
  for (int64_t k = 0; k < 10; ++k) REQUIRE(output[k] == k + 1);
}

TEST_CASE("a statement reads what the one before it wrote", "[codegen_llvm]") {
  Buffer y = FlatBuffer("Y", kInt64, 2);
  Expr next = LoadOf(y, 0) + Expr(1);
  std::vector<int64_t> output = {5, 0};
  RunOn(LoweredFunction("order", {y}, SeqOf({StoreTo(y, 0, next), StoreTo(y, 1, next)})), output);
  CHECK(output == std::vector<int64_t>{6, 7});
}

TEST_CASE("parallel iterations see outer variables, shapes and buffers, and do not nest",
          "[codegen_llvm]") {
  Var n = ShapeVar("n", 1, 100);
  Buffer x = FlatBuffer("X", kFloat32, n);
  Buffer y = FlatBuffer("Y", kFloat32, Expr(4) * Expr(n) * Expr(n));
  Buffer scale = FlatBuffer("scale", kFloat32, 1, Scope::kLocal);
  Var o = LoopVar("o");
  Var i = LoopVar("i");
  Var j = LoopVar("j");
  Var base = LoopVar("base");
  Expr value = LoadOf(x, i) * LoadOf(scale, 0) + LoadOf(x, j) + CastTo(kFloat32, o);
  Stmt body = StoreTo(y, Expr(base) + Expr(i) * Expr(n) + Expr(j), value);
  body = Loop(i, n, Loop(j, n, body, ForKind::kParallel), ForKind::kParallel);
  body = MakeStmt<Let>(base, Expr(o) * Expr(n) * Expr(n), body);
  body = MakeStmt<Allocate>(scale, SeqOf({StoreTo(scale, 0, F32(3)), Loop(o, 4, body)}));
  Function fn = LoweredFunction("nest", {x, y}, body, {n});

  constexpr int64_t kN = 23;
  std::vector<float> input = RandomFloats(kN, 4);
  std::vector<float> output(4 * kN * kN, -1);
  Run(fn, {input.data(), output.data()}, {kN * 4, output.size() * 4}, {kN});
  for (int64_t k = 0; k < 4; ++k)
    for (int64_t a = 0; a < kN; ++a)
      for (int64_t b = 0; b < kN; ++b)
        REQUIRE(output[(k * kN + a) * kN + b] ==
                Approx(input[a] * 3 + input[b] + static_cast<float>(k)).margin(1e-6));

  TestRuntime runtime;
  REQUIRE(CallJit(fn, runtime, {input.data(), output.data()}, {kN}) == TCC_KERNEL_OK);
  CHECK(runtime.parallel_loops == 4);
}

TEST_CASE("buffers of an iteration are its own, on the stack or from the runtime",
          "[codegen_llvm]") {
  Var n = ShapeVar("n", 1, 100000);
  struct Case {
    Expr columns;
    int64_t count;
    Scope scope;
    bool from_runtime;
    std::vector<Var> vars;
  };
  for (const Case& c :
       {Case{10, 10, Scope::kLocal, false, {}}, Case{10, 10, Scope::kGlobal, false, {}},
        Case{5000, 5000, Scope::kGlobal, true, {}}, Case{40000, 40000, Scope::kLocal, true, {}},
        Case{n, 77, Scope::kGlobal, true, {n}}}) {
    INFO(c.count << " columns");
    constexpr int64_t kRows = 10;
    Function fn = WithWorkspace(kRows, c.columns, c.scope, c.vars);
    std::vector<float> input = RandomFloats(kRows, 6);
    std::vector<float> output(kRows * c.count, -1);
    Run(fn, {input.data(), output.data()}, {kRows * 4, output.size() * 4}, {c.count});
    for (int64_t k = 0; k < kRows * c.count; ++k)
      REQUIRE(output[k] == Approx(input[k / c.count] * 3).epsilon(1e-6));
    TestRuntime runtime;
    REQUIRE(CallJit(fn, runtime, {input.data(), output.data()}, {c.count}) == TCC_KERNEL_OK);
    CHECK(runtime.allocations == (c.from_runtime ? kRows : 0));
  }
}

TEST_CASE("a kernel that gets no memory says so and frees what it had", "[codegen_llvm]") {
  // An outer workspace in the kernel, an inner one in each parallel iteration.
  Buffer y = FlatBuffer("Y", kFloat32, 10);
  Buffer outer = FlatBuffer("outer", kFloat32, 10000);
  Buffer inner = FlatBuffer("inner", kFloat32, 10000);
  Var i = LoopVar("i");
  Stmt use = SeqOf({StoreTo(inner, 9999, LoadOf(outer, i)), StoreTo(y, i, LoadOf(inner, 9999))});
  Stmt body = Loop(i, 10, MakeStmt<Allocate>(inner, use), ForKind::kParallel);
  Var j = LoopVar("j");
  body =
      MakeStmt<Allocate>(outer, SeqOf({Loop(j, 10, StoreTo(outer, j, CastTo(kFloat32, j))), body}));
  Function fn = LoweredFunction("greedy", {y}, body);
  for (int64_t granted : {0, 1, 3, 11}) {
    std::vector<float> output(10, -1);
    TestRuntime runtime;
    runtime.allocations_left = granted;
    int32_t result = CallJit(fn, runtime, {output.data()});
    CHECK(result == (granted >= 11 ? TCC_KERNEL_OK : TCC_KERNEL_OUT_OF_MEMORY));
    CHECK(runtime.live_allocations == 0);
    if (granted >= 11) CHECK(output[9] == 9.0f);
  }
}

TEST_CASE("a row softmax over a dynamic length gives what float64 gives", "[codegen_llvm]") {
  constexpr int kLanes = 16;
  Var n = ShapeVar("n", 1, 10000);
  constexpr int64_t kRows = 5;
  Buffer x = FlatBuffer("X", kFloat32, Expr(kRows) * Expr(n));
  Buffer y = FlatBuffer("Y", kFloat32, Expr(kRows) * Expr(n));
  Buffer top = FlatBuffer("top", kFloat32, 1, Scope::kLocal);
  Buffer sum = FlatBuffer("sum", kFloat32, kLanes, Scope::kLocal);
  Var r = LoopVar("r");
  Var i = LoopVar("i");
  Var j = LoopVar("j");
  Var k = LoopVar("k");
  Var l = LoopVar("l");
  Expr lanes = Lanes(0, kLanes);
  auto cell = [&](const Var& v) {
    return Lanes(Expr(r) * Expr(n) + Expr(v) * Expr(kLanes), kLanes);
  };
  auto exists = [&](const Var& v) {
    return Lanes(Expr(v) * Expr(kLanes), kLanes) < Splatted(n, kLanes);
  };
  auto power = [&](const Var& v) {
    return CallOf(ScalarOp::kExpDiff, {LoadOf(x, cell(v)), Splatted(LoadOf(top, 0), kLanes)});
  };
  Expr zero = Splatted(F32(0), kLanes);
  Expr chunks = CeilDivide(n, kLanes);
  Stmt body = SeqOf({
      StoreTo(top, 0, F32(-INFINITY)),
      Loop(i, n, StoreTo(top, 0, MaxOf(LoadOf(top, 0), LoadOf(x, Expr(r) * Expr(n) + Expr(i))))),
      StoreTo(sum, lanes, zero),
      Loop(j, chunks,
           StoreTo(sum, lanes, LoadOf(sum, lanes) + SelectOf(exists(j), power(j), zero))),
      Loop(l, kLanes - 1, StoreTo(sum, 0, LoadOf(sum, 0) + LoadOf(sum, Expr(l) + Expr(1)))),
      Loop(k, chunks,
           StoreTo(y, cell(k), Make<Div>(power(k), Splatted(LoadOf(sum, 0), kLanes)), exists(k))),
  });
  body = MakeStmt<Allocate>(top, MakeStmt<Allocate>(sum, body));
  Function fn = LoweredFunction("softmax", {x, y}, Loop(r, kRows, body, ForKind::kParallel), {n});
  for (int64_t count : {1, 15, 16, 197, 331}) {
    std::vector<float> input = RandomFloats(kRows * count, count);
    if (count > 20) input[3] = -INFINITY;
    std::vector<float> output(kRows * count, -1);
    Run(fn, {input.data(), output.data()}, {output.size() * 4, output.size() * 4}, {count});
    for (int64_t row = 0; row < kRows; ++row) {
      double total = 0;
      for (int64_t c = 0; c < count; ++c) total += std::exp(double{input[row * count + c]});
      for (int64_t c = 0; c < count; ++c) {
        double expected = std::exp(double{input[row * count + c]}) / total;
        REQUIRE(std::abs(output[row * count + c] - expected) < 1e-6 * expected + 1e-30);
      }
    }
  }
}

}  // namespace tcc::test
