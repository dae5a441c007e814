#include "graph/passes/offloading.h"

#include <catch2/catch.hpp>
#include <functional>

#include "graph/passes/fuse_graph.h"
#include "graph/passes/graph_pipeline.h"
#include "models/zoo/graph_builder.h"

namespace tcc {
namespace {

using Names = std::vector<std::string>;

const DType kByte = DType(DTypeCode::kInt8);

Tensor Ones(DType dtype, const std::vector<int64_t>& shape, int64_t count) {
  Tensor tensor = MakeZeroTensor(dtype, shape);
  for (int64_t i = 0; i < count; ++i) SetElement(tensor, i, 2);
  return tensor;
}

// A convolution of 16 signed bytes of a channel to 32, whose sums `behind` reads.
struct Network {
  GraphBuilder builder{"network", 3};
  ValueId numbers = kNoValue;  // the sums as floats

  Network() {
    const ValueId x = builder.Input("x", {1, 16, 6, 6});
    const ValueId bytes = Bytes("bytes", x);
    const ValueId w = builder.Constant("w", Ones(kByte, {32, 16, 1, 1}, 512));
    const ValueId sums = builder.Emit("sums", OpKind::kConvInteger, {bytes, w}, {}, kInt32);
    numbers = builder.Emit("numbers", OpKind::kCast, {sums}, {{"to", ToString(kFloat32)}});
  }

  ValueId Bytes(const std::string& name, ValueId value, DType to = kByte) {
    return builder.Emit(name, OpKind::kQuantizeLinear, {value, builder.Scalar(name + "_step", 0.5)},
                        {{"axis", int64_t{1}}, {"to", ToString(to)}}, to);
  }
  ValueId Floats(const std::string& name, ValueId value) {
    return builder.Emit(name, OpKind::kDequantizeLinear,
                        {value, builder.Scalar(name + "_step", 0.5)},
                        {{"axis", int64_t{1}}, {"to", ToString(kFloat32)}});
  }
  ValueId Floats(const std::string& name, const std::vector<int64_t>& shape, int64_t count) {
    return builder.Constant(name, Ones(kFloat32, shape, count));
  }
};

// Returns the nodes that are computed with the product.
Names NodesOf(const std::function<ValueId(Network&)>& behind) {
  Network network;
  const ValueId value = behind(network);
  network.builder.Output(value, {1, 32, 6, 6});
  Graph graph = network.builder.Take();
  const Status passes = RunGraphPasses(graph, TargetKind::kCpu);
  INFO(passes);
  REQUIRE(passes.ok());
  for (const Subgraph& subgraph : FuseGraph(graph, Fusion::kOffloading)) {
    Names names;
    for (int n : subgraph.nodes) names.push_back(graph.nodes[n].name);
    if (names[0] == "sums") return names;
  }
  return {};
}

}  // namespace

TEST_CASE("an accelerator's product takes what makes bytes of its sums", "[graph][offloading]") {
  CHECK(NodesOf([](Network& n) {
          const ValueId scale = n.Floats("scale", {32, 1, 1}, 32);
          const ValueId scaled = n.builder.Emit("scaled", OpKind::kMul, {n.numbers, scale});
          const ValueId bias = n.Floats("bias", {1, 32, 1, 1}, 32);
          const ValueId biased = n.builder.Emit("biased", OpKind::kSub, {scaled, bias});
          return n.Bytes("narrow", n.builder.Relu("relu", biased));
        }) == Names{"sums", "numbers", "scaled", "biased", "relu", "narrow"});
}

TEST_CASE("an accelerator's product takes the last bytes that it makes", "[graph][offloading]") {
  CHECK(NodesOf([](Network& n) {
          const ValueId first = n.Bytes("first", n.numbers);
          const ValueId relu = n.builder.Relu("relu", n.Floats("again", first));
          const ValueId second = n.Bytes("second", relu, DType(DTypeCode::kUInt8));
          return n.Floats("result", second);
        }) == Names{"sums", "numbers", "first", "again", "relu", "second"});
}

TEST_CASE("an accelerator's product takes nothing that gives no bytes", "[graph][offloading]") {
  CHECK(NodesOf([](Network& n) { return n.builder.Relu("relu", n.numbers); }) == Names{"sums"});
  CHECK(NodesOf([](Network& n) {
          return n.Bytes("narrow", n.builder.Emit("root", OpKind::kSqrt, {n.numbers}));
        }) == Names{"sums"});
}

TEST_CASE("an output stage ends where a value has two readers", "[graph][offloading]") {
  CHECK(NodesOf([](Network& n) {
          const ValueId first = n.Bytes("first", n.numbers);
          const ValueId again = n.Floats("again", first);
          const ValueId second = n.Bytes("second", n.builder.Relu("relu", again));
          return n.builder.Add("sum", again, n.Floats("both", second));
        }) == Names{"sums", "numbers", "first"});
}

TEST_CASE("an output stage has operands of one number or one for each channel",
          "[graph][offloading]") {
  const auto with = [](const std::vector<int64_t>& shape, int64_t count) {
    return NodesOf([&](Network& n) {
      const ValueId scale = n.Floats("scale", shape, count);
      const ValueId scaled = n.builder.Emit("scaled", OpKind::kMul, {n.numbers, scale});
      return n.Bytes("narrow", scaled);
    });
  };
  const Names whole = {"sums", "numbers", "scaled", "narrow"};
  CHECK(with({}, 1) == whole);
  CHECK(with({1, 1}, 1) == whole);
  CHECK(with({32, 1, 1}, 32) == whole);
  CHECK(with({6}, 6) == Names{"sums"});
  CHECK(with({6, 1}, 6) == Names{"sums"});
  CHECK(with({32, 6, 1}, 32 * 6) == Names{"sums"});
}

TEST_CASE("an output stage adds no other tensor", "[graph][offloading]") {
  CHECK(NodesOf([](Network& n) {
          const ValueId other = n.builder.Input("other", {1, 32, 6, 6});
          return n.Bytes("narrow", n.builder.Add("sum", n.numbers, other));
        }) == Names{"sums"});
}

}  // namespace tcc
