#include <catch2/catch.hpp>

#include "tests/graph/graph_check.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

constexpr double kEpsilon = 1e-5;

// Normalizations written in operators over x: f32[2, 3, 4, 4].
struct Parts {
  Parts() : x(builder.Input("x", kFloat32, {2, 3, 4, 4})) {}

  ValueId Number(double number) { return Constant(F32({}, {number})); }
  ValueId Constant(const Tensor& tensor) {
    return builder.Constant("c" + std::to_string(next++), tensor);
  }
  ValueId Call(OpKind op, std::vector<ValueId> operands, Attributes attributes = {}) {
    return builder.Add("n" + std::to_string(next++), op, std::move(operands),
                       std::move(attributes));
  }
  ValueId Mean(ValueId value, const Ints& axes) {
    ValueId list = Constant(I64({static_cast<int64_t>(axes.size())}, axes));
    return Call(OpKind::kReduceMean, {value, list}, {{"keepdims", int64_t{1}}});
  }
  ValueId Root(ValueId value) {
    return Call(OpKind::kSqrt, {Call(OpKind::kAdd, {value, Number(kEpsilon)})});
  }

  TestGraph builder;
  ValueId x;
  int next = 0;
};

// All nodes but `count` of the kind are gone.
void CheckBecomes(Parts& parts, ValueId result, OpKind op, int count = 1) {
  parts.builder.Output(result);
  Graph graph = CheckSameAfterPasses(parts.builder.Build());
  INFO(Print(graph));
  CHECK(CountOf(graph, op) == count);
  if (count > 0) CHECK(graph.nodes.size() == static_cast<size_t>(count));
  CheckSameWithWideNumbers(parts.builder.Build());
}

ValueId Centered(Parts& p, const Ints& axes) {
  return p.Call(OpKind::kSub, {p.x, p.Mean(p.x, axes)});
}

}  // namespace

TEST_CASE("a layer normalization is found in its parts", "[graph][rewrite]") {
  Parts p;
  ValueId centred = Centered(p, {-1});
  ValueId variance = p.Mean(p.Call(OpKind::kPow, {centred, p.Number(2)}), {-1});
  ValueId normal = p.Call(OpKind::kDiv, {centred, p.Root(variance)});
  ValueId scaled = p.Call(OpKind::kMul, {normal, p.Constant(RandomF32({4}, 1))});
  CheckBecomes(p, p.Call(OpKind::kAdd, {scaled, p.Constant(RandomF32({4}, 2))}),
               OpKind::kLayerNormalization);
}

TEST_CASE("a layer normalization over two axes, by a product and a reciprocal",
          "[graph][rewrite]") {
  Parts p;
  ValueId centred = Centered(p, {2, 3});
  ValueId variance = p.Mean(p.Call(OpKind::kMul, {centred, centred}), {-1, -2});
  ValueId inverse = p.Call(OpKind::kReciprocal, {p.Root(variance)});
  ValueId normal = p.Call(OpKind::kMul, {inverse, centred});
  CheckBecomes(p, p.Call(OpKind::kMul, {p.Constant(RandomF32({1, 1, 4, 4}, 1)), normal}),
               OpKind::kLayerNormalization);
}

TEST_CASE("a layer normalization without scale gets one of ones", "[graph][rewrite]") {
  Parts p;
  ValueId centred = Centered(p, {3});
  ValueId variance = p.Mean(p.Call(OpKind::kMul, {centred, centred}), {3});
  CheckBecomes(p, p.Call(OpKind::kDiv, {centred, p.Root(variance)}), OpKind::kLayerNormalization);
}

TEST_CASE("a normalization over leading axes, or two different ones, stays", "[graph][rewrite]") {
  Parts leading;
  ValueId centred = Centered(leading, {1});
  ValueId variance = leading.Mean(leading.Call(OpKind::kMul, {centred, centred}), {1});
  CheckBecomes(leading, leading.Call(OpKind::kDiv, {centred, leading.Root(variance)}),
               OpKind::kLayerNormalization, 0);
  Parts mixed;
  centred = Centered(mixed, {3});
  variance = mixed.Mean(mixed.Call(OpKind::kMul, {centred, centred}), {2, 3});
  CheckBecomes(mixed, mixed.Call(OpKind::kDiv, {centred, mixed.Root(variance)}),
               OpKind::kLayerNormalization, 0);
}

TEST_CASE("a scale for each channel is none of a layer normalization", "[graph][rewrite]") {
  Parts p;
  ValueId centred = Centered(p, {3});
  ValueId variance = p.Mean(p.Call(OpKind::kMul, {centred, centred}), {3});
  ValueId normal = p.Call(OpKind::kDiv, {centred, p.Root(variance)});
  p.builder.Output(p.Call(OpKind::kMul, {normal, p.Constant(RandomF32({3, 1, 1}, 1))}));
  Graph graph = CheckSameAfterPasses(p.builder.Build());
  CHECK(CountOf(graph, OpKind::kLayerNormalization) == 1);
  CHECK(CountOf(graph, OpKind::kMul) == 1);
}

TEST_CASE("a root mean square normalization is found in its spellings", "[graph][rewrite]") {
  for (int spelling = 0; spelling < 3; ++spelling) {
    Parts p;
    ValueId square =
        spelling == 0 ? p.Call(OpKind::kPow, {p.x, p.Number(2)}) : p.Call(OpKind::kMul, {p.x, p.x});
    ValueId root = p.Root(p.Mean(square, {-1}));
    ValueId normal =
        spelling == 0   ? p.Call(OpKind::kMul, {p.x, p.Call(OpKind::kDiv, {p.Number(1), root})})
        : spelling == 1 ? p.Call(OpKind::kMul, {p.Call(OpKind::kReciprocal, {root}), p.x})
                        : p.Call(OpKind::kDiv, {p.x, root});
    CheckBecomes(p, p.Call(OpKind::kMul, {p.Constant(RandomF32({4}, 1)), normal}),
                 OpKind::kRMSNormalization);
  }
}

TEST_CASE("a root mean square that others read is not taken away", "[graph][rewrite]") {
  Parts p;
  ValueId root = p.Root(p.Mean(p.Call(OpKind::kMul, {p.x, p.x}), {-1}));
  ValueId normal = p.Call(OpKind::kDiv, {p.x, root});
  p.builder.Output(p.Call(OpKind::kMul, {p.Constant(RandomF32({4}, 1)), normal}));
  p.builder.Output(root);
  Graph graph = CheckSameAfterPasses(p.builder.Build());
  CHECK(CountOf(graph, OpKind::kRMSNormalization) == 0);
}

TEST_CASE("a group normalization is found between its reshapes", "[graph][rewrite]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2, 6, 3, 2});
  ValueId groups =
      builder.Add("groups", OpKind::kReshape, {x, builder.Constant("to", I64({3}, {0, 3, -1}))});
  ValueId normal = builder.Add("normal", OpKind::kInstanceNormalization,
                               {groups, builder.Constant("ones", F32({3}, {1, 1, 1})),
                                builder.Constant("zeros", F32({3}, {0, 0, 0}))},
                               {{"epsilon", kEpsilon}});
  ValueId back = builder.Add("back", OpKind::kReshape,
                             {normal, builder.Constant("from", I64({4}, {2, 6, 3, 2}))});
  ValueId scaled = builder.Add("scaled", OpKind::kMul,
                               {back, builder.Constant("scale", RandomF32({6, 1, 1}, 1))});
  builder.Output(builder.Add("shifted", OpKind::kAdd,
                             {scaled, builder.Constant("bias", RandomF32({1, 6, 1, 1}, 2))}));
  Graph graph = CheckSameAfterPasses(builder.Build());
  INFO(Print(graph));
  CHECK(CountOf(graph, OpKind::kGroupNormalization) == 1);
  CHECK(graph.nodes.size() == 1);
}
