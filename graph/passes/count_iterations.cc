#include <algorithm>

#include "graph/passes/control_flow.h"
#include "graph/passes/edit.h"
#include "graph/passes/node_writer.h"
#include "graph/passes/passes.h"
#include "ir/graph/constants.h"

namespace tcc {
namespace {

// Up to this many iterations a list costs less than a call in each: half a MiB.
constexpr int64_t kMaxListLength = 1 << 16;

bool ReadsIteration(const Node& loop) {
  const Graph& body = loop.bodies[0];
  ValueId iteration = body.inputs[0];
  return std::ranges::find(body.outputs, iteration) != body.outputs.end() ||
         std::ranges::any_of(body.nodes, [&](const Node& node) {
           return std::ranges::find(node.inputs, iteration) != node.inputs.end();
         });
}

Tensor Counting(std::vector<int64_t> shape) {
  Tensor tensor = MakeZeroTensor(kInt64, shape);
  for (int64_t i = 0; !shape.empty() && i < shape[0]; ++i) SetElementInt(tensor, i, i);
  return tensor;
}

// Puts `id` before position `at`, counted from the front.
void InsertAt(std::vector<ValueId>& ids, size_t at, ValueId id) {
  ids.insert(ids.begin() + static_cast<int64_t>(at), id);
}

// The body's value stays; its first input becomes another, which nobody reads.
ValueId TakeIteration(Graph& body) {
  ValueId iteration = body.inputs[0];
  body.inputs[0] = AddComputed(body, "iteration", kInt64, {});
  return iteration;
}

// Returns 0, 1, ... as a list with an element for each iteration; `before` gets the node that
// computes it where their number is a formula.
ValueId Iterations(Graph& graph, const Node& loop, const Expr& trips, std::vector<Node>& before) {
  std::string name = loop.name + ".iterations";
  if (std::optional<int64_t> known = AsConstant(trips)) {
    return AddConstant(graph, name, Counting({*known}));
  }
  NodeWriter writer(graph, before, name);
  ValueId first = writer.Constant("first", Counting({}));
  ValueId limit = writer.Elements("limit", kInt64, {}, {trips});
  ValueId list = writer.Emit(OpKind::kRange, {first, limit, writer.Constant("one", IntScalar(1))});
  graph.values[list].shape = {trips};
  return list;
}

void ScanIteration(Node& loop, ValueId iterations) {
  size_t at = PartsOf(loop).first_captured();
  auto append = [&](const std::string& key) {
    auto values = loop.Ints(key);
    values.push_back(0);
    loop.attributes[key] = values;
  };
  if (!loop.Ints("scan_input_directions").empty()) append("scan_input_directions");
  append("scan_input_axes");
  InsertAt(loop.inputs, at, iterations);
  Graph& body = loop.bodies[0];
  InsertAt(body.inputs, at, TakeIteration(body));
}

void CarryIteration(Graph& graph, Node& loop) {
  size_t carried = PartsOf(loop).carried;
  loop.attributes["carried"] = static_cast<int64_t>(carried + 1);
  InsertAt(loop.inputs, 2 + carried, AddConstant(graph, loop.name + ".first", Counting({})));
  InsertAt(loop.outputs, carried, AddComputed(graph, loop.name + ".iterations", kInt64, {}));
  Graph& body = loop.bodies[0];
  ValueId iteration = TakeIteration(body);
  InsertAt(body.inputs, 2 + carried, iteration);
  ValueId one = AddConstant(body, "one", IntScalar(1));
  ValueId next = AddComputed(body, loop.name + ".next_iteration", kInt64, {});
  InsertAt(body.outputs, 1 + carried, next);
  NodeWriter(body, body.nodes, loop.name).EmitAs(next, OpKind::kAdd, {iteration, one});
}

}  // namespace

Status CountIterations(Graph& graph) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    if (node.op != OpKind::kLoop || !ReadsIteration(node)) continue;
    std::optional<Expr> trips = TripCount(graph, node);
    if (!trips || AsConstant(*trips).value_or(0) > kMaxListLength) {
      CarryIteration(graph, node);
      continue;
    }
    std::vector<Node> before;
    ScanIteration(node, Iterations(graph, node, *trips, before));
    graph.nodes.insert(graph.nodes.begin() + static_cast<int64_t>(n), before.begin(), before.end());
    n += before.size();
  }
  return OkStatus();
}

}  // namespace tcc
