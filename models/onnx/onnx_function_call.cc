#include <algorithm>

#include "models/onnx/onnx_attributes.h"
#include "models/onnx/onnx_graph_importer.h"

// Calls of a model's own functions: the function's nodes in place of the call.
namespace tcc {
namespace {

StatusOr<int> OpsetOf(const onnxpb::Function& function, int fallback) {
  for (const onnxpb::OperatorSet& import : function.opset_import()) {
    if (!IsDefaultDomain(import.domain())) continue;
    if (import.version() < 1 || import.version() > kNewestOpset) {
      return Unsupported("function '{}' is of opset {}; expected 1 to {}", function.name(),
                         int64_t{import.version()}, kNewestOpset);
    }
    return static_cast<int>(import.version());
  }
  return fallback;
}

}  // namespace

std::string FunctionKey(const std::string& domain, const std::string& name,
                        const std::string& overload) {
  return (IsDefaultDomain(domain) ? "" : domain) + "\n" + name + "\n" + overload;
}

// An attribute of a node inside a function may stand for one of the call.
void OnnxGraphImporter::ResolveReferences(onnxpb::Node& proto) const {
  auto& attributes = *proto.mutable_attribute();
  for (int a = 0; a < attributes.size();) {
    std::string reference = attributes[a].ref_attr_name();
    auto argument = scope_->arguments.find(reference);
    if (reference.empty() || scope_->arguments.empty()) {
      ++a;
    } else if (argument == scope_->arguments.end() || argument->second == nullptr) {
      attributes.DeleteSubrange(a, 1);  // left out by the call, so left out here
    } else {
      std::string name = attributes[a].name();
      attributes[a] = *argument->second;
      attributes[a].set_name(name);
      ++a;
    }
  }
}

std::vector<std::string> OnnxGraphImporter::NameResults(const onnxpb::Node& proto,
                                                        const std::vector<std::string>& results,
                                                        Scope& inner) {
  std::vector<std::string> names(proto.output_size());
  for (int i = 0; i < proto.output_size(); ++i) {
    if (proto.output(i).empty()) continue;
    names[i] = ValueName(proto.output(i));
    inner.result_names.emplace(results[i], names[i]);
  }
  return names;
}

Status OnnxGraphImporter::BindCall(onnxpb::Node& proto, const onnxpb::Function& function,
                                   Scope& scope) {
  if (proto.input_size() > function.input_size() || proto.output_size() > function.output_size()) {
    return InvalidInput("has {} inputs and {} outputs; the function has {} and {}",
                        proto.input_size(), proto.output_size(), function.input_size(),
                        function.output_size());
  }
  for (int i = 0; i < function.input_size(); ++i) {
    OnnxValue value;
    if (i < proto.input_size() && !proto.input(i).empty()) {
      TCC_ASSIGN_OR_RETURN(value, Find(proto.input(i)));
    }
    scope.values[function.input(i)] = value;
  }
  // An entry for every parameter: without any, references would stay to be refused.
  scope.arguments[""] = nullptr;
  for (const onnxpb::Attribute& attribute : function.attribute_proto()) {
    scope.arguments[attribute.name()] = &attribute;
  }
  for (const onnxpb::Attribute& attribute : proto.attribute()) {
    bool declared =
        scope.arguments.contains(attribute.name()) ||
        std::ranges::find(function.attribute(), attribute.name()) != function.attribute().end();
    if (!declared) return InvalidInput("the function has no attribute '{}'", attribute.name());
    scope.arguments[attribute.name()] = &attribute;
  }
  return OkStatus();
}

Status OnnxGraphImporter::AddCall(onnxpb::Node& proto, const onnxpb::Function& function) {
  std::string where = fmt::format("node '{}' ({})", NodeName(proto), OperatorName(proto));
  std::vector<const onnxpb::Function*>& calls = session_.calls;
  if (std::ranges::find(calls, &function) != calls.end()) {
    return InvalidInput("{}: function '{}' calls itself", where, function.name());
  }
  if (calls.size() >= static_cast<size_t>(kMaxCallDepth)) {
    return InvalidInput("{}: functions call each other more than {} deep", where, kMaxCallDepth);
  }
  Scope scope;
  scope.caller = scope_;
  scope.prefix = scope_->prefix + NodeName(proto) + "/";
  TCC_ASSIGN_OR_RETURN(scope.opset, OpsetOf(function, opset()));
  TCC_RETURN_IF_ERROR(Annotate(BindCall(proto, function, scope), where));

  // Reading nodes takes their tensors away; the next call needs them too.
  google::protobuf::RepeatedPtrField<onnxpb::Node> nodes = function.node();
  TCC_ASSIGN_OR_RETURN(std::vector<OnnxBodies> bodies, ParseBodies(nodes, depth_));
  std::vector<std::string> results(function.output().begin(), function.output().end());
  std::vector<std::string> names = NameResults(proto, results, scope);
  calls.push_back(&function);
  scope_ = &scope;
  Status status = AddNodes(nodes, bodies, FindLive(nodes, bodies, results));
  status = Annotate(status, fmt::format("function '{}'", function.name()));
  if (status.ok()) status = Annotate(TakeResults(proto, results, names, "the function"), where);
  scope_ = scope.caller;
  calls.pop_back();
  return status;
}

// A result that the scope did not compute under that name (an input, a value of the caller, one
// that is given twice) becomes a copy.
Status OnnxGraphImporter::TakeResults(const onnxpb::Node& proto,
                                      const std::vector<std::string>& results,
                                      const std::vector<std::string>& names,
                                      std::string_view what) {
  for (int i = 0; i < proto.output_size(); ++i) {
    if (proto.output(i).empty()) continue;
    StatusOr<OnnxValue> found = Find(results[i]);
    if (!found.ok()) {
      return InvalidInput("{} does not define its output '{}'", what, results[i]);
    }
    bool is_tensor = found->tensor != kNoValue;
    if (is_tensor && graph_.value(found->tensor).name != names[i]) {
      found->tensor = CopyAs(names[i], found->tensor);
    }
    scope_->caller->values[proto.output(i)] = *found;
  }
  return OkStatus();
}

ValueId OnnxGraphImporter::CopyAs(const std::string& name, ValueId id) {
  Value copy = graph_.value(id);
  copy.name = name;
  if (copy.constant) return graph_.AddValue(std::move(copy));
  copy.shape.clear();
  ValueId result = graph_.AddValue(std::move(copy));
  graph_.nodes.push_back(
      {.name = FreshNodeName(name), .op = OpKind::kIdentity, .inputs = {id}, .outputs = {result}});
  return result;
}

}  // namespace tcc
