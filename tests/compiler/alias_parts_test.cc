#include "graph/variants/alias_parts.h"

#include <fmt/ranges.h>

#include <catch2/catch.hpp>

#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "ir/graph/graph_bodies.h"
#include "tests/compiler/random_parts.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

using Names = std::vector<std::string>;

Graph Parsed(const std::string& body, const std::vector<std::pair<std::string, Tensor>>& given) {
  Graph constants;
  std::string text = "graph parts {\n";
  for (const auto& [name, tensor] : given) {
    constants.AddValue({name, tensor.dtype, ToExprs(tensor.shape), tensor});
    text += fmt::format("  constant {}: {}[{}]\n", name, ToString(tensor.dtype),
                        fmt::join(tensor.shape, "x"));
  }
  StatusOr<Graph> graph = ParseGraph(text + body + "}\n", constants);
  INFO(graph.status());
  REQUIRE(graph.ok());
  REQUIRE(InferShapes(*graph).ok());
  return *graph;
}

struct Aliased {
  Names parts;         // the values that lie in others
  int64_t calls = 0;   // of kernels
  int64_t copies = 0;  // besides
  bool operator==(const Aliased&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Aliased& aliased) {
  return out << fmt::format("{} in others, {} calls, {} copies", fmt::join(aliased.parts, " "),
                            aliased.calls, aliased.copies);
}

// Runs the graph on both targets against the interpreter. Returns what becomes of its parts.
Aliased Check(const Graph& graph) {
  INFO(Print(graph));
  for (const char* target : {"native", "reference"}) {
    INFO(target);
    Status difference = DifferenceOn(graph, target);
    INFO(difference);
    CHECK(difference.ok());
  }
  Graph passed = graph;
  REQUIRE(RunGraphPasses(passed).ok());
  std::vector<Subgraph> subgraphs = FuseGraph(passed);
  Aliased aliased;
  for (const auto& [id, part] : AliasParts(passed, subgraphs, 1)) {
    aliased.parts.push_back(passed.value(id).name);
  }
  std::ranges::sort(aliased.parts);
  for (const Instruction& instruction : Compiled(graph, "native").plan.body) {
    aliased.calls += std::holds_alternative<PlanCall>(instruction.op);
    aliased.copies += std::holds_alternative<PlanCopy>(instruction.op);
  }
  return aliased;
}

Aliased Check(const std::string& body,
              const std::vector<std::pair<std::string, Tensor>>& given = {}) {
  return Check(Parsed(body, given));
}

TEST_CASE("operands of a Concat are computed where they belong", "[compiler][parts]") {
  for (int axis : {0, 1, 2, -1}) {
    INFO(axis);
    std::string body = fmt::format(R"(
  input x: f32[2x3x5]
  input y: f32[2x3x5]
  a = Tanh(x) : f32[]
  b = Exp(y) : f32[]
  both = Concat(a, b) {{axis: {}}} : f32[]
  z = Neg(both) : f32[]
  return z
)",
                                   axis);
    CHECK(Check(body) == Aliased{{"a", "b"}, 3, 0});
  }
}

TEST_CASE("a Concat that is an output is computed in the caller's memory", "[compiler][parts]") {
  Aliased aliased = Check(R"(
  input x: f32[4x3]
  input y: f32[4x5]
  a = Tanh(x) : f32[]
  b = Exp(y) : f32[]
  both = Concat(a, b) {axis: 1} : f32[]
  return both
)");
  CHECK(aliased == Aliased{{"a", "b"}, 2, 0});
}

TEST_CASE("elements of every size may be parts", "[compiler][parts]") {
  for (const char* dtype : {"f16", "f64", "i8", "i64"}) {
    std::string body = fmt::format(R"(
  input x: {0}[3x2]
  input y: {0}[3x3]
  a = Neg(x) : {0}[]
  b = Abs(y) : {0}[]
  both = Concat(a, b) {{axis: 1}} : {0}[]
  z = Neg(both) : {0}[]
  return z
)",
                                   dtype);
    CHECK(Check(body) == Aliased{{"a", "b"}, 3, 0});
  }
}

// Their channels are no multiple of a vector's lanes, and a tile's unused lanes are not stored.
TEST_CASE("convolutions beside each other leave their neighbours' channels alone",
          "[compiler][parts]") {
  for (int batch : {1, 2}) {
    std::string body = fmt::format(R"(
  input x: f32[{}x5x6x7]
  a = Conv(x, w3) : f32[]
  b = Conv(x, w21) : f32[]
  active = Relu(b) : f32[]
  c = Conv(x, w1) : f32[]
  all = Concat(a, active, c) {{axis: 1}} : f32[]
  z = Conv(all, w) : f32[]
  return z
)",
                                   batch);
    Aliased aliased = Check(body, {{"w3", Weights({3, 5, 1, 1})},
                                   {"w21", Weights({21, 5, 1, 1})},
                                   {"w1", Weights({1, 5, 1, 1})},
                                   {"w", Weights({4, 25, 3, 3})}});
    CHECK(aliased.parts == Names{"a", "active", "c"});
    CHECK(aliased.calls == 6);  // one repack each at the input and the output
  }
}

TEST_CASE("a dense block is one buffer, of which each layer reads the front", "[compiler][parts]") {
  Aliased aliased = Check(R"(
  input x: f32[2x3x4x4]
  f0 = Conv(x, w0) : f32[]
  r1 = Tanh(f0) : f32[]
  f1 = Conv(r1, w1) : f32[]
  c2 = Concat(f0, f1) {axis: 1} : f32[]
  r2 = Tanh(c2) : f32[]
  f2 = Conv(r2, w2) : f32[]
  c3 = Concat(f0, f1, f2) {axis: 1} : f32[]
  r3 = Tanh(c3) : f32[]
  f3 = Conv(r3, w3) : f32[]
  c4 = Concat(f0, f1, f2, f3) {axis: 1} : f32[]
  z = Tanh(c4) : f32[]
  return z
)",
                          {{"w0", Weights({4, 3, 1, 1})},
                           {"w1", Weights({4, 4, 1, 1})},
                           {"w2", Weights({4, 8, 1, 1})},
                           {"w3", Weights({4, 12, 1, 1})}});
  CHECK(aliased.parts == Names{"c2", "c3", "f0", "f1", "f2", "f3"});
  CHECK(aliased.copies == 0);
}

TEST_CASE("a Concat inside another one is computed in the outer one", "[compiler][parts]") {
  Aliased aliased = Check(R"(
  input x: f32[3x2]
  a = Tanh(x) : f32[]
  b = Exp(x) : f32[]
  inner = Concat(a, b) {axis: 1} : f32[]
  c = Neg(inner) : f32[]
  outer = Concat(c, inner) {axis: 1} : f32[]
  rows = Concat(outer, outer) {axis: 0} : f32[]
  z = Neg(rows) : f32[]
  return z, outer
)");
  CHECK(aliased.parts == Names{"a", "b", "c", "inner"});
}

TEST_CASE("an operand that stands in a Concat twice is copied to both places",
          "[compiler][parts]") {
  Aliased aliased = Check(R"(
  input x: f32[3x2]
  a = Tanh(x) : f32[]
  b = Exp(x) : f32[]
  all = Concat(a, b, a) {axis: 1} : f32[]
  z = Neg(all) : f32[]
  return z
)");
  CHECK(aliased == Aliased{{"b"}, 4, 0});
}

TEST_CASE("an operand of two Concats lies in one of them", "[compiler][parts]") {
  Aliased aliased = Check(R"(
  input x: f32[3x2]
  a = Tanh(x) : f32[]
  b = Exp(x) : f32[]
  c = Abs(x) : f32[]
  first = Concat(a, b) {axis: 1} : f32[]
  second = Concat(a, c) {axis: 1} : f32[]
  y = Neg(first) : f32[]
  z = Neg(second) : f32[]
  return y, z
)");
  CHECK(aliased == Aliased{{"a", "b", "c"}, 6, 0});
}

TEST_CASE("operands that somebody else holds are copied", "[compiler][parts]") {
  // An input of the graph, a constant, an output of the graph under its own or another shape.
  Aliased aliased = Check(R"(
  input x: f32[3x2]
  given = Tanh(x) : f32[]
  shown = Exp(x) : f32[]
  flat = Reshape(shown, shape) {allowzero: 0} : f32[]
  own = Abs(x) : f32[]
  all = Concat(x, given, known, shown, own) {axis: 1} : f32[]
  z = Neg(all) : f32[]
  return z, given, flat
)",
                          {{"known", Weights({3, 2})}, {"shape", Ints({6})}});
  CHECK(aliased.parts == Names{"own"});
}

TEST_CASE("what is read under another shape is a part where it is one run", "[compiler][parts]") {
  for (int axis : {0, 1}) {
    std::string body = fmt::format(R"(
  input x: f32[6]
  a = Tanh(x) : f32[]
  b = Exp(x) : f32[]
  c = Reshape(a, shape) {{allowzero: 0}} : f32[]
  d = Reshape(b, shape) {{allowzero: 0}} : f32[]
  both = Concat(c, d) {{axis: {}}} : f32[]
  z = Neg(both) : f32[]
  return z
)",
                                   axis);
    Aliased aliased = Check(body, {{"shape", Ints({2, 3})}});
    CHECK(aliased == (axis == 0 ? Aliased{{"a", "b"}, 3, 0} : Aliased{{}, 4, 0}));
  }
}

TEST_CASE("empty operands of a Concat take no place", "[compiler][parts]") {
  Aliased aliased = Check(R"(
  input x: f32[3x2]
  input none: f32[3x0]
  a = Tanh(x) : f32[]
  nothing = Exp(none) : f32[]
  b = Exp(x) : f32[]
  all = Concat(nothing, a, nothing, b) {axis: 1} : f32[]
  z = Neg(all) : f32[]
  return z, nothing
)");
  CHECK(aliased.parts == Names{"a", "b"});
  CHECK(Check(R"(
  input x: f32[0x2]
  a = Tanh(x) : f32[]
  b = Exp(x) : f32[]
  both = Concat(a, b) {axis: 1} : f32[]
  z = Neg(both) : f32[]
  return z, both
)")
            .parts.empty());
}

TEST_CASE("parts of a Split are read where they are", "[compiler][parts]") {
  for (int axis : {0, 1, 2}) {
    std::string body = fmt::format(R"(
  input x: f32[4x4x4]
  y = Tanh(x) : f32[]
  a, b, c = Split(y, sizes) {{axis: {}}} : f32[], f32[], f32[]
  d = Softmax(a) {{axis: -1}} : f32[]
  e = Exp(c) : f32[]
  return d, e, b
)",
                                   axis);
    // The middle one has to be an output's own memory.
    CHECK(Check(body, {{"sizes", Ints({2, 1, 1})}}) == Aliased{{"a", "c"}, 4, 0});
  }
}

TEST_CASE("uneven and unread parts of a Split are read where they are", "[compiler][parts]") {
  Aliased aliased = Check(R"(
  input x: f32[3x7]
  y = Tanh(x) : f32[]
  a, b, c = Split(y) {axis: 1, num_outputs: 3} : f32[], f32[], f32[]
  d = Softmax(a) {axis: -1} : f32[]
  e = Softmax(c) {axis: -1} : f32[]
  return d, e
)");
  CHECK(aliased == Aliased{{"a", "c"}, 3, 0});
}

TEST_CASE("inputs and slices of slices are read where they are", "[compiler][parts]") {
  Aliased aliased = Check(R"(
  input x: f32[5x6]
  a = Slice(x, from, to, axes) : f32[]
  b = Softmax(a) {axis: -1} : f32[]
  c = Slice(a, one, four, first) : f32[]
  d = Softmax(c) {axis: -1} : f32[]
  return b, d
)",
                          {{"from", Ints({-5})},
                           {"to", Ints({100})},
                           {"axes", Ints({-1})},
                           {"one", Ints({1})},
                           {"four", Ints({4})},
                           {"first", Ints({0})}});
  CHECK(aliased == Aliased{{"a", "c"}, 2, 0});
}

TEST_CASE("slices in steps are copied", "[compiler][parts]") {
  for (int step : {2, -1}) {
    std::vector<std::pair<std::string, Tensor>> given = {{"from", Ints({step > 0 ? 0 : 5})},
                                                         {"to", Ints({step > 0 ? 6 : -7})},
                                                         {"axes", Ints({1})},
                                                         {"steps", Ints({step})}};
    Aliased aliased = Check(R"(
  input x: f32[5x6]
  y = Tanh(x) : f32[]
  a = Slice(y, from, to, axes, steps) : f32[]
  b = Softmax(a) {axis: -1} : f32[]
  c = Softmax(y) {axis: -1} : f32[]
  return b, c
)",
                            given);
    CHECK(aliased.parts.empty());
  }
}

TEST_CASE("a part of a part that is no run is not read under another shape", "[compiler][parts]") {
  Aliased aliased = Check(R"(
  input x: f32[4x6]
  y = Tanh(x) : f32[]
  a, b = Split(y) {axis: 1, num_outputs: 2} : f32[], f32[]
  c, d = Split(a) {axis: 0, num_outputs: 2} : f32[], f32[]
  e = Reshape(b, shape) {allowzero: 0} : f32[]
  f = Reshape(d, shape2) {allowzero: 0} : f32[]
  g = Softmax(c) {axis: -1} : f32[]
  h = Softmax(e) {axis: -1} : f32[]
  i = Softmax(f) {axis: -1} : f32[]
  return g, h, i
)",
                          {{"shape", Ints({3, 4})}, {"shape2", Ints({3, 2})}});
  CHECK(aliased.parts == Names{"a", "c"});
}

// A loop changes the places of what it carries, and reads slices and captured values whole.
TEST_CASE("a kernel writes what a Transpose makes of its rows", "[compiler][parts]") {
  Aliased aliased = Check(R"(
  input q: f32[2x3x5x8]
  input w: f32[2x3x8x4]
  heads = MatMul(q, w) : f32[]
  joined = Transpose(heads) {perm: [0, 2, 1, 3]} : f32[]
  z = Softmax(joined) {axis: 3} : f32[]
  return z
)");
  CHECK(aliased == Aliased{{"heads"}, 2, 0});
}

TEST_CASE("an output is written in the order of its Transpose, beside a Concat's other operand",
          "[compiler][parts]") {
  CHECK(Check(R"(
  input x: f32[4x3x6]
  heads = Softmax(x) {axis: 2} : f32[]
  y = Transpose(heads) {perm: [1, 0, 2]} : f32[]
  return y
)") == Aliased{{"heads"}, 1, 0});
  CHECK(Check(R"(
  input x: f32[4x3x6]
  input y: f32[3x4x6]
  heads = Softmax(x) {axis: 2} : f32[]
  turned = Transpose(heads) {perm: [1, 0, 2]} : f32[]
  other = Exp(y) : f32[]
  both = Concat(turned, other) {axis: 1} : f32[]
  z = Neg(both) : f32[]
  return z
)") == Aliased{{"heads", "other", "turned"}, 3, 0});
}

TEST_CASE("a Transpose copies columns, what is viewed, and what is an output",
          "[compiler][parts]") {
  CHECK(Check(R"(
  input x: f32[4x3x6]
  a = Softmax(x) {axis: 2} : f32[]
  y = Transpose(a) {perm: [0, 2, 1]} : f32[]
  return y
)") == Aliased{{}, 2, 0});
  CHECK(Check(R"(
  input x: f32[4x3x6]
  a = Softmax(x) {axis: 2} : f32[]
  y = Transpose(a) {perm: [1, 0, 2]} : f32[]
  return y, a
)") == Aliased{{}, 2, 0});
  CHECK(Check(R"(
  input x: f32[12x6]
  a = Softmax(x) {axis: 1} : f32[]
  b = Reshape(a, apart) {allowzero: 0} : f32[]
  y = Transpose(b) {perm: [1, 0, 2]} : f32[]
  return y
)",
              {{"apart", Ints({4, 3, 6})}}) == Aliased{{}, 2, 0});
}

TEST_CASE("loops take parts that are one run, and give values of their own", "[compiler][parts]") {
  std::string body = R"(
  input x: f32[2x3]
  a = Tanh(x) : f32[]
  b = Exp(x) : f32[]
  rows = Concat(a, b) {axis: 0} : f32[]
  c, d = Split(rows) {axis: 0, num_outputs: 2} : f32[], f32[]
  e = Abs(x) : f32[]
  f = Neg(x) : f32[]
  columns = Concat(e, f) {axis: 1} : f32[]
  last, all = Loop(n, _, c, d, e) {carried: 1, scan_output_axes: [0]} : f32[], f32[]
    body step {
      input i: i64[]
      input go: bool[]
      input state: f32[]
      input d: f32[]
      input e: f32[]
      constant yes: bool[]
      sum = Add(state, d) : f32[]
      next = Mul(sum, e) : f32[]
      twice = Concat(next, state) {axis: 1} : f32[]
      return yes, next, twice
    }
  g = Concat(last, x) {axis: 1} : f32[]
  h = Neg(columns) : f32[]
  return g, h, all
)";
  Tensor yes = MakeZeroTensor(kBool, {});
  SetElementInt(yes, 0, 1);
  Tensor trips = MakeZeroTensor(kInt64, {});
  SetElementInt(trips, 0, 3);
  Graph graph = Parsed(body, {{"n", trips}, {"yes", yes}});
  // `e` is captured by the loop, so its half of `columns` is copied; `last` is the loop's.
  CHECK(Check(graph).parts == Names{"a", "b", "c", "d", "f"});
}

TEST_CASE("branches take parts that are one run, and give values of their own",
          "[compiler][parts]") {
  Aliased aliased = Check(R"(
  input c: bool[]
  input x: f32[2x3]
  a = Tanh(x) : f32[]
  b = Exp(x) : f32[]
  columns = Concat(a, b) {axis: 1} : f32[]
  picked = If(c, a, columns) : f32[]
    body then {
      input a: f32[]
      input columns: f32[]
      y = Neg(a) : f32[]
      return y
    }
    body else {
      input a: f32[]
      input columns: f32[]
      first, second = Split(columns) {axis: 1, num_outputs: 2} : f32[], f32[]
      z = Exp(second) : f32[]
      return z
    }
  all = Concat(picked, b) {axis: 1} : f32[]
  y = Neg(all) : f32[]
  return y
)");
  CHECK(aliased.parts == Names{"b"});
}

TEST_CASE(
    "random graphs of Concats, Splits, Slices and Transposes compute what the interpreter does",
    "[compiler][parts]") {
  Random random(11);
  size_t parts = 0;
  for (int round = 0; round < 80; ++round) {
    INFO("round " << round);
    RandomParts graph =
        MakeRandomParts(random, fmt::format("{}", 1 + round % 2),
                        round % 3 == 0 ? PartNodes::kPlain : PartNodes::kConvolutions);
    parts += Check(graph.text, graph.given).parts.size();
  }
  CHECK(parts > 80);
}

}  // namespace
}  // namespace tcc
