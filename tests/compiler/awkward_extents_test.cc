// Reductions of axes that no tile divides, along every axis and several, for every target: what
// gets its schedule by default always has one. Up to the lowered module, where code would be made.

#include <fmt/ranges.h>

#include <catch2/catch.hpp>

#include "compiler/kernels.h"
#include "graph/passes/infer_shapes.h"
#include "models/zoo/graph_builder.h"

namespace tcc {
namespace {

using Ints = std::vector<int64_t>;

struct Operand {
  Ints shape;
  Ints axes;  // counted from the front, one or more
};

// 784 of 8 rows: an attention of 28 x 28 patches. 4099 is prime.
std::vector<Operand> Operands() {
  return {{{1, 784, 8, 8}, {1}},   {{8, 784, 16}, {1}},      {{1, 784, 14, 14}, {1}},
          {{4, 784, 49}, {1}},     {{1, 12, 784, 784}, {2}}, {{2, 3, 784, 7}, {3}},
          {{784, 1}, {0}},         {{7, 4099}, {0}},         {{7, 4099}, {1}},
          {{4099, 7}, {0}},        {{3, 4099, 5}, {1}},      {{65537, 7}, {1}},
          {{65537, 3}, {0}},       {{2, 197, 768}, {1}},     {{2, 197, 768}, {0, 1}},
          {{8, 784, 197}, {1, 2}}, {{8, 197, 7}, {0, 2}},    {{8, 784, 7, 7}, {0, 2, 3}}};
}

// One operator along the axes of its operand; nullopt where it does not take several.
struct Case {
  OpKind op;
  enum class Axes : uint8_t { kOne, kList, kFromFirst, kOfInstances } axes;
};

constexpr Case kCases[] = {{OpKind::kSoftmax, Case::Axes::kOne},
                           {OpKind::kLogSoftmax, Case::Axes::kOne},
                           {OpKind::kLpNormalization, Case::Axes::kOne},
                           {OpKind::kArgMax, Case::Axes::kOne},
                           {OpKind::kReduceSum, Case::Axes::kList},
                           {OpKind::kReduceMax, Case::Axes::kList},
                           {OpKind::kReduceMean, Case::Axes::kList},
                           {OpKind::kReduceProd, Case::Axes::kList},
                           {OpKind::kReduceLogSumExp, Case::Axes::kList},
                           {OpKind::kLayerNormalization, Case::Axes::kFromFirst},
                           {OpKind::kRMSNormalization, Case::Axes::kFromFirst},
                           {OpKind::kInstanceNormalization, Case::Axes::kOfInstances},
                           {OpKind::kGroupNormalization, Case::Axes::kOfInstances}};

Ints Kept(Ints shape, const Ints& axes) {
  for (int64_t axis : axes) shape[static_cast<size_t>(axis)] = 1;
  return shape;
}

std::optional<Graph> GraphOf(const Case& c, const Operand& operand) {
  const auto& [shape, axes] = operand;
  GraphBuilder builder("awkward", 5);
  ValueId x = builder.Input("x", shape);
  switch (c.axes) {
    case Case::Axes::kOne: {
      if (axes.size() > 1) return std::nullopt;
      bool picks = c.op == OpKind::kArgMax;
      std::map<std::string, Attribute> how = {{"axis", axes[0]}};
      if (c.op == OpKind::kLpNormalization) how["p"] = int64_t{2};
      if (picks) how.insert({{"keepdims", int64_t{1}}, {"select_last_index", int64_t{0}}});
      ValueId y = builder.Emit("y", c.op, {x}, how, picks ? kInt64 : kFloat32);
      builder.Output(y, picks ? Kept(shape, axes) : shape);
      break;
    }
    case Case::Axes::kList: {
      ValueId list = builder.Ints("axes", axes);
      std::map<std::string, Attribute> how = {{"keepdims", int64_t{1}}};
      how["noop_with_empty_axes"] = int64_t{0};
      builder.Output(builder.Emit("y", c.op, {x, list}, how), Kept(shape, axes));
      break;
    }
    case Case::Axes::kFromFirst: {
      Ints row(shape.begin() + axes[0], shape.end());
      std::map<std::string, Attribute> how = {{"axis", axes[0]}, {"epsilon", 1e-5}};
      how["stash_type"] = std::string("f32");
      ValueId scale = builder.Weight("scale", row, 1, 0.5);
      builder.Output(builder.Emit("y", c.op, {x, scale}, how), shape);
      break;
    }
    case Case::Axes::kOfInstances: {
      if (shape.size() < 3) return std::nullopt;
      std::map<std::string, Attribute> how = {{"epsilon", 1e-5}};
      if (c.op == OpKind::kGroupNormalization) {
        how["num_groups"] = shape[1] % 7 == 0 ? shape[1] / 7 : 1;
        how["stash_type"] = std::string("f32");
      }
      ValueId scale = builder.Weight("scale", {shape[1]}, 1, 0.5);
      ValueId bias = builder.Weight("bias", {shape[1]}, 0, 0.5);
      builder.Output(builder.Emit("y", c.op, {x, scale, bias}, how), shape);
      break;
    }
  }
  return builder.Take();
}

}  // namespace

TEST_CASE("a reduction of 784 or other awkward extents gets a schedule for every target",
          "[compiler][schedule]") {
  int graphs = 0;
  for (const Target& target : AllTargets()) {
    if (target.kind == TargetKind::kReference) continue;
    for (const Operand& operand : Operands()) {
      for (const Case& c : kCases) {
        std::optional<Graph> graph = GraphOf(c, operand);
        if (!graph) continue;
        REQUIRE(InferShapes(*graph).ok());
        CompileOptions options;
        options.target = target;
        StatusOr<KernelSet> kernels = KernelsOf(*std::move(graph), options);
        INFO(target.name << " " << ToString(c.op) << " of "
                         << fmt::format("{}", fmt::join(operand.shape, "x")) << " along "
                         << fmt::format("{}", fmt::join(operand.axes, ", ")) << ": "
                         << kernels.status());
        CHECK(kernels.ok());
        // None is a last resort.
        if (kernels.ok()) {
          for (const KernelStages& kernel : kernels->kernels) CHECK(kernel.choice == 0);
        }
        ++graphs;
      }
    }
  }
  CHECK(graphs > 1000);
}

// A softmax over 784 columns of which a product with values follows.
Graph AttentionOver784Columns(int64_t width) {
  GraphBuilder builder("attention", 5);
  ValueId queries = builder.Input("queries", {8, 784, 32});
  ValueId keys = builder.Input("keys", {8, 32, 784});
  ValueId values = builder.Input("values", {8, 784, width});
  ValueId scores = builder.Emit("scores", OpKind::kMatMul, {queries, keys});
  ValueId weights = builder.Emit("weights", OpKind::kSoftmax, {scores}, {{"axis", int64_t{2}}});
  ValueId y = builder.Emit("y", OpKind::kMatMul, {weights, values});
  builder.Output(y, {8, 784, width});
  return builder.Take();
}

TEST_CASE("a softmax over 784 columns in front of wide values keeps its first schedule",
          "[compiler][schedule]") {
  for (const Target& target : AllTargets()) {
    if (target.kind == TargetKind::kReference) continue;
    for (int64_t width : {32, 784, 4099}) {
      Graph graph = AttentionOver784Columns(width);
      REQUIRE(InferShapes(graph).ok());
      CompileOptions options;
      options.target = target;
      StatusOr<KernelSet> kernels = KernelsOf(std::move(graph), options);
      INFO(target.name << " " << width << ": " << kernels.status());
      REQUIRE(kernels.ok());
      for (const KernelStages& kernel : kernels->kernels) CHECK(kernel.choice == 0);
    }
  }
}

}  // namespace tcc
