#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "graph/ops/build_loop_nest.h"
#include "graph/ops/op_lowering.h"
#include "ir/expr/evaluate.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/printer.h"
#include "support/random.h"
#include "support/wanted_option.h"
#include "tests/graph/one_node.h"
#include "tests/ir/parsed_graph.h"

using namespace tcc;

namespace {

// A node over free dimensions: the items of a graph, in which constants may be called
//   double: f32[4] = [1, 1, 2, 2]   third: f32[4] = [1, 1, 1/3, 1/2]   more: f32[4] = [1, 1, 1.5,
//   2] odd: f32[4] = [1, 1, 0.7, 2] uneven: f32[4] = [1, 1, 1.3, 2]
struct FreeOperator {
  const char* node;
  double tolerance = 0;  // where floats are divided in another order
};

using Constants = std::vector<std::pair<std::string, Tensor>>;

// Makes constants of the elements that are numbers, as shape inference does.
void FoldElements(Graph& graph) {
  for (Value& value : graph.values) {
    std::optional<std::vector<int64_t>> numbers = AsNumbers(value.elements);
    if (value.elements.empty() || !numbers) continue;
    value.constant = I64({static_cast<int64_t>(numbers->size())}, *numbers);
    value.elements.clear();
  }
}

Graph GraphOf(const std::string& items) {
  Constants constants;
  auto give = [&](const std::string& name, const std::vector<double>& values) {
    if (items.find("constant " + name) == std::string::npos) return;
    constants.emplace_back(name, F32({4}, values));
  };
  give("double", {1, 1, 2, 2});
  give("third", {1, 1, static_cast<double>(1.0F / 3), 0.5});
  give("more", {1, 1, 1.5, 2});
  give("odd", {1, 1, static_cast<double>(0.7F), 2});
  give("uneven", {1, 1, static_cast<double>(1.3F), 2});
  Graph graph = ParsedGraph("graph g {\n" + items + "\nreturn }", constants);
  FoldElements(graph);
  return graph;
}

std::vector<Expr> Numbers(const std::vector<Expr>& formulas, const Assignment& sizes) {
  std::vector<Expr> numbers;
  for (const Expr& formula : formulas) numbers.emplace_back(EvaluateInt(formula, sizes).value());
  return numbers;
}

Graph Bound(Graph graph, const Assignment& sizes) {
  for (Value& value : graph.values) {
    value.shape = Numbers(value.shape, sizes);
    value.elements = Numbers(value.elements, sizes);
  }
  graph.shape_vars.clear();
  FoldElements(graph);
  return graph;
}

bool Agrees(const LoweredNode& lowered, const Assignment& sizes) {
  return std::ranges::all_of(lowered.agreements, [&](const Agreement& pair) {
    std::optional<int64_t> a = EvaluateInt(pair.a, sizes);
    return a && a == EvaluateInt(pair.b, sizes);
  });
}

// Multiples of 1/8, and whole numbers, in -2..2: sums of a few products are exact.
Tensor RandomTensor(DType dtype, const std::vector<int64_t>& shape, uint64_t seed) {
  Random random(seed);
  Tensor tensor = MakeZeroTensor(dtype, shape);
  int64_t count = ElementCount(shape).value();
  int64_t parts = dtype.is_float() ? 8 : 1;
  for (int64_t i = 0; i < count; ++i) {
    auto number = static_cast<double>(random.Between(-2 * parts, 2 * parts));
    SetElement(tensor, i, number / static_cast<double>(parts));
  }
  return tensor;
}

StatusOr<std::vector<Tensor>> Interpreted(const LoweredNode& lowered, const Graph& graph,
                                          const Assignment& sizes, uint64_t seed) {
  Function fn = BuildLoopNest(lowered.program);
  std::vector<Tensor> arguments;
  size_t inputs = lowered.inputs.size();
  for (size_t i = 0; i < fn.params.size(); ++i) {
    DType dtype = fn.params[i].dtype();
    std::vector<int64_t> shape = *AsNumbers(Numbers(fn.params[i].shape, sizes));
    if (i >= inputs) {
      arguments.push_back(MakeZeroTensor(dtype, shape));
    } else {
      const Tensor* constant = graph.ConstantOf(lowered.inputs[i]);
      uint64_t own = seed + static_cast<uint64_t>(lowered.inputs[i]);
      arguments.push_back(constant ? *constant : RandomTensor(dtype, shape, own));
    }
  }
  InterpretOptions options;
  for (const Var& var : fn.vars) options.var_values.push_back(sizes.at(var));
  TCC_RETURN_IF_ERROR(Interpret(fn, arguments, options).status());
  arguments.erase(arguments.begin(), arguments.begin() + static_cast<int64_t>(inputs));
  return arguments;
}

bool IsClose(double a, double b, double tolerance) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance;
}

void CheckSameResults(const LoweredNode& free, const Graph& graph, const Assignment& sizes,
                      const LoweredNode& bound, const Graph& numbers, double tolerance,
                      uint64_t seed) {
  REQUIRE(free.outputs == bound.outputs);
  StatusOr<std::vector<Tensor>> got = Interpreted(free, graph, sizes, seed);
  INFO(Message(got.status()));
  REQUIRE(got.ok());
  StatusOr<std::vector<Tensor>> expected = Interpreted(bound, numbers, {}, seed);
  INFO(Message(expected.status()));
  REQUIRE(expected.ok());
  for (size_t i = 0; i < expected->size(); ++i) {
    REQUIRE((*got)[i].shape == (*expected)[i].shape);
    CHECK(std::ranges::equal(ValuesOf((*got)[i]), ValuesOf((*expected)[i]),
                             [&](double a, double b) { return IsClose(a, b, tolerance); }));
  }
}

// Lowers the node once with its dimensions free, and at random sizes with numbers: both give the
// same, and what the numbers are refused for is what the formulas take for granted. (Of two free
// extents that broadcast neither is taken for 1; rows with such begin at 2.)
void CheckAtRandomSizes(const FreeOperator& row, int rounds, Random& random) {
  INFO(row.node);
  Graph graph = GraphOf(row.node);
  StatusOr<LoweredNode> free = LowerNode(graph, graph.nodes[0]);
  INFO(Message(free.status()));
  REQUIRE(free.ok());
  int compared = 0;
  for (int round = 0; round < rounds; ++round) {
    Assignment sizes;
    std::string at;
    for (const Var& var : graph.shape_vars) {
      sizes[var] = random.Between(var->low, var->high);
      at += fmt::format(" {}={}", var->name, sizes[var]);
    }
    INFO("at" << at);
    Graph numbers = Bound(graph, sizes);
    StatusOr<LoweredNode> bound = LowerNode(numbers, numbers.nodes[0]);
    INFO(Message(bound.status()));
    CHECK(bound.ok() == Agrees(*free, sizes));
    if (!bound.ok() || !Agrees(*free, sizes)) continue;
    CheckSameResults(*free, graph, sizes, *bound, numbers, row.tolerance, random.Next());
    ++compared;
  }
  CHECK(compared > 0);
}

constexpr FreeOperator kResized[] = {
    // By sizes: a whole multiple, a whole part, and any.
    {"dim N in 1..3 dim H in 1..9 dim W in 1..9 input x: f32[N, 2, H, W] "
     "sizes s: i64[4] = [N, 2, H * 2, W * 3] y = Resize(x, _, _, s) "
     "{mode: \"nearest\", coordinate_transformation_mode: \"asymmetric\", nearest_mode: \"floor\"} "
     ": f32[1]"},
    {"dim H in 1..9 dim W in 1..9 input x: f32[1, 2, 2 * H, 3 * W] "
     "sizes s: i64[4] = [1, 2, H, W] y = Resize(x, _, _, s) "
     "{mode: \"nearest\", coordinate_transformation_mode: \"half_pixel\"} : f32[1]"},
    {"dim H in 1..9 dim W in 1..9 dim A in 1..12 input x: f32[1, 2, H, W] "
     "sizes s: i64[4] = [1, 2, A, 7] y = Resize(x, _, _, s) "
     "{mode: \"nearest\", coordinate_transformation_mode: \"asymmetric\", nearest_mode: \"floor\"} "
     ": f32[1]"},
    {"dim H in 1..9 dim A in 1..12 input x: f32[1, 1, H, 5] sizes s: i64[4] = [1, 1, A, A] "
     "y = Resize(x, _, _, s) {mode: \"nearest\", coordinate_transformation_mode: "
     "\"align_corners\", nearest_mode: \"round_prefer_ceil\"} : f32[1]"},
    {"dim H in 1..9 dim A in 1..12 input x: f32[1, 1, H, 5] sizes s: i64[4] = [1, 1, A, 5] "
     "y = Resize(x, _, _, s) {mode: \"linear\", coordinate_transformation_mode: "
     "\"pytorch_half_pixel\"} : f32[1]",
     1e-5},
    {"dim H in 1..9 dim A in 1..12 input x: f32[1, 1, H, H + 1] sizes s: i64[2] = [A, A] "
     "y = Resize(x, _, _, s) {mode: \"linear\", axes: [2, 3], coordinate_transformation_mode: "
     "\"align_corners\"} : f32[1]",
     1e-5},
    {"dim N in 1..4 dim H in 1..9 input x: f32[N, 1, H, 4] sizes s: i64[2] = [H * 2, 9] "
     "y = Resize(x, _, _, s) {mode: \"cubic\", axes: [2, 3], exclude_outside: 1, "
     "coordinate_transformation_mode: \"half_pixel\"} : f32[1]",
     1e-5},
    {"dim H in 2..9 input x: f32[1, 1, 3 * H, 4] sizes s: i64[2] = [H, 4] "
     "y = Resize(x, _, _, s) {mode: \"linear\", axes: [2, 3], antialias: 1, "
     "coordinate_transformation_mode: \"half_pixel\"} : f32[1]",
     1e-5},
    {"dim H in 1..20 dim A in 1..12 input x: f32[1, 1, H, 5] sizes s: i64[2] = [A, 3] "
     "y = Resize(x, _, _, s) {mode: \"linear\", axes: [2, 3], antialias: 1, "
     "coordinate_transformation_mode: \"half_pixel\"} : f32[1]",
     1e-5},
    {"dim H in 1..20 dim W in 1..9 input x: f32[1, 1, H, W] sizes s: i64[2] = [4, 4] "
     "y = Resize(x, _, _, s) {mode: \"cubic\", axes: [2, 3], antialias: 1, exclude_outside: 1, "
     "coordinate_transformation_mode: \"half_pixel\"} : f32[1]",
     1e-5},
    {"dim H in 0..2 dim A in 1..6 input x: f32[1, 1, H, 5] sizes s: i64[4] = [1, 1, A - 2, 5] "
     "y = Resize(x, _, _, s) {mode: \"nearest\"} : f32[1]"},
    // By scales.
    {"dim N in 1..3 dim H in 1..9 dim W in 1..9 constant double: f32[4] "
     "input x: f32[N, 2, H, W] y = Resize(x, _, double) "
     "{mode: \"nearest\", coordinate_transformation_mode: \"asymmetric\", nearest_mode: \"floor\"} "
     ": f32[1]"},
    {"dim N in 1..3 dim H in 1..9 constant double: f32[4] input x: f32[N, 2, H, 5] "
     "y = Resize(x, _, double) {mode: \"nearest\", coordinate_transformation_mode: "
     "\"tf_half_pixel_for_nn\", nearest_mode: \"ceil\"} : f32[1]"},
    {"dim N in 1..3 dim H in 1..9 dim W in 1..9 constant double: f32[4] "
     "input x: f32[N, 2, H, W] y = Resize(x, _, double) "
     "{mode: \"linear\", coordinate_transformation_mode: \"align_corners\"} : f32[1]",
     1e-5},
    {"dim H in 1..9 dim W in 1..9 constant double: f32[4] input x: f32[1, 1, H, W] "
     "y = Resize(x, _, double) "
     "{mode: \"linear\", coordinate_transformation_mode: \"half_pixel_symmetric\"} : f32[1]",
     1e-5},
    {"dim H in 3..20 dim W in 2..9 constant third: f32[4] input x: f32[1, 1, H, W] "
     "y = Resize(x, _, third) {mode: \"nearest\", coordinate_transformation_mode: \"half_pixel\"} "
     ": f32[1]"},
    {"dim H in 3..20 dim W in 2..9 constant third: f32[4] input x: f32[1, 1, H, W] "
     "y = Resize(x, _, third) {mode: \"nearest\", coordinate_transformation_mode: \"asymmetric\", "
     "nearest_mode: \"simple\"} : f32[1]"},
    {"dim H in 3..20 dim W in 2..9 constant third: f32[4] input x: f32[1, 1, H, W] "
     "y = Resize(x, _, third) "
     "{mode: \"linear\", coordinate_transformation_mode: \"pytorch_half_pixel\"} : f32[1]",
     1e-5},
    {"dim H in 1..20 constant more: f32[4] input x: f32[1, 1, H, H] y = Resize(x, _, more) "
     "{mode: \"nearest\", coordinate_transformation_mode: \"asymmetric\", nearest_mode: "
     "\"round_prefer_floor\"} : f32[1]"},
    {"dim H in 1..20 constant more: f32[4] input x: f32[1, 1, H, H] y = Resize(x, _, more) "
     "{mode: \"cubic\", coordinate_transformation_mode: \"half_pixel\"} : f32[1]",
     1e-5},
    {"dim H in 2..40 constant odd: f32[4] input x: f32[1, 1, H, 3] y = Resize(x, _, odd) "
     "{mode: \"nearest\", coordinate_transformation_mode: \"half_pixel\"} : f32[1]"},
    {"dim H in 2..40 constant odd: f32[4] input x: f32[1, 1, H, 3] y = Resize(x, _, odd) "
     "{mode: \"nearest\", coordinate_transformation_mode: \"asymmetric\", nearest_mode: "
     "\"floor\"} : f32[1]"},
    {"dim H in 2..40 constant odd: f32[4] input x: f32[1, 1, H, 3] y = Resize(x, _, odd) "
     "{mode: \"linear\", coordinate_transformation_mode: \"pytorch_half_pixel\"} : f32[1]",
     1e-5},
};

constexpr FreeOperator kSampled[] = {
    {"dim N in 1..3 dim H in 1..5 dim W in 1..5 input x: f32[N, 12, H, W] "
     "y = DepthToSpace(x) {blocksize: 2, mode: \"DCR\"} : f32[1]"},
    {"dim N in 1..3 dim H in 1..5 dim W in 1..5 input x: f32[N, 12, H, W] "
     "y = DepthToSpace(x) {blocksize: 2, mode: \"CRD\"} : f32[1]"},
    {"dim N in 1..3 dim H in 1..6 dim W in 1..3 input x: f32[N, 3, H, 2 * W] "
     "y = SpaceToDepth(x) {blocksize: 2} : f32[1]"},
    {"dim N in 1..3 dim M in 1..3 dim H in 1..5 dim W in 1..6 dim A in 1..4 "
     "input x: f32[N, 2, H, W] input g: f32[M, A, 3, 2] "
     "y = GridSample(x, g) {mode: \"linear\", padding_mode: \"zeros\", align_corners: 0} : f32[1]",
     1e-5},
    {"dim N in 1..3 dim C in 1..3 input x: f32[N, 2, 4, 5] input g: f32[N, 3, 3, C] "
     "y = GridSample(x, g) {mode: \"nearest\", padding_mode: \"zeros\", align_corners: 0} "
     ": f32[1]"},
    {"dim R in 1..4 dim C in 1..6 input x: f32[2, 2, 4, 5] input r: f32[R, C] input b: i64[R] "
     "y = RoiAlign(x, r, b) {output_height: 2, output_width: 3, sampling_ratio: 2, mode: "
     "\"avg\"} : f32[1]",
     1e-5},
    {"dim N in 1..3 dim H in 1..5 dim W in 1..6 input x: f32[N, 2, H, W] input g: f32[N, 3, 3, 2] "
     "y = GridSample(x, g) {mode: \"nearest\", padding_mode: \"border\", align_corners: 1} "
     ": f32[1]"},
    {"dim N in 1..3 dim H in 1..3 dim W in 1..6 input x: f32[N, 2, H, W] input g: f32[N, 3, 3, 2] "
     "y = GridSample(x, g) {mode: \"linear\", padding_mode: \"reflection\", align_corners: 1} "
     ": f32[1]",
     1e-5},
    {"dim N in 1..3 dim H in 1..5 dim W in 1..6 input x: f32[N, 2, H, W] input g: f32[N, 3, 3, 2] "
     "y = GridSample(x, g) {mode: \"cubic\", padding_mode: \"reflection\", align_corners: 0} "
     ": f32[1]",
     1e-5},
    {"dim N in 1..3 dim M in 1..3 dim H in 1..4 dim W in 1..4 input t: f32[N, 2, 3] "
     "sizes s: i64[4] = [M, 5, H, W] y = AffineGrid(t, s) {align_corners: 1} : f32[1]",
     1e-5},
    {"dim N in 1..3 dim H in 1..4 input t: f32[N, 3, 4] sizes s: i64[5] = [N, 5, H, 2, 2 * H] "
     "y = AffineGrid(t, s) {align_corners: 0} : f32[1]",
     1e-5},
    {"dim N in 1..3 dim H in 1..9 dim W in 1..9 dim R in 1..4 dim S in 1..4 "
     "input x: f32[N, 2, H, W] input r: f32[R, 4] input b: i64[S] y = RoiAlign(x, r, b) "
     "{output_height: 2, output_width: 3, sampling_ratio: 2, mode: \"avg\", spatial_scale: 1.5} "
     ": f32[1]",
     1e-5},
    {"dim H in 1..9 dim W in 1..9 dim R in 1..3 input x: f32[2, 1, H, W] input r: f32[R, 4] "
     "input b: i64[R] y = RoiAlign(x, r, b) {output_height: 2, output_width: 1, "
     "sampling_ratio: 0, mode: \"avg\", spatial_scale: 3.0} : f32[1]",
     1e-5},
    {"dim H in 1..6 dim R in 1..3 input x: f32[2, 1, H, H + 2] input r: f32[R, 4] "
     "input b: i64[R] y = RoiAlign(x, r, b) {output_height: 2, output_width: 1, "
     "sampling_ratio: 0, mode: \"max\", spatial_scale: 3.0, coordinate_transformation_mode: "
     "\"output_half_pixel\"} : f32[1]",
     1e-5},
};

constexpr FreeOperator kMoved[] = {
    {"dim N in 1..3 dim M in 1..3 dim H in 1..4 input x: f32[N, 2, H] input i: i64[M, 2, H] "
     "y = MaxUnpool(x, i) {kernel_shape: [2], strides: [2]} : f32[1]"},
    {"dim N in 1..3 dim H in 1..4 dim A in 0..9 input x: f32[N, 1, H, 2] input i: i64[N, 1, H, 2] "
     "sizes s: i64[4] = [N, 1, A, 4] "
     "y = MaxUnpool(x, i, s) {kernel_shape: [2, 2], strides: [2, 2], pads: [1, 0, 1, 0]} : f32[1]"},
    {"dim N in 1..4 dim M in 1..4 dim K in 0..3 input x: f32[N, M] input i: i64[K, 2] "
     "input u: f32[K, 2] y = ScatterElements(x, i, u) {axis: 1, reduction: \"add\"} : f32[1]"},
    {"dim N in 1..3 dim M in 1..3 dim K in 1..3 input x: f32[4, N] input i: i64[K, M] "
     "input u: f32[K, 2] y = ScatterElements(x, i, u) {axis: 0, reduction: \"none\"} : f32[1]"},
    {"dim P in 0..2 dim K in 0..2 input x: f32[P, 2] input i: i64[K] "
     "y = Gather(x, i) {axis: 0} : f32[1]"},
    {"dim P in 0..2 dim K in 0..2 input x: f32[2, P] input i: i64[2, K] input u: f32[2, K] "
     "y = ScatterElements(x, i, u) {axis: 1, reduction: \"max\"} : f32[1]"},
    {"dim N in 1..4 dim M in 1..3 dim K in 1..3 dim L in 1..3 input x: f32[N, M, 2] "
     "input i: i64[K, 1] input u: f32[L, M, 2] y = ScatterND(x, i, u) {reduction: \"mul\"} "
     ": f32[1]"},
    {"dim N in 1..3 dim M in 1..3 dim P in 1..6 dim S in 1..4 input c: f32[N, 2, P, 3] "
     "input u: f32[M, 2, S, 3] input s: i64[N] y = TensorScatter(c, u, s) "
     "{axis: -2, mode: \"linear\"} : f32[1]"},
    {"dim N in 1..3 dim P in 1..6 dim S in 1..4 input c: f32[N, P, 3] input u: f32[N, S, 3] "
     "input s: i64[N] y = TensorScatter(c, u, s) {axis: 1, mode: \"circular\"} : f32[1]"},
    {"dim N in 1..3 dim P in 1..6 dim S in 1..4 input c: f32[N, P, 3] input u: f32[N, S, 3] "
     "y = TensorScatter(c, u) {axis: 1, mode: \"linear\"} : f32[1]"},
    {"dim N in 1..4 dim S in 1..5 input x: f32[N, S] sizes a: i64[1] = [1] "
     "y = CumSum(x, a) {exclusive: 1, reverse: 1} : f32[1]"},
    {"dim N in 1..4 dim S in 1..5 input x: f32[N, S] sizes a: i64[1] = [0] "
     "y = CumProd(x, a) : f32[1]"},
    {"dim T in 1..5 dim N in 1..3 dim M in 1..3 input x: f32[T, N, 2] input l: i64[M] "
     "y = ReverseSequence(x, l) {batch_axis: 1, time_axis: 0} : f32[1]"},
    {"dim N in 1..5 dim M in 1..5 input x: f32[N, M] y = EyeLike(x) {k: 1, to: \"f32\"} : f32[1]"},
    // TopK: free rows, a free axis, a free k.
    {"dim N in 1..3 input x: f32[N, 130] sizes k: i64[1] = [5] "
     "y, i = TopK(x, k) {axis: 1, largest: 1} : f32[1], i64[1]"},
    {"dim N in 1..3 dim S in 1..9 input x: f32[N, S, 2] sizes k: i64[1] = [3] "
     "y, i = TopK(x, k) {axis: 1, largest: 0} : f32[1], i64[1]"},
    {"dim S in 1..9 input x: f32[S] sizes k: i64[1] = [min(S, 4)] "
     "y, i = TopK(x, k) {axis: 0, largest: 1} : f32[1], i64[1]"},
    {"dim S in 0..9 input x: f32[2, 7] sizes k: i64[1] = [S] "
     "y, i = TopK(x, k) {axis: 1, largest: 1} : f32[1], i64[1]"},
};

constexpr FreeOperator kContracted[] = {
    {"dim N in 1..4 dim M in 1..4 dim K in 1..3 dim L in 1..3 input a: f32[N, K] "
     "input b: f32[L, M] input c: f32[M] "
     "y = Gemm(a, b, c) {alpha: 0.5, beta: 2.0, transA: 0, transB: 0} : f32[1]"},
    {"dim N in 1..4 dim M in 1..3 dim K in 1..3 input a: f32[3, N] input b: f32[M, K] "
     "input c: f32[N, 2] y = Gemm(a, b, c) {alpha: 1.0, beta: 1.0, transA: 1, transB: 1} "
     ": f32[1]"},
    {"dim N in 1..4 dim K in 2..3 input a: f32[1, 3] input b: f32[3, 2] input c: f32[N, K] "
     "y = Gemm(a, b, c) {alpha: 1.0, beta: 1.0, transA: 0, transB: 0} : f32[1]"},
    {"dim B in 1..3 dim N in 1..4 dim K in 1..3 dim L in 1..3 input a: f32[B, N, K] "
     "input b: f32[B, L, 5] y = MatMul(a, b) : f32[1]"},
    {"dim N in 1..4 dim K in 2..3 dim L in 2..3 dim M in 1..3 input a: u8[N, K] "
     "input b: i8[L, M] input z: u8[L] input w: i8[M] "
     "y = MatMulInteger(a, b, z, w) : i32[1]"},
    {"dim B in 2..3 dim N in 1..3 dim K in 1..3 input a: u8[B, N, 4] input b: i8[4, 2] "
     "input z: u8[B, K, 1] y = MatMulInteger(a, b, z) : i32[1]"},
    {"dim N in 1..3 input a: f32[2, N, 16] input w: i32[4, 5] input s: f32[2, 5] "
     "input z: f32[2, 5] y = MatMulWords(a, w, s, z) {bits: 8} : f32[1]",
     1e-3},
    {"dim B in 1..3 dim N in 1..3 dim M in 1..3 dim K in 2..3 dim L in 2..3 "
     "input a: f32[B, N, K] input b: f32[B, L, M] "
     "y = Einsum(a, b) {equation: \"bik,bkj->bji\"} : f32[1]"},
    {"dim B in 2..3 dim C in 2..3 dim N in 1..3 input a: f32[B, N] input b: f32[C, 2] "
     "input c: f32[1, N] y = Einsum(a, b, c) {equation: \"...i,...k,...i->...k\"} : f32[1]"},
    {"dim N in 1..3 dim M in 1..3 input x: f32[N, M, 3, 3] y = Det(x) : f32[1]", 1e-4},
    {"dim N in 1..3 dim M in 2..4 input x: f32[N, M, 3] y = Det(x) : f32[1]", 1e-4},
    // A signal of known length, of a free one, and one that is cut or followed by zeros.
    {"dim N in 1..3 input x: f32[N, 6, 1] y = DFT(x) {axis: 1, onesided: 1} : f32[1]", 1e-4},
    {"dim N in 1..3 dim S in 1..6 input x: f32[N, S, 2] y = DFT(x) {axis: 1} : f32[1]", 1e-4},
    {"dim N in 1..3 dim S in 1..6 input x: f32[N, S, 1] y = DFT(x) {axis: 1, onesided: 1} "
     ": f32[1]",
     1e-4},
    {"dim S in 1..6 input x: f32[S, 2] y = DFT(x) {axis: 0, onesided: 1, inverse: 1} : f32[1]",
     1e-4},
    {"dim S in 1..9 dim L in 1..9 input x: f32[S, 2] sizes l: i64[1] = [L] "
     "y = DFT(x, l) {axis: 0, inverse: 1} : f32[1]",
     1e-4},
};

constexpr FreeOperator kNormalized[] = {
    {"dim N in 1..3 dim S in 1..4 dim W in 2..5 dim V in 2..5 input x: f32[N, S, W] "
     "input s: f32[V] input b: f32[W] y, m, d = LayerNormalization(x, s, b) {axis: -1} "
     ": f32[1], f32[1], f32[1]",
     1e-4},
    {"dim N in 1..3 dim W in 2..5 dim V in 2..5 input x: f32[N, W, 2] input s: f32[V, 2] "
     "y = RMSNormalization(x, s) {axis: 1} : f32[1]",
     1e-4},
    {"dim N in 1..3 dim W in 1..5 input x: f32[N, W] y = LpNormalization(x) {axis: 1, p: 2} "
     ": f32[1]",
     1e-4},
    {"dim N in 1..3 dim W in 1..5 input x: f32[N, 2, W, 3] y = MeanVarianceNormalization(x) "
     "{axes: [0, 2, 3]} : f32[1]",
     1e-4},
    {"dim N in 1..3 dim C in 1..3 dim D in 1..3 dim H in 1..4 input x: f32[N, C, H] "
     "input s: f32[D] input b: f32[C] input m: f32[C] input v: f32[3] "
     "y = BatchNormalization(x, s, b, m, v) : f32[1]",
     1e-4},
    {"dim N in 1..3 dim H in 1..4 dim C in 2..4 input x: f32[N, 3, H, 2] input s: f32[C] "
     "input b: f32[3] y = InstanceNormalization(x, s, b) : f32[1]",
     1e-4},
    {"dim N in 1..3 dim H in 1..4 input x: f32[N, 6, H] input s: f32[6] input b: f32[6] "
     "y = GroupNormalization(x, s, b) {num_groups: 2} : f32[1]",
     1e-4},
    {"dim N in 1..3 dim C in 1..6 dim H in 1..3 input x: f32[N, C, H] "
     "y = LRN(x) {size: 3, alpha: 0.5, beta: 0.75, bias: 1.0} : f32[1]",
     1e-5},
    {"dim N in 1..3 dim M in 1..3 dim C in 1..4 dim D in 1..4 dim H in 1..3 "
     "input x: f32[N, C, H] input t: i64[M, H] input w: f32[D] "
     "y = NegativeLogLikelihoodLoss(x, t, w) {reduction: \"sum\", ignore_index: 1} : f32[1]",
     1e-4},
    {"dim N in 1..3 dim C in 1..4 input x: f32[N, C] input t: i64[N] "
     "y = NegativeLogLikelihoodLoss(x, t) {reduction: \"mean\"} : f32[1]",
     1e-4},
    // Scales of slices and of blocks; the last block is short.
    {"dim N in 1..3 dim C in 1..4 dim D in 1..4 input x: f32[N, C, 2] input s: f32[D] "
     "input z: u8[C] y = QuantizeLinear(x, s, z) {axis: 1, to: \"u8\"} : u8[1]"},
    {"dim N in 1..3 input x: i8[N, 5] input s: f32[N, 3] input z: i8[N, 3] "
     "y = DequantizeLinear(x, s, z) {axis: 1, block_size: 2, to: \"f32\"} : f32[1]"},
    {"dim N in 1..7 dim K in 1..3 input x: i8[N, 2] input s: f32[K, 2] "
     "y = DequantizeLinear(x, s) {axis: 0, block_size: 3, to: \"f32\"} : f32[1]"},
};

void CheckAll(std::span<const FreeOperator> rows) {
  Random random(7);
  for (const FreeOperator& row : rows) CheckAtRandomSizes(row, 64, random);
}

std::string Refusal(const std::string& items) {
  Graph graph = GraphOf(items);
  return Message(LowerNode(graph, graph.nodes[0]).status());
}

std::string ShapeOf(const std::string& items) {
  Graph graph = GraphOf(items);
  StatusOr<LoweredNode> lowered = LowerNode(graph, graph.nodes[0]);
  if (!lowered.ok()) return Message(lowered.status());
  return ShapeText(lowered->program.outputs[0].shape);
}

}  // namespace

TEST_CASE("images of free extents are resized as those of known extents", "[graph][free]") {
  CheckAll(kResized);
}

TEST_CASE("images of free extents are sampled as those of known extents", "[graph][free]") {
  CheckAll(kSampled);
}

TEST_CASE("elements of free tensors go to the places where those of known ones go",
          "[graph][free]") {
  CheckAll(kMoved);
}

TEST_CASE("contractions over free extents sum what those over known extents sum", "[graph][free]") {
  CheckAll(kContracted);
}

TEST_CASE("free rows are normalized and quantized as known ones", "[graph][free]") {
  CheckAll(kNormalized);
}

TEST_CASE("a resized dimension is a formula of its input", "[graph][free]") {
  std::string image = "dim N in 1..4 dim H in 1..64 dim W in 1..64 input x: f32[N, 3, H, W] ";
  CHECK(ShapeOf(image + "constant double: f32[4] y = Resize(x, _, double) : f32[1]") ==
        "Nx3x(H * 2)x(W * 2)");
  CHECK(ShapeOf(image + "constant third: f32[4] y = Resize(x, _, third) : f32[1]") ==
        "Nx3x(H div 3)x(W div 2)");
  CHECK(ShapeOf(image + "constant more: f32[4] y = Resize(x, _, more) : f32[1]") ==
        "Nx3x(H + H div 2)x(W * 2)");
  CHECK(ShapeOf(image + "constant odd: f32[4] y = Resize(x, _, odd) : f32[1]") ==
        "Nx3x(H * 7 div 10)x(W * 2)");
}

// Where the scale is known, so are the places, in integers: nothing of the program looks at N.
TEST_CASE("the nearest pixels of a free image that is doubled are found by integers alone",
          "[graph][free]") {
  Graph graph = GraphOf(
      "dim N in 1..4 dim H in 1..64 dim W in 1..64 input x: f32[N, 3, H, W] "
      "constant double: f32[4] y = Resize(x, _, double) {mode: \"nearest\", "
      "coordinate_transformation_mode: \"asymmetric\", nearest_mode: \"floor\"} : f32[1]");
  StatusOr<LoweredNode> lowered = LowerNode(graph, graph.nodes[0]);
  REQUIRE(lowered.ok());
  std::string text = Print(BuildLoopNest(lowered->program));
  INFO(text);
  CHECK(text.find("x[n, c, h div 2, w div 2]") != std::string::npos);
}

TEST_CASE("a failure names the free dimensions that must be known", "[graph][free]") {
  struct Row {
    const char* items;
    const char* message;
    std::vector<std::string> dims;
  };
  const Row rows[] = {
      {"dim N in 1..4 dim H in 1..64 constant uneven: f32[4] input x: f32[N, 3, H, 4] "
       "y = Resize(x, _, uneven) : f32[1]",
       "node 'y' (Resize): scale 1.3 of H; expected known dimensions",
       {"H"}},
      {"dim H in 1..64 dim A in 1..9 input x: f32[1, 3, H, 4] sizes s: i64[4] = [1, 3, A, 4] "
       "y = Resize(x, _, _, s) {keep_aspect_ratio_policy: \"not_larger\"} : f32[1]",
       "node 'y' (Resize): keep_aspect_ratio_policy 'not_larger' of H; expected known dimensions",
       {"H", "A"}},
      {"dim N in 1..4 dim C in 1..8 input x: f32[N, C, 2, 2] y = DepthToSpace(x) {blocksize: 2} "
       ": f32[1]",
       "node 'y' (DepthToSpace): input 0 ('x', shape NxCx2x2) in dimension 1; expected known "
       "dimensions",
       {"C"}},
      {"dim N in 1..4 dim C in 1..8 input x: f32[N, C, 2] input s: f32[C] "
       "y = InstanceNormalization(x, s, s) : f32[1]",
       "node 'y' (InstanceNormalization): input 0 ('x', shape NxCx2) in dimension 1; expected "
       "known dimensions",
       {"C"}},
      {"dim N in 1..4 input x: f32[N, N] y = Det(x) : f32[1]",
       "node 'y' (Det): input 0 ('x', shape NxN) in dimension 1; expected known dimensions",
       {"N"}},
  };
  for (const Row& row : rows) {
    Graph graph = GraphOf(row.items);
    Status status = LowerNode(graph, graph.nodes[0]).status();
    CHECK(Message(status) == row.message);
    std::vector<std::string> dims;
    for (const WantedOption& wanted : WantedOptions(status)) {
      CHECK(wanted.option == Option::kDims);
      dims.push_back(wanted.key);
    }
    CHECK(dims == row.dims);
  }
}

TEST_CASE("extents that never agree are refused as known ones are", "[graph][free]") {
  CHECK(Refusal("dim N in 1..4 input a: f32[2, N] input b: f32[8, 3] y = Gemm(a, b) : f32[1]") ==
        "node 'y' (Gemm): operands of shapes 2xN and 8x3 (transA 0, transB 0) disagree on the "
        "inner dimension");
  CHECK(Refusal("dim N in 1..4 input x: f32[N, 3] sizes k: i64[1] = [9] "
                "y = TopK(x, k) {axis: 0} : f32[1]") == "node 'y' (TopK): k is 9; expected 0 to N");
}
