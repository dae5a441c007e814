#include "ir/graph/graph_bodies.h"

#include <catch2/catch.hpp>

using namespace tcc;
using Catch::Matchers::Contains;

namespace {

// Sums the rows of x while a flag holds, from inside a branch.
constexpr const char* kNested = R"(graph nested {
  dim N in 1..64 usual 64
  input flag: bool[]
  input x: f32[5, N]
  input start: f32[N]
  y = If(flag, x, start) : f32[N] @choose
    body then {
      input x: f32[5, N]
      input start: f32[N]
      sum, rows = Loop(_, flag_too, start, x) {carried: 1, scan_input_axes: [0], scan_output_axes: [0]} : f32[N], f32[5, N] @sum-rows
        body "a step" {
          input i: i64[]
          input goes-on: bool[]
          input sum: f32[N]
          input row: f32[N]
          next = Add(sum, row) : f32[N]
          return goes-on, next, row
        }
      return sum
    }
    body "body" {
      input x: f32[5, N]
      input start: f32[N]
      return start
    }
  return y
}
)";

std::string Nested() {
  std::string text = kNested;
  text.replace(text.find("flag_too"), 8, "_");
  return text;
}

std::string ErrorOf(const std::string& text) {
  StatusOr<Graph> graph = ParseGraph(text, Graph());
  return graph.ok() ? "no error" : Message(graph.status());
}

std::string Replaced(const std::string& what, const std::string& by) {
  std::string text = Nested();
  size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("bodies come back from their text", "[ir][graph]") {
  StatusOr<Graph> graph = ParseGraph(Nested(), Graph());
  INFO(graph.status());
  REQUIRE(graph.ok());
  CHECK(Print(*graph) == Nested());
  REQUIRE(graph->nodes[0].bodies.size() == 2);
  const Node& loop = graph->nodes[0].bodies[0].nodes[0];
  CHECK(PartsOf(loop).carried == 1);
  CHECK(PartsOf(loop).first_captured() == 4);
  CHECK(loop.bodies[0].name == "a step");
  CHECK(loop.bodies[0].shape_vars == graph->shape_vars);
}

TEST_CASE("a body's constants come from the same body", "[ir][graph]") {
  std::string text = R"(graph g {
  input c: bool[]
  y = If(c) : f32[1]
    body then {
      constant k: f32[1]
      return k
    }
    body else {
      constant k: f32[1]
      return k
    }
  return y
}
)";
  Graph given;
  given.nodes.push_back(
      {.name = "n", .op = OpKind::kIf, .inputs = {}, .outputs = {}, .attributes = {}});
  for (double number : {3.0, 4.0}) {
    Tensor tensor = MakeZeroTensor(kFloat32, {1});
    SetElement(tensor, 0, number);
    Graph body;
    body.AddValue({"k", kFloat32, {Expr(1)}, tensor});
    given.nodes[0].bodies.push_back(std::move(body));
  }
  StatusOr<Graph> graph = ParseGraph(text, given);
  INFO(graph.status());
  REQUIRE(graph.ok());
  const std::vector<Graph>& bodies = graph->nodes[0].bodies;
  CHECK(ElementAsDouble(*bodies[0].ConstantOf(0), 0) == 3);
  CHECK(ElementAsDouble(*bodies[1].ConstantOf(0), 0) == 4);
  CHECK_THAT(ErrorOf(text), Contains("constant 'k' was not given"));
}

TEST_CASE("bodies that do not fit their node are refused with its name", "[ir][graph]") {
  CHECK_THAT(ErrorOf(Replaced("If(flag, x, start)", "If(flag, x)")),
             Contains("'choose'") && Contains("has 2 operands; expected 3"));
  CHECK_THAT(ErrorOf(Replaced("If(flag, x, start)", "If(start, x, start)")),
             Contains("condition is f32; expected bool"));
  CHECK_THAT(ErrorOf(Replaced("If(flag, x, start)", "If(flag, flag, start)")),
             Contains("operand 'flag' is bool; in the body, 'x' is f32"));
  CHECK_THAT(ErrorOf(Replaced("return sum", "return sum, sum")),
             Contains("has 1 results; expected 2"));
  CHECK_THAT(ErrorOf(Replaced("return sum", "return flag")), Contains("used before it is defined"));
  CHECK_THAT(ErrorOf(Replaced("carried: 1", "carried: 2")),
             Contains("'sum-rows'") && Contains("expected at least 5"));
  CHECK_THAT(ErrorOf(Replaced("carried: 1", "carried: -1")), Contains("attribute 'carried'"));
  CHECK_THAT(ErrorOf(Replaced("carried: 1", "carried: \"1\"")), Contains("attribute 'carried'"));
  CHECK_THAT(ErrorOf(Replaced("input i: i64[]", "input i: i32[]")),
             Contains("iteration is i32; expected i64"));
  CHECK_THAT(ErrorOf(Replaced("return goes-on, next", "return i, next")),
             Contains("condition's result is i64; expected bool"));
  CHECK_THAT(ErrorOf(Replaced("return goes-on, next", "return goes-on, goes-on")),
             Contains("the body gives 'goes-on' as bool"));
  CHECK_THAT(ErrorOf(Replaced("next = Add(sum, row)", "next = Add(start, row)")),
             Contains("'start' is used before it is defined"));
}

TEST_CASE("only Loop and If have bodies", "[ir][graph]") {
  std::string relu = R"(graph g {
  input x: f32[1]
  y = Relu(x) : f32[1]
    body b {
      return
    }
  return y
}
)";
  CHECK_THAT(ErrorOf(relu), Contains("'y' (Relu): has 1 bodies; expected none"));
  std::string loop =
      "graph g {\n input n: i64[]\n y = Loop(n, _) {carried: 0} : f32[]\n return y\n}";
  CHECK_THAT(ErrorOf(loop), Contains("has 0 bodies; expected 1"));
  CHECK_THAT(ErrorOf("graph g { body b { return } return }"), Contains("a node before its body"));
}

TEST_CASE("bodies nest 64 deep, and no deeper", "[ir][graph]") {
  auto nested = [](int depth) {
    std::string text = "input c: bool[]\n input x: f32[1]\n return x\n";
    for (int i = 0; i < depth; ++i) {
      std::string inputs = "input c: bool[]\n input x: f32[1]\n";
      text = inputs + "y = If(c, c, x) : f32[1]\n body then {\n" + text + "}\n body else {\n" +
             "input c: bool[]\n input x: f32[1]\n return x }\n return y\n";
    }
    return "graph g {\n" + text + "}\n";
  };
  CHECK(ErrorOf(nested(64)) == "no error");
  CHECK_THAT(ErrorOf(nested(65)), Contains("nested more than 64 deep"));
  CHECK_THAT(ErrorOf(nested(1000)), Contains("nested more than 64 deep"));
}
