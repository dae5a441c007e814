#include <catch2/catch.hpp>

#include "graph/ops/build_loop_nest.h"
#include "graph/ops/op_lowering.h"
#include "ir/interpret/interpreter.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

using Doubles = std::vector<double>;

// 0, 1, 2, ...
Tensor Counting(const Ints& shape) {
  int64_t count = ElementCount(shape).value();
  Doubles values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i));
  return F32(shape, values);
}

Tensor List(const Ints& values) {
  return I64({static_cast<int64_t>(values.size())}, values);
}

}  // namespace

TEST_CASE("a reshape copies dimensions at 0 and infers the one at -1", "[graph][ops]") {
  OneNode node = {.op = OpKind::kReshape,
                  .inputs = {Counting({2, 3, 4}), List({0, -1, 2})},
                  .attributes = {{"allowzero", int64_t{0}}},
                  .constants = {1}};
  Tensor result = ResultOf(node);
  CHECK(result.shape == Ints{2, 6, 2});
  CHECK(ValuesOf(result) == ValuesOf(node.inputs[0]));

  node.inputs = {MakeZeroTensor(kFloat32, {0, 3}), List({3, 0})};
  node.attributes["allowzero"] = int64_t{1};
  CHECK(ResultOf(node).shape == Ints{3, 0});
}

// FuseGraph makes views of reshapes; here the indices of the lowering itself are run.
TEST_CASE("the map of a reshape reads the elements in order", "[graph][ops]") {
  for (const Ints& shape :
       {Ints{4, 6}, Ints{24}, Ints{3, 8}, Ints{1, 2, 1, 12}, Ints{2, 2, 3, 2}}) {
    TestGraph builder;
    ValueId x = builder.Input("x", kFloat32, {2, 3, 4});
    ValueId list = builder.Constant("shape", List(shape));
    builder.Output(builder.Add("view", OpKind::kReshape, {x, list}, {{"allowzero", int64_t{0}}}));
    Graph graph = builder.Build();
    StatusOr<LoweredNode> lowered = LowerNode(graph, graph.nodes[0]);
    REQUIRE(lowered.ok());
    Function fn = BuildLoopNest(lowered->program);
    std::vector<Tensor> arguments = {Counting({2, 3, 4}), MakeZeroTensor(kFloat32, shape)};
    REQUIRE(Interpret(fn, arguments).ok());
    CHECK(ValuesOf(arguments[1]) == ValuesOf(arguments[0]));
  }
}

TEST_CASE("flatten, squeeze and unsqueeze only change the shape", "[graph][ops]") {
  Tensor x = Counting({2, 1, 3, 1});
  auto shape_of = [&](OpKind op, std::vector<Tensor> inputs, Attributes attributes = {}) {
    OneNode node = {.op = op, .inputs = inputs, .attributes = attributes, .constants = {1}};
    Tensor result = ResultOf(node);
    CHECK(ValuesOf(result) == ValuesOf(x));
    return result.shape;
  };
  CHECK(shape_of(OpKind::kFlatten, {x}, {{"axis", int64_t{3}}}) == Ints{6, 1});
  CHECK(shape_of(OpKind::kFlatten, {x}, {{"axis", int64_t{0}}}) == Ints{1, 6});
  CHECK(shape_of(OpKind::kSqueeze, {x}) == Ints{2, 3});
  CHECK(shape_of(OpKind::kSqueeze, {x, List({-1})}) == Ints{2, 1, 3});
  CHECK(shape_of(OpKind::kUnsqueeze, {x, List({0, -1})}) == Ints{1, 2, 1, 3, 1, 1});
}

TEST_CASE("a transpose permutes, without perm reverses", "[graph][ops]") {
  OneNode node = {.op = OpKind::kTranspose, .inputs = {Counting({2, 3, 2})}};
  Tensor reversed = ResultOf(node);
  CHECK(reversed.shape == Ints{2, 3, 2});
  CHECK(ValuesOf(reversed) == Doubles{0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11});
  node.attributes["perm"] = Ints{1, 0, 2};
  Tensor swapped = ResultOf(node);
  CHECK(swapped.shape == Ints{3, 2, 2});
  CHECK(ValuesOf(swapped) == Doubles{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11});
}

TEST_CASE("a concatenation joins along its axis, empty operands too", "[graph][ops]") {
  OneNode node = {.op = OpKind::kConcat,
                  .inputs = {Counting({2, 1}), MakeZeroTensor(kFloat32, {2, 0}), Counting({2, 2})},
                  .attributes = {{"axis", int64_t{-1}}}};
  Tensor result = ResultOf(node);
  CHECK(result.shape == Ints{2, 3});
  CHECK(ValuesOf(result) == Doubles{0, 0, 1, 1, 2, 3});
}

TEST_CASE("a slice clamps its bounds and walks backwards", "[graph][ops]") {
  auto slice = [](const Ints& start, const Ints& end, const Ints& axes, const Ints& steps) {
    return ValuesOf(
        ResultOf({.op = OpKind::kSlice,
                  .inputs = {Counting({6}), List(start), List(end), List(axes), List(steps)},
                  .constants = {1, 2, 3, 4}}));
  };
  CHECK(slice({1}, {5}, {0}, {2}) == Doubles{1, 3});
  CHECK(slice({-3}, {INT64_MAX}, {0}, {1}) == Doubles{3, 4, 5});
  CHECK(slice({-1}, {INT64_MIN}, {0}, {-2}) == Doubles{5, 3, 1});
  CHECK(slice({100}, {1}, {-1}, {-1}) == Doubles{5, 4, 3, 2});
  CHECK(slice({4}, {2}, {0}, {1}).empty());
}

TEST_CASE("expand stretches dimensions of 1 in both directions", "[graph][ops]") {
  OneNode node = {
      .op = OpKind::kExpand, .inputs = {F32({2, 1}, {1, 2}), List({2, 1, 3})}, .constants = {1}};
  Tensor result = ResultOf(node);
  CHECK(result.shape == Ints{2, 2, 3});
  CHECK(ValuesOf(result) == Doubles{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2});
}

TEST_CASE("a gather takes negative indices and any rank of them", "[graph][ops]") {
  OneNode node = {.op = OpKind::kGather,
                  .inputs = {Counting({2, 3}), I64({2, 1}, {-1, 0})},
                  .attributes = {{"axis", int64_t{1}}}};
  Tensor result = ResultOf(node);
  CHECK(result.shape == Ints{2, 2, 1});
  CHECK(ValuesOf(result) == Doubles{2, 0, 5, 3});
  node.inputs[1] = I64({}, {1});
  CHECK(ResultOf(node).shape == Ints{2});
}

TEST_CASE("pads fill, mirror or repeat, and negative ones crop", "[graph][ops]") {
  auto pad = [](const char* mode, const Ints& pads, const Tensor& fill = {}) {
    return ValuesOf(ResultOf({.op = OpKind::kPad,
                              .inputs = {Counting({4}), List(pads), fill},
                              .attributes = {{"mode", std::string(mode)}},
                              .constants = {1, 2}}));
  };
  CHECK(pad("constant", {1, 2}) == Doubles{0, 0, 1, 2, 3, 0, 0});
  CHECK(pad("constant", {1, 0}, F32({}, {9})) == Doubles{9, 0, 1, 2, 3});
  CHECK(pad("reflect", {2, 3}) == Doubles{2, 1, 0, 1, 2, 3, 2, 1, 0});
  CHECK(pad("edge", {1, 2}) == Doubles{0, 0, 1, 2, 3, 3, 3});
  CHECK(pad("constant", {-1, 1}) == Doubles{1, 2, 3, 0});
}

TEST_CASE("shapes and constants of a shape are values", "[graph][ops]") {
  OneNode shape = {.op = OpKind::kShape, .inputs = {Counting({2, 3, 4})}};
  CHECK(ValuesOf(ResultOf(shape)) == Doubles{2, 3, 4});
  shape.attributes = {{"start", int64_t{-2}}, {"end", int64_t{2}}};
  CHECK(ValuesOf(ResultOf(shape)) == Doubles{3});
  OneNode filled = {.op = OpKind::kConstantOfShape,
                    .inputs = {List({2, 2})},
                    .attributes = {{"value", I64({1}, {7})}},
                    .constants = {0}};
  CHECK(ValuesOf(ResultOf(filled)) == Doubles{7, 7, 7, 7});
}

TEST_CASE("a parameter that shapes depend on must be constant", "[graph][ops][error]") {
  CHECK(ErrorOf({.op = OpKind::kReshape, .inputs = {Counting({4}), List({2, 2})}}) ==
        "node 'node' (Reshape): shape is computed from 'in1' at run time; expected a constant");
  CHECK(ErrorOf(
            {.op = OpKind::kReshape, .inputs = {Counting({4}), List({3, -1})}, .constants = {1}}) ==
        "node 'node' (Reshape): input 0 ('in0', shape 4) cannot take the shape 3x-1");
  CHECK(ErrorOf({.op = OpKind::kConcat,
                 .inputs = {Counting({2, 2}), Counting({3, 3})},
                 .attributes = {{"axis", int64_t{0}}}}) ==
        "node 'node' (Concat): input 1 has shape 3x3; expected that of input 0, 2x2, but for "
        "axis 0");
  CHECK(ErrorOf(
            {.op = OpKind::kGather, .inputs = {Counting({4}), I64({1}, {4})}, .constants = {1}}) ==
        "node 'node' (Gather): index 4 is outside an axis of 4");
  CHECK(ErrorOf({.op = OpKind::kGather, .inputs = {Counting({0, 3}), I64({2}, {0, 0})}}) ==
        "node 'node' (Gather): an axis that indices pick from has extent 0");
  CHECK(ResultOf({.op = OpKind::kGather, .inputs = {Counting({0, 3}), I64({0}, {})}}).shape ==
        Ints{0, 3});
}

TEST_CASE("a split has its own kernel for several results, equal or as listed", "[graph][ops]") {
  OneNode node = {.op = OpKind::kSplit,
                  .inputs = {Counting({2, 5})},
                  .attributes = {{"axis", int64_t{1}}},
                  .outputs = 2};
  StatusOr<std::vector<Tensor>> parts = Run(node);
  REQUIRE(parts.ok());
  CHECK(ValuesOf((*parts)[0]) == Doubles{0, 1, 2, 5, 6, 7});
  CHECK(ValuesOf((*parts)[1]) == Doubles{3, 4, 8, 9});
  node.inputs.push_back(List({1, 4}));
  node.constants = {1};
  parts = Run(node);
  REQUIRE(parts.ok());
  CHECK((*parts)[0].shape == Ints{2, 1});
  CHECK(ValuesOf((*parts)[1]) == Doubles{1, 2, 3, 4, 6, 7, 8, 9});
  node.inputs[1] = List({1, 3});
  CHECK(ErrorOf(node) == "node 'node' (Split): parts 1x3 of a dimension of 5 for 2 outputs");
  node.inputs[1] = List({5, 1});
  CHECK(ErrorOf(node) == "node 'node' (Split): parts 5x1 of a dimension of 5 for 2 outputs");
}

TEST_CASE("a range counts exactly to both ends of 64 bits", "[graph][ops]") {
  auto range = [](const Tensor& start, const Tensor& limit, const Tensor& delta) {
    return OneNode{.op = OpKind::kRange, .inputs = {start, limit, delta}, .constants = {0, 1, 2}};
  };
  CHECK(ValuesOf(ResultOf(range(I64({}, {10}), I64({}, {4}), I64({}, {-3})))) == Doubles{10, 7});
  CHECK(ValuesOf(ResultOf(range(F32({}, {1}), F32({}, {2}), F32({}, {0.25})))) ==
        Doubles{1, 1.25, 1.5, 1.75});
  CHECK(ResultOf(range(I64({}, {3}), I64({}, {3}), I64({}, {1}))).shape == Ints{0});
  CHECK(ResultOf(range(I64({}, {INT64_MIN}), I64({}, {INT64_MAX}), I64({}, {INT64_MAX}))).shape ==
        Ints{3});
  CHECK(ErrorOf(range(I64({}, {INT64_MIN}), I64({}, {INT64_MAX}), I64({}, {1}))) ==
        "node 'node' (Range): there is no end to this range");
  CHECK(ErrorOf(range(I64({}, {0}), I64({}, {1}), I64({}, {0}))) ==
        "node 'node' (Range): there is no end to this range");
}

TEST_CASE("a tile repeats, no times as well", "[graph][ops]") {
  OneNode node = {
      .op = OpKind::kTile, .inputs = {Counting({1, 3}), List({2, 2})}, .constants = {1}};
  CHECK(ValuesOf(ResultOf(node)) == Doubles{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2});
  node.inputs[1] = List({0, 1});
  CHECK(ResultOf(node).shape == Ints{0, 3});
}

TEST_CASE("GatherND picks slices, batch by batch", "[graph][ops]") {
  OneNode node = {.op = OpKind::kGatherND,
                  .inputs = {Counting({2, 3, 2}), I64({2, 2}, {0, 2, 1, -1})}};
  CHECK(ValuesOf(ResultOf(node)) == Doubles{4, 5, 10, 11});
  node.inputs[1] = I64({2, 1}, {2, 0});
  node.attributes["batch_dims"] = int64_t{1};
  CHECK(ValuesOf(ResultOf(node)) == Doubles{4, 5, 6, 7});
}

TEST_CASE("a triangle is kept from any diagonal on", "[graph][ops]") {
  auto kept = [](int64_t upper, int64_t k) {
    return ValuesOf(ResultOf({.op = OpKind::kTrilu,
                              .inputs = {Counting({2, 3}), I64({}, {k})},
                              .attributes = {{"upper", upper}}}));
  };
  CHECK(kept(1, 0) == Doubles{0, 1, 2, 0, 4, 5});
  CHECK(kept(0, 0) == Doubles{0, 0, 0, 3, 4, 0});
  CHECK(kept(1, INT64_MIN) == Doubles{0, 1, 2, 3, 4, 5});
  CHECK(kept(0, -1) == Doubles{0, 0, 0, 3, 0, 0});
}

TEST_CASE("pads of wrap go round, of reflect to and fro, as far as asked", "[graph][ops]") {
  auto pad = [](const char* mode, const Ints& pads) {
    return ValuesOf(ResultOf({.op = OpKind::kPad,
                              .inputs = {Counting({3}), List(pads)},
                              .attributes = {{"mode", std::string(mode)}},
                              .constants = {1}}));
  };
  CHECK(pad("wrap", {4, 2}) == Doubles{2, 0, 1, 2, 0, 1, 2, 0, 1});
  CHECK(pad("reflect", {5, 4}) == Doubles{1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2});
}

TEST_CASE("an Einsum may repeat letters, hide dimensions and have many operands", "[graph][ops]") {
  auto einsum = [](const char* equation, const std::vector<Tensor>& inputs) {
    return ResultOf({.op = OpKind::kEinsum,
                     .inputs = inputs,
                     .attributes = {{"equation", std::string(equation)}}});
  };
  CHECK(ValuesOf(einsum("ii->i", {Counting({2, 2})})) == Doubles{0, 3});
  CHECK(ValuesOf(einsum("ii", {Counting({2, 2})})) == Doubles{3});
  CHECK(ValuesOf(einsum("...i->i...", {Counting({2, 2})})) == Doubles{0, 2, 1, 3});
  Tensor chain = einsum("ab,bc,cd->da", {Counting({1, 2}), Counting({2, 2}), Counting({2, 1})});
  CHECK(ValuesOf(chain) == Doubles{3});
  CHECK(ErrorOf({.op = OpKind::kEinsum,
                 .inputs = {Counting({2, 2})},
                 .attributes = {{"equation", std::string("ijk->i")}}}) ==
        "node 'node' (Einsum): equation 'ijk->i' does not fit the operands");
}
