#include <catch2/catch.hpp>

#include "graph/passes/agreements.h"
#include "graph/passes/graph_pipeline.h"
#include "ir/graph/constants.h"
#include "tests/graph/graph_check.h"
#include "tests/graph/one_node.h"
#include "tests/ir/parsed_graph.h"

using namespace tcc;

namespace {

using Constants = std::vector<std::pair<std::string, Tensor>>;

// Replaces the graph's dimensions, in their order; sizes that become numbers are constants then.
Graph Bound(Graph graph, const Ints& sizes) {
  Substitution values;
  REQUIRE(sizes.size() == graph.shape_vars.size());
  for (size_t i = 0; i < sizes.size(); ++i) values[graph.shape_vars[i]] = Expr(sizes[i]);
  SubstituteDims(graph, values);
  for (Value& value : graph.values) {
    std::optional<Ints> numbers = AsNumbers(value.elements);
    if (value.elements.empty() || !numbers) continue;
    value.constant = IntVector(*numbers);
    value.constant->shape = *StaticShape(value);
    value.elements.clear();
  }
  return graph;
}

Graph AfterPasses(Graph graph) {
  Status status = RunGraphPasses(graph);
  INFO(Message(status));
  REQUIRE(status.ok());
  INFO(Print(graph));
  REQUIRE(VerifyGraph(graph) == OkStatus());
  return graph;
}

// Returns the graph after all passes, its dimensions free. Bound after the passes it must be what
// the graph is that was bound before them.
Graph CheckLikeBound(const std::string& text, const Ints& sizes, const Constants& constants = {}) {
  Graph graph = ParsedGraph("graph g {\n" + text + "\n}", constants);
  Graph free = AfterPasses(graph);
  REQUIRE(free.shape_vars.size() == sizes.size());
  CHECK(Print(Bound(free, sizes)) == Print(AfterPasses(Bound(graph, sizes))));
  return free;
}

// The sizes of a batch of sequences, of heads and of what exporters split and join them by.
const char kSequences[] = R"(
    dim B in 1..64 usual 8
    dim S in 1..512 usual 128
    dim P in 0..512 usual 128
    input query: f32[B, S, 48]
    input key: f32[B, S, 48]
    input value: f32[B, S, 48]
    input past: f32[B, 4, P, 12]
    input x: f32[B, 4, S, 12]
    input mask: f32[B, P + S]
    sizes split: i64[4] = [B, S, 4, 12]
    sizes merged: i64[3] = [B * 4, S, 12]
    sizes unmerged: i64[4] = [B, 4, S, 12]
    sizes joined: i64[3] = [B, S, 48])";

}  // namespace

TEST_CASE("attention over free batches, lengths and a past is found", "[graph][rewrite][free]") {
  std::string text = std::string(kSequences) + R"(
    constant axes: i64[2]
    constant factor: f32[]
    split_q = Reshape(query, split) : f32[]
    q = Transpose(split_q) {perm: [0, 2, 1, 3]} : f32[]
    split_k = Reshape(key, split) : f32[]
    k = Transpose(split_k) {perm: [0, 2, 1, 3]} : f32[]
    keys = Concat(past, k) {axis: 2} : f32[]
    columns = Transpose(keys) {perm: [0, 1, 3, 2]} : f32[]
    product = MatMul(q, columns) : f32[]
    scaled = Mul(product, factor) : f32[]
    wide_mask = Unsqueeze(mask, axes) : f32[]
    scores = Add(scaled, wide_mask) : f32[]
    weights = Softmax(scores) {axis: -1} : f32[]
    y = MatMul(weights, keys) : f32[]
    return y)";
  Graph graph =
      CheckLikeBound(text, {2, 5, 3}, {{"axes", I64({2}, {1, 2})}, {"factor", F32({}, {0.25})}});
  CHECK(CountOf(graph, OpKind::kAttention) == 1);
  CHECK(CountOf(graph, OpKind::kMatMul) == 0);
}

TEST_CASE("attention whose free batch is merged with the heads is found",
          "[graph][rewrite][free]") {
  std::string text = std::string(kSequences) + R"(
    sizes with_heads: i64[4] = [B, 4, S, S]
    sizes without: i64[3] = [B * 4, S, S]
    input view_mask: f32[B, 1, 1, S]
    merged_q = Reshape(x, merged) : f32[]
    columns = Transpose(merged_q) {perm: [0, 2, 1]} : f32[]
    product = MatMul(merged_q, columns) : f32[]
    view = Reshape(product, with_heads) : f32[]
    masked = Add(view, view_mask) : f32[]
    scores = Reshape(masked, without) : f32[]
    weights = Softmax(scores) {axis: -1} : f32[]
    attended = MatMul(weights, merged_q) : f32[]
    y = Reshape(attended, unmerged) : f32[]
    return y)";
  Graph graph = CheckLikeBound(text, {2, 5, 3});
  CHECK(CountOf(graph, OpKind::kAttention) == 1);
  CHECK(CountOf(graph, OpKind::kMatMul) == 0);
}

TEST_CASE("keys that free batches repeat for groups of heads are read once",
          "[graph][rewrite][free]") {
  std::string text = std::string(kSequences) + R"(
    input own: f32[B, 2, S, 12]
    constant axis: i64[1]
    sizes repeated: i64[5] = [B, 2, 2, S, 12]
    single = Unsqueeze(own, axis) : f32[]
    wide = Expand(single, repeated) : f32[]
    keys = Reshape(wide, unmerged) : f32[]
    columns = Transpose(keys) {perm: [0, 1, 3, 2]} : f32[]
    product = MatMul(x, columns) : f32[]
    weights = Softmax(product) {axis: -1} : f32[]
    y = MatMul(weights, keys) : f32[]
    return y)";
  Graph graph = CheckLikeBound(text, {2, 5, 3}, {{"axis", I64({1}, {2})}});
  CHECK(CountOf(graph, OpKind::kAttention) == 1);
  CHECK(CountOf(graph, OpKind::kExpand) == 0);
}

TEST_CASE("scores of other free extents than keys make no attention", "[graph][rewrite][free]") {
  std::string text = std::string(kSequences) + R"(
    input keys: f32[4, S, 12]
    columns = Transpose(keys) {perm: [0, 2, 1]} : f32[]
    product = MatMul(x, columns) : f32[]
    weights = Softmax(product) {axis: -1} : f32[]
    y = MatMul(weights, keys) : f32[]
    return y)";
  CHECK(CountOf(CheckLikeBound(text, {2, 5, 3}), OpKind::kAttention) == 0);
}

TEST_CASE("a rotary embedding of free positions is found", "[graph][rewrite][free]") {
  std::string text = std::string(kSequences) + R"(
    input angles: f32[1, S, 6]
    constant zero: i64[1]
    constant six: i64[1]
    constant end: i64[1]
    constant last: i64[1]
    twice = Concat(angles, angles) {axis: -1} : f32[]
    cos = Cos(twice) : f32[]
    sin = Sin(twice) : f32[]
    low = Slice(x, zero, six, last) : f32[]
    high = Slice(x, six, end, last) : f32[]
    minus = Neg(high) : f32[]
    turned = Concat(minus, low) {axis: -1} : f32[]
    straight = Mul(x, cos) : f32[]
    across = Mul(turned, sin) : f32[]
    y = Add(straight, across) : f32[]
    return y)";
  Graph graph = CheckLikeBound(text, {2, 5, 3},
                               {{"zero", I64({1}, {0})},
                                {"six", I64({1}, {6})},
                                {"end", I64({1}, {INT64_MAX})},
                                {"last", I64({1}, {3})}});
  CHECK(CountOf(graph, OpKind::kRotaryEmbedding) == 1);
}

TEST_CASE("views of free extents join, and a picked row is a slice", "[graph][rewrite][free]") {
  std::string text = std::string(kSequences) + R"(
    constant last: i64[]
    merged_x = Reshape(x, merged) : f32[]
    taken_apart = Reshape(merged_x, unmerged) : f32[]
    first = Transpose(taken_apart) {perm: [0, 2, 1, 3]} : f32[]
    second = Transpose(first) {perm: [2, 1, 0, 3]} : f32[]
    row = Gather(query, last) {axis: 1} : f32[]
    return second, row)";
  Graph graph = CheckLikeBound(text, {2, 5, 3}, {{"last", I64({}, {-1})}});
  CHECK(CountOf(graph, OpKind::kReshape) == 2);
  CHECK(CountOf(graph, OpKind::kTranspose) == 1);
  CHECK(CountOf(graph, OpKind::kGather) == 0);
}

TEST_CASE("images of a free batch are flattened as they lie", "[graph][rewrite][free]") {
  std::string text = R"(
    dim N in 1..32 usual 8
    input x: f32[N, 4, 6, 6]
    constant w: f32[8, 4, 3, 3]
    constant matrix: f32[128, 5]
    conv = Conv(x, w) {pads: [0, 0, 0, 0]} : f32[]
    flat = Flatten(conv) {axis: 1} : f32[]
    y = MatMul(flat, matrix) : f32[]
    return y)";
  Graph graph = CheckLikeBound(
      text, {3}, {{"w", RandomF32({8, 4, 3, 3}, 1)}, {"matrix", RandomF32({128, 5}, 2)}});
  CHECK(CountOf(graph, OpKind::kRepack) == 1);
}

TEST_CASE("groups of free images are normalized as one node", "[graph][rewrite][free]") {
  std::string text = R"(
    dim N in 1..32 usual 8
    dim H in 1..64 usual 16
    input x: f32[N, 8, H, 6]
    constant one: f32[2]
    constant zero: f32[2]
    constant scale: f32[8, 1, 1]
    constant bias: f32[8, 1, 1]
    sizes split: i64[3] = [N, 2, -1]
    sizes whole: i64[4] = [N, 8, H, 6]
    groups = Reshape(x, split) : f32[]
    norm = InstanceNormalization(groups, one, zero) {epsilon: 0.001} : f32[]
    joined = Reshape(norm, whole) : f32[]
    scaled = Mul(joined, scale) : f32[]
    y = Add(scaled, bias) : f32[]
    return y)";
  Graph graph = CheckLikeBound(text, {2, 3},
                               {{"one", F32({2}, {1, 1})},
                                {"zero", F32({2}, {0, 0})},
                                {"scale", RandomF32({8, 1, 1}, 1)},
                                {"bias", RandomF32({8, 1, 1}, 2)}});
  CHECK(CountOf(graph, OpKind::kGroupNormalization) == 1);
}

TEST_CASE("narrow weights stay words where few rows are usual", "[graph][rewrite][free]") {
  for (int usual : {2, 128}) {
    INFO(usual);
    std::string text = fmt::format("dim N in 1..512 usual {}\n", usual) + R"(
      input x: f32[N, 512]
      constant numbers: u8[512x520]
      constant scale: f32[]
      weight = DequantizeLinear(numbers, scale) {axis: 1, to: "f32"} : f32[]
      y = MatMul(x, weight) : f32[]
      return y)";
    Graph graph = ParsedGraph("graph g {\n" + text + "\n}",
                              {{"numbers", MakeZeroTensor(DType(DTypeCode::kUInt8), {512, 520})},
                               {"scale", F32({}, {0.5})}});
    REQUIRE(RunGraphPasses(graph, TargetKind::kCpu) == OkStatus());
    CHECK(CountOf(graph, OpKind::kMatMulWords) == (usual == 2 ? 1 : 0));
  }
}

TEST_CASE("a size that is one number is a formula in a kernel", "[graph][rewrite][free]") {
  std::string text = std::string(kSequences) + R"(
    constant two: i64[]
    input ids: i64[B, S]
    dims = Shape(past) {start: 0} : i64[]
    length = Gather(dims, two) {axis: 0} : i64[]
    y = Add(ids, length) : i64[]
    return y)";
  Graph graph = AfterPasses(ParsedGraph("graph g {\n" + text + "\n}", {{"two", I64({}, {2})}}));
  CHECK(graph.nodes.size() == 1);
}
