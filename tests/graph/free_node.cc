#include "tests/graph/free_node.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "graph/ops/build_loop_nest.h"
#include "graph/ops/op_lowering.h"
#include "graph/passes/infer_shapes.h"
#include "ir/expr/evaluate.h"
#include "ir/interpret/interpreter.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"

namespace tcc {
namespace {

// The node's graph with Shape variables, and their values in the node's tensors.
struct FreeGraph {
  Graph graph;
  Assignment sizes;
};

FreeGraph FreeGraphOf(const FreeNode& free) {
  FreeGraph result{.graph = GraphOf(free.node), .sizes = {}};
  Graph& graph = result.graph;
  for (const FreeDim& dim : free.dims) {
    auto is_named = [&](const Var& var) { return var->name == dim.name; };
    auto found = std::ranges::find_if(graph.shape_vars, is_named);
    if (found == graph.shape_vars.end()) {
      graph.shape_vars.push_back(ShapeVar(dim.name, free.low, free.high));
      found = graph.shape_vars.end() - 1;
    }
    graph.values[graph.nodes[0].inputs[dim.input]].shape[dim.dim] = *found;
    result.sizes[*found] = free.node.inputs[dim.input].shape[dim.dim];
  }
  for (const KnownElements& known : free.elements) {
    Value& value = graph.values[graph.nodes[0].inputs[known.input]];
    value.elements = known.formulas(graph.shape_vars);
    value.constant.reset();
  }
  return result;
}

std::vector<int64_t> Sizes(const std::vector<Expr>& shape, const Assignment& sizes) {
  std::vector<int64_t> numbers;
  for (const Expr& dim : shape) numbers.push_back(EvaluateInt(dim, sizes).value());
  return numbers;
}

}  // namespace

StatusOr<FreeResults> RunFree(const FreeNode& free) {
  FreeGraph made = FreeGraphOf(free);
  const Node& node = made.graph.nodes[0];
  TCC_ASSIGN_OR_RETURN(LoweredNode lowered, LowerNode(made.graph, node));
  FreeResults results;
  if (const auto* stage = std::get_if<ComputeExpr>(lowered.program.stages.data())) {
    results.condition = Print(stage->predicate);
  }
  for (const Agreement& agreement : lowered.agreements) {
    bool holds = EvaluateInt(agreement.a, made.sizes) == EvaluateInt(agreement.b, made.sizes);
    results.agrees = results.agrees && holds;
  }
  Function fn = BuildLoopNest(lowered.program);
  results.program = Print(fn);
  std::vector<Tensor> arguments;
  for (ValueId id : lowered.inputs) {
    auto place = std::ranges::find(node.inputs, id) - node.inputs.begin();
    arguments.push_back(free.node.inputs[static_cast<size_t>(place)]);
  }
  for (const Buffer& output : lowered.program.outputs) {
    arguments.push_back(MakeZeroTensor(output.dtype(), Sizes(output.shape, made.sizes)));
  }
  InterpretOptions options;
  for (const Var& var : fn.vars) options.var_values.push_back(made.sizes.at(var));
  TCC_RETURN_IF_ERROR(Interpret(fn, arguments, options).status());
  results.tensors.assign(arguments.begin() + static_cast<int64_t>(lowered.inputs.size()),
                         arguments.end());
  return results;
}

bool CheckSameAsBound(const FreeNode& free) {
  StatusOr<std::vector<Tensor>> bound = Run(free.node);
  if (!bound.ok()) return false;
  StatusOr<FreeResults> results = RunFree(free);
  INFO(Message(results.status()));
  REQUIRE(results.ok());
  INFO(results->program);
  CHECK(results->agrees);
  REQUIRE(results->tensors.size() == bound->size());
  for (size_t i = 0; i < bound->size(); ++i) {
    CHECK(results->tensors[i].shape == (*bound)[i].shape);
    std::vector<double> expected = ValuesOf((*bound)[i]);
    std::vector<double> got = ValuesOf(results->tensors[i]);
    REQUIRE(got.size() == expected.size());
    auto is_close = [&](double a, double b) {
      return a == b || std::abs(a - b) <= free.tolerance || (std::isnan(a) && std::isnan(b));
    };
    CHECK(std::ranges::equal(got, expected, is_close));
  }
  return true;
}

std::string FreeShapeOf(const FreeNode& free) {
  FreeGraph made = FreeGraphOf(free);
  StatusOr<LoweredNode> lowered = LowerNode(made.graph, made.graph.nodes[0]);
  if (!lowered.ok()) return Message(lowered.status());
  return ShapeText(lowered->program.outputs[0].shape);
}

}  // namespace tcc
