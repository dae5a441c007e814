#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "graph/passes/graph_pipeline.h"
#include "tests/graph/graph_check.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// softmax(scores) values, with pieces to replace. Queries, keys and values are computed from one
// input of this shape.
struct Parts {
  using Piece = std::function<ValueId(TestGraph&, ValueId)>;

  Ints shape = {2, 3, 5, 8};
  Ints transposition = {0, 1, 3, 2};
  Piece queries = Same;
  Piece columns = Same;
  Piece scores = Same;
  Piece weights = Same;
  int64_t axis = -1;

  static ValueId Same(TestGraph&, ValueId x) { return x; }

  Graph Build() const {
    TestGraph builder;
    ValueId x = builder.Input("x", kFloat32, shape);
    ValueId keys =
        builder.Add("keys", OpKind::kAdd, {x, builder.Constant("k", RandomF32(shape, 7))});
    ValueId values =
        builder.Add("values", OpKind::kMul, {x, builder.Constant("v", RandomF32(shape, 8))});
    ValueId transposed =
        builder.Add("columns", OpKind::kTranspose, {keys}, {{"perm", transposition}});
    ValueId product = builder.Add("product", OpKind::kMatMul,
                                  {queries(builder, x), columns(builder, transposed)});
    ValueId softmax =
        builder.Add("softmax", OpKind::kSoftmax, {scores(builder, product)}, {{"axis", axis}});
    builder.Output(builder.Add("result", OpKind::kMatMul, {weights(builder, softmax), values}));
    return builder.Build();
  }
};

Parts::Piece By(OpKind op, const Tensor& constant, const std::string& name = "by") {
  return [=](TestGraph& builder, ValueId x) {
    return builder.Add(name, op, {x, builder.Constant(name + ".number", constant)});
  };
}

// Where(condition, x, number), or the other way round.
Parts::Piece Chosen(const Tensor& condition, double number, bool keeps = true) {
  return [=](TestGraph& builder, ValueId x) {
    ValueId hidden = builder.Constant("hidden", F32({}, {number}));
    ValueId seen = builder.Constant("condition", condition);
    return keeps ? builder.Add("chosen", OpKind::kWhere, {seen, x, hidden})
                 : builder.Add("chosen", OpKind::kWhere, {seen, hidden, x});
  };
}

Tensor Flags(const Ints& shape, const std::vector<double>& flags) {
  return Of(kBool, shape, flags);
}

// 5 x 5: `below` up to the diagonal, `above` behind it.
std::vector<double> Triangle(double below, double above) {
  std::vector<double> elements;
  for (int i = 0; i < 25; ++i) elements.push_back(i % 5 <= i / 5 ? below : above);
  return elements;
}

const Node& AttentionOf(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.op == OpKind::kAttention) return node;
  }
  FAIL("no attention in " << Print(graph));
  return graph.nodes[0];
}

Graph CheckIsOne(const Parts& parts) {
  Graph graph = CheckSameAfterPasses(parts.Build());
  INFO(Print(graph));
  CHECK(CountOf(graph, OpKind::kAttention) == 1);
  CHECK(CountOf(graph, OpKind::kMatMul) == 0);
  CHECK(CountOf(graph, OpKind::kSoftmax) == 0);
  return graph;
}

double ScaleOf(const Parts& parts) {
  return AttentionOf(CheckIsOne(parts)).Float("scale", 0);
}

bool IsFound(const Parts& parts) {
  return CountOf(CheckSameAfterPasses(parts.Build()), OpKind::kAttention) > 0;
}

// What the rewritten graph gives for its first query.
double FirstResult(const Parts& parts) {
  Graph graph = parts.Build();
  REQUIRE(RunGraphPasses(graph).ok());
  CHECK(CountOf(graph, OpKind::kAttention) == 1);
  return ValuesOf(RunGraph(graph, RandomF32(parts.shape, 1)))[0];
}

}  // namespace

TEST_CASE("attention is found whatever the scale is written on", "[graph][rewrite]") {
  CHECK(ScaleOf({}) == 1);
  CHECK(ScaleOf({.scores = By(OpKind::kMul, F32({}, {0.25}))}) == 0.25);
  CHECK(ScaleOf({.scores = By(OpKind::kDiv, F32({1}, {4}))}) == 0.25);
  CHECK(ScaleOf({.queries = By(OpKind::kMul, F32({}, {0.25}))}) == 0.25);
  CHECK(ScaleOf({.queries = By(OpKind::kMul, F32({}, {0.5})),
                 .columns = By(OpKind::kMul, F32({}, {0.5}), "of_keys")}) == 0.25);
}

TEST_CASE("a scale for each head stays a product before attention", "[graph][rewrite]") {
  Tensor scales = F32({3, 1, 1}, {1, 2, 3});
  CHECK(ScaleOf({.queries = By(OpKind::kMul, scales)}) == 1);
  CHECK(!IsFound({.scores = By(OpKind::kMul, scales)}));
}

TEST_CASE("keys are found behind a transposition of more dimensions", "[graph][rewrite]") {
  // [batch, size, heads, keys] would need more than swapping the last two back.
  Parts parts{.shape = {2, 3, 3, 3}, .transposition = {0, 2, 3, 1}};
  CHECK(CountOf(CheckIsOne(parts), OpKind::kTranspose) == 1);
}

TEST_CASE("masks of attention are added, or choose", "[graph][rewrite]") {
  std::vector<Parts::Piece> additions = {By(OpKind::kAdd, RandomF32({5, 5}, 1)),
                                         By(OpKind::kAdd, RandomF32({2, 1, 1, 5}, 2)),
                                         By(OpKind::kAdd, RandomF32({1, 3, 5, 1}, 3))};
  for (const Parts::Piece& add : additions) {
    CHECK(AttentionOf(CheckIsOne({.scores = add})).inputs.size() == 4);
  }
  Tensor seen = Flags({2, 1, 1, 5}, {1, 0, 1, 1, 0, 0, 1, 0, 0, 0});
  for (double hidden : {-kInfinity, -1e9, -1e4}) {
    CHECK(AttentionOf(CheckIsOne({.scores = Chosen(seen, hidden)})).inputs.size() == 4);
    CHECK(AttentionOf(CheckIsOne({.scores = Chosen(seen, hidden, false)})).inputs.size() == 4);
  }
}

TEST_CASE("a score that a condition replaces keeps the number in its place", "[graph][rewrite]") {
  Tensor seen = Flags({1, 5}, {1, 0, 1, 1, 0});
  // Scores are numbers of this size, so that the replaced keys count.
  for (double hidden : {-2.0, 0.5, 3.0, -1e4}) {
    for (bool keeps : {true, false}) {
      Graph graph = CheckIsOne({.scores = Chosen(seen, hidden, keeps)});
      CHECK(AttentionOf(graph).Float("hidden_logit", 0) == hidden);
    }
  }
}

TEST_CASE("a query whose keys are all hidden by one number weighs them alike", "[graph][rewrite]") {
  Tensor none = Flags({5, 1}, {1, 1, 0, 1, 1});
  CheckIsOne({.scores = Chosen(none, -1e4)});
  CheckIsOne({.scores = Chosen(none, -1e9)});
}

TEST_CASE("a causal triangle of -1e4 is added, since scores may be lower", "[graph][rewrite]") {
  for (double hidden : {-1e4, -1e9}) {
    Graph added = CheckIsOne({.scores = By(OpKind::kAdd, F32({5, 5}, Triangle(0, hidden)))});
    CHECK(AttentionOf(added).inputs.size() == 4);
    Graph chosen = CheckIsOne({.scores = Chosen(Flags({5, 5}, Triangle(1, 0)), hidden)});
    CHECK(AttentionOf(chosen).inputs.size() == 4);
  }
}

TEST_CASE("a constant causal mask becomes an attribute", "[graph][rewrite]") {
  for (double hidden : {-kInfinity, -3.4028234663852886e38}) {
    Graph added = CheckIsOne({.scores = By(OpKind::kAdd, F32({1, 1, 5, 5}, Triangle(0, hidden)))});
    CHECK(AttentionOf(added).Int("is_causal", 0) == 1);
    CHECK(AttentionOf(added).inputs.size() == 3);
    Graph chosen = CheckIsOne({.scores = Chosen(Flags({5, 5}, Triangle(1, 0)), hidden)});
    CHECK(AttentionOf(chosen).Int("is_causal", 0) == 1);
    Graph filled = CheckIsOne({.scores = Chosen(Flags({5, 5}, Triangle(0, 1)), hidden, false)});
    CHECK(AttentionOf(filled).Int("is_causal", 0) == 1);
  }
  Graph weak = CheckIsOne({.scores = By(OpKind::kAdd, F32({5, 5}, Triangle(0, -3)))});
  CHECK(AttentionOf(weak).inputs.size() == 4);
}

TEST_CASE("a query that sees no key gives NaN, or 0 behind a guard", "[graph][rewrite]") {
  Tensor blind = F32({5, 1}, {-kInfinity, 0, 0, 0, 0});
  Parts parts{.scores = By(OpKind::kAdd, blind)};
  CHECK(std::isnan(FirstResult(parts)));
  parts.weights = [](TestGraph& builder, ValueId x) {
    ValueId zero = builder.Constant("zero", F32({}, {0}));
    return builder.Add("guarded", OpKind::kWhere,
                       {builder.Add("is_nan", OpKind::kIsNaN, {x}), zero, x});
  };
  CHECK(FirstResult(parts) == 0);
  CheckIsOne(parts);
}

TEST_CASE("casts to types that are no wider stay inside the attention", "[graph][rewrite]") {
  auto found = [](const std::string& inner) {
    auto cast = [](const std::string& type) {
      return [=](TestGraph& builder, ValueId x) {
        return builder.Add("to_" + type, OpKind::kCast, {x}, {{"to", type}});
      };
    };
    Graph graph = Parts{.scores = cast(inner), .weights = cast("f32")}.Build();
    REQUIRE(RunGraphPasses(graph).ok());
    return CountOf(graph, OpKind::kAttention) == 1;
  };
  CHECK(found("f16"));
  CHECK(!found("f64"));
}

TEST_CASE("what else reads scores or weights keeps attention in parts", "[graph][rewrite]") {
  auto also_given = [](TestGraph& builder, ValueId x) {
    builder.Output(builder.Add("also", OpKind::kNeg, {x}));
    return x;
  };
  CHECK(!IsFound({.scores = also_given}));
  CHECK(!IsFound({.weights = also_given}));
}

TEST_CASE("a softmax over queries makes no attention", "[graph][rewrite]") {
  CHECK(!IsFound({.axis = 2}));
  CHECK(!IsFound({.axis = 1}));
  CHECK(IsFound({.axis = 3}));
}

TEST_CASE("a mask that widens scores makes no attention", "[graph][rewrite]") {
  CHECK(!IsFound({.shape = {1, 3, 5, 8}, .scores = By(OpKind::kAdd, RandomF32({2, 1, 5, 5}, 1))}));
}

TEST_CASE("attention over batches of heads is seen in four dimensions", "[graph][rewrite]") {
  Parts parts{.shape = {6, 5, 8}, .transposition = {0, 2, 1}};
  CheckIsOne(parts);
  parts.scores = By(OpKind::kAdd, RandomF32({6, 1, 5}, 1));
  CheckIsOne(parts);
  // Two batches of three heads, a mask for each batch.
  parts.scores = [](TestGraph& builder, ValueId x) {
    ValueId apart = builder.Constant("apart", I64({4}, {2, 3, 5, 5}));
    ValueId together = builder.Constant("together", I64({3}, {6, 5, 5}));
    ValueId mask = builder.Constant("mask", RandomF32({2, 1, 1, 5}, 1));
    ValueId heads = builder.Add("heads", OpKind::kReshape, {x, apart});
    ValueId masked = builder.Add("masked", OpKind::kAdd, {heads, mask});
    return builder.Add("batches", OpKind::kReshape, {masked, together});
  };
  Graph graph = CheckIsOne(parts);
  CHECK(StaticShape(graph.value(AttentionOf(graph).inputs[0])) == Ints{2, 3, 5, 8});
  CHECK(StaticShape(graph.value(AttentionOf(graph).inputs[3])) == Ints{2, 1, 1, 5});
}

TEST_CASE("the masks of windows and of heads become one", "[graph][rewrite]") {
  // Four windows of one image.
  Parts parts{.shape = {4, 3, 5, 8}};
  auto masked_by = [](const Ints& view, const Ints& mask) {
    return [=](TestGraph& builder, ValueId x) {
      ValueId bias = builder.Constant("bias", RandomF32({1, 3, 5, 5}, 1));
      ValueId sum = builder.Add("biased", OpKind::kAdd, {x, bias});
      ValueId apart = builder.Constant("apart", I64({5}, view));
      ValueId heads = builder.Add("windows", OpKind::kReshape, {sum, apart});
      ValueId own = builder.Constant("mask", RandomF32(mask, 2));
      ValueId masked = builder.Add("masked", OpKind::kAdd, {heads, own});
      ValueId together = builder.Constant("together", I64({4}, {4, 3, 5, 5}));
      return builder.Add("joined", OpKind::kReshape, {masked, together});
    };
  };
  parts.scores = masked_by({1, 4, 3, 5, 5}, {1, 4, 1, 5, 5});
  Graph graph = CheckIsOne(parts);
  CHECK(StaticShape(graph.value(AttentionOf(graph).inputs[3])) == Ints{4, 3, 5, 5});
  // Two images: their batch is a product of which the mask has a part.
  parts.scores = masked_by({2, 2, 3, 5, 5}, {1, 2, 1, 5, 5});
  CHECK(!IsFound(parts));
}

TEST_CASE("keys and values repeated for groups of heads are read where they are",
          "[graph][rewrite]") {
  // Two heads of keys and values for six of queries.
  auto graph_of = [](const Ints& own_values) {
    TestGraph builder;
    ValueId x = builder.Input("x", kFloat32, {1, 6, 5, 8});
    ValueId axis = builder.Constant("axis", I64({1}, {2}));
    auto ints = [&](const std::string& name, const Ints& numbers) {
      return builder.Constant(name, I64({static_cast<int64_t>(numbers.size())}, numbers));
    };
    auto repeated = [&](const std::string& name, int64_t first, const Ints& copies) {
      ValueId own = builder.Add(name + ".own", OpKind::kSlice,
                                {x, ints(name + ".from", {first}), ints(name + ".to", {first + 2}),
                                 ints(name + ".heads_axis", {1})});
      ValueId wide = builder.Add(name + ".wide", OpKind::kUnsqueeze, {own, axis});
      ValueId all = builder.Add(name + ".all", OpKind::kExpand,
                                {wide, builder.Constant(name + ".copies", I64({5}, copies))});
      return builder.Add(name + ".heads", OpKind::kReshape,
                         {all, builder.Constant(name + ".shape", I64({4}, {1, 6, 5, 8}))});
    };
    ValueId keys = repeated("keys", 0, {1, 2, 3, 5, 8});
    ValueId values = own_values.empty() ? builder.Constant("values", RandomF32({1, 6, 5, 8}, 4))
                                        : repeated("values", 3, own_values);
    ValueId columns =
        builder.Add("columns", OpKind::kTranspose, {keys}, {{"perm", Ints{0, 1, 3, 2}}});
    ValueId product = builder.Add("product", OpKind::kMatMul, {x, columns});
    ValueId softmax = builder.Add("softmax", OpKind::kSoftmax, {product}, {{"axis", int64_t{-1}}});
    builder.Output(builder.Add("result", OpKind::kMatMul, {softmax, values}));
    return builder.Build();
  };
  Graph grouped = CheckSameAfterPasses(graph_of({1, 2, 3, 5, 8}));
  INFO(Print(grouped));
  CHECK(CountOf(grouped, OpKind::kExpand) == 0);
  CHECK(StaticShape(grouped.value(AttentionOf(grouped).inputs[1])) == Ints{1, 2, 5, 8});
  CHECK(StaticShape(grouped.value(AttentionOf(grouped).inputs[2])) == Ints{1, 2, 5, 8});
  // Values of all heads need keys of all heads.
  Graph mixed = CheckSameAfterPasses(graph_of({}));
  CHECK(StaticShape(mixed.value(AttentionOf(mixed).inputs[1])) == Ints{1, 6, 5, 8});
}
