#include <catch2/catch.hpp>

#include "graph/passes/fuse_graph.h"
#include "graph/variants/task.h"
#include "tests/graph/graph_check.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

using Names = std::vector<std::string>;

Names KernelNames(const Graph& graph, Fusion fusion = Fusion::kFused) {
  Names names;
  for (const Subgraph& subgraph : FuseGraph(graph, fusion)) {
    if (subgraph.kind == SubgraphKind::kKernel) names.push_back(subgraph.name);
  }
  return names;
}

// [1, S, 6] as heads: [1, S, 2, 3], dimensions then in another order.
ValueId Heads(TestGraph& builder, const std::string& name, ValueId x, const Ints& perm) {
  ValueId shape = builder.Constant(name + ".shape", I64({4}, {1, -1, 2, 3}));
  ValueId split = builder.Add(name + ".split", OpKind::kReshape, {x, shape});
  return builder.Add(name, OpKind::kTranspose, {split}, {{"perm", perm}});
}

// The projection of x by random weights of this many columns, with a row if `row`, as heads of 3.
ValueId Projected(TestGraph& builder, const std::string& name, ValueId x, int64_t columns,
                  bool row = true) {
  ValueId weights = builder.Constant(name + ".w", RandomF32({6, columns}, name[0]));
  ValueId result = builder.Add(name + ".product", OpKind::kMatMul, {x, weights});
  ValueId sum = builder.Constant(name + ".b", RandomF32({columns}, name[0] + 1));
  if (row) result = builder.Add(name + ".sum", OpKind::kAdd, {sum, result});
  ValueId shape = builder.Constant(name + ".shape", I64({4}, {1, 5, columns / 3, 3}));
  ValueId split = builder.Add(name + ".split", OpKind::kReshape, {result, shape});
  return builder.Add(name, OpKind::kTranspose, {split}, {{"perm", Ints{0, 2, 1, 3}}});
}

}  // namespace

TEST_CASE("queries, keys and values are one product, whose parts attention reads",
          "[graph][fusion]") {
  for (bool row : {true, false}) {
    TestGraph builder;
    ValueId x = builder.Input("x", kFloat32, {1, 5, 6});
    ValueId q = Projected(builder, "q", x, 12, row);
    ValueId k = Projected(builder, "k", x, 6, row);
    ValueId v = Projected(builder, "v", x, 6, row);
    builder.Output(builder.Add("mixed", OpKind::kAttention, {q, k, v}));
    Graph graph = CheckSameAfterPasses(builder.Build());
    CHECK(CountOf(graph, OpKind::kMatMul) == 1);
    CHECK(CountOf(graph, OpKind::kAdd) == (row ? 1 : 0));
    CHECK(CountOf(graph, OpKind::kSlice) == 3);
  }
}

TEST_CASE("a projection that others read, or of another form, stays a product of its own",
          "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 5, 6});
  ValueId q = Projected(builder, "q", x, 6);
  ValueId k = Projected(builder, "k", x, 6, false);
  ValueId v = builder.Add("v", OpKind::kMatMul, {x, builder.Constant("v.w", RandomF32({6, 6}, 3))});
  builder.Output(v);
  ValueId shape = builder.Constant("v.shape", I64({4}, {1, 5, 2, 3}));
  ValueId split = builder.Add("v.split", OpKind::kReshape, {v, shape});
  ValueId heads = builder.Add("v.heads", OpKind::kTranspose, {split}, {{"perm", Ints{0, 2, 1, 3}}});
  builder.Output(builder.Add("mixed", OpKind::kAttention, {q, k, heads}));
  CHECK(CountOf(CheckSameAfterPasses(builder.Build()), OpKind::kMatMul) == 3);
}

TEST_CASE("rotated heads are parts of one product too, read where they are", "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 5, 6});
  ValueId cos = builder.Constant("cos", RandomF32({1, 5, 2}, 7));
  ValueId sin = builder.Constant("sin", RandomF32({1, 5, 2}, 8));
  auto heads = [&](const std::string& name, int64_t columns) {
    ValueId weights = builder.Constant(name + ".w", RandomF32({6, columns}, name[0]));
    ValueId product = builder.Add(name + ".product", OpKind::kMatMul, {x, weights});
    ValueId shape = builder.Constant(name + ".shape", I64({4}, {1, 5, columns / 4, 4}));
    ValueId split = builder.Add(name + ".split", OpKind::kReshape, {product, shape});
    return builder.Add(name, OpKind::kTranspose, {split}, {{"perm", Ints{0, 2, 1, 3}}});
  };
  ValueId q = builder.Add("q.turned", OpKind::kRotaryEmbedding, {heads("q", 16), cos, sin});
  ValueId k = builder.Add("k.turned", OpKind::kRotaryEmbedding, {heads("k", 8), cos, sin});
  ValueId v = heads("v", 8);
  builder.Output(builder.Add("mixed", OpKind::kAttention, {q, k, v}));
  builder.Output(v);  // a cache, which is copied
  Graph graph = CheckSameAfterPasses(builder.Build());
  CHECK(CountOf(graph, OpKind::kMatMul) == 1);
  CHECK(KernelNames(graph).size() == 5);
}

namespace {

// Attention whose three operands one product made beside each other; they are moved to the front,
// picked, and cut into two heads of 3. `moved` is the order of [1, 5, images, 3, 6].
Graph AttentionOfThree(int64_t images, const Ints& moved) {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {5, images, 6});
  ValueId product = builder.Add("product", OpKind::kMatMul,
                                {x, builder.Constant("weights", RandomF32({6, 18}, 3))});
  ValueId apart = builder.Constant("apart", I64({5}, {1, 5, images, 3, 6}));
  ValueId parts = builder.Add("parts", OpKind::kReshape, {product, apart});
  ValueId front = builder.Add("front", OpKind::kTranspose, {parts}, {{"perm", moved}});
  ValueId three =
      builder.Add("three", OpKind::kSqueeze, {front, builder.Constant("at", I64({1}, {3}))});
  std::vector<ValueId> operands;
  for (int64_t i : {0, 1, 2}) {
    const std::string name = fmt::format("picked{}", i);
    ValueId index = builder.Constant(name + ".index", I64({}, {i}));
    ValueId picked = builder.Add(name, OpKind::kGather, {three, index}, {{"axis", int64_t{0}}});
    ValueId shape = builder.Constant(name + ".shape", I64({3}, {5, images * 2, 3}));
    ValueId heads = builder.Add(name + ".heads", OpKind::kReshape, {picked, shape});
    ValueId turned =
        builder.Add(name + ".turned", OpKind::kTranspose, {heads}, {{"perm", Ints{1, 0, 2}}});
    ValueId four = builder.Constant(name + ".four", I64({4}, {images, 2, 5, 3}));
    operands.push_back(builder.Add(name + ".four_dims", OpKind::kReshape, {turned, four}));
  }
  builder.Output(builder.Add("mixed", OpKind::kAttention, operands));
  return builder.Build();
}

}  // namespace

TEST_CASE("queries, keys and values beside each other are read where they are, once moved or not",
          "[graph][fusion]") {
  for (int64_t images : {1, 2}) {
    INFO(images << " images");
    Graph graph = CheckSameAfterPasses(AttentionOfThree(images, {3, 1, 2, 0, 4}));
    CHECK(KernelNames(graph).size() == 2);
  }
}

namespace {

// Attention whose three operands one product of x made, [images, 5, 18] in two heads of 3.
struct JoinedOperands {
  explicit JoinedOperands(int64_t images) : images(images) {
    ValueId x = builder.Input("x", kFloat32, {images, 5, 6});
    product = builder.Add("product", OpKind::kMatMul,
                          {x, builder.Constant("weights", RandomF32({6, 18}, 3))});
  }
  // Cuts [images, 5, 6] into heads, [images, 2, 5, 3].
  ValueId Cut(const std::string& name, ValueId rows) {
    ValueId shape = builder.Constant(name + ".shape", I64({4}, {images, 5, 2, 3}));
    ValueId split = builder.Add(name + ".split", OpKind::kReshape, {rows, shape});
    return builder.Add(name, OpKind::kTranspose, {split}, {{"perm", Ints{0, 2, 1, 3}}});
  }
  Graph Attended(const std::vector<ValueId>& operands) {
    builder.Output(builder.Add("mixed", OpKind::kAttention, operands));
    return CheckSameAfterPasses(builder.Build());
  }

  int64_t images;
  TestGraph builder;
  ValueId product;
};

}  // namespace

TEST_CASE("heads of parts that are moved to the front are read where they are", "[graph][fusion]") {
  for (int64_t images : {1, 2}) {
    INFO(images << " images");
    for (const Ints& moved : {Ints{2, 0, 3, 1, 4}, Ints{2, 0, 3, 4, 1}}) {
      // Columns of the parts are no rows of the product.
      const bool keeps_rows = moved.back() == 4;
      JoinedOperands net(images);
      ValueId apart = net.builder.Constant("apart", I64({5}, {images, 5, 3, 2, 3}));
      ValueId parts = net.builder.Add("parts", OpKind::kReshape, {net.product, apart});
      ValueId front = net.builder.Add("front", OpKind::kTranspose, {parts}, {{"perm", moved}});
      std::vector<ValueId> operands;
      for (int64_t i : {0, 1, 2}) {
        ValueId index = net.builder.Constant(fmt::format("index{}", i), I64({}, {i}));
        operands.push_back(net.builder.Add(fmt::format("picked{}", i), OpKind::kGather,
                                           {front, index}, {{"axis", int64_t{0}}}));
      }
      CHECK(KernelNames(net.Attended(operands)).size() == (keeps_rows ? 2 : 3));
    }
  }
}

TEST_CASE("heads of a split product are read where they are, caches of them copied once",
          "[graph][fusion]") {
  for (int64_t images : {1, 2}) {
    for (int cached : {0, 2}) {
      INFO(images << " images, " << cached << " caches");
      JoinedOperands net(images);
      ValueId extents = net.builder.Constant("extents", I64({3}, {6, 6, 6}));
      std::vector<ValueId> parts = net.builder.AddAll(
          "parts", OpKind::kSplit, {net.product, extents}, 3, {{"axis", int64_t{-1}}});
      std::vector<ValueId> operands;
      for (size_t i : {0, 1, 2}) operands.push_back(net.Cut(fmt::format("part{}", i), parts[i]));
      for (int i = 0; i < cached; ++i) net.builder.Output(operands[2 - i]);
      Graph graph = net.Attended(operands);
      CHECK(CountOf(graph, OpKind::kSplit) == 0);
      CHECK(KernelNames(graph).size() == static_cast<size_t>(2 + cached));
    }
  }
}

TEST_CASE("a split stays if a part is read as it is, or cut across heads", "[graph][fusion]") {
  for (bool across : {false, true}) {
    JoinedOperands net(2);
    ValueId extents =
        net.builder.Constant("extents", across ? I64({4}, {4, 2, 6, 6}) : I64({3}, {6, 6, 6}));
    std::vector<ValueId> parts = net.builder.AddAll("parts", OpKind::kSplit, {net.product, extents},
                                                    across ? 4 : 3, {{"axis", int64_t{2}}});
    if (across) {
      parts[0] =
          net.builder.Add("both", OpKind::kConcat, {parts[1], parts[0]}, {{"axis", int64_t{2}}});
      parts.erase(parts.begin() + 1);
    } else {
      net.builder.Output(net.builder.Add("tanh", OpKind::kTanh, {parts[0]}));
    }
    std::vector<ValueId> operands;
    for (size_t i : {0, 1, 2}) operands.push_back(net.Cut(fmt::format("part{}", i), parts[i]));
    CHECK(CountOf(net.Attended(operands), OpKind::kSplit) == 1);
  }
}

TEST_CASE("queries, keys and values of images in another order are moved", "[graph][fusion]") {
  // [3, images, 5, 1, 6], read as if it were [3, 5, images, 1, 6].
  Graph graph = CheckSameAfterPasses(AttentionOfThree(2, {3, 2, 1, 0, 4}));
  CHECK(CountOf(graph, OpKind::kTranspose) > 3);
}

TEST_CASE("a head split that leaves rows whole is read in place", "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 5, 6});
  ValueId q = Heads(builder, "q", builder.Add("tanh", OpKind::kTanh, {x}), {0, 2, 1, 3});
  ValueId k = Heads(builder, "k", builder.Add("exp", OpKind::kExp, {x}), {0, 2, 3, 1});
  ValueId v = Heads(builder, "v", builder.Add("neg", OpKind::kNeg, {x}), {0, 2, 1, 3});
  ValueId scores = builder.Add("scores", OpKind::kMatMul, {q, k});
  ValueId mixed = builder.Add("mixed", OpKind::kMatMul, {scores, v});
  builder.Output(mixed);
  Graph graph = CheckSameAfterPasses(builder.Build());
  // The columns of k would be read across rows: that Transpose stays.
  CHECK(KernelNames(graph) == Names{"tanh", "exp", "k", "neg", "q_matmul", "v_matmul"});
}

TEST_CASE("attention reads heads where they are, keys too", "[graph][fusion]") {
  // So many keys that rows are reduced in vectors.
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 17, 6});
  ValueId q = Heads(builder, "q", builder.Add("tanh", OpKind::kTanh, {x}), {0, 2, 1, 3});
  ValueId k = Heads(builder, "k", builder.Add("exp", OpKind::kExp, {x}), {0, 2, 1, 3});
  ValueId v = Heads(builder, "v", builder.Add("neg", OpKind::kNeg, {x}), {0, 2, 1, 3});
  builder.Output(builder.Add("mixed", OpKind::kAttention, {q, k, v}));
  Graph graph = CheckSameAfterPasses(builder.Build());
  CHECK(KernelNames(graph) == Names{"tanh", "exp", "neg", "q_transpose_transpose_attention"});
}

// Was fused, and the kernel then wanted what was inside of it: tcc-fuzz model --points 1
// --seed 50403.
TEST_CASE("one channel that is read channels last is not read through what moves it",
          "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 4, 4});
  ValueId moved = builder.Add("moved", OpKind::kTranspose,
                              {builder.Add("tanh", OpKind::kTanh, {x})}, {{"perm", Ints{2, 0, 1}}});
  ValueId weights = builder.Constant("weights", RandomF32({1, 4, 1}, 3));
  builder.Output(builder.Add("y", OpKind::kConvTranspose, {moved, weights}));
  Graph graph = CheckSameAfterPasses(builder.Build());
  for (const Subgraph& subgraph : FuseGraph(graph)) {
    if (subgraph.kind != SubgraphKind::kKernel) continue;
    INFO(subgraph.name);
    CHECK(BuildTask(graph, subgraph).value().variants[0].fn.params.size() ==
          subgraph.inputs.size() + subgraph.outputs.size());
  }
}

TEST_CASE("keys that several heads share are not copied for each", "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 2, 4, 3});
  ValueId values = builder.Add("values", OpKind::kTanh, {x});
  ValueId wide =
      builder.Add("wide", OpKind::kUnsqueeze, {values, builder.Constant("axes", I64({1}, {2}))});
  ValueId repeated = builder.Add("repeated", OpKind::kExpand,
                                 {wide, builder.Constant("to", I64({5}, {1, 2, 3, 4, 3}))});
  ValueId heads = builder.Add("heads", OpKind::kReshape,
                              {repeated, builder.Constant("shape", I64({4}, {1, 6, 4, 3}))});
  ValueId weights = builder.Constant("weights", RandomF32({1, 6, 5, 4}, 3));
  builder.Output(builder.Add("mixed", OpKind::kMatMul, {weights, heads}));
  Graph graph = CheckSameAfterPasses(builder.Build());
  CHECK(KernelNames(graph) == Names{"values", "repeated_reshape_matmul"});
}

TEST_CASE("a scale behind a head split joins the product before it", "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 5, 4});
  ValueId w = builder.Constant("w", RandomF32({4, 6}, 1));
  ValueId projected = builder.Add("projected", OpKind::kMatMul, {x, w});
  ValueId heads = Heads(builder, "heads", projected, {0, 2, 1, 3});
  ValueId scaled =
      builder.Add("scaled", OpKind::kMul, {heads, builder.Constant("scale", F32({1}, {0.5}))});
  builder.Output(scaled);
  Graph graph = CheckSameAfterPasses(builder.Build());
  CHECK(KernelNames(graph) == Names{"projected_mul", "heads"});
}

TEST_CASE("a residual joins the product that it sees under another shape", "[graph][fusion]") {
  for (int64_t batch : {1, 2}) {
    TestGraph builder;
    ValueId x = builder.Input("x", kFloat32, {batch, 5, 6});
    ValueId rows = builder.Constant("rows", I64({2}, {-1, 6}));
    ValueId flat =
        builder.Add("flat", OpKind::kReshape, {builder.Add("tanh", OpKind::kTanh, {x}), rows});
    ValueId weights = builder.Constant("weights", RandomF32({6, 6}, 3));
    ValueId product = builder.Add("product", OpKind::kMatMul, {flat, weights});
    ValueId apart = builder.Constant("apart", I64({3}, {5, batch, 6}));
    ValueId split = builder.Add("split", OpKind::kReshape, {product, apart});
    ValueId turned = builder.Add("turned", OpKind::kTranspose, {split}, {{"perm", Ints{1, 0, 2}}});
    builder.Output(builder.Add("sum", OpKind::kAdd, {x, turned}));
    Graph graph = CheckSameAfterPasses(builder.Build());
    // Two images lie in another order in the product.
    CHECK(KernelNames(graph) ==
          (batch == 1 ? Names{"tanh", "product_add"} : Names{"tanh", "product", "turned_add"}));
  }
}

// Once the view had no dimensions where adding its value moved the shapes in the graph: one element
// was added to all.
TEST_CASE("a residual is viewed under the product's shape, however many values there are",
          "[graph][fusion]") {
  for (int64_t others = 0; others < 40; ++others) {
    INFO(others << " other values");
    TestGraph builder;
    ValueId x = builder.Input("x", kFloat32, {1, 5, 6});
    for (int64_t i = 0; i < others; ++i) builder.Constant(fmt::format("c{}", i), I64({1}, {i}));
    ValueId flat =
        builder.Add("flat", OpKind::kReshape, {x, builder.Constant("rows", I64({2}, {5, 6}))});
    ValueId weights = builder.Constant("weights", RandomF32({6, 6}, 3));
    ValueId product = builder.Add("product", OpKind::kMatMul, {flat, weights});
    ValueId apart = builder.Constant("apart", I64({3}, {1, 5, 6}));
    ValueId split = builder.Add("split", OpKind::kReshape, {product, apart});
    builder.Output(builder.Add("sum", OpKind::kAdd, {x, split}));
    Graph graph = CheckSameAfterPasses(builder.Build());
    for (const Node& node : graph.nodes) {
      if (node.op == OpKind::kAdd) CHECK(graph.value(node.inputs[0]).shape.size() == 2);
    }
  }
}

TEST_CASE("a residual that is computed behind a product's views stays a sum of its own",
          "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {5, 6});
  ValueId product = builder.Add("product", OpKind::kMatMul,
                                {x, builder.Constant("weights", RandomF32({6, 6}, 3))});
  ValueId shape = builder.Constant("shape", I64({3}, {1, 5, 6}));
  ValueId split = builder.Add("split", OpKind::kReshape, {product, shape});
  ValueId late =
      builder.Add("late", OpKind::kReshape,
                  {builder.Add("sums", OpKind::kSoftmax, {x}, {{"axis", int64_t{1}}}), shape});
  builder.Output(builder.Add("sum", OpKind::kAdd, {late, split}));
  CHECK(KernelNames(CheckSameAfterPasses(builder.Build())).size() == 3);
}

TEST_CASE("a movement of what others read stays where it is", "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 5, 6});
  ValueId q = Heads(builder, "q", builder.Add("tanh", OpKind::kTanh, {x}), {0, 2, 1, 3});
  ValueId w = builder.Constant("w", RandomF32({1, 2, 3, 4}, 1));
  builder.Output(builder.Add("product", OpKind::kMatMul, {q, w}));
  builder.Output(builder.Add("other", OpKind::kExp, {q}));
  Graph graph = CheckSameAfterPasses(builder.Build());
  CHECK(KernelNames(graph) == Names{"tanh", "q", "product", "other"});
}

TEST_CASE("transposes in a row become one, and none where they undo each other", "[graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2, 3, 4});
  ValueId a = builder.Add("a", OpKind::kTranspose, {x}, {{"perm", Ints{1, 2, 0}}});
  ValueId b = builder.Add("b", OpKind::kTranspose, {a}, {{"perm", Ints{1, 0, 2}}});
  builder.Output(builder.Add("tanh", OpKind::kTanh, {b}));
  Graph graph = CheckSameAfterPasses(builder.Build());
  CHECK(CountOf(graph, OpKind::kTranspose) == 1);
}

TEST_CASE("views in a row become one", "[graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2, 3, 4});
  ValueId exp = builder.Add("exp", OpKind::kExp, {x});
  ValueId flat = builder.Add("flat", OpKind::kFlatten, {exp}, {{"axis", int64_t{1}}});
  ValueId wide =
      builder.Add("wide", OpKind::kUnsqueeze, {flat, builder.Constant("axes", I64({1}, {0}))});
  ValueId back =
      builder.Add("back", OpKind::kReshape, {wide, builder.Constant("shape", I64({2}, {6, 4}))});
  builder.Output(
      builder.Add("sum", OpKind::kReduceSum, {back, builder.Constant("axis", I64({1}, {1}))}));
  Graph graph = CheckSameAfterPasses(builder.Build());
  CHECK(CountOf(graph, OpKind::kReshape) == 1);
  CHECK(graph.nodes.size() == 3);
}

TEST_CASE("an element-wise kernel takes the movements before all its operands", "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {3, 4});
  ValueId a = builder.Add("a", OpKind::kExp, {x});
  ValueId left = builder.Add("left", OpKind::kTranspose, {a}, {{"perm", Ints{1, 0}}});
  ValueId right = builder.Add("right", OpKind::kTranspose, {builder.Add("b", OpKind::kNeg, {x})},
                              {{"perm", Ints{1, 0}}});
  builder.Output(builder.Add("sum", OpKind::kAdd, {left, right}));
  Graph graph = CheckSameAfterPasses(builder.Build());
  CHECK(KernelNames(graph) == Names{"a", "b", "left_transpose_add"});
}

TEST_CASE("a gather of one index is a slice that the transpose behind it takes",
          "[graph][fusion]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {3, 2, 4, 5});
  ValueId packed = builder.Add("packed", OpKind::kTanh, {x});
  ValueId index = builder.Constant("index", I64({}, {-2}));
  ValueId keys = builder.Add("keys", OpKind::kGather, {packed, index}, {{"axis", int64_t{0}}});
  ValueId turned = builder.Add("turned", OpKind::kTranspose, {keys}, {{"perm", Ints{0, 2, 1}}});
  builder.Output(turned);
  builder.Output(
      builder.Add("sum", OpKind::kReduceSum, {packed, builder.Constant("axes", I64({1}, {0}))}));
  Graph graph = CheckSameAfterPasses(builder.Build());
  CHECK(CountOf(graph, OpKind::kGather) == 0);
  CHECK(KernelNames(graph) == Names{"packed", "keys_out_slice_reshape_transpose", "sum"});
}

TEST_CASE("a convolution of few channels gathers what a repack alone would give it",
          "[graph][fusion]") {
  auto convolutions = [](int64_t channels, int count) {
    TestGraph builder;
    ValueId x = builder.Input("x", kFloat32, {1, channels, 6, 5});
    for (int i = 0; i < count; ++i) {
      std::string name = std::string(1, static_cast<char>('a' + i));
      ValueId w = builder.Constant("w" + name, RandomF32({8, channels, 3, 3}, i + 1));
      ValueId y = builder.Add(name, OpKind::kConv, {x, w});
      builder.Output(builder.Add(name + ".mean", OpKind::kGlobalAveragePool, {y}));
    }
    return CheckSameAfterPasses(builder.Build());
  };
  Graph three = convolutions(3, 1);
  CHECK(KernelNames(three, Fusion::kGathering) == Names{"x_repacked_repack_conv", "a_mean"});
  CHECK(KernelNames(three, Fusion::kChained) == Names{"x_repacked_repack", "a", "a_mean"});
  CHECK(KernelNames(convolutions(8, 1), Fusion::kGathering) ==
        Names{"x_repacked_repack", "a", "a_mean"});
  CHECK(KernelNames(convolutions(3, 2), Fusion::kGathering) ==
        Names{"x_repacked_repack", "a", "a_mean", "b", "b_mean"});
}
