#include "models/onnx/onnx_graph_importer.h"

// An If whose condition is known: the nodes of the branch that runs in place of the If.
namespace tcc {

Status OnnxGraphImporter::AddBranch(const onnxpb::Node& proto, OnnxBody& branch) {
  std::vector<std::string> results;
  for (const onnxpb::ValueInfo& output : branch.graph.output()) results.push_back(output.name());
  if (static_cast<size_t>(proto.output_size()) > results.size()) {
    return InvalidInput("has {} outputs; its body gives {}", proto.output_size(), results.size());
  }
  Scope scope;
  scope.caller = scope_;
  scope.sees_caller = true;
  scope.opset = opset();
  scope.prefix = scope_->prefix;
  scope.arguments = scope_->arguments;
  std::vector<std::string> names = NameResults(proto, results, scope);
  scope_ = &scope;
  Status status =
      AddContents(branch.graph, branch.of_nodes, FindLive(branch.graph, branch.of_nodes));
  if (status.ok()) status = TakeResults(proto, results, names, "the branch");
  scope_ = scope.caller;
  return Annotate(status, branch.attribute);
}

}  // namespace tcc
