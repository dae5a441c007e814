#include "models/onnx/onnx_survey.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "models/onnx/onnx_attributes.h"
#include "models/onnx/onnx_bodies.h"
#include "models/onnx/onnx_graph_importer.h"

namespace tcc {
namespace {

constexpr size_t kNodesNamed = 3;
constexpr int kNoNode = -1;

// Returns 0 if the model imports no default opset, which is valid if all its operators are of other
// domains.
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

  StatusOr<OnnxSurvey> Survey(const std::vector<OnnxBodies>& bodies) {
    TCC_ASSIGN_OR_RETURN(survey_.opset, DefaultOpset(model_));
    survey_.ir_version = model_.ir_version();
    if (survey_.opset > kNewestOpset) {
      Report(fmt::format("opset {} (the newest that is read is {})", survey_.opset, kNewestOpset),
             model_.graph().name());
    }
    for (const onnxpb::Function& function : model_.functions()) {
      functions_.emplace(FunctionKey(function.domain(), function.name(), function.overload()),
                         &function);
    }
    Visit(model_.graph(), bodies, survey_.opset, true);
    node_ = kNoNode;
    // Functions without a call are not looked at.
    TCC_RETURN_IF_ERROR(VisitCalled(called_));
    in_branch_ = true;
    TCC_RETURN_IF_ERROR(VisitCalled(called_in_branches_));
    if (needs_opset_) {
      return InvalidInput("the model imports no opset of the default domain");
    }
    survey_.outputs = model_.graph().output_size();
    survey_.supported_outputs = SupportedOutputs(bodies);
    return std::move(survey_);
  }

 private:
  using Nodes = google::protobuf::RepeatedPtrField<onnxpb::Node>;

  // Visits the functions, and those that they add, unless they have been visited before.
  Status VisitCalled(std::vector<const onnxpb::Function*>& called) {
    while (!called.empty()) {
      const onnxpb::Function& function = *called.back();
      called.pop_back();
      if (!visited_.insert(&function).second) continue;
      google::protobuf::RepeatedPtrField<onnxpb::Node> nodes = function.node();
      TCC_ASSIGN_OR_RETURN(std::vector<OnnxBodies> of_nodes, ParseBodies(nodes, 0));
      std::vector<std::string> results(function.output().begin(), function.output().end());
      VisitNodes(nodes, of_nodes, FindLive(nodes, of_nodes, results), OpsetOf(function));
    }
    return OkStatus();
  }

  int64_t OpsetOf(const onnxpb::Function& function) const {
    for (const onnxpb::OperatorSet& import : function.opset_import()) {
      if (IsDefaultDomain(import.domain())) return import.version();
    }
    return survey_.opset;
  }

  // Nodes nest no deeper than ParseBodies lets them.
  void Visit(const onnxpb::Graph& graph, const std::vector<OnnxBodies>& bodies, int64_t opset,
             bool is_live) {
    OnnxLiveness live = FindLive(graph, bodies);
    if (!is_live) live = {.nodes = std::vector<bool>(live.nodes.size(), false), .names = {}};
    for (const onnxpb::Tensor& tensor : graph.initializer()) NoteFile(tensor);
    for (const onnxpb::SparseTensor& tensor : graph.sparse_initializer()) NoteFiles(tensor);
    VisitNodes(graph.node(), bodies, live, opset);
  }

  void VisitNodes(const Nodes& nodes, const std::vector<OnnxBodies>& bodies,
                  const OnnxLiveness& live, int64_t opset) {
    bool is_main = &nodes == &model_.graph().node();
    for (int n = 0; n < nodes.size(); ++n) {
      if (is_main) node_ = n;
      ++survey_.nodes;
      ++survey_.operators[OperatorName(nodes[n])];
      for (const onnxpb::Attribute& attribute : nodes[n].attribute()) {
        if (attribute.has_t()) NoteFile(attribute.t());
        if (attribute.has_sparse_tensor()) NoteFiles(attribute.sparse_tensor());
      }
      if (live.nodes[n]) VisitLive(nodes[n], bodies[n], opset);
    }
    for (int n = 0; n < nodes.size(); ++n) {
      if (is_main) node_ = n;
      bool around = in_branch_;
      in_branch_ = around || OperatorName(nodes[n]) == "If";
      for (const OnnxBody& body : bodies[n]) {
        Visit(body.graph, body.of_nodes, opset, live.nodes[n]);
      }
      in_branch_ = around;
    }
  }

  void NoteFiles(const onnxpb::SparseTensor& tensor) {
    NoteFile(tensor.values());
    NoteFile(tensor.indices());
  }

  void NoteFile(const onnxpb::Tensor& tensor) {
    for (const onnxpb::KeyValue& entry : tensor.external_data()) {
      if (entry.key() == "location") survey_.external_files.insert(entry.value());
    }
  }

  void VisitLive(const onnxpb::Node& node, const OnnxBodies& bodies, int64_t opset) {
    auto function = functions_.find(FunctionKey(node.domain(), node.op_type(), node.overload()));
    if (function != functions_.end()) {
      (in_branch_ ? called_in_branches_ : called_).push_back(function->second);
      return;
    }
    needs_opset_ = needs_opset_ || (IsDefaultDomain(node.domain()) && opset == 0);
    if (std::optional<std::string> problem = UnsupportedFeature(node, bodies, opset)) {
      Report(*problem, NodeName(node));
    }
  }

  // Follows the results of the refused nodes through all that read them.
  std::vector<std::string> SupportedOutputs(const std::vector<OnnxBodies>& bodies) const {
    if (refused_.empty() || refused_.contains(kNoNode)) return {};
    const Nodes& nodes = model_.graph().node();
    std::unordered_map<std::string, std::vector<int>> readers;
    for (int n = 0; n < nodes.size(); ++n) {
      for (const std::string& name : NamesRead(nodes[n], bodies[n])) readers[name].push_back(n);
    }
    std::unordered_set<std::string> lost;
    std::vector<int> pending(refused_.begin(), refused_.end());
    while (!pending.empty()) {
      const onnxpb::Node& node = nodes[pending.back()];
      pending.pop_back();
      for (const std::string& output : node.output()) {
        if (output.empty() || !lost.insert(output).second) continue;
        const std::vector<int>& next = readers[output];
        pending.insert(pending.end(), next.begin(), next.end());
      }
    }
    std::vector<std::string> kept;
    for (const onnxpb::ValueInfo& output : model_.graph().output()) {
      if (!lost.contains(output.name())) kept.push_back(output.name());
    }
    return kept;
  }

  void Report(const std::string& what, const std::string& node) {
    refused_.insert(node_);
    auto [entry, added] = index_.emplace(what, survey_.unsupported.size());
    if (added) survey_.unsupported.push_back({.what = what, .count = 0, .nodes = {}});
    UnsupportedOperator& op = survey_.unsupported[entry->second];
    ++op.count;
    op.only_in_branches = op.only_in_branches && in_branch_;
    if (op.nodes.size() < kNodesNamed) op.nodes.push_back(node);
  }

  const onnxpb::Model& model_;
  OnnxSurvey survey_;
  bool needs_opset_ = false;
  int node_ = kNoNode;     // the node of the main graph that is looked at, with its bodies
  std::set<int> refused_;  // nodes of the main graph; kNoNode for what is not part of one
  std::map<std::string, const onnxpb::Function*> functions_;
  std::set<const onnxpb::Function*> visited_;
  std::vector<const onnxpb::Function*> called_;
  std::vector<const onnxpb::Function*> called_in_branches_;
  bool in_branch_ = false;  // whether the node at hand belongs to a branch of an If
  std::map<std::string, size_t> index_;
};

}  // namespace

StatusOr<OnnxSurvey> SurveyModel(const onnxpb::Model& model,
                                 const std::vector<OnnxBodies>& bodies) {
  return Surveyor(model).Survey(bodies);
}

std::optional<std::string> UnsupportedFeature(const onnxpb::Node& node, const OnnxBodies& bodies,
                                              int64_t default_opset) {
  std::string name = OperatorName(node);
  const OnnxOp* op = FindOnnxOp(name);
  if (op == nullptr) return name;
  int64_t opset = OpsetFor(node, default_opset);
  if (opset < op->since) {
    return fmt::format("{} of opset {} (read from opset {} on)", name, opset, op->since);
  }
  for (const onnxpb::Attribute& attribute : node.attribute()) {
    const OnnxAttribute* row = FindAttribute(*op, attribute.name(), opset);
    if (row == nullptr) return fmt::format("{} with attribute '{}'", name, attribute.name());
    if (row->presence == Presence::kFixed && row->type == AttributeType::kInt &&
        attribute.ref_attr_name().empty() && attribute.i() != static_cast<int64_t>(row->number)) {
      return fmt::format("{} with {} = {}", name, attribute.name(), attribute.i());
    }
  }
  for (const OnnxBody& body : bodies) {
    if (FindAttribute(*op, body.attribute, opset) == nullptr) {
      return fmt::format("{} with attribute '{}'", name, body.attribute);
    }
  }
  for (int i = op->max_outputs; i < node.output_size(); ++i) {
    if (!node.output(i).empty()) return fmt::format("{} with output {}", name, i);
  }
  return std::nullopt;
}

bool MayBeRead(const OnnxSurvey& survey) {
  return std::ranges::all_of(survey.unsupported,
                             [](const UnsupportedOperator& op) { return op.only_in_branches; });
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
  if (const auto& kept = survey.supported_outputs; !kept.empty()) {
    std::span<const std::string> named(kept.data(), std::min(kept.size(), kNodesNamed));
    text += fmt::format("\n  {} of the model's {} outputs need{} none of them: '{}'{}", kept.size(),
                        survey.outputs, kept.size() == 1 ? "s" : "", fmt::join(named, "', '"),
                        named.size() < kept.size() ? ", ..." : "");
  }
  return Unsupported("{} of the model's {} nodes are not supported:{}", nodes, survey.nodes, text);
}

}  // namespace tcc
