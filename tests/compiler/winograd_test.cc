#include "compiler/kernels.h"
#include "graph/variants/variants.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "compiler/compile_graph.h"
#include "compiler/execution_plan.h"
#include "compiler/prepare_weights.h"
#include "graph/passes/graph_pipeline.h"
#include "ir/analysis/verifier.h"
#include "ir/expr/visitor.h"
#include "ir/interpret/interpreter.h"
#include "models/zoo/graph_builder.h"
#include "runtime/executor/executor.h"
#include "schedule/sketches/parts/sketch.h"

namespace tcc {
namespace {

struct Shape {
  int64_t batch, height, width, channels, filters, pad;
};

// A convolution 3x3 at stride 1.
Graph Convolution(const Shape& shape) {
  GraphBuilder builder("conv", 5);
  ValueId x = builder.Input("x", {shape.batch, shape.channels, shape.height, shape.width});
  ValueId w = builder.Weight("w", {shape.filters, shape.channels, 3, 3}, 0, 1);
  std::vector<int64_t> pads(4, shape.pad);
  ValueId y = builder.Emit("y", OpKind::kConv, {x, w}, {{"pads", pads}});
  int64_t less = 2 - 2 * shape.pad;
  builder.Output(y, {shape.batch, shape.filters, shape.height - less, shape.width - less});
  return builder.Take();
}

Graph Passed(Graph graph) {
  REQUIRE(RunGraphPasses(graph).ok());
  return graph;
}

// The task of the convolution itself.
Task ConvTask(const Graph& graph) {
  for (const Subgraph& subgraph : FuseGraph(graph)) {
    if (subgraph.kind != SubgraphKind::kKernel) continue;
    Task task = BuildTask(graph, subgraph).value();
    if (task.flops > 0) return task;
  }
  FAIL("no convolution");
  return {};
}

Tensor RandomTensor(const std::vector<int64_t>& shape, Random& random) {
  Tensor tensor = MakeZeroTensor(kFloat32, shape);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) SetElement(tensor, i, random.Normal());
  return tensor;
}

std::vector<Tensor> Arguments(const Function& fn) {
  Random random(3);
  std::vector<Tensor> arguments;
  for (const Buffer& param : fn.params) {
    std::vector<int64_t> shape;
    for (const Expr& dim : param.shape) shape.push_back(AsConstant(dim).value());
    arguments.push_back(RandomTensor(shape, random));
  }
  return arguments;
}

// x[n, h, w, c], weight[kh, kw, c, o] in float64: the sum and the sum of absolute terms.
struct Exact {
  std::vector<double> value, terms;
};
Exact ExactConvolution(const Tensor& x, const Tensor& weight, const std::vector<int64_t>& out,
                       int64_t pad) {
  Exact exact;
  auto at = [](const Tensor& t, int64_t a, int64_t b, int64_t c, int64_t d) {
    return ElementAsDouble(t, ((a * t.shape[1] + b) * t.shape[2] + c) * t.shape[3] + d);
  };
  for (int64_t n = 0; n < out[0]; ++n) {
    for (int64_t h = 0; h < out[1]; ++h) {
      for (int64_t w = 0; w < out[2]; ++w) {
        for (int64_t o = 0; o < out[3]; ++o) {
          double sum = 0, terms = 0;
          for (int64_t kh = 0; kh < 3; ++kh) {
            for (int64_t kw = 0; kw < 3; ++kw) {
              int64_t r = h + kh - pad, s = w + kw - pad;
              if (r < 0 || s < 0 || r >= x.shape[1] || s >= x.shape[2]) continue;
              for (int64_t c = 0; c < x.shape[3]; ++c) {
                double term = at(x, n, r, s, c) * at(weight, kh, kw, c, o);
                sum += term;
                terms += std::abs(term);
              }
            }
          }
          exact.value.push_back(sum);
          exact.terms.push_back(terms);
        }
      }
    }
  }
  return exact;
}

// The largest error against float64 over sqrt(K) * eps * M.
double ErrorOf(const Tensor& got, const Exact& exact, int64_t channels) {
  double terms = *std::ranges::max_element(exact.terms);
  double scale = std::sqrt(9.0 * static_cast<double>(channels)) * 0x1p-24 * terms;
  double worst = 0;
  for (size_t i = 0; i < exact.value.size(); ++i) {
    double difference = ElementAsDouble(got, static_cast<int64_t>(i)) - exact.value[i];
    worst = std::max(worst, std::abs(difference));
  }
  return worst / scale;
}

// How the data and the weight are drawn. Signed rows: in both dimensions, signs as a row of the
// transform with the largest numbers has them, so that none of its terms cancel.
enum class Draw : uint8_t { kNormal, kRelu, kSignedRows };

int SignOf(std::initializer_list<int> row, int64_t place) {
  return row.begin()[place % std::ssize(row)] < 0 ? -1 : 1;
}

double DataAt(double normal, Draw draw, int64_t h, int64_t w) {
  if (draw == Draw::kNormal) return normal;
  if (draw == Draw::kRelu) return std::max(normal, 0.0);
  // B of F(4x4): 225/256 x0 - 169/64 x2 + x4, and so on for the next tile.
  std::initializer_list<int> signs = {1, 1, -1, 1};
  return SignOf(signs, h) * SignOf(signs, w) * (1 + std::abs(normal));
}

double WeightAt(double normal, Draw draw, int64_t kh, int64_t kw) {
  if (draw != Draw::kSignedRows) return normal;
  std::initializer_list<int> signs = {1, -1, 1};  // G at -3/2
  return SignOf(signs, kh) * SignOf(signs, kw) * (1 + std::abs(normal));
}

// Draws x[n, h, w, c] and weight[kh, kw, c, o] again from what they are.
void Redraw(Tensor& x, Tensor& weight, Draw draw, int64_t pad) {
  for (int64_t i = 0; i < ElementCount(x.shape).value(); ++i) {
    int64_t place = i / x.shape[3], w = place % x.shape[2], h = place / x.shape[2] % x.shape[1];
    SetElement(x, i, DataAt(ElementAsDouble(x, i), draw, h + pad, w + pad));
  }
  for (int64_t i = 0; i < ElementCount(weight.shape).value(); ++i) {
    int64_t tap = i / (weight.shape[2] * weight.shape[3]);
    SetElement(weight, i, WeightAt(ElementAsDouble(weight, i), draw, tap / 3, tap % 3));
  }
}

// Returns the error of what `fn`, a convolution, makes of random operands, against float64.
double InterpretedError(const Function& fn, int64_t pad, Draw draw = Draw::kNormal) {
  std::vector<Tensor> arguments = Arguments(fn);
  bool weight_first = fn.params[0].scope == Scope::kConstant;
  Tensor &weight = arguments[weight_first ? 0 : 1], &x = arguments[weight_first ? 1 : 0];
  Redraw(x, weight, draw, pad);
  Exact exact = ExactConvolution(x, weight, arguments[2].shape, pad);
  Status status = Interpret(fn, arguments, {}).status();
  INFO(status);
  REQUIRE(status.ok());
  return ErrorOf(arguments[2], exact, weight.shape[2]);
}

constexpr Shape kShapes[] = {{1, 8, 8, 3, 4, 1},    {2, 7, 5, 4, 3, 1}, {1, 6, 9, 16, 8, 0},
                             {1, 1, 1, 2, 2, 1},    {1, 3, 4, 2, 1, 1}, {1, 5, 5, 2, 3, 2},
                             {1, 14, 14, 64, 16, 1}};

TEST_CASE("Winograd's convolution stays within its bound of float64", "[compiler][winograd]") {
  for (const Shape& shape : kShapes) {
    INFO(shape.height << "x" << shape.width << ", " << shape.channels << " channels, pad "
                      << shape.pad);
    Task task = ConvTask(Passed(Convolution(shape)));
    bool is_wide = shape.channels >= 32;
    const bool merges_taps = FindVariant(task, "merged_taps") != nullptr;
    REQUIRE(task.variants.size() == 3u + is_wide + (shape.pad > 0) + merges_taps);
    CHECK(InterpretedError(task.variants[0].fn, shape.pad) <= 4);
    for (size_t variant = 1; variant <= 1u + is_wide; ++variant) {
      CHECK(Verify(task.variants[variant].fn).ok());
      CHECK(InterpretedError(task.variants[variant].fn, shape.pad) <= 16);
    }
  }
}

TEST_CASE("Winograd's bound holds for half zeros, and where no term of a transform cancels",
          "[compiler][winograd]") {
  const Shape shapes[] = {{1, 8, 8, 32, 4, 1}, {1, 5, 13, 32, 3, 1}, {1, 8, 8, 128, 2, 0}};
  for (const Shape& shape : shapes) {
    Task task = ConvTask(Passed(Convolution(shape)));
    for (size_t variant : {1, 2}) {
      for (Draw draw : {Draw::kNormal, Draw::kRelu, Draw::kSignedRows}) {
        INFO(shape.channels << " channels, variant " << variant << ", drawn by "
                            << static_cast<int>(draw));
        CHECK(InterpretedError(task.variants[variant].fn, shape.pad, draw) <= 16);
      }
    }
  }
}

TEST_CASE("a transform with one number that is off by a thousandth breaks Winograd's bound",
          "[compiler][winograd]") {
  Task task = ConvTask(Passed(Convolution({1, 8, 8, 32, 4, 1})));
  // G of F(2x2), and B of F(4x4).
  for (auto [variant, number] : {std::pair(1, 0.5), std::pair(2, 169.0 / 64)}) {
    Function broken = task.variants[static_cast<size_t>(variant)].fn;
    int changed = 0;
    broken.body = RewriteBottomUp(
        broken.body, [](const Stmt& stmt) { return stmt; },
        [&](const Expr& expr) -> Expr {
          const auto* constant = expr.as<FloatImm>();
          if (!constant || constant->value != number) return expr;
          ++changed;
          return Const(expr.dtype(), number * 1.001);
        });
    CHECK(changed > 0);
    CHECK(InterpretedError(broken, 1) > 16);
  }
}

TEST_CASE("images of whole tiles and many channels have a variant in tiles of 4x4",
          "[compiler][winograd]") {
  auto variants = [](const Shape& shape) {
    return ConvTask(Passed(Convolution(shape))).variants.size();
  };
  size_t with = variants({1, 8, 8, 32, 4, 1});
  CHECK(variants({1, 3, 8, 32, 4, 1}) == with - 1);
  CHECK(variants({1, 8, 8, 31, 4, 1}) == with - 1);
  CHECK(variants({1, 8, 8, 257, 4, 1}) == variants({1, 8, 8, 256, 4, 1}) - 1);
}

TEST_CASE("other convolutions have no Winograd variant", "[compiler][winograd]") {
  using Ints = std::vector<int64_t>;
  auto variants = [](const std::vector<int64_t>& weight, const std::vector<int64_t>& out,
                     std::map<std::string, Attribute> how) {
    GraphBuilder builder("conv", 5);
    ValueId x = builder.Input("x", {1, 8, 9, 9});
    ValueId w = builder.Weight("w", weight, 0, 1);
    builder.Output(builder.Emit("y", OpKind::kConv, {x, w}, std::move(how)),
                   {1, weight[0], out[0], out[1]});
    return ConvTask(Passed(builder.Take())).variants.size();
  };
  CHECK(variants({4, 8, 3, 3}, {7, 7}, {}) == 3);
  CHECK(variants({4, 8, 3, 3}, {4, 4}, {{"strides", Ints{2, 2}}}) == 2);
  CHECK(variants({4, 8, 3, 3}, {5, 5}, {{"dilations", Ints{2, 2}}}) == 2);
  CHECK(variants({8, 1, 3, 3}, {7, 7}, {{"group", int64_t{8}}}) == 1);
  CHECK(variants({8, 4, 3, 3}, {7, 7}, {{"group", int64_t{2}}}) == 1);
  // Implicit GEMM, and the image as one dimension.
  CHECK(variants({4, 8, 1, 1}, {9, 9}, {}) == 3);
  CHECK(variants({4, 8, 3, 5}, {7, 5}, {}) == 2);
}

// The largest difference as a share of the largest element.
double LargestDifference(const Tensor& a, const Tensor& b) {
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < ElementCount(a.shape).value(); ++i) {
    double x = ElementAsDouble(a, i), y = ElementAsDouble(b, i);
    largest = std::max(largest, std::abs(x));
    difference = std::max(difference, std::abs(x - y));
  }
  return difference / largest;
}

TEST_CASE("a window's third dimension is summed directly", "[compiler][winograd]") {
  GraphBuilder builder("conv", 5);
  ValueId x = builder.Input("x", {2, 4, 3, 6, 5});
  ValueId w = builder.Weight("w", {5, 4, 3, 3, 3}, 0, 1);
  ValueId y = builder.Emit("y", OpKind::kConv, {x, w}, {{"pads", std::vector<int64_t>(6, 1)}});
  builder.Output(y, {2, 5, 3, 6, 5});
  Task task = ConvTask(Passed(builder.Take()));
  const Function& winograd = task.variants[1].fn;
  CHECK(Verify(winograd).ok());
  std::vector<Tensor> direct = Arguments(task.variants[0].fn), other = direct;
  REQUIRE(Interpret(task.variants[0].fn, direct, {}).ok());
  REQUIRE(Interpret(winograd, other, {}).ok());
  CHECK(LargestDifference(direct.back(), other.back()) <= 1e-5);
}

// The artefact for native whose convolution is computed by its variant `variant`.
struct Compiled {
  Artefact artefact;
  std::vector<PrepareStages> prepare;  // of the convolution
};
Compiled CompileVariant(const Graph& graph, size_t variant) {
  CompileOptions options;
  options.target = *FindTarget("native");
  options.verify = true;
  Graph passed = Passed(graph);
  const std::array fused = {FusedGraph{passed, FuseGraph(passed), {}}};
  KernelSet kernels = MakeKernels(fused, options).value();
  for (const KernelStages& kernel : kernels.kernels) {
    if (kernel.variants.size() < 2) continue;
    Sketch sketch = FirstSketch(kernel.variants[variant], options.target);
    options.schedules[kernel.symbol] = {std::move(sketch.trace), std::move(sketch.start), variant};
  }
  REQUIRE(options.schedules.size() == 1);
  StatusOr<KernelSet> again = MakeKernels(fused, options);
  INFO(again.status());
  REQUIRE(again.ok());
  Compiled result;
  for (const KernelStages& kernel : again->kernels) {
    if (options.schedules.contains(kernel.symbol)) result.prepare = kernel.prepare;
  }
  CompileOptions compile;
  compile.target = options.target;
  compile.verify = true;
  compile.schedules = options.schedules;
  StatusOr<Artefact> artefact = CompileGraph(graph, compile);
  INFO(artefact.status());
  REQUIRE(artefact.ok());
  result.artefact = std::move(*artefact);
  return result;
}

TEST_CASE("the weight's transform runs once, when the model is linked", "[compiler][winograd]") {
  Graph graph = Convolution({1, 13, 12, 32, 64, 1});
  Compiled compiled = CompileVariant(graph, 1);
  REQUIRE(compiled.prepare.size() == 1);
  CHECK(compiled.prepare[0].bytes == 4 * 4 * 32 * 64 * 4);
  // The 3x3 weights themselves are not stored.
  CHECK(compiled.artefact.weights.bytes.size() == 4 * 4 * 32 * 64 * 4);
}

TEST_CASE("a schedule for a variant that is not there is refused", "[compiler][winograd]") {
  Graph graph = Passed(Convolution({1, 8, 8, 3, 4, 1}));
  CompileOptions options;
  options.target = *FindTarget("native");
  const std::array fused = {FusedGraph{graph, FuseGraph(graph), {}}};
  KernelSet kernels = MakeKernels(fused, options).value();
  std::string symbol;
  for (const KernelStages& kernel : kernels.kernels) {
    if (kernel.variants.size() > 1) symbol = kernel.symbol;
  }
  options.schedules[symbol] = ParseSchedule("variant 4\n").value();
  CHECK(Message(MakeKernels(fused, options).status()) ==
        "kernel '" + symbol + "': the schedule is for variant 4; there are 4");
  CHECK(Message(ParseSchedule("variant one\n").status()) ==
        "line 1: 'variant one'; expected 'variant NUMBER'");
  CHECK(Print(ParseSchedule("variant 1\n").value()) == "variant 1\n");
}

TEST_CASE("a network of Winograd's convolutions computes what it did", "[compiler][winograd]") {
  Graph graph = Convolution({1, 13, 12, 32, 64, 1});
  auto run = [&](size_t variant) {
    Module module = Module::FromArtefact(CompileVariant(graph, variant).artefact).value();
    Random random(11);
    std::vector<Tensor> inputs = {RandomTensor({1, 32, 13, 12}, random)};
    return Executor(module).Run(inputs).value()[0];
  };
  double difference = LargestDifference(run(0), run(1));
  CHECK(difference > 0);  // another way of computing it
  CHECK(difference <= 1e-5);
}

// The variant of the convolution's kernel before any tuning, and how many there are.
struct Untuned {
  size_t variant = 0, variants = 0;
  std::string sketch;
  std::string schedule;
};
Untuned UntunedOf(const Shape& shape, bool winograd = true) {
  Graph graph = Passed(Convolution(shape));
  CompileOptions options;
  options.target = *FindTarget("x86-64-v3");
  options.winograd = winograd;
  KernelSet set = MakeKernels(std::array{FusedGraph{graph, FuseGraph(graph), {}}}, options).value();
  for (const KernelStages& kernel : set.kernels) {
    if (kernel.flops == 0) continue;
    return {kernel.schedule.variant, kernel.variants.size(), kernel.sketch, Print(kernel.schedule)};
  }
  return {};
}

TEST_CASE("untuned convolutions with many channels and places go by Winograd's transforms",
          "[compiler][winograd]") {
  Untuned untuned = UntunedOf({1, 28, 28, 64, 64, 1});
  CHECK(untuned.variant == 2);
  CHECK(untuned.sketch == "tile, transformed");
  // Weights of 4x4 tiles outweigh what so few places save.
  CHECK(UntunedOf({1, 14, 14, 256, 256, 1}).variant == 1);
  for (const Shape& direct :
       {Shape{1, 28, 28, 8, 64, 1}, Shape{1, 7, 7, 64, 64, 1}, Shape{1, 1, 300, 64, 64, 1}}) {
    CHECK(UntunedOf(direct).sketch.find("transformed") == std::string::npos);
  }
}

// Guards around the tiles of uneven pieces cost a register: 128 channels of 28x28 took twice as
// long.
TEST_CASE("pieces of untuned Winograd's convolutions divide the rows of tiles",
          "[compiler][winograd]") {
  for (int64_t channels : {64, 96, 128}) {
    Untuned untuned = UntunedOf({1, 56, 56, channels, channels, 1});
    INFO(untuned.schedule);
    REQUIRE(untuned.sketch == "tile, transformed");
    const std::string line = "\nset y.h.1 ";
    size_t at = untuned.schedule.find(line);
    REQUIRE(at != std::string::npos);
    CHECK(14 % std::stoi(untuned.schedule.substr(at + line.size())) == 0);
  }
}

TEST_CASE("a model may ask for direct convolutions alone", "[compiler][winograd]") {
  Shape shape{1, 28, 28, 64, 64, 1};
  Untuned untuned = UntunedOf(shape, /*winograd=*/false);
  CHECK(untuned.variants == UntunedOf(shape).variants - 2);
  CHECK(untuned.sketch.find("transformed") == std::string::npos);
}

}  // namespace
}  // namespace tcc
