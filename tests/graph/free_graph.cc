#include "tests/graph/free_graph.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/ops/build_loop_nest.h"
#include "graph/ops/op_lowering.h"
#include "graph/passes/infer_shapes.h"
#include "ir/expr/evaluate.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/printer.h"
#include "tests/graph/one_node.h"

namespace tcc {
namespace {

void FoldElements(Graph& graph) {
  for (Value& value : graph.values) {
    std::optional<std::vector<int64_t>> numbers = AsNumbers(value.elements);
    if (value.elements.empty() || !numbers) continue;
    Tensor tensor = MakeZeroTensor(value.dtype, *StaticShape(value));
    for (size_t i = 0; i < numbers->size(); ++i) {
      SetElementInt(tensor, static_cast<int64_t>(i), (*numbers)[i]);
    }
    value.constant = tensor;
    value.elements.clear();
  }
}

std::vector<Expr> Numbers(const std::vector<Expr>& formulas, const Assignment& sizes) {
  std::vector<Expr> numbers;
  for (const Expr& formula : formulas) numbers.emplace_back(EvaluateInt(formula, sizes).value());
  return numbers;
}

Graph Bound(Graph graph, const Assignment& sizes) {
  for (Value& value : graph.values) {
    value.shape = Numbers(value.shape, sizes);
    value.elements = Numbers(value.elements, sizes);
  }
  graph.shape_vars.clear();
  FoldElements(graph);
  return graph;
}

bool Agree(const std::vector<Agreement>& agreements, const Assignment& sizes) {
  return std::ranges::all_of(agreements, [&](const Agreement& pair) {
    std::optional<int64_t> a = EvaluateInt(pair.a, sizes);
    return a && a == EvaluateInt(pair.b, sizes);
  });
}

Assignment RandomSizes(const Graph& graph, Random& random) {
  Assignment sizes;
  for (const Var& var : graph.shape_vars) sizes[var] = random.Between(var->low, var->high);
  return sizes;
}

std::string TextOf(const Assignment& sizes) {
  std::string text;
  for (const auto& [var, size] : sizes) text += fmt::format(" {}={}", var->name, size);
  return text;
}

bool IsEmpty(const LoweredNode& lowered, const Assignment& sizes) {
  Expr count = Product(lowered.program.outputs[0].shape);
  return EvaluateInt(count, sizes) == 0;
}

// Whole numbers below 3: products and sums of them are exact, and as indices some are outside.
Tensor RandomTensor(DType dtype, const std::vector<int64_t>& shape, uint64_t seed) {
  Random random(seed);
  Tensor tensor = MakeZeroTensor(dtype, shape);
  int64_t count = ElementCount(shape).value();
  for (int64_t i = 0; i < count; ++i) {
    SetElement(tensor, i, static_cast<double>(random.Between(-3, 3)));
  }
  return tensor;
}

StatusOr<std::vector<Tensor>> Interpreted(const LoweredNode& lowered, const Assignment& sizes,
                                          uint64_t seed) {
  Function fn = BuildLoopNest(lowered.program);
  std::vector<Tensor> arguments;
  size_t inputs = lowered.inputs.size();
  for (size_t i = 0; i < fn.params.size(); ++i) {
    std::vector<int64_t> shape = *AsNumbers(Numbers(fn.params[i].shape, sizes));
    bool is_input = i < inputs;
    uint64_t own = is_input ? seed + static_cast<uint64_t>(lowered.inputs[i]) : 0;
    DType dtype = fn.params[i].dtype();
    arguments.push_back(is_input ? RandomTensor(dtype, shape, own) : MakeZeroTensor(dtype, shape));
  }
  InterpretOptions options;
  for (const Var& var : fn.vars) options.var_values.push_back(sizes.at(var));
  TCC_RETURN_IF_ERROR(Interpret(fn, arguments, options).status());
  arguments.erase(arguments.begin(), arguments.begin() + static_cast<int64_t>(inputs));
  return arguments;
}

void CheckSameResults(const LoweredNode& free, const LoweredNode& bound, const Assignment& sizes,
                      uint64_t seed) {
  REQUIRE(free.outputs == bound.outputs);
  StatusOr<std::vector<Tensor>> got = Interpreted(free, sizes, seed);
  INFO(Message(got.status()));
  REQUIRE(got.ok());
  StatusOr<std::vector<Tensor>> expected = Interpreted(bound, {}, seed);
  REQUIRE(expected.ok());
  for (size_t i = 0; i < expected->size(); ++i) {
    CHECK((*got)[i].shape == (*expected)[i].shape);
    CHECK(ValuesOf((*got)[i]) == ValuesOf((*expected)[i]));
  }
}

}  // namespace

Graph FreeGraph(const std::string& items) {
  StatusOr<Graph> graph = ParseGraph("graph g {\n" + items + "\nreturn }", {});
  INFO(Message(graph.status()));
  REQUIRE(graph.ok());
  FoldElements(*graph);
  return *std::move(graph);
}

std::string FreeShapes(const std::string& items) {
  Graph graph = FreeGraph(items);
  StatusOr<LoweredNode> lowered = LowerNode(graph, graph.nodes[0]);
  if (!lowered.ok()) return Message(lowered.status());
  std::vector<std::string> shapes;
  for (const Buffer& output : lowered->program.outputs) shapes.push_back(ShapeText(output.shape));
  return fmt::format("{}", fmt::join(shapes, ", "));
}

std::vector<std::string> AgreementsOf(const std::string& items) {
  Graph graph = FreeGraph(items);
  StatusOr<LoweredNode> lowered = LowerNode(graph, graph.nodes[0]);
  INFO(Message(lowered.status()));
  REQUIRE(lowered.ok());
  std::vector<std::string> texts;
  for (const Agreement& pair : lowered->agreements) {
    texts.push_back(fmt::format("{} == {}", Print(pair.a), Print(pair.b)));
  }
  return texts;
}

LawCounts CheckLaw(const std::string& items, int rounds, Random& random) {
  INFO(items);
  Graph graph = FreeGraph(items);
  StatusOr<LoweredNode> free = LowerNode(graph, graph.nodes[0]);
  INFO(Message(free.status()));
  REQUIRE(free.ok());
  LawCounts counts;
  for (int round = 0; round < rounds; ++round) {
    Assignment sizes = RandomSizes(graph, random);
    INFO("at" << TextOf(sizes));
    Graph numbers = Bound(graph, sizes);
    StatusOr<LoweredNode> bound = LowerNode(numbers, numbers.nodes[0]);
    INFO(Message(bound.status()));
    bool agrees = Agree(free->agreements, sizes);
    if (bound.ok() && agrees) CheckSameResults(*free, *bound, sizes, random.Next());
    if (!bound.ok()) CHECK((!agrees || IsEmpty(*free, sizes)));
    ++(!bound.ok() ? counts.refused : agrees ? counts.same : counts.strict);
  }
  return counts;
}

int CheckInference(const std::string& items, int rounds, Random& random) {
  INFO(items);
  Graph graph = FreeGraph(items);
  Graph free = graph;
  Status inferred = InferShapes(free);
  INFO(Message(inferred));
  int same = 0;
  for (int round = 0; round < rounds; ++round) {
    Assignment sizes = RandomSizes(graph, random);
    INFO("at" << TextOf(sizes));
    Graph bound = Bound(graph, sizes);
    bool is_right = InferShapes(bound).ok();
    if (!inferred.ok()) CHECK_FALSE(is_right);
    if (!inferred.ok() || !is_right || !Agree(free.agreements, sizes)) continue;
    ++same;
    for (size_t id = 0; id < graph.values.size(); ++id) {
      INFO(free.values[id].name << ": " << ShapeText(free.values[id].shape));
      CHECK(*AsNumbers(Numbers(free.values[id].shape, sizes)) == *StaticShape(bound.values[id]));
    }
  }
  return same;
}

}  // namespace tcc
