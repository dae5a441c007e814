// Pools whose input is padded, or whose windows are reduced dimension by dimension: every sketch of
// every variant, as machine code, against windows written out.

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "compiler/compile_graph.h"
#include "compiler/kernels.h"
#include "graph/passes/graph_pipeline.h"
#include "ir/text/printer.h"
#include "models/zoo/graph_builder.h"
#include "runtime/executor/executor.h"
#include "schedule/sketches/parts/sketch.h"

namespace tcc {
namespace {

using Ints = std::vector<int64_t>;

struct PoolCase {
  std::string name;
  OpKind op = OpKind::kMaxPool;
  DType dtype = kFloat32;
  int64_t channels = 1, height = 1, width = 1;
  int64_t kernel = 3, stride = 1, pad = 0, dilation = 1;
  bool ceil = false, counts_padding = false;
  size_t variants = 1;

  int64_t OutputOf(int64_t input) const {
    int64_t room = input + 2 * pad - dilation * (kernel - 1) - 1;
    int64_t output = (room + (ceil ? stride - 1 : 0)) / stride + 1;
    return (output - 1) * stride >= input + pad ? output - 1 : output;
  }
};

std::vector<PoolCase> PoolCases() {
  PoolCase strided{.name = "3x3/2", .channels = 3, .height = 19, .width = 37, .stride = 2};
  strided.pad = 1;
  strided.variants = 2;
  PoolCase wide{.name = "5x5", .channels = 5, .height = 20, .width = 20, .kernel = 5, .pad = 2};
  wide.variants = 3;
  PoolCase dilated = wide;
  dilated.name = "7x7, dilated, strided, no padding at the ends";
  dilated.kernel = 7, dilated.stride = 2, dilated.pad = 3, dilated.dilation = 2;
  dilated.height = dilated.width = 33;
  dilated.variants = 2;
  PoolCase ceil = strided;
  ceil.name = "3x3/2, windows that hang over", ceil.pad = 0, ceil.ceil = true;
  ceil.height = 20, ceil.width = 38;
  std::vector<PoolCase> cases = {strided, wide, dilated, ceil};
  PoolCase inside = strided;
  inside.name = "2x2/2", inside.pad = 0, inside.kernel = 2, inside.variants = 1;
  cases.push_back(inside);
  for (DType dtype : {DType{DTypeCode::kInt8}, DType{DTypeCode::kUInt8}, kFloat16}) {
    for (PoolCase c : {strided, wide}) {
      c.name += " of " + std::string(ToString(dtype));
      c.dtype = dtype;
      cases.push_back(c);
    }
  }
  for (PoolCase c : {strided, wide, ceil}) {
    c.op = OpKind::kAveragePool;
    cases.push_back(c);
    c.name += ", padding counted";
    c.counts_padding = true;
    cases.push_back(c);
  }
  return cases;
}

Graph PoolGraph(const PoolCase& c) {
  GraphBuilder builder("pool", 5);
  ValueId x = builder.Input("x", {1, c.channels, c.height, c.width});
  std::map<std::string, Attribute> how = {{"kernel_shape", Ints{c.kernel, c.kernel}},
                                          {"strides", Ints{c.stride, c.stride}},
                                          {"pads", Ints{c.pad, c.pad, c.pad, c.pad}},
                                          {"dilations", Ints{c.dilation, c.dilation}},
                                          {"ceil_mode", Attribute(int64_t{c.ceil})}};
  if (c.counts_padding) how.emplace("count_include_pad", Attribute(int64_t{1}));
  ValueId y = builder.Emit("y", c.op, {x}, how);
  builder.Output(y, {1, c.channels, c.OutputOf(c.height), c.OutputOf(c.width)});
  Graph graph = builder.Take();
  for (Value& value : graph.values) value.dtype = c.dtype;
  return graph;
}

// With what a maximum could get wrong: lowest values, in whole windows too, and NaN.
Tensor InputOf(const PoolCase& c) {
  Tensor x = MakeZeroTensor(c.dtype, {1, c.channels, c.height, c.width});
  Random random(7);
  bool is_max = c.op == OpKind::kMaxPool;
  for (int64_t i = 0; i < ElementCount(x.shape).value(); ++i) {
    double value =
        c.dtype.is_float() ? random.Normal() : std::floor(100 * std::abs(random.Normal()));
    if (c.dtype.code() == DTypeCode::kInt8) value = std::fmod(value, 100) - 128;
    if (c.dtype.code() == DTypeCode::kUInt8) value = std::fmod(value, 200);
    bool low = i < c.height * c.width && i % c.width < c.width / 2;
    if (is_max && c.dtype.is_float() && low) value = -std::numeric_limits<double>::infinity();
    if (is_max && c.dtype.is_float() && i % 211 == 5) value = std::nan("");
    SetElement(x, i, value);
  }
  return x;
}

// One window as ONNX states it: taps in the padding are none, but they count where they are to.
double WindowOf(const PoolCase& c, const Tensor& x, int64_t channel, int64_t row, int64_t column) {
  bool is_max = c.op == OpKind::kMaxPool;
  double result = is_max ? -std::numeric_limits<double>::infinity() : 0;
  int64_t count = 0;
  for (int64_t t = 0; t < c.kernel * c.kernel; ++t) {
    int64_t h = row * c.stride + t / c.kernel * c.dilation - c.pad;
    int64_t w = column * c.stride + t % c.kernel * c.dilation - c.pad;
    count += c.counts_padding && h < c.height + c.pad && w < c.width + c.pad;
    if (h < 0 || h >= c.height || w < 0 || w >= c.width) continue;
    count += !c.counts_padding;
    double value = ElementAsDouble(x, (channel * c.height + h) * c.width + w);
    bool is_nan = std::isnan(value) || std::isnan(result);
    result = !is_max ? result + value : is_nan ? std::nan("") : std::max(result, value);
  }
  return is_max ? result : result / static_cast<double>(count);
}

void CheckWindows(const PoolCase& c, const Tensor& x, const Tensor& y) {
  int64_t rows = c.OutputOf(c.height), columns = c.OutputOf(c.width);
  REQUIRE(y.shape == Ints{1, c.channels, rows, columns});
  for (int64_t i = 0; i < ElementCount(y.shape).value(); ++i) {
    double want = WindowOf(c, x, i / columns / rows, i / columns % rows, i % columns);
    double got = ElementAsDouble(y, i);
    bool same = want == got || (std::isnan(want) && std::isnan(got));
    bool near = c.op == OpKind::kAveragePool && std::abs(want - got) <= 1e-6;
    INFO("element " << i << ": " << got << ", not " << want);
    if (!same && !near) FAIL();
  }
}

void CheckSketches(const PoolCase& c, const Target& target) {
  Graph graph = PoolGraph(c);
  Graph passed = graph;
  REQUIRE(RunGraphPasses(passed).ok());
  CompileOptions options;
  options.target = target;
  KernelSet kernels =
      MakeKernels(std::array{FusedGraph{passed, FuseGraph(passed), {}}}, options).value();
  REQUIRE(kernels.kernels.size() == 1);
  const KernelStages& kernel = kernels.kernels[0];
  CHECK(kernel.variants.size() == c.variants);
  Tensor x = InputOf(c);
  for (size_t v = 0; v < kernel.variants.size(); ++v) {
    for (const Sketch& sketch : GenerateSketches(kernel.variants[v], target)) {
      INFO("variant " << v << ", " << sketch.name);
      CompileOptions compile;
      compile.target = target;
      compile.verify = true;
      compile.schedules[kernel.symbol] = {sketch.trace, sketch.start, v};
      Module module = Module::FromArtefact(CompileGraph(graph, compile).value()).value();
      CheckWindows(c, x, Executor(module).Run(std::vector<Tensor>{x}).value()[0]);
    }
  }
}

}  // namespace

TEST_CASE("every sketch of every variant of a pool computes its windows", "[compiler][variants]") {
  for (const PoolCase& c : PoolCases()) {
    INFO(c.name);
    CheckSketches(c, *FindTarget("native"));
  }
}

TEST_CASE("vectors of a CPU without masks pool strided rows as well", "[compiler][variants]") {
  for (const PoolCase& c : PoolCases()) {
    INFO(c.name);
    CheckSketches(c, *FindTarget("x86-64-v3"));
  }
}

TEST_CASE("a large window is reduced in one dimension after the other on a CPU",
          "[compiler][variants]") {
  PoolCase c = PoolCases()[1];
  Graph passed = PoolGraph(c);
  REQUIRE(RunGraphPasses(passed).ok());
  CompileOptions options;
  options.target = *FindTarget("native");
  KernelSet kernels =
      MakeKernels(std::array{FusedGraph{passed, FuseGraph(passed), {}}}, options).value();
  const KernelStages& kernel = kernels.kernels[0];
  std::string text = Print(kernel.variants[kernel.schedule.variant]);
  INFO(text);
  CHECK(text.find("_along: f32[1, 5, 20, 20]") != std::string::npos);
  CHECK(text.find("for kh in 0..5") != std::string::npos);
  CHECK(text.find("for kw in 0..5") != std::string::npos);
}

}  // namespace tcc
