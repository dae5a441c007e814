#include "models/onnx/onnx_graph_importer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph/constants.h"
#include "models/onnx/onnx_attributes.h"
#include "models/onnx/onnx_bodies.h"
#include "models/onnx/onnx_containers.h"
#include "models/onnx/onnx_control_flow.h"
#include "models/onnx/onnx_normalize.h"
#include "models/onnx/onnx_ops.h"
#include "models/onnx/onnx_sparse_tensor.h"
#include "models/onnx/onnx_survey.h"
#include "support/check.h"
#include "support/status.h"
#include "support/wanted_option.h"

namespace tcc {
namespace {

// The names visible to a graph's nodes. `is_own` holds for inputs and initializers of that graph,
// `is_known` also for names visible from the enclosing graphs.
struct OnnxNames {
  std::function<bool(const std::string&)> is_own;
  std::function<bool(const std::string&)> is_known;
};

using Nodes = google::protobuf::RepeatedPtrField<onnxpb::Node>;
using Producers = std::unordered_map<std::string, int>;

std::string Where(const onnxpb::Node& node) {
  return fmt::format("node '{}' ({})", NodeName(node), OperatorName(node));
}

StatusOr<Producers> FindProducers(const Nodes& nodes, const OnnxNames& names) {
  Producers producers;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].output()) {
      if (output.empty()) continue;
      if (names.is_own(output) || !producers.emplace(output, i).second) {
        return InvalidInput("{}: value '{}' is defined twice", Where(nodes[i]), output);
      }
    }
  }
  return producers;
}

// Every node that was not placed reads one that was not either, so going back that way must close.
Status Cycle(const Nodes& nodes, const std::vector<OnnxBodies>& bodies, const Producers& producers,
             const std::vector<bool>& placed) {
  std::vector<bool> seen(placed.size(), false);
  int at = 0;
  while (placed[at]) ++at;
  while (!seen[at]) {
    seen[at] = true;
    for (const std::string& input : NamesRead(nodes[at], bodies[at])) {
      auto producer = producers.find(input);
      if (producer == producers.end() || placed[producer->second]) continue;
      at = producer->second;
      break;
    }
  }
  return InvalidInput("{} depends on its own result: the graph has a cycle", Where(nodes[at]));
}

// Returns the live nodes' indices so that each node comes after the nodes it reads, in its bodies
// too; among the ready nodes, the first in the file comes next.
//
// Refused, each with the node's name: a value that is defined twice, a value that a live node reads
// but nothing defines, a cycle.
StatusOr<std::vector<int>> TopologicalOrder(const Nodes& nodes,
                                            const std::vector<OnnxBodies>& bodies,
                                            const OnnxLiveness& live, const OnnxNames& names) {
  TCC_ASSIGN_OR_RETURN(Producers producers, FindProducers(nodes, names));
  auto count = static_cast<size_t>(nodes.size());
  std::vector<std::vector<int>> readers(count);
  std::vector<int> waits_for(count, 0);
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& input : NamesRead(nodes[i], bodies[i])) {
      if (input.empty()) continue;
      auto producer = producers.find(input);
      if (producer == producers.end()) {
        if (!live.nodes[i] || names.is_known(input)) continue;
        return InvalidInput("{}: input '{}' is not defined", Where(nodes[i]), input);
      }
      readers[producer->second].push_back(i);
      ++waits_for[i];
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i) {
    if (waits_for[i] == 0) ready.push(i);
  }
  std::vector<int> order;
  std::vector<bool> placed(count, false);
  while (!ready.empty()) {
    int node = ready.top();
    ready.pop();
    placed[node] = true;
    order.push_back(node);
    for (int reader : readers[node]) {
      if (--waits_for[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() < count) return Cycle(nodes, bodies, producers, placed);
  return order;
}

// The most elements of all sequences together: a chain of inserts takes the square of its length.
constexpr int64_t kMaxElements = int64_t{1} << 24;

// The most inputs of one node: each becomes a stage or an operand of a kernel.
constexpr int kMaxInputs = 4096;

bool IsControlFlow(const OnnxOp& op) {
  return op.op == OpKind::kIf || op.op == OpKind::kLoop;
}

}  // namespace

Status RefuseComputed(const std::string& what, const ValueFacts& facts, std::string_view expected) {
  std::string origin =
      facts.inputs.empty() ? "" : fmt::format(" from '{}'", fmt::join(facts.inputs, "', '"));
  Status status = Unsupported("{} is computed{} at run time; expected {}", what, origin, expected);
  for (const std::string& input : facts.inputs) status = WithOption(status, Option::kBinds, input);
  return status;
}

OnnxGraphImporter::OnnxGraphImporter(OnnxImportSession& session, OnnxGraphImporter* around,
                                     int opset)
    : session_(session), around_(around), depth_(around == nullptr ? 0 : around->depth_ + 1) {
  own_.opset = opset;
  if (around == nullptr) return;
  own_.arguments = around->scope_->arguments;
  own_.prefix = around->scope_->prefix;
}

std::string OnnxGraphImporter::FreshName(const std::string& wish) {
  std::string name = wish;
  int& count = wishes_[wish];
  while (!taken_.insert(name).second) name = fmt::format("{}_{}", wish, ++count + 1);
  return name;
}

std::string OnnxGraphImporter::FreshNodeName(const std::string& wish) {
  std::string name = wish;
  int& count = session_.node_wishes[wish];
  while (!session_.node_names.insert(name).second) name = fmt::format("{}_{}", wish, ++count + 1);
  return name;
}

std::string OnnxGraphImporter::ValueName(const std::string& name) {
  auto result = scope_->result_names.find(name);
  if (result != scope_->result_names.end()) return result->second;
  // The model's own names are unique in their graph; those of functions may be anything.
  bool own = scope_ == &own_ && own_.prefix.empty();
  return own ? name : FreshName(scope_->prefix + name);
}

ValueId OnnxGraphImporter::Define(const std::string& name, DType dtype) {
  ValueId id = graph_.AddValue({.name = ValueName(name), .dtype = dtype});
  scope_->values[name] = {.tensor = id};
  return id;
}

// `tensor` is passed by value: it may belong to a value of the graph, and adding a value moves
// them.
ValueId OnnxGraphImporter::DefineConstant(const std::string& name, Tensor tensor) {
  ValueId id = Define(name, tensor.dtype);
  graph_.values[id].shape = ToExprs(tensor.shape);
  graph_.values[id].constant = std::move(tensor);
  return id;
}

const OnnxGraphImporter::Scope& OnnxGraphImporter::ScopeOf(const std::string& name) const {
  const Scope* scope = scope_;
  while (!scope->values.contains(name) && scope->sees_caller) scope = scope->caller;
  return *scope;
}

bool OnnxGraphImporter::Knows(const std::string& name) const {
  const Scope& scope = ScopeOf(name);
  if (scope.values.contains(name)) return true;
  return &scope == &own_ && around_ != nullptr && around_->Knows(name);
}

StatusOr<OnnxValue> OnnxGraphImporter::Find(const std::string& name) {
  const Scope& scope = ScopeOf(name);
  if (auto found = scope.values.find(name); found != scope.values.end()) return found->second;
  if (&scope != &own_ || around_ == nullptr) {
    return InvalidInput("value '{}' is not defined", name);
  }
  TCC_ASSIGN_OR_RETURN(OnnxValue value, around_->Find(name));
  if (value.is_nothing()) return value;
  if (value.sequence) {
    OnnxSequence inside = *value.sequence;
    TCC_RETURN_IF_ERROR(CountElements(static_cast<int64_t>(inside.elements.size())));
    for (ValueId& element : inside.elements) element = Captured(element);
    value.sequence = std::make_shared<const OnnxSequence>(std::move(inside));
  } else {
    value.tensor = Captured(value.tensor);
  }
  own_.values[name] = value;
  return value;
}

ValueId OnnxGraphImporter::Captured(ValueId outside) {
  auto [inside, added] = insides_.emplace(outside, kNoValue);
  if (!added) return inside->second;
  Value value = around_->graph_.value(outside);
  value.name = FreshName(value.name);
  bool captured = !value.constant;
  if (captured) value.shape.clear();
  inside->second = graph_.AddValue(std::move(value));
  if (captured) captures_.push_back({outside, inside->second});
  return inside->second;
}

ValueFacts OnnxGraphImporter::FactsOf(ValueId id) const {
  if (const Tensor* constant = graph_.ConstantOf(id)) {
    return {.shape = ToExprs(constant->shape), .constant = *constant};
  }
  for (const Capture& capture : captures_) {
    if (capture.inside == id) return around_->FactsOf(capture.outside);
  }
  if (around_ != nullptr) {
    return {.shape = Unsupported("the import infers no shapes in bodies of loops and branches")};
  }
  return session_.facts_of ? session_.facts_of(graph_, id) : ValueFacts();
}

Status OnnxGraphImporter::AddContents(onnxpb::Graph& graph, std::vector<OnnxBodies>& bodies,
                                      const OnnxLiveness& live) {
  TCC_RETURN_IF_ERROR(AddInitializers(graph, live));
  return AddNodes(*graph.mutable_node(), bodies, live);
}

Status OnnxGraphImporter::AddInitializers(onnxpb::Graph& graph, const OnnxLiveness& live) {
  for (onnxpb::Tensor& proto : *graph.mutable_initializer()) {
    if (!WantsInitializer(proto.name(), live)) continue;
    std::string what = fmt::format("initializer '{}'", proto.name());
    TCC_ASSIGN_OR_RETURN(Tensor tensor,
                         ReadOnnxTensor(proto, what, session_.files, session_.limits));
    DefineConstant(proto.name(), tensor);
  }
  for (onnxpb::SparseTensor& proto : *graph.mutable_sparse_initializer()) {
    std::string name = proto.values().name();
    if (!WantsInitializer(name, live)) continue;
    std::string what = fmt::format("sparse initializer '{}'", name);
    TCC_ASSIGN_OR_RETURN(Tensor tensor,
                         ReadSparseTensor(proto, what, session_.files, session_.limits));
    DefineConstant(name, tensor);
  }
  return OkStatus();
}

bool OnnxGraphImporter::WantsInitializer(const std::string& name, const OnnxLiveness& live) {
  if (scope_->values.contains(name)) return false;  // bound, or an input of a body
  if (!live.names.contains(name)) scope_->left_out.insert(name);
  return live.names.contains(name);
}

Status OnnxGraphImporter::AddNodes(google::protobuf::RepeatedPtrField<onnxpb::Node>& nodes,
                                   std::vector<OnnxBodies>& bodies, const OnnxLiveness& live) {
  TCC_RETURN_IF_ERROR(CountNodes(nodes.size()));
  auto is_own = [this](const std::string& name) {
    return scope_->values.contains(name) || scope_->left_out.contains(name);
  };
  OnnxNames names{.is_own = is_own,
                  .is_known = [this](const std::string& name) { return Knows(name); }};
  TCC_ASSIGN_OR_RETURN(std::vector<int> order, TopologicalOrder(nodes, bodies, live, names));
  for (int index : order) {
    if (live.nodes[index]) TCC_RETURN_IF_ERROR(AddNode(nodes[index], bodies[index]));
  }
  return OkStatus();
}

Status OnnxGraphImporter::CountNodes(int64_t count) {
  session_.nodes += count;
  if (session_.nodes <= kMaxImportedNodes) return OkStatus();
  return Unsupported(
      "the model has more than {} nodes, those of its functions counted at each call",
      kMaxImportedNodes);
}

Status OnnxGraphImporter::CountElements(int64_t count) {
  session_.elements += count;
  if (session_.elements <= kMaxElements) return OkStatus();
  return Unsupported("the model's sequences have more than {} elements together", kMaxElements);
}

std::vector<ValueId> OnnxGraphImporter::Emit(Node node, const std::vector<DType>& types) {
  for (DType dtype : types) {
    node.outputs.push_back(graph_.AddValue({.name = FreshName(node.name), .dtype = dtype}));
  }
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().outputs;
}

Status OnnxGraphImporter::AddNode(onnxpb::Node& proto, OnnxBodies& bodies) {
  auto function =
      session_.functions.find(FunctionKey(proto.domain(), proto.op_type(), proto.overload()));
  bool is_call = function != session_.functions.end();
  if (!is_call && session_.has_unsupported && UnsupportedFeature(proto, bodies, opset())) {
    session_.met_unsupported = true;
    return Unsupported("{} is not supported", Where(proto));
  }
  ResolveReferences(proto);
  if (is_call) return AddCall(proto, *function->second);
  const OnnxOp* op = FindOnnxOp(OperatorName(proto));
  TCC_CHECK(op != nullptr) << OperatorName(proto);  // the survey refused it
  if (IsControlFlow(*op)) return ImportControlFlow(*this, proto, *op, bodies);
  if (IsContainerOperator(*op)) return ImportContainer(*this, proto, *op);
  return AddOperator(proto, *op);
}

Status OnnxGraphImporter::AddOperator(onnxpb::Node& proto, const OnnxOp& op) {
  std::string where = fmt::format("node '{}' ({})", NodeName(proto), op.name);
  auto outputs = static_cast<size_t>(proto.output_size());
  // The number of outputs, used or not, determines what a Split does.
  bool counts = op.max_outputs == kManyOutputs;
  while (!counts && outputs > 0 && proto.output(static_cast<int>(outputs) - 1).empty()) --outputs;
  if (outputs == 0) return InvalidInput("{} has no output", where);
  TCC_ASSIGN_OR_RETURN(std::vector<ValueId> inputs, Inputs(proto, op, where));
  TCC_ASSIGN_OR_RETURN(auto attributes, ReadAttributes(proto, op, OpsetFor(proto, opset()),
                                                       session_.files, session_.limits));
  if (op.op == OpKind::kConstant) return AddConstant(proto, attributes, where);
  TCC_ASSIGN_OR_RETURN(std::vector<DType> types, CheckTypes(graph_, op, inputs, outputs, where));
  Node node{.name = FreshNodeName(scope_->prefix + NodeName(proto)),
            .op = op.op,
            .inputs = std::move(inputs),
            .attributes = std::move(attributes)};
  for (size_t i = 0; i < outputs; ++i) {
    node.outputs.push_back(DefineResult(proto.output(static_cast<int>(i)), i, types[i]));
  }
  if (op.normalize != nullptr) {
    OnnxNodeContext context(graph_, node, op.name, opset(),
                            [this](const std::string& wish) { return FreshName(wish); });
    TCC_RETURN_IF_ERROR(op.normalize(context));
  }
  while (!node.inputs.empty() && node.inputs.back() == kNoValue) node.inputs.pop_back();
  graph_.nodes.push_back(std::move(node));
  return OkStatus();
}

void OnnxGraphImporter::AddIdentity(const std::string& node, const std::string& name,
                                    ValueId input) {
  const Tensor* constant = graph_.ConstantOf(input);
  if (constant != nullptr && kept_names_.contains(name)) {
    DefineConstant(name, *constant);
  } else if (constant != nullptr) {
    Alias(name, {.tensor = input});
  } else {
    ValueId copy = Define(name, graph_.value(input).dtype);
    graph_.nodes.push_back({.name = FreshNodeName(prefix() + node),
                            .op = OpKind::kIdentity,
                            .inputs = {input},
                            .outputs = {copy}});
  }
}

// Only the first result always exists: if the model omits it, it is an unused value.
ValueId OnnxGraphImporter::DefineResult(const std::string& name, size_t index, DType dtype) {
  if (!name.empty()) return Define(name, dtype);
  if (index > 0) return kNoValue;
  return graph_.AddValue({.name = FreshName("unused"), .dtype = dtype});
}

StatusOr<std::vector<OnnxValue>> OnnxGraphImporter::Operands(const onnxpb::Node& proto,
                                                             const OnnxOp& op,
                                                             const std::string& where) {
  int count = proto.input_size();
  if (count < op.min_inputs || count > op.max_inputs) {
    std::string most = op.max_inputs == kManyInputs ? "many" : fmt::format("{}", op.max_inputs);
    return InvalidInput("{} has {} inputs; expected {} to {}", where, count, op.min_inputs, most);
  }
  if (count > kMaxInputs) {
    return Unsupported("{} has {} inputs; at most {} are supported", where, count, kMaxInputs);
  }
  bool all_required = op.max_inputs == kManyInputs;
  std::vector<OnnxValue> operands;
  for (int i = 0; i < count; ++i) {
    OnnxValue operand;
    if (!proto.input(i).empty()) {
      TCC_ASSIGN_OR_RETURN(operand, Find(proto.input(i)));
    }
    if (operand.is_nothing() && (i < op.min_inputs || all_required)) {
      return InvalidInput("{}: input {} is missing", where, i);
    }
    operands.push_back(std::move(operand));
  }
  return operands;
}

StatusOr<std::vector<ValueId>> OnnxGraphImporter::Inputs(const onnxpb::Node& proto,
                                                         const OnnxOp& op,
                                                         const std::string& where) {
  TCC_ASSIGN_OR_RETURN(std::vector<OnnxValue> operands, Operands(proto, op, where));
  std::vector<ValueId> inputs;
  for (const OnnxValue& operand : operands) {
    if (operand.sequence) {
      return InvalidInput("{}: input {} ('{}') is a sequence; expected a tensor", where,
                          inputs.size(), proto.input(static_cast<int>(inputs.size())));
    }
    inputs.push_back(operand.tensor);
  }
  return inputs;
}

Status OnnxGraphImporter::AddConstant(const onnxpb::Node& proto,
                                      std::map<std::string, Attribute>& attributes,
                                      const std::string& where) {
  if (attributes.size() != 1) {
    return InvalidInput("{} has {} values; expected 1", where, attributes.size());
  }
  DefineConstant(proto.output(0), TensorOf(attributes.begin()->second).value());
  return OkStatus();
}

}  // namespace tcc
