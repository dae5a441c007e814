// Products of integers of few bits by bit planes: as machine code, from kernels' text on the
// emulated GPU, and as kernels of their own.

#include <algorithm>
#include <catch2/catch.hpp>

#include "compiler/check/compare_tensors.h"
#include "compiler/compile_graph.h"
#include "compiler/devices/emulated_device.h"
#include "compiler/devices/reference_device.h"
#include "compiler/kernels.h"
#include "graph/variants/variants.h"
#include "models/zoo/graph_builder.h"
#include "runtime/executor/executor.h"
#include "schedule/sketches/parts/sketch.h"
#include "support/random.h"
#include "support/tensor.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

using Ints = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;

const DType kU8 = DType(DTypeCode::kUInt8);
const DType kI8 = DType(DTypeCode::kInt8);

struct Case {
  const char* name;
  OpKind op;
  Ints x, w, y;
  int64_t largest;  // of the data; the least one is 0
  Ints weights;     // the values of the weight
  int pairs;        // of planes
  Attributes attributes = {};
};

std::vector<Case> Cases() {
  const Attributes padded = {{"pads", Ints{1, 1, 1, 1}}};
  return {
      {"product", OpKind::kMatMulInteger, {7, 100}, {100, 20}, {7, 20}, 3, {-1, 1}, 2},
      {"row", OpKind::kMatMulInteger, {1, 96}, {96, 33}, {1, 33}, 15, {-2, -1, 0, 1}, 8},
      {"batches", OpKind::kMatMulInteger, {2, 3, 64}, {64, 9}, {2, 3, 9}, 1, {0, 1}, 1},
      {"one tap",
       OpKind::kConvInteger,
       {1, 70, 5, 6},
       {18, 70, 1, 1},
       {1, 18, 5, 6},
       3,
       {-1, 0, 1},
       4},
      {"padded",
       OpKind::kConvInteger,
       {1, 64, 6, 5},
       {12, 64, 3, 3},
       {1, 12, 6, 5},
       3,
       {-1, 1},
       2,
       padded},
      {"strided",
       OpKind::kConvInteger,
       {2, 65, 7, 7},
       {9, 65, 3, 3},
       {2, 9, 4, 4},
       7,
       {3, 4, 5, 6},
       6,
       {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}}},
  };
}

Tensor Picked(DType type, const Ints& values, const Ints& shape, uint64_t seed) {
  Tensor tensor = MakeZeroTensor(type, shape);
  Random random(seed);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    SetElementInt(tensor, i, values[random.Below(values.size())]);
  }
  return tensor;
}

Tensor Number(DType type, double value) {
  Tensor tensor = MakeZeroTensor(type, {});
  SetElement(tensor, 0, value);
  return tensor;
}

// The scale of the data, whose integers are exact in f32.
constexpr double kStep = 0.5;

ValueId AddProduct(GraphBuilder& builder, const Case& c, ValueId bytes, const std::string& name) {
  const ValueId w = builder.Constant(name + "_w", Picked(kI8, c.weights, c.w, 9));
  const ValueId sums = builder.Emit(name + "_sums", c.op, {bytes, w}, c.attributes, kInt32);
  return builder.Emit(name, OpKind::kCast, {sums}, {{"to", ToString(kFloat32)}}, kFloat32);
}

// An f32 input in few integers.
ValueId AddData(GraphBuilder& builder, const Case& c) {
  const ValueId x = builder.Input("x", c.x);
  const ValueId low = builder.Constant("low", Number(kFloat32, 0));
  const ValueId high =
      builder.Constant("high", Number(kFloat32, kStep * static_cast<double>(c.largest)));
  const ValueId few = builder.Emit("few", OpKind::kClip, {x, low, high}, {}, kFloat32);
  const ValueId step = builder.Constant("step", Number(kFloat32, kStep));
  const ValueId zero = builder.Constant("zero", Number(kU8, 0));
  return builder.Emit("bytes", OpKind::kQuantizeLinear, {few, step, zero},
                      {{"axis", int64_t{1}}, {"to", ToString(kU8)}}, kU8);
}

Graph GraphOf(const Case& c) {
  GraphBuilder builder("product", 5);
  builder.Output(AddProduct(builder, c, AddData(builder, c), "y"), c.y);
  return builder.Take();
}

// Schedules the one kernel with bit planes by that variant. Returns its pairs of planes.
int TakePlanes(const Graph& graph, CompileOptions& options) {
  StatusOr<KernelSet> set = KernelsOf(graph, options);
  INFO(set.status());
  REQUIRE(set.ok());
  int pairs = 0;
  for (const KernelStages& kernel : set->kernels) {
    for (size_t v = 0; v < kernel.variants.size(); ++v) {
      if (PlanePairsOf(kernel.variants[v]) == 0) continue;
      pairs = PlanePairsOf(kernel.variants[v]);
      Sketch sketch = FirstSketch(kernel.variants[v], options.target);
      options.schedules[kernel.symbol] = {std::move(sketch.trace), std::move(sketch.start), v};
    }
  }
  REQUIRE(options.schedules.size() == 1);
  return pairs;
}

void CheckRun(const Graph& graph, const Artefact& artefact, const LoadOptions& load,
              const Case& c) {
  StatusOr<Module> module = Module::FromArtefact(artefact, load);
  INFO(module.status());
  REQUIRE(module.ok());
  Tensor x = MakeZeroTensor(kFloat32, c.x);
  Random random(13);
  for (int64_t i = 0; i < ElementCount(c.x).value(); ++i) {
    SetElement(x, i, kStep * static_cast<double>(random.Between(-1, c.largest + 1)));
  }
  const std::vector<Tensor> inputs = {x};
  StatusOr<std::vector<Tensor>> got = Executor(*module).Run(inputs);
  INFO(got.status());
  REQUIRE(got.ok());
  const Status difference = CompareOutputs(*got, Expected(graph, inputs), {"y"}, {});
  INFO(difference);
  CHECK(difference.ok());
}

CompileOptions OptionsFor(const Target& target) {
  CompileOptions options{.target = target, .verify = true};
  options.gpu_code = GpuCode::kCudaText;
  return options;
}

}  // namespace

TEST_CASE("machine code of bit planes gives the same integers", "[compiler][codegen_llvm]") {
  for (const Case& c : Cases()) {
    for (const char* target : {"native", "x86-64-v3"}) {
      INFO(c.name << " on " << target);
      const Graph graph = GraphOf(c);
      CompileOptions options = OptionsFor(*FindTarget(target));
      CHECK(TakePlanes(graph, options) == c.pairs);
      StatusOr<Artefact> artefact = CompileGraph(graph, options);
      INFO(artefact.status());
      REQUIRE(artefact.ok());
      LoadOptions load;
      load.devices = AllDevices();
      CheckRun(graph, *artefact, load, c);
    }
  }
}

TEST_CASE("kernels' text of bit planes gives the same integers", "[compiler][gpu]") {
  for (const Case& c : Cases()) {
    INFO(c.name);
    const Graph graph = GraphOf(c);
    CompileOptions options = OptionsFor(*FindTarget("sm_86"));
    CHECK(TakePlanes(graph, options) == c.pairs);
    StatusOr<Artefact> artefact = CompileGraph(graph, options);
    INFO(artefact.status());
    REQUIRE(artefact.ok());
    StatusOr<LoadOptions> load = LoadOptionsFor(options.target, Execution::kEmulator);
    if (!load.ok()) {
      WARN("skipped: nothing is emulated: " << Message(load.status()));
      return;
    }
    CheckRun(graph, *artefact, *load, c);
  }
}

TEST_CASE("operands of 2 and 4 bits that are dequantized multiply by bit planes",
          "[compiler][codegen_llvm]") {
  const DType u4(DTypeCode::kUInt4), i2(DTypeCode::kInt2);
  const Case c{"QDQ", OpKind::kMatMul, {7, 100}, {100, 20}, {7, 20}, 15, {-2, -1, 0, 1}, 8};
  GraphBuilder builder("product", 5);
  const ValueId step = builder.Constant("step", Number(kFloat32, kStep));
  auto dequantized = [&](const std::string& name, ValueId numbers, DType type) {
    const ValueId zero = builder.Constant(name + "_zero", Number(type, 0));
    return builder.Emit(name, OpKind::kDequantizeLinear, {numbers, step, zero},
                        {{"axis", int64_t{1}}, {"to", ToString(kFloat32)}}, kFloat32);
  };
  const ValueId zero = builder.Constant("zero", Number(u4, 0));
  const ValueId few =
      builder.Emit("few", OpKind::kQuantizeLinear, {builder.Input("x", c.x), step, zero},
                   {{"axis", int64_t{1}}, {"to", ToString(u4)}}, u4);
  const ValueId w = builder.Constant("w", Picked(i2, c.weights, c.w, 9));
  builder.Output(builder.Emit("y", c.op, {dequantized("data", few, u4), dequantized("v", w, i2)}),
                 c.y);
  const Graph graph = builder.Take();
  CompileOptions options = OptionsFor(*FindTarget("native"));
  CHECK(TakePlanes(graph, options) == c.pairs);
  StatusOr<Artefact> artefact = CompileGraph(graph, options);
  INFO(artefact.status());
  REQUIRE(artefact.ok());
  LoadOptions load;
  load.devices = AllDevices();
  CheckRun(graph, *artefact, load, c);
}

TEST_CASE("bit planes are chosen where they were measured to take less time than bytes",
          "[compiler][kernels]") {
  const Attributes padded = {{"pads", Ints{1, 1, 1, 1}}};
  auto product = [](int64_t columns, int64_t largest, const Ints& weights, int64_t rows = 8) {
    return Case{
        "", OpKind::kMatMulInteger, {rows, 64}, {64, columns}, {rows, columns}, largest, weights,
        0};
  };
  auto convolution = [&](int64_t largest) {
    return Case{"",
                OpKind::kConvInteger,
                {1, 64, 16, 16},
                {64, 64, 3, 3},
                {1, 64, 16, 16},
                largest,
                {-1, 1},
                0,
                padded};
  };
  const Case one = product(512, 1, {-1, 1}), two = product(512, 3, {-1, 1});
  const Case four = product(512, 3, {-2, -1, 0, 1}), narrow = product(256, 3, {-1, 1});
  const Case row = product(512, 3, {-2, -1, 0, 1}, 1),
             row_of_six = product(512, 7, {-2, -1, 0, 1}, 1);
  Target pairs = *FindTarget("x86-64-v3"), dots = *FindTarget("x86-64-v4");
  dots.dots_bytes = true;
  Target counts = dots;
  counts.counts_bits = true;
  struct Choice {
    Target target;
    // One, two, four, narrow, a convolution of 1 bit and of 2 by 1, a row of four and of six.
    std::vector<bool> planes;
  };
  const std::vector<Choice> choices = {
      {counts, {true, true, false, false, true, true, true, true}},
      {dots, {false, false, false, false, false, false, false, false}},
      {pairs, {true, true, false, false, true, false, true, false}},
      {*FindTarget("aarch64-v8.2"), std::vector<bool>(8, false)},
      {*FindTarget("sm_86"), std::vector<bool>(8, false)},
  };
  const std::vector<Case> cases = {one, two,       four, narrow, convolution(1), convolution(3),
                                   row, row_of_six};
  for (const Choice& choice : choices) {
    for (size_t i = 0; i < cases.size(); ++i) {
      INFO(choice.target.name << ", case " << i);
      StatusOr<KernelSet> set = KernelsOf(GraphOf(cases[i]), OptionsFor(choice.target));
      INFO(set.status());
      REQUIRE(set.ok());
      const bool has_planes = std::ranges::any_of(set->kernels, [](const KernelStages& kernel) {
        return PlanePairsOf(kernel.variants[kernel.first_variant]) > 0;
      });
      CHECK(has_planes == choice.planes[i]);
    }
  }
}

TEST_CASE("bit planes are tuned apart from what multiplies all integers", "[compiler][kernels]") {
  Target counts = *FindTarget("x86-64-v4");
  counts.dots_bytes = counts.counts_bits = true;
  const Case of_bits = {"", OpKind::kMatMulInteger, {8, 64}, {64, 512}, {8, 512}, 1, {-1, 1}, 0};
  auto workload_on = [&](const Target& target) {
    StatusOr<KernelSet> set = KernelsOf(GraphOf(of_bits), OptionsFor(target));
    REQUIRE(set.ok());
    const auto product = std::ranges::find_if(
        set->kernels, [](const KernelStages& kernel) { return kernel.variants.size() > 1; });
    REQUIRE(product != set->kernels.end());
    CHECK(WorkloadKeyOf(*product) == WorkloadOf(*product).key);
    return WorkloadOf(*product);
  };
  const Workload planes = workload_on(counts), bytes = workload_on(*FindTarget("aarch64-v8.2"));
  CHECK(planes.key != bytes.key);
  CHECK(planes.variants.size() == 1);
  CHECK(PlanePairsOf(planes.variants[planes.first_variant]) == 1);
  for (const Function& variant : bytes.variants) CHECK(PlanePairsOf(variant) == 0);
}

TEST_CASE("products of weights with other bits share no kernel", "[compiler][kernels]") {
  const Case two = Cases()[0];
  auto kernels_with = [&](const Ints& weights) {
    GraphBuilder builder("products", 5);
    const ValueId bytes = AddData(builder, two);
    Case other = two;
    other.weights = weights;
    builder.Output(AddProduct(builder, two, bytes, "y"), two.y);
    builder.Output(AddProduct(builder, other, bytes, "z"), two.y);
    StatusOr<KernelSet> set = KernelsOf(builder.Take(), OptionsFor(*FindTarget("native")));
    REQUIRE(set.ok());
    size_t products = 0;
    for (const KernelStages& kernel : set->kernels) products += kernel.variants.size() > 1;
    return products;
  };
  CHECK(kernels_with({-1, 1, -1}) == 1);
  CHECK(kernels_with({0, 1}) == 2);
  CHECK(kernels_with({-100, 1}) == 2);
}

}  // namespace tcc
