#include "graph/passes/to_tensor_exprs.h"

#include <algorithm>
#include <set>

#include "graph/ops/op_lowering.h"
#include "graph/passes/infer_shapes.h"
#include "ir/expr/substitute.h"
#include "support/check.h"

namespace tcc {
namespace {

class ProgramJoiner {
 public:
  ProgramJoiner(const Graph& graph, const Subgraph& subgraph) : outputs_(subgraph.outputs) {
    result_.program.name = subgraph.name;
    result_.program.shape_vars = graph.shape_vars;
  }

  void Append(const LoweredNode& node) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Rename(node.program.inputs[i], BufferOf(node.inputs[i], node.program.inputs[i]));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      Define(node.outputs[i], node.program.outputs[i]);
    }
    for (const Buffer& buffer : node.program.intermediates) {
      result_.program.intermediates.push_back(buffer);
    }
    for (const Var& buffer : node.program.kept) result_.program.kept.push_back(buffer);
    for (TensorExpr stage : node.program.stages) {
      ForEachExpr(stage, [&](Expr& expr) { expr = Substitute(expr, renamed_); });
      std::string& name = std::visit([](auto& s) -> std::string& { return s.name; }, stage);
      name = UniqueName(name);
      result_.program.stages.push_back(std::move(stage));
    }
  }

  LoweredNode Finish() && { return std::move(result_); }

 private:
  struct Known {
    ValueId id;
    Buffer buffer;
  };

  // The buffer that holds the value already, or this one as a new input. Where one value is read
  // under two shapes (storage orders that agree on its bytes) it is two inputs.
  Buffer BufferOf(ValueId id, const Buffer& buffer) {
    for (const Known& known : known_) {
      if (known.id == id && SameShape(known.buffer.shape, buffer.shape)) return known.buffer;
    }
    known_.push_back({id, buffer});
    result_.program.inputs.push_back(buffer);
    result_.inputs.push_back(id);
    return buffer;
  }

  void Define(ValueId id, const Buffer& buffer) {
    known_.push_back({id, buffer});
    if (std::ranges::find(outputs_, id) == outputs_.end()) {
      result_.program.intermediates.push_back(buffer);
    } else {
      result_.program.outputs.push_back(buffer);
      result_.outputs.push_back(id);
    }
  }

  void Rename(const Buffer& from, const Buffer& to) {
    if (!(from.var == to.var)) renamed_.emplace(from.var, to.var);
  }

  std::string UniqueName(const std::string& hint) {
    std::string name = hint;
    for (int suffix = 1; !names_.insert(name).second; ++suffix) {
      name = fmt::format("{}_{}", hint, suffix);
    }
    return name;
  }

  const std::vector<ValueId>& outputs_;
  LoweredNode result_;
  std::vector<Known> known_;
  Substitution renamed_;
  std::set<std::string> names_;
};

StatusOr<LoweredNode> Lower(const Graph& graph, const Node& node, AttentionCore core) {
  if (node.op != OpKind::kAttention || core == AttentionCore::kParts) return LowerNode(graph, node);
  Node tuple = node;
  tuple.attributes["core"] = std::string("tuple");
  return LowerNode(graph, tuple);
}

// Fails where a pass left a node whose result is another than the graph says: memory is planned by
// the graph's shapes.
void CheckResults(const Graph& graph, const Node& node, const LoweredNode& lowered) {
  for (const NodeResult& result : ResultsOf(graph, node, lowered)) {
    const Value& value = graph.value(result.value);
    TCC_CHECK(value.dtype == result.dtype && ShapesAgree(value.shape, result.shape))
        << fmt::format("node '{}' ({}) gives {} {}; the graph has {} {}", node.name,
                       ToString(node.op), ToString(result.dtype), ShapeText(result.shape),
                       ToString(value.dtype), ShapeText(value.shape));
  }
}

}  // namespace

StatusOr<LoweredNode> ToTensorExprs(const Graph& graph, const Subgraph& subgraph,
                                    AttentionCore core) {
  ProgramJoiner joiner(graph, subgraph);
  BufferSet casts;  // round because the model says so
  for (int n : subgraph.nodes) {
    TCC_ASSIGN_OR_RETURN(LoweredNode node, Lower(graph, graph.nodes[n], core));
    CheckResults(graph, graph.nodes[n], node);
    if (graph.nodes[n].op == OpKind::kCast) casts.insert(node.program.outputs[0].var);
    joiner.Append(node);
  }
  LoweredNode result = std::move(joiner).Finish();
  InlineMaps(result.program, casts);
  return result;
}

}  // namespace tcc
