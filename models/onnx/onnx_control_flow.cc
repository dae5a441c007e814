#include "models/onnx/onnx_control_flow.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "ir/graph/constants.h"
#include "models/onnx/onnx_attributes.h"

namespace tcc {
namespace {

std::vector<DType> TypesOf(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<DType> types;
  for (ValueId id : ids) types.push_back(graph.value(id).dtype);
  return types;
}

std::string TypesText(const std::vector<DType>& types) {
  std::vector<std::string> names;
  for (DType type : types) names.push_back(ToString(type));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<bool> KnownBool(const ValueFacts& facts) {
  bool is_bool = facts.constant && facts.constant->dtype.is_bool();
  if (!is_bool || facts.constant->bytes.size() != 1) return std::nullopt;
  return facts.constant->bytes[0] != 0;
}

// Adds a graph input that has no name in the model.
ValueId AddInput(OnnxGraphImporter& importer, const std::string& hint, DType dtype) {
  ValueId id = importer.graph().AddValue({.name = importer.FreshName(hint), .dtype = dtype});
  importer.graph().inputs.push_back(id);
  return id;
}

ValueId AddTrue(OnnxGraphImporter& importer) {
  return importer.graph().AddValue(
      {.name = importer.FreshName("true"), .dtype = kBool, .constant = ScalarTensor(kBool, 1)});
}

// Reserves the model's names. Must run before any fresh name is made.
void ReserveNames(OnnxGraphImporter& body, const onnxpb::Graph& graph) {
  for (const onnxpb::ValueInfo& input : graph.input()) body.Reserve(input.name());
  for (const std::string& name : InitializerNames(graph)) body.Reserve(name);
  for (const onnxpb::Node& node : graph.node()) {
    for (const std::string& output : node.output()) body.Reserve(output);
  }
}

// Refuses a result of a body that is no tensor. `condition` chooses a branch; nullptr for a loop.
Status RefuseResult(const std::string& name, const OnnxValue& result, const ValueFacts* condition) {
  std::string what =
      fmt::format("result '{}' is {}", name, result.sequence ? "a sequence" : "an empty optional");
  if (condition != nullptr) {
    return RefuseComputed(what + ", and the condition", *condition, "a constant condition");
  }
  return Unsupported("{}, which an iteration may change; expected a tensor", what);
}

// Reads the contents of a body, whose inputs are values already, and sets its outputs. `condition`
// is as above.
Status FillBody(OnnxGraphImporter& body, OnnxBody& proto, const ValueFacts* condition) {
  body.graph().name = proto.graph.name();
  OnnxLiveness live = FindLive(proto.graph, proto.of_nodes);
  TCC_RETURN_IF_ERROR(body.AddContents(proto.graph, proto.of_nodes, live));
  for (const onnxpb::ValueInfo& output : proto.graph.output()) {
    TCC_ASSIGN_OR_RETURN(OnnxValue result, body.Find(output.name()));
    if (result.tensor == kNoValue) return RefuseResult(output.name(), result, condition);
    body.graph().outputs.push_back(result.tensor);
  }
  return OkStatus();
}

// The import of one node.
class ControlFlowImporter {
 public:
  ControlFlowImporter(OnnxGraphImporter& importer, onnxpb::Node& proto, const OnnxOp& op,
                      OnnxBodies& bodies)
      : importer_(importer), proto_(proto), op_(op), bodies_(bodies) {}

  Status Import() {
    TCC_ASSIGN_OR_RETURN(attributes_,
                         ReadAttributes(proto_, op_, importer_.opset(), importer_.session().files,
                                        importer_.session().limits));
    for (const std::string& input : proto_.input()) {
      OnnxValue value;
      if (!input.empty()) {
        TCC_ASSIGN_OR_RETURN(value, importer_.Find(input));
      }
      if (value.sequence) {
        return Unsupported(
            "input '{}' is a sequence, whose length an iteration may change; expected a "
            "tensor",
            input);
      }
      inputs_.push_back(value.tensor);
    }
    if (op_.op == OpKind::kIf) return ImportIf();
    if (op_.name == "Loop") return ImportLoop();
    return importer_.opset() == 8 ? ImportBatchedScan() : ImportScan();
  }

 private:
  StatusOr<OnnxBody*> Body(std::string_view attribute) {
    for (OnnxBody& body : bodies_) {
      if (body.attribute == attribute) return &body;
    }
    return InvalidInput("attribute '{}' is missing", attribute);
  }

  // Returns the operands from `first` on, all of which must be present.
  StatusOr<std::vector<ValueId>> InputsFrom(size_t first, size_t count) const {
    std::vector<ValueId> ids(inputs_.begin() + static_cast<int64_t>(first),
                             inputs_.begin() + static_cast<int64_t>(first + count));
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == kNoValue) return InvalidInput("input {} is missing", first + i);
    }
    return ids;
  }

  Node NewNode(OpKind op) { return {.name = importer_.FreshNodeName(NodeName(proto_)), .op = op}; }

  Status DefineResults(Node node, const std::vector<DType>& types) {
    if (static_cast<size_t>(proto_.output_size()) > types.size()) {
      return InvalidInput("has {} outputs; its body gives {}", proto_.output_size(), types.size());
    }
    for (size_t i = 0; i < types.size(); ++i) {
      bool wanted =
          static_cast<int>(i) < proto_.output_size() && !proto_.output(static_cast<int>(i)).empty();
      ValueId id = kNoValue;
      if (wanted) id = importer_.Define(proto_.output(static_cast<int>(i)), types[i]);
      node.outputs.push_back(id);
    }
    importer_.graph().nodes.push_back(std::move(node));
    return OkStatus();
  }

  Status ImportIf() {
    if (inputs_.size() != 1 || inputs_[0] == kNoValue) {
      return InvalidInput("has {} inputs; expected a condition", inputs_.size());
    }
    ValueFacts facts = importer_.FactsOf(inputs_[0]);
    if (std::optional<bool> condition = KnownBool(facts)) {
      TCC_ASSIGN_OR_RETURN(OnnxBody * taken, Branch(*condition ? "then_branch" : "else_branch"));
      return importer_.AddBranch(proto_, *taken);
    }
    Node node = NewNode(OpKind::kIf);
    node.inputs = inputs_;
    std::vector<std::vector<OnnxGraphImporter::Capture>> captures;
    for (const char* attribute : {"then_branch", "else_branch"}) {
      TCC_ASSIGN_OR_RETURN(OnnxBody * proto, Branch(attribute));
      OnnxGraphImporter body(importer_.session(), &importer_, importer_.opset());
      ReserveNames(body, proto->graph);
      TCC_RETURN_IF_ERROR(Annotate(FillBody(body, *proto, &facts), attribute));
      captures.push_back(body.captures());
      node.bodies.push_back(std::move(body.graph()));
    }
    AddCommonCaptures(node, captures);
    std::vector<DType> types = TypesOf(node.bodies[0], node.bodies[0].outputs);
    std::vector<DType> others = TypesOf(node.bodies[1], node.bodies[1].outputs);
    if (others != types) return UnequalBranches(types, others, facts);
    return DefineResults(std::move(node), types);
  }

  StatusOr<OnnxBody*> Branch(const char* attribute) {
    TCC_ASSIGN_OR_RETURN(OnnxBody * branch, Body(attribute));
    if (branch->graph.input_size() > 0) return InvalidInput("{} has inputs", attribute);
    return branch;
  }

  // Valid, but only a constant condition tells the types of what comes behind.
  static Status UnequalBranches(const std::vector<DType>& then_types,
                                const std::vector<DType>& else_types, const ValueFacts& facts) {
    return RefuseComputed(
        fmt::format("then_branch gives ({}), else_branch ({}), and the condition",
                    TypesText(then_types), TypesText(else_types)),
        facts, "a constant condition, or branches with equal numbers and types of results");
  }

  // Gives both branches the captures of either.
  void AddCommonCaptures(Node& node,
                         const std::vector<std::vector<OnnxGraphImporter::Capture>>& captures) {
    for (const auto& of_branch : captures) {
      for (const OnnxGraphImporter::Capture& capture : of_branch) {
        if (std::find(node.inputs.begin() + 1, node.inputs.end(), capture.outside) ==
            node.inputs.end()) {
          node.inputs.push_back(capture.outside);
        }
      }
    }
    for (size_t b = 0; b < node.bodies.size(); ++b) {
      Graph& body = node.bodies[b];
      for (size_t i = 1; i < node.inputs.size(); ++i) {
        auto own = std::ranges::find_if(
            captures[b], [&](const auto& capture) { return capture.outside == node.inputs[i]; });
        if (own != captures[b].end()) {
          body.inputs.push_back(own->inside);
          continue;
        }
        Value unused = importer_.graph().value(node.inputs[i]);
        unused.name = fmt::format("unused.{}", i);
        unused.shape.clear();
        body.inputs.push_back(body.AddValue(std::move(unused)));
      }
    }
  }

  Status ImportLoop() {
    TCC_ASSIGN_OR_RETURN(OnnxBody * proto, Body("body"));
    inputs_.resize(std::max<size_t>(inputs_.size(), 2), kNoValue);
    size_t carried = inputs_.size() - 2;
    TCC_ASSIGN_OR_RETURN(std::vector<ValueId> initial, InputsFrom(2, carried));
    const onnxpb::Graph& graph = proto->graph;
    if (static_cast<size_t>(graph.input_size()) != 2 + carried ||
        static_cast<size_t>(graph.output_size()) < 1 + carried) {
      return InvalidInput("the body has {} inputs and {} outputs; {} values are carried",
                          graph.input_size(), graph.output_size(), carried);
    }
    OnnxGraphImporter body(importer_.session(), &importer_, importer_.opset());
    Node node = NewNode(OpKind::kLoop);
    BeginBody(body, graph, kInt64);
    TCC_RETURN_IF_ERROR(AddFormals(body, graph, 2, initial));
    TCC_RETURN_IF_ERROR(FillBody(body, *proto, nullptr));
    node.inputs = inputs_;
    size_t scans = static_cast<size_t>(graph.output_size()) - 1 - carried;
    SetParts(node, carried, {}, std::vector<int64_t>(scans, 0));
    std::vector<DType> types = TypesOf(body.graph(), body.graph().outputs);
    AddCaptures(node, body);
    return DefineResults(std::move(node), {types.begin() + 1, types.end()});
  }

  // Adds the iteration and the condition, which is true whenever a body runs.
  static void BeginBody(OnnxGraphImporter& body, const onnxpb::Graph& graph, DType iteration) {
    ReserveNames(body, graph);
    body.graph().inputs = {body.Define(graph.input(0).name(), iteration)};
    AddInput(body, "condition", kBool);
    body.Alias(graph.input(1).name(), {.tensor = AddTrue(body)});
  }

  // Adds the body's inputs from `first` on, with the dtypes of the operands outside.
  Status AddFormals(OnnxGraphImporter& body, const onnxpb::Graph& graph, int first,
                    const std::vector<ValueId>& operands) {
    for (size_t i = 0; i < operands.size(); ++i) {
      const std::string& name = graph.input(first + static_cast<int>(i)).name();
      if (name.empty()) return InvalidInput("the body has an input without a name");
      DType dtype = importer_.graph().value(operands[i]).dtype;
      body.graph().inputs.push_back(body.Define(name, dtype));
    }
    return OkStatus();
  }

  static void SetParts(Node& node, size_t carried, const std::vector<int64_t>& input_axes,
                       const std::vector<int64_t>& output_axes) {
    node.attributes["carried"] = static_cast<int64_t>(carried);
    if (!input_axes.empty()) node.attributes["scan_input_axes"] = input_axes;
    if (!output_axes.empty()) node.attributes["scan_output_axes"] = output_axes;
  }

  // Appends the captures to the operands, and moves the body's graph into the node.
  static void AddCaptures(Node& node, OnnxGraphImporter& body) {
    for (const OnnxGraphImporter::Capture& capture : body.captures()) {
      node.inputs.push_back(capture.outside);
      body.graph().inputs.push_back(capture.inside);
    }
    node.bodies.push_back(std::move(body.graph()));
  }

  // Returns an attribute with a number per scan; all 0 if it is absent.
  StatusOr<std::vector<int64_t>> ForEachScan(const std::string& key, size_t scans) const {
    auto found = attributes_.find(key);
    if (found == attributes_.end()) return std::vector<int64_t>(scans, 0);
    const auto& values = std::get<std::vector<int64_t>>(found->second);
    if (values.size() == scans) return values;
    return InvalidInput("attribute '{}' has {} entries; expected {}", key, values.size(), scans);
  }

  StatusOr<size_t> CountScanInputs(size_t first) const {
    int64_t count = std::get<int64_t>(attributes_.at("num_scan_inputs"));
    if (count >= 1 && first + static_cast<size_t>(count) <= inputs_.size()) {
      return static_cast<size_t>(count);
    }
    return InvalidInput("num_scan_inputs is {}; there are {} inputs", count,
                        inputs_.size() - std::min(first, inputs_.size()));
  }

  struct ScanForm {
    std::vector<int64_t> input_axes, output_axes, input_directions, output_directions;
  };

  // Imports a Scan of opset 9 or later.
  Status ImportScan() {
    TCC_ASSIGN_OR_RETURN(OnnxBody * proto, Body("body"));
    TCC_ASSIGN_OR_RETURN(size_t scans, CountScanInputs(0));
    size_t carried = inputs_.size() - scans;
    TCC_ASSIGN_OR_RETURN(inputs_, InputsFrom(0, inputs_.size()));
    TCC_ASSIGN_OR_RETURN(size_t results, CountScanOutputs(proto->graph, carried));
    ScanForm form;
    TCC_ASSIGN_OR_RETURN(form.input_axes, ForEachScan("scan_input_axes", scans));
    TCC_ASSIGN_OR_RETURN(form.output_axes, ForEachScan("scan_output_axes", results));
    TCC_ASSIGN_OR_RETURN(form.input_directions, ForEachScan("scan_input_directions", scans));
    TCC_ASSIGN_OR_RETURN(form.output_directions, ForEachScan("scan_output_directions", results));
    TCC_ASSIGN_OR_RETURN(Node node, ScanNode(importer_, *proto, inputs_, carried, form));
    std::vector<DType> types = TypesOf(node.bodies[0], node.bodies[0].outputs);
    return DefineResults(std::move(node), {types.begin() + 1, types.end()});
  }

  StatusOr<size_t> CountScanOutputs(const onnxpb::Graph& body, size_t carried) const {
    if (static_cast<size_t>(body.input_size()) == inputs_.size() &&
        static_cast<size_t>(body.output_size()) >= carried) {
      return static_cast<size_t>(body.output_size()) - carried;
    }
    return InvalidInput("the body has {} inputs and {} outputs; expected {} inputs, {} states",
                        body.input_size(), body.output_size(), inputs_.size(), carried);
  }

  // Returns a Scan over values of `around` as a Loop without a trip count: the scanned operands
  // determine it.
  StatusOr<Node> ScanNode(OnnxGraphImporter& around, OnnxBody& proto,
                          const std::vector<ValueId>& operands, size_t carried,
                          const ScanForm& form) {
    Node node = NewNode(OpKind::kLoop);
    OnnxGraphImporter body(around.session(), &around, around.opset());
    ReserveNames(body, proto.graph);
    AddInput(body, "iteration", kInt64);
    AddInput(body, "condition", kBool);
    for (size_t i = 0; i < operands.size(); ++i) {
      const std::string& name = proto.graph.input(static_cast<int>(i)).name();
      if (name.empty()) return InvalidInput("the body has an input without a name");
      body.graph().inputs.push_back(body.Define(name, around.graph().value(operands[i]).dtype));
    }
    body.graph().outputs = {AddTrue(body)};
    TCC_RETURN_IF_ERROR(FillBody(body, proto, nullptr));
    node.inputs = {kNoValue, kNoValue};
    node.inputs.insert(node.inputs.end(), operands.begin(), operands.end());
    SetParts(node, carried, form.input_axes, form.output_axes);
    if (!form.input_directions.empty()) {
      node.attributes["scan_input_directions"] = form.input_directions;
    }
    if (!form.output_directions.empty()) {
      node.attributes["scan_output_directions"] = form.output_directions;
    }
    AddCaptures(node, body);
    return node;
  }

  // Imports a Scan of opset 8 as a Loop over the batch around the Scan of later opsets: every
  // operand has a batch dimension first and is scanned along its second.
  Status ImportBatchedScan() {
    TCC_ASSIGN_OR_RETURN(OnnxBody * proto, Body("body"));
    if (inputs_.empty()) return InvalidInput("has no input");
    if (inputs_[0] != kNoValue) return Unsupported("input 'sequence_lens' is not supported");
    inputs_.erase(inputs_.begin());
    TCC_ASSIGN_OR_RETURN(size_t scans, CountScanInputs(0));
    size_t carried = inputs_.size() - scans;
    TCC_ASSIGN_OR_RETURN(inputs_, InputsFrom(0, inputs_.size()));
    TCC_ASSIGN_OR_RETURN(size_t results, CountScanOutputs(proto->graph, carried));
    ScanForm form;
    form.input_axes.resize(scans, 0);
    form.output_axes.resize(results, 0);
    TCC_ASSIGN_OR_RETURN(form.input_directions, ForEachScan("directions", scans));

    OnnxGraphImporter one(importer_.session(), &importer_, importer_.opset());
    AddInput(one, "iteration", kInt64);
    AddInput(one, "condition", kBool);
    std::vector<ValueId> operands;
    for (ValueId input : inputs_) {
      const Value& value = importer_.graph().value(input);
      operands.push_back(AddInput(one, value.name + "/one", value.dtype));
    }
    TCC_ASSIGN_OR_RETURN(Node scan, ScanNode(one, *proto, operands, carried, form));
    std::vector<DType> types = TypesOf(scan.bodies[0], scan.bodies[0].outputs);
    types.erase(types.begin());
    one.graph().outputs = {AddTrue(one)};
    std::vector<ValueId> of_one = one.Emit(std::move(scan), types);
    one.graph().outputs.insert(one.graph().outputs.end(), of_one.begin(), of_one.end());
    Node node = NewNode(OpKind::kLoop);
    node.inputs = {kNoValue, kNoValue};
    node.inputs.insert(node.inputs.end(), inputs_.begin(), inputs_.end());
    SetParts(node, 0, std::vector<int64_t>(inputs_.size(), 0),
             std::vector<int64_t>(types.size(), 0));
    AddCaptures(node, one);
    return DefineResults(std::move(node), types);
  }

  OnnxGraphImporter& importer_;
  onnxpb::Node& proto_;
  const OnnxOp& op_;
  OnnxBodies& bodies_;
  std::map<std::string, Attribute> attributes_;
  std::vector<ValueId> inputs_;
};

}  // namespace

Status ImportControlFlow(OnnxGraphImporter& importer, onnxpb::Node& proto, const OnnxOp& op,
                         OnnxBodies& bodies) {
  std::string where = fmt::format("node '{}' ({})", NodeName(proto), op.name);
  return Annotate(ControlFlowImporter(importer, proto, op, bodies).Import(), where);
}

}  // namespace tcc
