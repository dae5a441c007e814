#include "models/onnx_survey.h"

#include <fmt/ranges.h>

#include <optional>
#include <set>

#include "models/onnx.pb.h"
#include "models/onnx_attributes.h"
#include "models/onnx_ops.h"

namespace tcc {
namespace {

constexpr int kMaxSubgraphDepth = 64;
constexpr size_t kNodesNamed = 3;

// 0 where the model imports none, which is right if all its operators are of other domains.
StatusOr<int64_t> DefaultOpset(const onnxpb::Model& model) {
  std::optional<int64_t> opset;
  for (const onnxpb::OperatorSet& import : model.opset_import()) {
    if (!IsDefaultDomain(import.domain())) continue;
    if (opset && *opset != import.version()) {
      return InvalidInput("the model imports opsets {} and {} of the default domain", *opset,
                          import.version());
    }
    if (import.version() < 1) {
      return InvalidInput("opset {}; expected 1 or more", import.version());
    }
    opset = import.version();
  }
  return opset.value_or(0);
}

class Surveyor {
 public:
  explicit Surveyor(const onnxpb::Model& model) : model_(model) {}

  StatusOr<OnnxSurvey> Survey() {
    TCC_ASSIGN_OR_RETURN(survey_.opset, DefaultOpset(model_));
    survey_.ir_version = model_.ir_version();
    if (survey_.opset > kNewestOpset) {
      Report(fmt::format("opset {} (the newest that is read is {})", survey_.opset, kNewestOpset),
             model_.graph().name());
    }
    for (const onnxpb::Function& function : model_.functions()) {
      functions_.insert(function.domain() + "." + function.name());
    }
    TCC_RETURN_IF_ERROR(VisitGraph(model_.graph(), 0));
    for (const onnxpb::Function& function : model_.functions()) {
      for (const onnxpb::Node& node : function.node()) VisitNode(node, 0);
    }
    // Subgraphs wait as bytes, so that nesting takes no stack; parents are parsed before children.
    while (!pending_.empty()) {
      auto [bytes, depth] = std::move(pending_.back());
      pending_.pop_back();
      onnxpb::Graph graph;
      if (!graph.ParseFromString(bytes)) return InvalidInput("a subgraph is not a valid message");
      TCC_RETURN_IF_ERROR(VisitGraph(graph, depth));
    }
    if (survey_.opset == 0 && needs_opset_) {
      return InvalidInput("the model imports no opset of the default domain");
    }
    return std::move(survey_);
  }

 private:
  Status VisitGraph(const onnxpb::Graph& graph, int depth) {
    if (depth > kMaxSubgraphDepth) {
      return InvalidInput("subgraphs are nested more than {} deep", kMaxSubgraphDepth);
    }
    for (const onnxpb::SparseTensor& tensor : graph.sparse_initializer()) {
      Report("sparse initializer", tensor.values().name());
    }
    for (const onnxpb::Node& node : graph.node()) VisitNode(node, depth);
    return OkStatus();
  }

  void VisitNode(const onnxpb::Node& node, int depth) {
    std::string name = OperatorName(node);
    ++survey_.nodes;
    ++survey_.operators[name];
    needs_opset_ = needs_opset_ || IsDefaultDomain(node.domain());
    if (std::optional<std::string> problem = Problem(node, name)) {
      Report(*problem, NodeName(node));
    }
    for (const onnxpb::Attribute& attribute : node.attribute()) {
      if (!attribute.g().empty()) pending_.emplace_back(attribute.g(), depth + 1);
      for (const std::string& graph : attribute.graphs()) pending_.emplace_back(graph, depth + 1);
    }
  }

  // What stands in the way of reading the node.
  std::optional<std::string> Problem(const onnxpb::Node& node, const std::string& name) const {
    if (functions_.contains(node.domain() + "." + node.op_type())) {
      return name + " (a function of the model)";
    }
    const OnnxOp* op = FindOnnxOp(name);
    if (op == nullptr) return name;
    int64_t opset = OpsetFor(node, survey_.opset);
    if (opset < op->since) {
      return fmt::format("{} of opset {} (read from opset {} on)", name, opset, op->since);
    }
    for (const onnxpb::Attribute& attribute : node.attribute()) {
      const OnnxAttribute* row = FindAttribute(*op, attribute.name(), opset);
      if (row == nullptr) return fmt::format("{} with attribute '{}'", name, attribute.name());
      if (row->presence == Presence::kFixed && row->type == AttributeType::kInt &&
          attribute.i() != static_cast<int64_t>(row->number)) {
        return fmt::format("{} with {} = {}", name, attribute.name(), attribute.i());
      }
    }
    for (int i = op->max_outputs; i < node.output_size(); ++i) {
      if (!node.output(i).empty()) return fmt::format("{} with output {}", name, i);
    }
    return std::nullopt;
  }

  void Report(const std::string& what, const std::string& node) {
    auto [entry, added] = index_.emplace(what, survey_.unsupported.size());
    if (added) survey_.unsupported.push_back({.what = what, .count = 0, .nodes = {}});
    UnsupportedOperator& op = survey_.unsupported[entry->second];
    ++op.count;
    if (op.nodes.size() < kNodesNamed) op.nodes.push_back(node);
  }

  const onnxpb::Model& model_;
  OnnxSurvey survey_;
  bool needs_opset_ = false;
  std::set<std::string> functions_;
  std::map<std::string, size_t> index_;
  std::vector<std::pair<std::string, int>> pending_;
};

}  // namespace

StatusOr<OnnxSurvey> SurveyModel(const onnxpb::Model& model) {
  return Surveyor(model).Survey();
}

Status RefuseUnsupported(const OnnxSurvey& survey) {
  if (survey.unsupported.empty()) return OkStatus();
  std::string text;
  int64_t nodes = 0;
  for (const UnsupportedOperator& op : survey.unsupported) {
    nodes += op.count;
    text += fmt::format("\n  {}: {} node{}: '{}'{}", op.what, op.count, op.count == 1 ? "" : "s",
                        fmt::join(op.nodes, "', '"),
                        op.count > static_cast<int64_t>(op.nodes.size()) ? ", ..." : "");
  }
  return Unsupported("{} of the model's {} nodes are not supported:{}", nodes, survey.nodes, text);
}

}  // namespace tcc
