#include <unordered_set>

#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "ir/graph/graph_bodies.h"

namespace tcc {
namespace {

using VarSet = std::unordered_set<Var, VarHash>;

class GraphVerifier {
 public:
  // `depth` is the number of bodies around the graph.
  GraphVerifier(const Graph& graph, int depth)
      : graph_(graph),
        depth_(depth),
        defined_(graph.values.size(), false),
        known_(graph.values.size(), false) {}

  Status Verify() {
    TCC_RETURN_IF_ERROR(CheckShapeVars());
    TCC_RETURN_IF_ERROR(CheckValues());
    for (ValueId id : graph_.inputs) TCC_RETURN_IF_ERROR(Define(id, "graph input"));
    for (const Node& node : graph_.nodes) TCC_RETURN_IF_ERROR(CheckNode(node));
    for (ValueId id : graph_.outputs) TCC_RETURN_IF_ERROR(CheckUse(id, "graph output"));
    for (const Agreement& pair : graph_.agreements) {
      TCC_RETURN_IF_ERROR(CheckFormula(pair.a, "an agreement"));
      TCC_RETURN_IF_ERROR(CheckFormula(pair.b, "an agreement"));
    }
    return OkStatus();
  }

 private:
  Status CheckShapeVars() {
    std::unordered_set<std::string> names;
    for (const Var& var : graph_.shape_vars) {
      if (!var || var->role != VarRole::kShape) {
        return InvalidInput("graph '{}': a dimension that is no shape variable", graph_.name);
      }
      shape_vars_.insert(var);
      if (!names.insert(var->name).second) {
        return InvalidInput("dimension '{}' is declared twice", var->name);
      }
    }
    return OkStatus();
  }

  Status CheckValues() {
    std::unordered_set<std::string> names;
    for (size_t id = 0; id < graph_.values.size(); ++id) {
      const Value& value = graph_.values[id];
      if (value.name.empty()) return InvalidInput("value {} has no name", id);
      if (!names.insert(value.name).second) {
        return InvalidInput("two values are named '{}'", value.name);
      }
      TCC_RETURN_IF_ERROR(CheckShape(value));
      TCC_RETURN_IF_ERROR(CheckElements(value));
      known_[id] = !value.elements.empty();
      if (value.constant) {
        TCC_RETURN_IF_ERROR(CheckConstant(value));
        defined_[id] = true;
      }
    }
    return OkStatus();
  }

  Status CheckFormula(const Expr& formula, const std::string& of) {
    if (!formula || formula.dtype() != kInt64) {
      return InvalidInput("{}: a dimension is not an i64 expression", of);
    }
    for (const Var& var : VarsOf(formula)) {
      if (!shape_vars_.contains(var)) {
        return InvalidInput("{}: dimension variable '{}' is not the graph's", of, var->name);
      }
    }
    return OkStatus();
  }

  Status CheckElements(const Value& value) {
    if (value.elements.empty()) return OkStatus();
    std::string of = fmt::format("value '{}'", value.name);
    std::optional<std::vector<int64_t>> shape = StaticShape(value);
    bool integers = value.dtype.is_integer() || value.dtype.is_bool();
    if (!shape || !integers || value.constant ||
        ElementCount(*shape).value_or(-1) != static_cast<int64_t>(value.elements.size())) {
      return InvalidInput("{}: {} elements do not fit its type", of, value.elements.size());
    }
    for (const Expr& element : value.elements) {
      TCC_RETURN_IF_ERROR(CheckFormula(element, of));
    }
    return OkStatus();
  }

  Status CheckShape(const Value& value) {
    for (const Expr& dim : value.shape) {
      TCC_RETURN_IF_ERROR(CheckFormula(dim, fmt::format("value '{}'", value.name)));
      if (std::optional<int64_t> extent = AsConstant(dim); extent && *extent < 0) {
        return InvalidInput("value '{}' has dimension {}; expected 0 or more", value.name, *extent);
      }
    }
    return OkStatus();
  }

  Status CheckConstant(const Value& value) {
    const Tensor& tensor = *value.constant;
    if (tensor.dtype != value.dtype || StaticShape(value) != tensor.shape) {
      return InvalidInput("constant '{}' is {}; its value's type or shape is another", value.name,
                          ToString(tensor));
    }
    TCC_ASSIGN_OR_RETURN(int64_t bytes, ByteCount(tensor.dtype, tensor.shape));
    if (static_cast<size_t>(bytes) != tensor.bytes.size()) {
      return InvalidInput("constant '{}' ({}) has {} bytes; expected {}", value.name,
                          ToString(tensor), tensor.bytes.size(), bytes);
    }
    return OkStatus();
  }

  Status CheckNode(const Node& node) {
    if (node.name.empty()) return InvalidInput("a node ({}) has no name", ToString(node.op));
    std::string where = fmt::format("node '{}' ({})", node.name, ToString(node.op));
    for (ValueId id : node.inputs) {
      if (id != kNoValue) TCC_RETURN_IF_ERROR(CheckUse(id, where));
    }
    if (node.outputs.empty()) return InvalidInput("{} has no output", where);
    for (ValueId id : node.outputs) {
      if (id != kNoValue) TCC_RETURN_IF_ERROR(Define(id, where));
    }
    for (const Graph& body : node.bodies) {
      TCC_RETURN_IF_ERROR(Annotate(CheckBody(body), fmt::format("body of {}", where)));
    }
    if (const ScalarKind* kind = FindScalarKind(node.op)) {
      TCC_RETURN_IF_ERROR(CheckOperandCount(node, kind->least, kind->most));
    }
    return CheckBodies(graph_, node);
  }

  Status CheckBody(const Graph& body) {
    if (depth_ >= kMaxBodyDepth) {
      return InvalidInput("bodies are nested more than {} deep", kMaxBodyDepth);
    }
    for (const Var& var : body.shape_vars) {
      if (!shape_vars_.contains(var)) {
        return InvalidInput("dimension '{}' is not one of the graph around", var->name);
      }
    }
    return GraphVerifier(body, depth_ + 1).Verify();
  }

  Status CheckRange(ValueId id, const std::string& where) {
    if (id >= 0 && static_cast<size_t>(id) < graph_.values.size()) return OkStatus();
    return InvalidInput("{}: value {} of {}", where, id, graph_.values.size());
  }

  Status CheckUse(ValueId id, const std::string& where) {
    TCC_RETURN_IF_ERROR(CheckRange(id, where));
    if (defined_[id] || known_[id]) return OkStatus();
    return InvalidInput("{}: value '{}' is used before it is defined", where,
                        graph_.value(id).name);
  }

  Status Define(ValueId id, const std::string& where) {
    TCC_RETURN_IF_ERROR(CheckRange(id, where));
    if (defined_[id]) {
      return InvalidInput("{}: value '{}' is defined twice", where, graph_.value(id).name);
    }
    defined_[id] = true;
    return OkStatus();
  }

  const Graph& graph_;
  int depth_;
  std::vector<bool> defined_;
  std::vector<bool> known_;  // by elements, whether a node computes them or not
  VarSet shape_vars_;
};

}  // namespace

Status CheckOperandCount(const Node& node, size_t least, size_t most) {
  std::string where = fmt::format("node '{}' ({})", node.name, ToString(node.op));
  size_t count = node.inputs.size();
  if (count < least || count > most) {
    std::string range = least == most      ? fmt::format("{}", least)
                        : most == SIZE_MAX ? fmt::format("at least {}", least)
                                           : fmt::format("{} to {}", least, most);
    return InvalidInput("{}: has {} inputs; expected {}", where, count, range);
  }
  for (size_t i = 0; i < least; ++i) {
    if (node.inputs[i] == kNoValue) return InvalidInput("{}: input {} is missing", where, i);
  }
  return OkStatus();
}

Status VerifyGraph(const Graph& graph) {
  return GraphVerifier(graph, 0).Verify();
}

}  // namespace tcc
