// Kernels whose sizes are known at run time, scheduled as their twins at usual sizes.

#include <catch2/catch.hpp>
#include <cstdlib>

#include "codegen_llvm/jit.h"
#include "compiler/kernels.h"
#include "graph/passes/graph_pipeline.h"
#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "models/zoo/graph_builder.h"
#include "runtime/cpu/kernel_calls.h"
#include "schedule/space/free_schedule.h"
#include "tests/programs/compare_programs.h"

namespace tcc {
namespace {

using Ints = std::vector<int64_t>;

// Extents of graphs that become free: primes that no other extent has.
constexpr int64_t kFirst = 1009, kSecond = 503;

// Replaces every integer that has a factor kFirst or kSecond by a product with a Shape variable.
class Freeing final : public Mutator {
 public:
  Freeing(int64_t first_usual, int64_t second_usual)
      : vars_{ShapeVar("N", 1, 1 << 20, first_usual), ShapeVar("M", 1, 1 << 20, second_usual)} {}

  Function Free(const Function& fn) {
    Function result = Mutate(fn);
    for (const Var& var : vars_) {
      if (UsesVar(result.body, var)) result.vars.push_back(var);
    }
    return result;
  }

 private:
  using Mutator::Rewrite;
  Expr Rewrite(const IntImm& imm) override {
    if (imm.dtype != kInt64 || imm.value == 0) return imm;
    int64_t rest = imm.value;
    Expr product;
    for (auto [prime, var] : {std::pair(kFirst, vars_[0]), std::pair(kSecond, vars_[1])}) {
      for (; rest % prime == 0; rest /= prime) product = product ? product * Expr(var) : Expr(var);
    }
    if (!product) return imm;
    return rest == 1 ? product : Expr(rest) * product;
  }

  Var vars_[2];
};

struct Case {
  const char* name;
  const char* sketch;  // of a kernel with free sizes, on x86-64-v3
  Graph (*graph)();
  int64_t first_usual = 64, second_usual = 40;
  std::vector<Ints> sizes = {{1, 1}, {2, 3}, {13, 7}, {31, 17}, {64, 40}, {5, 64}};
};

Graph OneOperator(OpKind op, const Ints& shape, const std::map<std::string, Attribute>& attributes,
                  const Ints& axes = {}) {
  GraphBuilder builder("one", 5);
  std::vector<ValueId> inputs = {builder.Input("x", shape)};
  if (!axes.empty()) inputs.push_back(builder.Ints("axes", axes));
  builder.Output(builder.Emit("y", op, inputs, attributes), {});
  return builder.Take();
}

Graph Product(const Ints& a, const Ints& b) {
  GraphBuilder builder("product", 5);
  ValueId x = builder.Input("x", a), w = builder.Input("w", b);
  builder.Output(builder.Emit("y", OpKind::kMatMul, {x, w}), {});
  return builder.Take();
}

Graph Layer() {
  GraphBuilder builder("layer", 5);
  ValueId x = builder.Input("x", {kFirst, 40});
  builder.Output(builder.Relu("y", builder.Linear("l", x, 40, 96, 1)), {});
  return builder.Take();
}

Graph Convolution(const Ints& x, const ConvSpec& spec) {
  GraphBuilder builder("conv", 5);
  builder.Output(builder.Relu("y", builder.Conv("c", builder.Input("x", x), spec)), {});
  return builder.Take();
}

Graph Chain() {
  GraphBuilder builder("chain", 5);
  ValueId x = builder.Input("x", {kFirst, 4, 150, 150});
  ValueId wide = builder.Relu("r", builder.Conv("wide", x, {.in = 4, .out = 48}));
  ConvSpec deep{.in = 48, .out = 48, .kernel = 3, .padding = 1, .group = 48};
  builder.Output(builder.Relu("y", builder.Conv("deep", wide, deep)), {});
  return builder.Take();
}

Graph Attention() {
  GraphBuilder builder("attention", 5);
  ValueId q = builder.Input("q", {4, kFirst, 32}), k = builder.Input("k", {4, kSecond, 32});
  ValueId v = builder.Input("v", {4, kSecond, 32});
  ValueId t = builder.Emit("t", OpKind::kTranspose, {k}, {{"perm", Ints{0, 2, 1}}});
  ValueId p = builder.Emit("p", OpKind::kSoftmax, {builder.Emit("s", OpKind::kMatMul, {q, t})},
                           {{"axis", int64_t{-1}}});
  builder.Output(builder.Emit("y", OpKind::kMatMul, {p, v}), {});
  return builder.Take();
}

Graph Norm() {
  GraphBuilder builder("norm", 5);
  ValueId x = builder.Input("x", {kFirst, kSecond, 40});
  ValueId scale = builder.Weight("g", {40}, 1, 0.1), bias = builder.Weight("b", {40}, 0, 1);
  builder.Output(
      builder.Emit("y", OpKind::kLayerNormalization, {x, scale, bias}, {{"axis", int64_t{-1}}}),
      {});
  return builder.Take();
}

Graph Joined() {
  GraphBuilder builder("joined", 5);
  ValueId a = builder.Input("a", {2, kFirst, 24}), b = builder.Input("b", {2, kFirst, 24});
  ValueId c = builder.Emit("c", OpKind::kConcat, {a, b}, {{"axis", int64_t{1}}});
  builder.Output(builder.Relu("y", c), {});
  return builder.Take();
}

const Case kCases[] = {
    {"rows of a product", "tile", Layer},
    {"columns of a product", "tile", [] { return Product({2, 30, 24}, {2, 24, kFirst}); }},
    {"terms of a product", "tile", [] { return Product({2, 30, kFirst}, {2, kFirst, 32}); }},
    {"all axes of a product", "tile",
     [] { return Product({2, kFirst, kSecond}, {2, kSecond, kFirst}); }},
    {"batch of a convolution",
     "tile, transformed",
     [] {
       return Convolution({kFirst, 32, 14, 14}, {.in = 32, .out = 32, .kernel = 3, .padding = 1});
     },
     8,
     8,
     {{1, 1}, {2, 1}, {3, 1}, {5, 1}, {7, 1}, {8, 1}}},
    {"image of a convolution", "tile",
     [] {
       return Convolution({1, 8, kFirst, kSecond}, {.in = 8, .out = 24, .kernel = 3, .padding = 1});
     }},
    {"image of a depthwise convolution", "tile",
     [] {
       return Convolution({1, 24, kFirst, kSecond},
                          {.in = 24, .out = 24, .kernel = 3, .padding = 1, .group = 24});
     }},
    {"image of a pool", "tile",
     [] {
       return OneOperator(
           OpKind::kMaxPool, {1, 16, 2 * kFirst, 2 * kSecond},
           {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
     }},
    {"batch of chained convolutions", "chain", Chain, 8, 8, {{1, 1}, {2, 1}}},
    {"queries and keys of attention", "map, attention", Attention},
    {"rows of a normalization", "rows", Norm},
    {"rows of a softmax", "rows",
     [] { return OneOperator(OpKind::kSoftmax, {kFirst, 100}, {{"axis", int64_t{1}}}); }},
    {"columns of a softmax", "rows",
     [] { return OneOperator(OpKind::kSoftmax, {30, kFirst}, {{"axis", int64_t{1}}}); }},
    {"middle axis of places of maxima", "columns",
     [] { return OneOperator(OpKind::kArgMax, {4, kFirst, 48}, {{"axis", int64_t{1}}}); }},
    {"few long sums",
     "parts",
     [] { return OneOperator(OpKind::kReduceSum, {2, 1024 * kFirst}, {}, {1}); },
     64,
     40,
     {{1, 1}, {2, 1}, {3, 1}, {5, 1}, {7, 1}, {64, 1}}},
    {"elements", "map", [] { return OneOperator(OpKind::kRelu, {kFirst, kSecond}, {}); }},
    {"a transpose", "map",
     [] {
       return OneOperator(OpKind::kTranspose, {kFirst, kSecond, 24}, {{"perm", Ints{0, 2, 1}}});
     }},
    {"two parts joined", "map", Joined},
    {"cumulative sums", "outer",
     [] {
       GraphBuilder builder("sums", 5);
       ValueId x = builder.Input("x", {kFirst, 24});
       Tensor axis = MakeZeroTensor(kInt64, {});
       builder.Output(builder.Emit("y", OpKind::kCumSum, {x, builder.Constant("a", axis)}), {});
       return builder.Take();
     }},
};

Target Cpu() {
  return FindTarget("x86-64-v3").value();
}

// The function at sizes, as a twin.
Function At(const Function& fn, const Ints& sizes) {
  Substitution values;
  std::vector<Var> bound;
  for (const Var& var : fn.vars) {
    int64_t size = sizes[var->name == "M"];
    bound.push_back(ShapeVar(var->name, size, size, size));
    values.emplace(var, bound.back());
  }
  Function result = Substitute(fn, values);
  result.vars = bound;
  return TwinOf(result);
}

CompileOptions Options(const Target& target) {
  return {.target = target, .verify = true};
}

// Schedules a function as a kernel.
KernelStages Finished(const Function& fn, const Target& target) {
  KernelStages kernel;
  kernel.symbol = kernel.variants.emplace_back(fn).name;
  Status status = FinishKernel(kernel, Options(target));
  INFO(Print(fn) << status);
  REQUIRE(status.ok());
  return kernel;
}

// The kernels of a graph that have free sizes once kFirst and kSecond are freed.
std::vector<KernelStages> FreeKernels(const Case& c) {
  Graph graph = c.graph();
  REQUIRE(RunGraphPasses(graph, TargetKind::kCpu).ok());
  const FusedGraph fused = FuseSubgraphs(std::move(graph), Cpu(), NumericMode::kStrict);
  StatusOr<KernelSet> set = CollectKernels({&fused, 1}, Options(Cpu()));
  REQUIRE(set.ok());
  std::vector<KernelStages> kernels;
  for (const KernelStages& kernel : set->kernels) {
    Freeing freeing(c.first_usual, c.second_usual);
    Function fn = freeing.Free(kernel.variants[kernel.first_variant]);
    if (HasFreeShapes(fn)) kernels.push_back(Finished(fn, Cpu()));
  }
  return kernels;
}

Function Parsed(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  INFO(fn.status());
  REQUIRE(fn.ok());
  return *fn;
}

void RunSerially(void*, int64_t count, TccLoopBody body, void* closure) {
  body(closure, 0, count);
}
void* Allocate64(void*, int64_t bytes) {
  return std::aligned_alloc(64, static_cast<size_t>((bytes + 127) / 64 * 64));
}
void Free64(void*, void* memory) {
  std::free(memory);
}

// The machine code of a kernel and of the functions that prepare its constants.
class CompiledKernelCode {
 public:
  explicit CompiledKernelCode(const KernelStages& kernel) : kernel_(kernel) {
    LoweredModule module;
    for (size_t p = 0; p < kernel.prepare.size(); ++p) {
      module.kernels.push_back(kernel.prepare[p].lowered);
      module.kernels.back().name = "prepare" + std::to_string(p);
    }
    module.kernels.push_back(kernel.lowered);
    module.kernels.back().name = "kernel";
    StatusOr<std::unique_ptr<JitModule>> jit = Jit(module, FindTarget("native").value());
    INFO(jit.status());
    REQUIRE(jit.ok());
    jit_ = *std::move(jit);
  }

  void Run(std::vector<Tensor>& arguments, const Ints& sizes) {
    std::vector<std::vector<std::byte>> prepared;
    for (size_t p = 0; p < kernel_.prepare.size(); ++p) {
      const PrepareStages& prepare = kernel_.prepare[p];
      prepared.emplace_back(static_cast<size_t>(prepare.bytes) + 64);
      std::vector<void*> buffers;
      for (size_t constant : prepare.constants) {
        buffers.push_back(MutableBytes(arguments[constant]).data());
      }
      buffers.push_back(prepared.back().data());
      Call("prepare" + std::to_string(p), buffers, {});
    }
    std::vector<void*> buffers;
    for (const KernelOperand& operand : kernel_.operands) {
      bool is_prepared = operand.kind == KernelOperand::Kind::kPrepared;
      buffers.push_back(is_prepared ? static_cast<void*>(prepared[operand.index].data())
                                    : MutableBytes(arguments[operand.index]).data());
    }
    Ints shape_args;
    for (const Var& var : kernel_.lowered.vars) shape_args.push_back(sizes[var->name == "M"]);
    Call("kernel", buffers, shape_args);
  }

 private:
  void Call(const std::string& name, const std::vector<void*>& buffers, const Ints& shape_args) {
    TccRuntime runtime{nullptr, RunSerially, Allocate64, Free64, TccMath};
    REQUIRE(jit_->Find(name)(&runtime, buffers.data(), shape_args.data()) == TCC_KERNEL_OK);
  }

  const KernelStages& kernel_;
  std::unique_ptr<JitModule> jit_;
};

// Sums of up to 64 Ki terms of f32.
void CheckNear(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  for (size_t t = 0; t < want.size(); ++t) {
    double largest = 1, furthest = 0;
    for (int64_t i = 0; i < ElementCount(want[t].shape).value(); ++i) {
      largest = std::max(largest, std::abs(ElementAsDouble(want[t], i)));
      furthest =
          std::max(furthest, std::abs(ElementAsDouble(got[t], i) - ElementAsDouble(want[t], i)));
    }
    CHECK(furthest <= 1e-4 * largest);
  }
}

void CheckAt(const KernelStages& kernel, CompiledKernelCode& code, const Ints& sizes) {
  INFO("at " << sizes[0] << ", " << sizes[1]);
  const Schedule schedule = FreeSchedule(kernel.tensor, kernel.schedule);
  Function bound = At(kernel.tensor, sizes);
  StatusOr<Function> replayed = Replay(bound, schedule.trace, schedule.decisions);
  INFO(replayed.status());
  REQUIRE(replayed.ok());
  CHECK(AlphaEqual(Simplify(At(kernel.scheduled, sizes)), Simplify(*replayed)));

  Random random(3);
  std::vector<Tensor> arguments = RandomArguments(bound, random);
  StatusOr<std::vector<Tensor>> expected = RunInterpreter(bound, arguments);
  INFO(expected.status());
  REQUIRE(expected.ok());
  code.Run(arguments, sizes);
  CheckNear(arguments, *expected);
}

void CheckFirstChoice(const KernelStages& kernel, const std::vector<Ints>& sizes) {
  INFO(kernel.symbol << ": " << kernel.sketch << "\n" << Print(kernel.schedule));
  CHECK(kernel.choice == 0);
  CHECK(kernel.misfit == "");
  CompiledKernelCode code(kernel);
  for (const Ints& pair : sizes) CheckAt(kernel, code, pair);
}

}  // namespace

TEST_CASE("every rule's first choice for usual sizes replays on free sizes, and is right at any",
          "[compiler][free]") {
  for (const Case& c : kCases) {
    INFO(c.name);
    std::vector<std::string> sketches;
    for (const KernelStages& kernel : FreeKernels(c)) {
      sketches.push_back(kernel.sketch);
      CheckFirstChoice(kernel, c.sizes);
    }
    CHECK_THAT(sketches, Catch::Matchers::VectorContains(std::string(c.sketch)));
  }
}

TEST_CASE("rows that roll through a window do so in an image of any height", "[compiler][free]") {
  Function fn = Parsed(R"(
    fn roll<shape N in 1..=64 usual 64, shape M in 1..=4096 usual 320>(
        X: f32[N, M, 10, 64], W: f32[3, 3, 64] constant, Y: f32[N, M, 8, 64]) tensor {
      alloc T: f32[N, M, 10, 64]
      for n in 0..N @t/n { for y in 0..M @t/y { for x in 0..10 @t/x { for c in 0..64 @t/c {
        block t(n: spatial N = n, y: spatial M = y, x: spatial 10 = x, c: spatial 64 = c) {
          T[n, y, x, c] = max(X[n, y, x, c] * 2.0, 0.0) } } } } }
      for n in 0..N @w/n { for y in 0..M @w/y { for x in 0..8 @w/x { for c in 0..64 @w/c {
        for p in 0..3 @w/p { for q in 0..3 @w/q {
          block w(n: spatial N = n, y: spatial M = y, x: spatial 8 = x, c: spatial 64 = c,
                  p: reduce 3 = p, q: reduce 3 = q) where 0 <= y + p - 1 && y + p - 1 < M {
            reduce sum_f32 init (Y[n, y, x, c]) with (T[n, y + p - 1, x + q, c] * W[p, q, c])
      } } } } } } }
    })");
  KernelStages kernel = Finished(fn, Cpu());
  CHECK(kernel.sketch == "sliding");
  CheckFirstChoice(kernel, {{1, 1}, {1, 2}, {2, 13}, {3, 31}, {2, 64}, {1, 320}});
}

TEST_CASE("a kernel whose first choice does not fit all sizes gets the next one that does",
          "[compiler][free]") {
  // Tiles of AMX are whole.
  Target target = FindTarget("x86-64-v4").value();
  target.amx = true;
  KernelStages tiles = Finished(Parsed(R"(
    fn f<shape N in 1..=4096 usual 64>(A: i32[N, 32], B: i32[32, 64] constant, C: i32[N, 64])
        tensor {
      for i in 0..N @mm/i { for j in 0..64 @mm/j { for k in 0..32 @mm/k {
        block mm(i: spatial N = i, j: spatial 64 = j, k: reduce 32 = k) {
          reduce sum_i32 init (C[i, j]) with (dot_u8i8x4(A[i, k], B[k, j])) } } } }
    })"),
                                target);
  CHECK(tiles.choice > 0);
  CHECK_THAT(tiles.misfit, Catch::Matchers::Contains("tiles of an intrinsic are whole"));
  CHECK(tiles.sketch == "tile");

  // No rule fuses the loops of an axis that may be empty.
  Function empty = Parsed(R"(
    fn f<shape N in 0..=512 usual 64>(X: f32[300, 7, N], Y: f32[300, N, 7]) tensor {
      for a in 0..300 @y/a { for i in 0..N @y/i { for b in 0..7 @y/b {
        block y(a: spatial 300 = a, i: spatial N = i, b: spatial 7 = b) {
          Y[a, i, b] = X[a, b, i] * 2.0 } } } }
    })");
  KernelStages serial = Finished(empty, Cpu());
  CHECK_THAT(serial.misfit, Catch::Matchers::Contains("a fused inner loop has an iteration"));
  CompiledKernelCode code(serial);
  for (int64_t n : {0, 1, 13, 64}) CheckAt(serial, code, {n, 1});
}

TEST_CASE("a kernel with free sizes is tuned as its twin, and gets the twin's records",
          "[compiler][free]") {
  const std::string body = R"( tensor {
      for i in 0..R @y/i { for j in 0..48 @y/j {
        block y(i: spatial R = i, j: spatial 48 = j) { Y[i, j] = X[i, j] * 2.0 } } } })";
  auto text = [&](const std::string& shapes, const std::string& rows) {
    std::string result = "fn f" + shapes + "(X: f32[R, 48], Y: f32[R, 48])" + body;
    for (size_t at = result.find('R'); at != std::string::npos; at = result.find('R', at)) {
      result.replace(at, 1, rows);
    }
    return Parsed(result);
  };
  KernelStages free, bound;
  free.variants = {text("<shape N in 1..=4096 usual 40>", "N")};
  bound.variants = {text("", "40")};
  free.symbol = bound.symbol = "f";
  CHECK(WorkloadOf(free).key == WorkloadOf(bound).key);

  TunedSchedule tuned{.variant_key = WorkloadOf(bound).key, .rules = "tuned", .schedule = {}};
  tuned.schedule = ParseSchedule("split b0/i0 [5]\nparallel b0/i0.0\n").value();
  CompileOptions options = Options(Cpu());
  options.tuned = {{WorkloadOf(bound).key, tuned}};
  for (KernelStages* kernel : {&free, &bound}) {
    REQUIRE(FinishKernel(*kernel, options).ok());
    CHECK(kernel->tuned);
  }
  CompiledKernelCode code(free);
  for (int64_t n : {1, 7, 40, 43}) CheckAt(free, code, {n, 1});
}

}  // namespace tcc
