#include "ir/graph/graph_bodies.h"

namespace tcc {
namespace {

// The checks of one node with bodies.
class BodyChecker {
 public:
  BodyChecker(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  Status CheckIf() {
    TCC_RETURN_IF_ERROR(CheckCount("bodies", node_.bodies.size(), 2));
    if (node_.inputs.empty()) return Error("has no condition");
    for (const Graph& body : node_.bodies) {
      TCC_RETURN_IF_ERROR(CheckCount("operands", node_.inputs.size(), 1 + body.inputs.size()));
      TCC_RETURN_IF_ERROR(CheckCount("results", node_.outputs.size(), body.outputs.size()));
      TCC_RETURN_IF_ERROR(CheckOperands(body, 1, 0));
      for (size_t i = 0; i < body.outputs.size(); ++i) {
        TCC_RETURN_IF_ERROR(CheckResult(body, i, i));
      }
    }
    return CheckScalar(node_.inputs[0], kBool, "condition");
  }

  Status CheckLoop() {
    TCC_RETURN_IF_ERROR(CheckCount("bodies", node_.bodies.size(), 1));
    TCC_RETURN_IF_ERROR(CheckAttributes());
    const Graph& body = node_.bodies[0];
    LoopParts parts = PartsOf(node_);
    TCC_RETURN_IF_ERROR(CheckCount("operands", node_.inputs.size(), body.inputs.size()));
    if (node_.inputs.size() < parts.first_captured()) {
      return Error("has {} operands; expected at least {}", node_.inputs.size(),
                   parts.first_captured());
    }
    size_t results = parts.carried + parts.scan_outputs;
    TCC_RETURN_IF_ERROR(CheckCount("results", node_.outputs.size(), results));
    TCC_RETURN_IF_ERROR(CheckCount("results of the body", body.outputs.size(), 1 + results));
    TCC_RETURN_IF_ERROR(CheckDirections(parts));
    TCC_RETURN_IF_ERROR(CheckScalar(node_.inputs[0], kInt64, "trip count"));
    TCC_RETURN_IF_ERROR(CheckScalar(node_.inputs[1], kBool, "condition"));
    TCC_RETURN_IF_ERROR(CheckInBody(body, body.inputs[0], kInt64, "iteration"));
    TCC_RETURN_IF_ERROR(CheckInBody(body, body.inputs[1], kBool, "condition"));
    TCC_RETURN_IF_ERROR(CheckInBody(body, body.outputs[0], kBool, "condition's result"));
    TCC_RETURN_IF_ERROR(CheckOperands(body, 2, 2));
    for (size_t i = 0; i < results; ++i) {
      TCC_RETURN_IF_ERROR(CheckResult(body, 1 + i, i));
      if (i >= parts.carried) continue;
      const Value& before = graph_.value(node_.inputs[2 + i]);
      const Value& after = body.value(body.outputs[1 + i]);
      if (before.dtype == after.dtype) continue;
      return Error("carried value '{}' begins as {} and becomes {}", before.name,
                   ToString(before.dtype), ToString(after.dtype));
    }
    return OkStatus();
  }

 private:
  template <typename... Args>
  Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidInput("node '{}' ({}): {}", node_.name, ToString(node_.op),
                        fmt::format(format, std::forward<Args>(args)...));
  }

  Status CheckCount(const char* what, size_t count, size_t expected) const {
    if (count == expected) return OkStatus();
    return Error("has {} {}; expected {}", count, what, expected);
  }

  Status CheckAttributes() const {
    for (const auto& [key, value] : node_.attributes) {
      bool count = key == "carried" && std::holds_alternative<int64_t>(value);
      if (count && std::get<int64_t>(value) >= 0 &&
          std::get<int64_t>(value) <= static_cast<int64_t>(node_.inputs.size())) {
        continue;
      }
      if (!key.starts_with("scan_") || !std::holds_alternative<std::vector<int64_t>>(value)) {
        return Error("attribute '{}' does not fit", key);
      }
    }
    return OkStatus();
  }

  Status CheckDirections(const LoopParts& parts) const {
    size_t in = node_.Ints("scan_input_directions").size();
    size_t out = node_.Ints("scan_output_directions").size();
    if (in > 0) TCC_RETURN_IF_ERROR(CheckCount("scan_input_directions", in, parts.scan_inputs));
    if (out == 0) return OkStatus();
    return CheckCount("scan_output_directions", out, parts.scan_outputs);
  }

  Status CheckScalar(ValueId id, DType dtype, const char* what) const {
    if (id == kNoValue || graph_.value(id).dtype == dtype) return OkStatus();
    return Error("{} is {}; expected {}", what, ToString(graph_.value(id).dtype), ToString(dtype));
  }

  Status CheckInBody(const Graph& body, ValueId id, DType dtype, const char* what) const {
    if (body.value(id).dtype == dtype) return OkStatus();
    return Error("in the body, {} is {}; expected {}", what, ToString(body.value(id).dtype),
                 ToString(dtype));
  }

  // Checks the operands from `first` on against the body's inputs from `input` on.
  Status CheckOperands(const Graph& body, size_t first, size_t input) const {
    for (size_t i = first; i < node_.inputs.size(); ++i, ++input) {
      if (node_.inputs[i] == kNoValue) return Error("operand {} is missing", i);
      const Value& outside = graph_.value(node_.inputs[i]);
      const Value& inside = body.value(body.inputs[input]);
      if (outside.dtype == inside.dtype) continue;
      return Error("operand '{}' is {}; in the body, '{}' is {}", outside.name,
                   ToString(outside.dtype), inside.name, ToString(inside.dtype));
    }
    return OkStatus();
  }

  Status CheckResult(const Graph& body, size_t result, size_t output) const {
    if (node_.outputs[output] == kNoValue) return OkStatus();
    const Value& inside = body.value(body.outputs[result]);
    const Value& outside = graph_.value(node_.outputs[output]);
    if (outside.dtype == inside.dtype) return OkStatus();
    return Error("result '{}' is {}; the body gives '{}' as {}", outside.name,
                 ToString(outside.dtype), inside.name, ToString(inside.dtype));
  }

  const Graph& graph_;
  const Node& node_;
};

}  // namespace

LoopParts PartsOf(const Node& loop) {
  return {.carried = static_cast<size_t>(loop.Int("carried", 0)),
          .scan_inputs = loop.Ints("scan_input_axes").size(),
          .scan_outputs = loop.Ints("scan_output_axes").size()};
}

bool RunsBackward(const Node& loop, const std::string& which, size_t index) {
  std::vector<int64_t> directions = loop.Ints(which);
  return index < directions.size() && directions[index] != 0;
}

size_t FirstCaptured(const Node& node) {
  return node.op == OpKind::kIf ? 1 : PartsOf(node).first_captured();
}

size_t FirstCapturedInput(const Node& node) {
  return node.op == OpKind::kIf ? 0 : PartsOf(node).first_captured();
}

Status CheckBodies(const Graph& graph, const Node& node) {
  if (node.op == OpKind::kIf) return BodyChecker(graph, node).CheckIf();
  if (node.op == OpKind::kLoop) return BodyChecker(graph, node).CheckLoop();
  if (node.bodies.empty()) return OkStatus();
  return InvalidInput("node '{}' ({}): has {} bodies; expected none", node.name, ToString(node.op),
                      node.bodies.size());
}

}  // namespace tcc
