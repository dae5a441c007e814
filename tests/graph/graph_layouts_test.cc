#include <catch2/catch.hpp>

#include "graph/passes/fuse_graph.h"
#include "tests/graph/graph_check.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

ValueId PointConv(TestGraph& builder, const std::string& name, ValueId x, int64_t in, int64_t out) {
  ValueId w = builder.Constant(name + ".w", RandomF32({out, in, 1, 1}, name.size()));
  return builder.Add(name, OpKind::kConv, {x, w});
}

}  // namespace

TEST_CASE("a network of convolutions runs channels last between two repacks", "[graph][layout]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 3, 6, 6});
  ValueId a =
      builder.Add("a", OpKind::kConv, {x, builder.Constant("wa", RandomF32({4, 3, 3, 3}, 1))},
                  {{"pads", Ints{1, 1, 1, 1}}});
  ValueId r = builder.Add("r", OpKind::kRelu, {a});
  ValueId b =
      builder.Add("b", OpKind::kConv, {r, builder.Constant("wb", RandomF32({4, 4, 1, 1}, 2))});
  ValueId s = builder.Add("s", OpKind::kAdd, {b, r});
  ValueId scale = builder.Constant("scale", RandomF32({4, 1, 1}, 5));
  ValueId m = builder.Add("m", OpKind::kMul, {s, scale});
  ValueId p = builder.Add("p", OpKind::kMaxPool, {m},
                          {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  builder.Output(p);
  Graph optimized = CheckSameAfterPasses(builder.Build());
  CHECK(CountOf(optimized, OpKind::kRepack) == 2);
  CHECK(optimized.nodes.back().op == OpKind::kRepack);
  CHECK(optimized.value(optimized.outputs[0]).name == "p.out");
}

TEST_CASE("a flatten behind channels last permutes the matrix, not the data", "[graph][layout]") {
  for (int64_t transposed : {0, 1}) {
    TestGraph builder;
    ValueId x = builder.Input("x", kFloat32, {2, 3, 4, 5});
    ValueId conv =
        builder.Add("conv", OpKind::kConv, {x, builder.Constant("w", RandomF32({2, 3, 2, 2}, 1))});
    ValueId flat = builder.Add("flat", OpKind::kFlatten, {conv}, {{"axis", int64_t{1}}});
    Ints shape = transposed ? Ints{7, 24} : Ints{24, 7};
    ValueId gemm =
        builder.Add("gemm", OpKind::kGemm, {flat, builder.Constant("m", RandomF32(shape, 2))},
                    {{"transB", transposed}});
    builder.Output(gemm);
    Graph optimized = CheckSameAfterPasses(builder.Build());
    CHECK(CountOf(optimized, OpKind::kRepack) == 1);  // of the graph's input
  }
}

TEST_CASE("a flatten that something else reads is repacked first", "[graph][layout]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 2, 4, 4});
  ValueId conv =
      builder.Add("conv", OpKind::kConv, {x, builder.Constant("w", RandomF32({3, 2, 2, 2}, 1))});
  ValueId flat = builder.Add("flat", OpKind::kFlatten, {conv}, {{"axis", int64_t{1}}});
  builder.Output(builder.Add("softmax", OpKind::kSoftmax, {flat}, {{"axis", int64_t{-1}}}));
  Graph optimized = CheckSameAfterPasses(builder.Build());
  CHECK(CountOf(optimized, OpKind::kRepack) == 2);
}

TEST_CASE("pooled features reach the classifier without a repack", "[graph][layout]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2, 3, 4, 4});
  ValueId conv =
      builder.Add("conv", OpKind::kConv, {x, builder.Constant("w", RandomF32({5, 3, 1, 1}, 1))});
  ValueId pool = builder.Add("pool", OpKind::kGlobalAveragePool, {conv});
  ValueId flat = builder.Add("flat", OpKind::kFlatten, {pool}, {{"axis", int64_t{1}}});
  builder.Output(
      builder.Add("fc", OpKind::kGemm, {flat, builder.Constant("m", RandomF32({5, 3}, 2))}));
  Graph optimized = CheckSameAfterPasses(builder.Build());
  CHECK(CountOf(optimized, OpKind::kRepack) == 1);
}

TEST_CASE("concatenations, pads, slices and means stay channels last", "[graph][layout]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 3, 4, 5});
  ValueId a =
      builder.Add("a", OpKind::kConv, {x, builder.Constant("wa", RandomF32({2, 3, 1, 1}, 1))});
  ValueId b =
      builder.Add("b", OpKind::kConv, {x, builder.Constant("wb", RandomF32({3, 3, 1, 1}, 2))});
  ValueId both = builder.Add("both", OpKind::kConcat, {a, b}, {{"axis", int64_t{1}}});
  ValueId pads = builder.Constant("pads", I64({8}, {0, 1, 1, 0, 0, 0, 0, 1}));
  ValueId padded =
      builder.Add("padded", OpKind::kPad, {both, pads}, {{"mode", std::string("edge")}});
  ValueId sliced =
      builder.Add("sliced", OpKind::kSlice,
                  {padded, builder.Constant("from", I64({1}, {1})),
                   builder.Constant("to", I64({1}, {5})), builder.Constant("axis", I64({1}, {1}))});
  ValueId position = builder.Constant("position", RandomF32({1, 4, 5, 6}, 9));
  ValueId moved = builder.Add("moved", OpKind::kAdd, {sliced, position});
  ValueId mean =
      builder.Add("mean", OpKind::kReduceMean, {moved, builder.Constant("axes", I64({2}, {2, 3}))},
                  {{"keepdims", int64_t{0}}});
  builder.Output(mean);
  Graph optimized = CheckSameAfterPasses(builder.Build());
  CHECK(CountOf(optimized, OpKind::kRepack) == 1);  // of the input; the constant is stored so
}

TEST_CASE("a transpose to channels last is free behind a convolution", "[graph][layout]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2, 3, 4, 5});
  ValueId conv =
      builder.Add("conv", OpKind::kConv, {x, builder.Constant("w", RandomF32({6, 3, 1, 1}, 1))});
  ValueId last = builder.Add("last", OpKind::kTranspose, {conv}, {{"perm", Ints{0, 2, 3, 1}}});
  builder.Output(builder.Add("tanh", OpKind::kTanh, {last}));
  Graph optimized = CheckSameAfterPasses(builder.Build());
  CHECK(CountOf(optimized, OpKind::kRepack) == 1);
}

TEST_CASE("a block in channels-last terms between convolutions moves nothing", "[graph][layout]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 3, 4, 5});
  ValueId a = PointConv(builder, "a", x, 3, 6);
  ValueId last = builder.Add("last", OpKind::kTranspose, {a}, {{"perm", Ints{0, 2, 3, 1}}});
  ValueId scale = builder.Constant("scale", RandomF32({6}, 3));
  ValueId scaled = builder.Add("scaled", OpKind::kMul, {last, scale});
  ValueId first = builder.Add("first", OpKind::kTranspose, {scaled}, {{"perm", Ints{0, 3, 1, 2}}});
  ValueId gain = builder.Constant("gain", RandomF32({6, 1, 1}, 4));
  ValueId gained = builder.Add("gained", OpKind::kMul, {first, gain});
  ValueId sum = builder.Add("sum", OpKind::kAdd, {gained, a});
  builder.Output(PointConv(builder, "other", sum, 6, 2));
  Graph optimized = CheckSameAfterPasses(builder.Build());
  CHECK(CountOf(optimized, OpKind::kRepack) == 2);  // of the graph's input and output
}

TEST_CASE("a product takes what follows a transpose that layouts make a view",
          "[graph][layout][fusion]") {
  for (bool read_twice : {false, true}) {
    TestGraph builder;
    // All extents but the batch are equal: only names tell the dimensions apart.
    ValueId x = builder.Input("x", kFloat32, {2, 4, 4, 4});
    ValueId a = PointConv(builder, "a", x, 4, 4);
    ValueId last = builder.Add("last", OpKind::kTranspose, {a}, {{"perm", Ints{0, 2, 3, 1}}});
    ValueId product = builder.Add("product", OpKind::kMatMul,
                                  {last, builder.Constant("weights", RandomF32({4, 4}, 5))});
    ValueId first =
        builder.Add("first", OpKind::kTranspose, {product}, {{"perm", Ints{0, 3, 1, 2}}});
    ValueId gain = builder.Constant("gain", RandomF32({4, 1, 1}, 4));
    ValueId gained = builder.Add("gained", OpKind::kMul, {gain, first});
    ValueId sum = builder.Add("sum", OpKind::kAdd, {gained, a});
    builder.Output(PointConv(builder, "other", sum, 4, 2));
    if (read_twice) builder.Output(builder.Add("tanh", OpKind::kTanh, {first}));
    Graph optimized = CheckSameAfterPasses(builder.Build());
    size_t kernels = 0;
    bool joined = false;
    for (const Subgraph& subgraph : FuseGraph(optimized)) {
      if (subgraph.kind != SubgraphKind::kKernel) continue;
      ++kernels;
      joined = joined || subgraph.nodes.size() == 4;  // product, first, gained, sum
    }
    CHECK(joined == !read_twice);
    CHECK(kernels == (read_twice ? 8 : 5));
  }
}

TEST_CASE("patches become rows of a sequence without a copy", "[graph][layout]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2, 3, 4, 6});
  ValueId w = builder.Constant("w", RandomF32({5, 3, 2, 2}, 1));
  ValueId a = builder.Add("a", OpKind::kConv, {x, w}, {{"strides", Ints{2, 2}}});
  ValueId flat =
      builder.Add("flat", OpKind::kReshape, {a, builder.Constant("shape", I64({3}, {0, 5, -1}))});
  ValueId rows = builder.Add("rows", OpKind::kTranspose, {flat}, {{"perm", Ints{0, 2, 1}}});
  builder.Output(builder.Add("tanh", OpKind::kTanh, {rows}));
  Graph optimized = CheckSameAfterPasses(builder.Build());
  CHECK(CountOf(optimized, OpKind::kRepack) == 1);  // of the graph's input
}

TEST_CASE("convolutions over one and three dimensions stay channels last", "[graph][layout]") {
  for (size_t dims : {size_t{1}, size_t{3}}) {
    TestGraph builder;
    Ints shape = {1, 2};
    shape.insert(shape.end(), dims, 4);
    Ints kernel = {3, 2};
    kernel.insert(kernel.end(), dims, 2);
    Ints next = {2, 3};
    next.insert(next.end(), dims, 1);
    ValueId x = builder.Input("x", kFloat32, shape);
    ValueId a = builder.Add("a", OpKind::kConv, {x, builder.Constant("wa", RandomF32(kernel, 1))});
    ValueId r = builder.Add("r", OpKind::kRelu, {a});
    builder.Output(
        builder.Add("b", OpKind::kConv, {r, builder.Constant("wb", RandomF32(next, 2))}));
    Graph optimized = CheckSameAfterPasses(builder.Build());
    CHECK(CountOf(optimized, OpKind::kRepack) == 2);
  }
}

TEST_CASE("a transpose whose result nobody wants channels last is none", "[graph][layout]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2, 4, 5, 3});
  ValueId first = builder.Add("first", OpKind::kTranspose, {x}, {{"perm", Ints{0, 3, 1, 2}}});
  builder.Output(builder.Add("tanh", OpKind::kTanh, {first}));
  Graph optimized = CheckSameAfterPasses(builder.Build());
  CHECK(CountOf(optimized, OpKind::kRepack) == 0);
}
