#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/passes/infer_shapes.h"
#include "graph/variants/variants.h"
#include "ir/analysis/verifier.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/printer.h"
#include "support/random.h"
#include "tests/graph/bits/few_bits.h"
#include "tests/graph/one_task.h"

namespace tcc {
namespace {

using Ints = std::vector<int64_t>;

// The product's task, and values for its inputs.
struct Product {
  Graph graph;
  Task task;
  FewNumbers data;

  explicit Product(const FewBitsProduct& product) : graph(GraphOf(product)), data(product.data) {
    REQUIRE(InferShapes(graph).ok());
    for (const Subgraph& subgraph : FuseGraph(graph)) {
      if (graph.nodes[subgraph.nodes[0]].op == product.op)
        task = BuildTask(graph, subgraph).value();
    }
    REQUIRE_FALSE(task.variants.empty());
  }

  const Variant* planes() const { return FindVariant(task, "bit_planes"); }

  std::vector<double> ResultOf(const Function& fn) const {
    std::vector<Tensor> arguments;
    for (size_t i = 0; i < task.inputs.size(); ++i) {
      const Tensor* constant = graph.ConstantOf(task.inputs[i]);
      arguments.push_back(constant ? *constant : Picked(data, ShapeOf(fn.params[i]), i + 1));
    }
    arguments.push_back(MakeZeroTensor(fn.params.back().dtype(), ShapeOf(fn.params.back())));
    REQUIRE(Interpret(fn, arguments).ok());
    return ValuesOf(arguments.back());
  }
};

// Checks the variant against the direct product. Returns its pairs of planes; 0 without one.
int CheckedPairs(const FewBitsProduct& description) {
  const Product product(description);
  const Variant* planes = product.planes();
  if (!planes) return 0;
  INFO(Print(planes->fn));
  const Status verified = Verify(planes->fn);
  INFO(verified);
  CHECK(verified.ok());
  CHECK(product.ResultOf(planes->fn) == product.ResultOf(product.task.variants[0].fn));
  return PlanePairsOf(planes->fn);
}

FewBitsProduct MatMul(int64_t depth, const FewNumbers& data, const FewNumbers& weight) {
  return {OpKind::kMatMulInteger, {3, depth}, {depth, 5}, data, weight};
}

constexpr int64_t kDepths[] = {64, 65, 95, 96, 100, 128};

FewNumbers AnyNumbers(Random& random) {
  const int64_t low = random.Between(-12, 12);
  const int64_t steps = random.Between(1, random.OneIn(3) ? 7 : 3);
  FewNumbers numbers = NumbersFrom(low, low + steps);
  numbers.zero = random.OneIn(2) ? 0 : std::max<int64_t>(low + random.Between(-1, 5), 0);
  return numbers;
}

FewBitsProduct AnyProduct(Random& random) {
  const int64_t depth = random.Between(64, 110);
  FewBitsProduct product = MatMul(depth, AnyNumbers(random), AnyNumbers(random));
  if (random.OneIn(3)) {
    const int64_t step = int64_t{1} << random.Between(1, 3);
    for (int64_t& value : product.weight.values) value *= step;
  }
  if (random.OneIn(2)) {
    product.x = {random.Between(1, 4), depth};
    product.w = {depth, random.Between(1, 6)};
    if (random.OneIn(3)) product.x.insert(product.x.begin(), random.Between(1, 2));
    return product;
  }
  product.op = OpKind::kConvInteger;
  const int64_t window = random.Between(1, 3);
  product.x = {1, depth, random.Between(3, 5), random.Between(3, 5)};
  product.w = {random.Between(1, 3), depth, window, random.Between(1, 3)};
  product.attributes["pads"] =
      Ints{random.Between(0, 1), random.Between(0, 1), random.Between(0, 1), random.Between(0, 1)};
  product.attributes["strides"] = Ints{random.Between(1, 2), random.Between(1, 2)};
  return product;
}

}  // namespace

TEST_CASE("bit planes of all pairs of 1 to 4 bits are the same integers", "[graph][variants]") {
  for (int a = 1; a <= 4; ++a) {
    for (int w = 1; w <= 4; ++w) {
      for (int signs = 0; signs < 4; ++signs) {
        for (int64_t depth : kDepths) {
          INFO(a << " by " << w << " bits, signs " << signs << ", " << depth << " terms");
          const int pairs =
              CheckedPairs(MatMul(depth, NumbersOf(a, signs % 2), NumbersOf(w, signs / 2)));
          CHECK(pairs == (a * w <= 8 ? a * w : 0));
        }
      }
    }
  }
}

TEST_CASE("weights of two values are one plane, whatever the values are", "[graph][variants]") {
  for (const Ints& values : {Ints{-1, 1}, Ints{0, 1}, Ints{-2, 2}, Ints{3, 5}, Ints{-64, 64}}) {
    const FewNumbers weight{DType(DTypeCode::kInt8), values};
    for (int64_t depth : kDepths) {
      for (int bits = 1; bits <= 4; ++bits) {
        INFO(values[0] << " and " << values[1] << " by " << bits << " bits, " << depth);
        CHECK(CheckedPairs(MatMul(depth, NumbersOf(bits, false), weight)) == bits);
        CHECK(CheckedPairs(MatMul(depth, NumbersOf(bits, true), weight)) == bits);
      }
    }
  }
}

TEST_CASE("bits are counted behind the zero point and the common step", "[graph][variants]") {
  const FewNumbers data = NumbersOf(2, false);
  auto pairs = [&](const FewNumbers& weight) { return CheckedPairs(MatMul(80, data, weight)); };
  CHECK(pairs(NumbersFrom(126, 129, 128)) == 4);
  CHECK(pairs(NumbersFrom(125, 132)) == 6);
  CHECK(pairs({DType(DTypeCode::kInt8), {0, 16, 32, 48}}) == 4);
  CHECK(pairs({DType(DTypeCode::kInt8), {-1, 0, 1}}) == 4);
  CHECK(pairs({DType(DTypeCode::kInt8), {7}}) == 2);
  CHECK(CheckedPairs(MatMul(80, NumbersFrom(126, 129, 128), NumbersOf(1, true))) == 2);
  CHECK(CheckedPairs(MatMul(80, NumbersFrom(3, 6), NumbersOf(1, true))) == 2);
}

TEST_CASE("convolutions of bit planes are padded with the zero point", "[graph][variants]") {
  const Attributes padded = {{"pads", Ints{1, 0, 1, 2}}};
  const FewNumbers bipolar{DType(DTypeCode::kInt8), {-1, 1}};
  auto pairs = [&](const Ints& x, const Ints& w, const FewNumbers& data, const FewNumbers& weight,
                   const Attributes& how) {
    return CheckedPairs({OpKind::kConvInteger, x, w, data, weight, how});
  };
  CHECK(pairs({2, 64, 4, 3}, {3, 64, 3, 3}, NumbersOf(2, false), bipolar, padded) == 2);
  CHECK(pairs({1, 70, 4, 4}, {2, 70, 3, 2}, NumbersFrom(2, 5, 2), bipolar, padded) == 2);
  CHECK(pairs({1, 70, 4, 4}, {2, 70, 3, 2}, NumbersFrom(2, 5, 3), bipolar, padded) == 2);
  // The zero point is beyond the data, and takes a plane more.
  CHECK(pairs({1, 70, 4, 4}, {2, 70, 3, 2}, NumbersFrom(4, 6, 3), bipolar, padded) == 2);
  CHECK(pairs({1, 70, 4, 4}, {2, 70, 3, 2}, NumbersFrom(4, 7, 3), bipolar, padded) == 3);
  CHECK(pairs({1, 64, 5, 5}, {3, 64, 3, 3}, NumbersOf(2, true), NumbersOf(2, true),
              {{"strides", Ints{2, 1}}, {"dilations", Ints{1, 2}}, {"pads", Ints{0, 1, 1, 0}}}) ==
        4);
  CHECK(pairs({1, 66, 4, 3}, {6, 66, 1, 1}, NumbersOf(1, false), NumbersOf(3, true), {}) == 3);
  CHECK(pairs({1, 64, 9}, {3, 64, 3}, NumbersOf(4, false), bipolar, {{"pads", Ints{1, 1}}}) == 4);
}

TEST_CASE("bit planes are refused where they have too little to do, or too much",
          "[graph][variants]") {
  const FewNumbers one = NumbersOf(1, false), two = NumbersOf(2, false);
  CHECK(CheckedPairs(MatMul(63, one, one)) == 0);
  CHECK(CheckedPairs(MatMul(64, one, one)) == 1);
  CHECK(CheckedPairs(MatMul(64, NumbersOf(5, false), one)) == 0);
  CHECK(CheckedPairs(MatMul(64, one, NumbersOf(5, true))) == 0);
  CHECK(CheckedPairs(MatMul(64, NumbersOf(3, false), NumbersOf(3, false))) == 0);
  const FewBitsProduct groups{OpKind::kConvInteger,
                              {1, 128, 3, 3},
                              {2, 64, 2, 2},
                              two,
                              two,
                              {{"group", Attribute(int64_t{2})}}};
  CHECK(CheckedPairs(groups) == 0);

  // All bytes, and a variable weight.
  TestGraph bytes;
  const DType u8(DTypeCode::kUInt8);
  const ValueId x = bytes.Input("x", u8, {3, 64});
  const ValueId w = bytes.Constant("w", Picked(one, {64, 5}, 3));
  bytes.Output(bytes.Add("y", OpKind::kMatMulInteger, {x, w}));
  CHECK_FALSE(FindVariant(OneTask(bytes), "bit_planes"));
  TestGraph variable;
  const ValueId a = variable.Constant("a", Picked(one, {3, 64}, 3));
  const ValueId b = variable.Input("b", u8, {64, 5});
  variable.Output(variable.Add("y", OpKind::kMatMulInteger, {a, b}));
  CHECK_FALSE(FindVariant(OneTask(variable), "bit_planes"));
}

TEST_CASE("400 random products of bit planes are the same integers", "[graph][variants]") {
  Random random(11);
  int checked = 0;
  for (int i = 0; i < 400; ++i) {
    INFO("product " << i);
    checked += CheckedPairs(AnyProduct(random)) > 0;
  }
  CHECK(checked >= 250);
}

}  // namespace tcc
