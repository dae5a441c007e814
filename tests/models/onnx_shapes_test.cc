#include <catch2/catch.hpp>

#include "ir/text/printer.h"
#include "models/onnx/import_onnx.h"
#include "tests/models/onnx_bytes.h"

using namespace tcc;
using namespace tcc::onnx_bytes;
using Catch::Matchers::Contains;

namespace {

struct Imported {
  StatusOr<Graph> graph;
  std::vector<std::string> warnings;
};

// Imports y = x + b for inputs of these dimensions.
Imported Import(const std::vector<Wire>& inputs, ImportOptions options = {}) {
  ModelSpec spec = {.nodes = {{.op = "Add", .inputs = {"x", "b"}, .outputs = {"y"}, .name = "add"}},
                    .inputs = inputs,
                    .outputs = {"y"}};
  std::vector<std::string> warnings;
  options.warn = [&](const std::string& message) { warnings.push_back(message); };
  StatusOr<Graph> graph = ImportOnnxBytes(AsSpan(ModelOf(spec)), options);
  return {std::move(graph), std::move(warnings)};
}

Wire X(const std::vector<std::string>& dims) {
  return InputOf("x", kOnnxFloat, dims);
}
Wire B(const std::vector<std::string>& dims) {
  return InputOf("b", kOnnxFloat, dims);
}

// Returns "N=1..32:8 S=..." for the free dimensions, in their order.
std::string FreeOf(const Imported& imported) {
  if (!imported.graph.ok()) return Message(imported.graph.status());
  std::string text;
  for (const Var& var : imported.graph->shape_vars) {
    text += fmt::format("{}{}={}..{}:{}", text.empty() ? "" : " ", var->name, var->low, var->high,
                        var->usual);
  }
  return text;
}

// Returns "NxSx3" for an input.
std::string ShapeOf(const Imported& imported, ValueId input) {
  std::string text;
  for (const Expr& dim : imported.graph->value(input).shape) {
    text += (text.empty() ? "" : "x") + Print(dim);
  }
  return text;
}

}  // namespace

TEST_CASE("a range is that of the option, and what it leaves out is chosen",
          "[models][import][shapes]") {
  const std::vector<Wire> inputs = {X({"N", "S"}), B({"past", "S"})};
  CHECK(FreeOf(Import(inputs)) == "N=1..16777216:8 S=1..16777216:128 past=0..16777216:8");
  auto with = [&](const DimRange& n, const DimRange& s = {}, const DimRange& past = {}) {
    return FreeOf(Import(inputs, {.ranges = {{"N", n}, {"S", s}, {"past", past}}}));
  };
  CHECK(with({1, 32, 4}, {16, 512}, {{}, 64}) == "N=1..32:4 S=16..512:128 past=0..64:8");
  CHECK(with({{}, 4}, {256}, {1}) == "N=1..4:4 S=256..16777216:256 past=1..16777216:8");
  CHECK(with({{}, {}, 16}, {0, 1}) == "N=1..16777216:16 S=0..1:1 past=0..16777216:8");
  // A range of one extent binds.
  CHECK(with({3, 3}, {{}, 1}) == "past=0..16777216:8");
}

TEST_CASE("a dimension that only unread inputs have is free where a range is given for it",
          "[models][import][shapes]") {
  const std::vector<Wire> inputs = {X({"2"}), B({"2"}), InputOf("unread", kOnnxFloat, {"N", "M"})};
  Imported imported = Import(inputs, {.ranges = {{"N", {1, 32, 4}}}});
  CHECK(FreeOf(imported) == "N=1..32:4");
  CHECK(ShapeOf(imported, 2) == "Nx1");
  REQUIRE(imported.warnings.size() == 1);
  CHECK(imported.warnings[0] ==
        "nothing reads input 'unread'; its shape becomes Nx1 where none is given");
  CHECK(Import(inputs, {.ranges = {{"N", {1, 32}}, {"M", {2, 8}}}}).warnings.empty());
}

TEST_CASE("ranges that cannot be are refused", "[models][import][shapes]") {
  const std::vector<Wire> inputs = {X({"N", "P+S"}), B({"N", "3"})};
  auto refused = [&](const ImportOptions& options) {
    Imported imported = Import(inputs, options);
    CHECK(imported.graph.status().code() == absl::StatusCode::kFailedPrecondition);
    return FreeOf(imported);
  };
  auto of_n = [&](const DimRange& range) { return refused({.ranges = {{"N", range}}}); };
  CHECK(of_n({5, 3}) ==
        "dimension 'N' has the range 5..3; expected LEAST..GREATEST within 0..16777216");
  CHECK_THAT(of_n({-1}), Contains("has the range -1..16777216"));
  CHECK_THAT(of_n({1, 16777217}), Contains("has the range 1..16777217"));
  CHECK(of_n({2, 8, 9}) == "dimension 'N' has the usual extent 9; expected one within 2..8");
  CHECK_THAT(of_n({0, 8, 0}), Contains("usual extent 0; expected one within 1..8"));
  CHECK(refused({.ranges = {{"K", {}}}}) == "no dimension is named 'K'; there are N, P+S");
  CHECK(refused({.ranges = {{"P+S", {}}, {"P_S", {}}}}) == "dimension 'P+S' is given twice");
  CHECK(refused({.dims = {{"N", 2}}, .ranges = {{"N", {}}}}) == "dimension 'N' is given twice");
  CHECK(refused({.ranges = {{"N", {1, 4}}}, .shapes = {{"b", {8, 3}}}}) ==
        "dimension 'N' is given as 8; its range is 1..4");
  CHECK(FreeOf(Import(
            inputs,
            {.dims = {{"P+S", 3}}, .ranges = {{"N", {1, 4}}}, .shapes = {{"b", {4, 3}}}})) == "");
}

TEST_CASE("a shape with open extents leaves them as the model has them",
          "[models][import][shapes]") {
  const std::vector<Wire> inputs = {X({"N", "3", "S"}), B({"N", "1", ""})};
  Imported imported = Import(inputs, {.shapes = {{"x", {kOpenExtent, kOpenExtent, 7}}}});
  CHECK(ShapeOf(imported, 0) == "Nx3x7");
  CHECK(ShapeOf(imported, 1) == "Nx1xb_2");
  CHECK(imported.warnings ==
        std::vector<std::string>{"dimension b_2=1..16777216:128 stays free; kernels are made for "
                                 "the extent after the colon, and a value such as b_2=8 fixes it"});
  // Another input, or a value, gives the dimension all the same.
  imported = Import(inputs, {.dims = {{"S", 5}},
                             .shapes = {{"x", {kOpenExtent, 3, kOpenExtent}}, {"b", {4, 1, 5}}}});
  CHECK(ShapeOf(imported, 0) == "4x3x5");
  CHECK(imported.warnings.empty());
  CHECK(FreeOf(Import(inputs, {.shapes = {{"x", {kOpenExtent, 4, 5}}}})) ==
        "dimension 1 of input 'x' is 3; shape ?x4x5 was given");
  CHECK(FreeOf(Import(inputs, {.shapes = {{"x", {kOpenExtent, 3}}}})) ==
        "input 'x' has rank 3; shape ?x3 was given");
  CHECK_THAT(FreeOf(Import(inputs, {.shapes = {{"x", {-2, 3, 4}}}})), Contains("input 'x': "));
}

TEST_CASE("an input without a shape is free where the given one is open",
          "[models][import][shapes]") {
  const Wire x = Wire().Bytes(1, "x").Sub(2, Wire().Sub(1, Wire().Varint(1, kOnnxFloat)));
  Imported imported = Import({x, B({"3"})}, {.shapes = {{"x", {kOpenExtent, 3}}}});
  CHECK(FreeOf(imported) == "x_0=1..16777216:8");
  CHECK(ShapeOf(imported, 0) == "x_0x3");
  CHECK(imported.warnings.empty());
  imported =
      Import({x, B({"3"})}, {.ranges = {{"x_0", {2, 4}}}, .shapes = {{"x", {kOpenExtent, 3}}}});
  CHECK(FreeOf(imported) == "x_0=2..4:4");
}

TEST_CASE("one warning names the dimensions that no option leaves free",
          "[models][import][shapes]") {
  const std::vector<Wire> inputs = {X({"N", "S", "T"}), B({"N", "past_S", "1"})};
  CHECK(Import(inputs).warnings ==
        std::vector<std::string>{
            "dimensions N=1..16777216:8, S=1..16777216:128, T=1..16777216:128, "
            "past_S=0..16777216:128 stay free; kernels are made for the extent after the colon, "
            "and a value such as N=8 fixes one"});
  Imported imported = Import(inputs, {.ranges = {{"N", {}}, {"past_S", {}}},
                                      .shapes = {{"x", {kOpenExtent, kOpenExtent, kOpenExtent}}}});
  CHECK(imported.graph->shape_vars.size() == 4);
  CHECK(imported.warnings.empty());
}

TEST_CASE("a batch of 0 is unknown, unless it is given", "[models][import][shapes]") {
  const std::vector<Wire> inputs = {X({"0", "0"}), B({"1", "1"})};
  Imported imported = Import(inputs);
  CHECK(FreeOf(imported) == "x_0=1..16777216:8");
  CHECK(ShapeOf(imported, 0) == "x_0x0");
  REQUIRE(imported.warnings.size() == 2);
  CHECK(imported.warnings[0] ==
        "input 'x': dimension 0 is 0 in the model, which is taken for unknown; x_0=0 keeps the 0");
  CHECK_THAT(imported.warnings[1], Contains("dimension x_0=1..16777216:8 stays free"));
  for (const ImportOptions& options :
       {ImportOptions{.dims = {{"x_0", 0}}}, ImportOptions{.shapes = {{"x", {0, kOpenExtent}}}}}) {
    imported = Import(inputs, options);
    CHECK(ShapeOf(imported, 0) == "0x0");
    CHECK(imported.warnings.empty());
  }
  imported = Import(inputs, {.shapes = {{"x", {4, 5}}}});
  CHECK(ShapeOf(imported, 0) == "4x5");
  CHECK(imported.warnings.empty());
}
