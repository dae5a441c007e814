#include "models/import_onnx.h"

#include <climits>
#include <unordered_map>
#include <unordered_set>

#include "models/onnx_attributes.h"
#include "models/onnx_normalize.h"
#include "models/onnx_order.h"
#include "models/onnx_shapes.h"
#include "models/onnx_types.h"
#include "models/onnx_wire.h"

namespace tcc {
namespace {

// Of one node: each becomes a stage or an operand of a kernel.
constexpr int kMostInputs = 4096;

class Importer {
 public:
  Importer(onnxpb::Model& model, const std::string& folder, const ImportOptions& options)
      : proto_(*model.mutable_graph()),
        options_(options),
        files_(options.external_data_folder.empty() ? folder : options.external_data_folder,
               options.external_data_links),
        limits_{.max_bytes = options.max_tensor_bytes},
        shapes_(options) {}

  StatusOr<Graph> Import(int64_t opset) {
    opset_ = static_cast<int>(opset);
    graph_.name = proto_.name();
    TCC_RETURN_IF_ERROR(CollectDefinitions());
    TCC_ASSIGN_OR_RETURN(std::vector<int> order, TopologicalOrder(proto_, defined_));
    CollectNames();
    TCC_RETURN_IF_ERROR(AddInputs());
    TCC_RETURN_IF_ERROR(AddInitializers());
    for (int index : order) TCC_RETURN_IF_ERROR(AddNode(*proto_.mutable_node(index)));
    TCC_RETURN_IF_ERROR(AddOutputs());
    TCC_RETURN_IF_ERROR(VerifyGraph(graph_));
    return std::move(graph_);
  }

 private:
  // Names of inputs and initializers; before IR version 4 an initializer is an input too.
  Status CollectDefinitions() {
    for (const onnxpb::Tensor& tensor : proto_.initializer()) {
      if (tensor.name().empty()) return InvalidInput("an initializer has no name");
      if (!defined_.insert(tensor.name()).second) {
        return InvalidInput("initializer '{}' is defined twice", tensor.name());
      }
    }
    std::unordered_set<std::string> names;
    for (const onnxpb::ValueInfo& input : proto_.input()) {
      if (input.name().empty()) return InvalidInput("a graph input has no name");
      if (!names.insert(input.name()).second) {
        return InvalidInput("input '{}' is defined twice", input.name());
      }
      if (defined_.insert(input.name()).second || options_.binds.contains(input.name())) {
        inputs_.push_back(&input);
      }
    }
    return OkStatus();
  }

  // Everything that a new name must differ from.
  void CollectNames() {
    taken_ = defined_;
    for (const onnxpb::Node& node : proto_.node()) {
      taken_.insert(node.name());
      taken_.insert(node.output().begin(), node.output().end());
    }
    for (const onnxpb::ValueInfo& output : proto_.output()) output_names_.insert(output.name());
  }

  std::string FreshName(const std::string& wish) {
    std::string name = wish;
    int& count = wishes_[wish];
    while (!taken_.insert(name).second) name = fmt::format("{}_{}", wish, ++count + 1);
    return name;
  }

  // Node names need not be unique in a model; here they are, for messages.
  std::string UniqueNodeName(const onnxpb::Node& node) {
    std::string name = NodeName(node);
    return node_names_.insert(name).second ? name : FreshName(name);
  }

  ValueId Define(Value value) {
    std::string name = value.name;
    ValueId id = graph_.AddValue(std::move(value));
    ids_[name] = id;
    return id;
  }

  ValueId DefineConstant(const std::string& name, const Tensor& tensor) {
    return Define(
        {.name = name, .dtype = tensor.dtype, .shape = ToExprs(tensor.shape), .constant = tensor});
  }

  Status AddInputs() {
    for (const onnxpb::ValueInfo* input : inputs_) {
      if (!input->type().has_tensor_type()) {
        return Unsupported("input '{}' is no tensor", input->name());
      }
    }
    TCC_RETURN_IF_ERROR(shapes_.ReadInputs(inputs_));
    for (const onnxpb::ValueInfo* input : inputs_) {
      int32_t type = input->type().tensor_type().elem_type();
      std::optional<DType> dtype = FromOnnxType(type);
      if (!dtype) return Unsupported("input '{}': element type {}", input->name(), type);
      auto bound = options_.binds.find(input->name());
      if (bound == options_.binds.end()) {
        graph_.inputs.push_back(Define({.name = input->name(),
                                        .dtype = *dtype,
                                        .shape = shapes_.ShapeOf(input->name()),
                                        .constant = {}}));
        continue;
      }
      if (bound->second.dtype != *dtype) {
        return UsageError("input '{}' is {}; {} was given", input->name(), ToString(*dtype),
                          ToString(bound->second));
      }
      DefineConstant(input->name(), bound->second);
    }
    graph_.shape_vars = shapes_.vars();
    return OkStatus();
  }

  Status AddInitializers() {
    for (onnxpb::Tensor& proto : *proto_.mutable_initializer()) {
      if (ids_.contains(proto.name())) continue;  // bound
      std::string what = fmt::format("initializer '{}'", proto.name());
      TCC_ASSIGN_OR_RETURN(Tensor tensor, ReadOnnxTensor(proto, what, files_, limits_));
      DefineConstant(proto.name(), tensor);
    }
    return OkStatus();
  }

  Status AddNode(onnxpb::Node& proto) {
    const OnnxOp& op = *FindOnnxOp(OperatorName(proto));
    std::string where = fmt::format("node '{}' ({})", NodeName(proto), op.name);
    if (proto.output_size() == 0 || proto.output(0).empty()) {
      return InvalidInput("{} has no output", where);
    }
    TCC_ASSIGN_OR_RETURN(std::vector<ValueId> inputs, Inputs(proto, op, where));
    TCC_ASSIGN_OR_RETURN(auto attributes,
                         ReadAttributes(proto, op, OpsetFor(proto, opset_), files_, limits_));
    if (op.op == OpKind::kConstant) return AddConstant(proto, attributes, where);
    if (op.op == OpKind::kIdentity && graph_.ConstantOf(inputs[0])) {
      AddAlias(proto.output(0), inputs[0]);
      return OkStatus();
    }
    auto outputs = static_cast<size_t>(proto.output_size());
    // How many outputs there are says what a Split does, wanted or not.
    bool counts = op.max_outputs == kManyOutputs;
    while (!counts && proto.output(static_cast<int>(outputs) - 1).empty()) --outputs;
    TCC_ASSIGN_OR_RETURN(std::vector<DType> types, CheckTypes(graph_, op, inputs, outputs, where));
    Node node{.name = UniqueNodeName(proto),
              .op = op.op,
              .inputs = std::move(inputs),
              .outputs = {},
              .attributes = std::move(attributes)};
    for (size_t i = 0; i < outputs; ++i) {
      const std::string& name = proto.output(static_cast<int>(i));
      node.outputs.push_back(
          name.empty() ? kNoValue
                       : Define({.name = name, .dtype = types[i], .shape = {}, .constant = {}}));
    }
    if (op.normalize != nullptr) {
      OnnxNodeContext context(graph_, node, opset_,
                              [this](const std::string& wish) { return FreshName(wish); });
      TCC_RETURN_IF_ERROR(op.normalize(context));
    }
    while (!node.inputs.empty() && node.inputs.back() == kNoValue) node.inputs.pop_back();
    graph_.nodes.push_back(std::move(node));
    return OkStatus();
  }

  StatusOr<std::vector<ValueId>> Inputs(const onnxpb::Node& proto, const OnnxOp& op,
                                        const std::string& where) const {
    int count = proto.input_size();
    if (count < op.min_inputs || count > op.max_inputs) {
      std::string most = op.max_inputs == kManyInputs ? "many" : fmt::format("{}", op.max_inputs);
      return InvalidInput("{} has {} inputs; expected {} to {}", where, count, op.min_inputs, most);
    }
    if (count > kMostInputs) {
      return Unsupported("{} has {} inputs; at most {} are supported", where, count, kMostInputs);
    }
    bool all_required = op.max_inputs == kManyInputs;
    std::vector<ValueId> inputs;
    for (int i = 0; i < count; ++i) {
      if (!proto.input(i).empty()) {
        inputs.push_back(ids_.at(proto.input(i)));
        continue;
      }
      if (i < op.min_inputs || all_required)
        return InvalidInput("{}: input {} is missing", where, i);
      inputs.push_back(kNoValue);
    }
    return inputs;
  }

  Status AddConstant(const onnxpb::Node& proto, std::map<std::string, Attribute>& attributes,
                     const std::string& where) {
    if (attributes.size() != 1) {
      return InvalidInput("{} has {} values; expected 1", where, attributes.size());
    }
    DefineConstant(proto.output(0), TensorOf(attributes.begin()->second));
    return OkStatus();
  }

  static Tensor TensorOf(const Attribute& value) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) return *tensor;
    const auto* ints = std::get_if<std::vector<int64_t>>(&value);
    const auto* floats = std::get_if<std::vector<double>>(&value);
    std::vector<int64_t> shape;
    if (ints) shape = {static_cast<int64_t>(ints->size())};
    if (floats) shape = {static_cast<int64_t>(floats->size())};
    bool is_integer = ints || std::holds_alternative<int64_t>(value);
    Tensor tensor = MakeZeroTensor(is_integer ? kInt64 : kFloat32, shape);
    for (size_t i = 0; ints && i < ints->size(); ++i) {
      SetElementInt(tensor, static_cast<int64_t>(i), (*ints)[i]);
    }
    for (size_t i = 0; floats && i < floats->size(); ++i) {
      SetElement(tensor, static_cast<int64_t>(i), (*floats)[i]);
    }
    if (const auto* one = std::get_if<int64_t>(&value)) SetElementInt(tensor, 0, *one);
    if (const auto* one = std::get_if<double>(&value)) SetElement(tensor, 0, *one);
    return tensor;
  }

  // Another name for a constant; a graph output keeps its own.
  void AddAlias(const std::string& name, ValueId constant) {
    if (output_names_.contains(name)) {
      DefineConstant(name, *graph_.ConstantOf(constant));
    } else {
      ids_[name] = constant;
    }
  }

  Status AddOutputs() {
    for (const onnxpb::ValueInfo& output : proto_.output()) {
      auto found = ids_.find(output.name());
      if (found == ids_.end()) return InvalidInput("output '{}' is not defined", output.name());
      Value& value = graph_.values[found->second];
      int32_t type = output.type().tensor_type().elem_type();
      if (type != onnxpb::TENSOR_UNDEFINED && FromOnnxType(type) != value.dtype) {
        return InvalidInput("output '{}' is {}; the model says element type {}", output.name(),
                            ToString(value.dtype), type);
      }
      bool computed = !value.constant && !defined_.contains(value.name);
      if (std::optional<std::vector<Expr>> shape = shapes_.OutputShape(output); computed && shape) {
        value.shape = *shape;
      }
      graph_.outputs.push_back(found->second);
    }
    if (graph_.outputs.empty()) return InvalidInput("the graph has no output");
    return OkStatus();
  }

  onnxpb::Graph& proto_;
  const ImportOptions& options_;
  ExternalData files_;
  TensorLimits limits_;
  ModelShapes shapes_;
  int opset_ = 0;
  Graph graph_;
  std::vector<const onnxpb::ValueInfo*> inputs_;
  std::unordered_set<std::string> defined_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> wishes_;
  std::unordered_set<std::string> node_names_;
  std::unordered_set<std::string> output_names_;
  std::unordered_map<std::string, ValueId> ids_;
};

StatusOr<onnxpb::Model> ParseModel(std::span<const uint8_t> bytes) {
  if (bytes.size() > INT_MAX) {
    return InvalidInput(
        "the model has {} bytes; the format's limit is 2 GiB less one, larger "
        "weights are external data",
        bytes.size());
  }
  TCC_RETURN_IF_ERROR(CheckModelMessage(bytes));
  onnxpb::Model model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidInput("not an ONNX model: the message is malformed");
  }
  if (!model.has_graph()) return InvalidInput("not an ONNX model: there is no graph");
  return model;
}

StatusOr<Graph> ImportFrom(std::span<const uint8_t> bytes, const std::string& folder,
                           const ImportOptions& options) {
  TCC_ASSIGN_OR_RETURN(onnxpb::Model model, ParseModel(bytes));
  TCC_ASSIGN_OR_RETURN(OnnxSurvey survey, SurveyModel(model));
  TCC_RETURN_IF_ERROR(RefuseUnsupported(survey));
  return Importer(model, folder, options).Import(survey.opset);
}

std::string FolderOf(const std::string& path) {
  size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

StatusOr<Graph> ImportOnnx(const std::string& path, const ImportOptions& options) {
  TCC_ASSIGN_OR_RETURN(SharedBytes file, MapFile(path));
  StatusOr<Graph> graph = ImportFrom(file.bytes, FolderOf(path), options);
  return graph.ok() ? std::move(graph) : StatusOr<Graph>(Annotate(graph.status(), path));
}

StatusOr<Graph> ImportOnnxBytes(std::span<const uint8_t> bytes, const ImportOptions& options) {
  return ImportFrom(bytes, "", options);
}

StatusOr<OnnxSurvey> SurveyOnnx(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(SharedBytes file, MapFile(path));
  StatusOr<onnxpb::Model> model = ParseModel(file.bytes);
  if (!model.ok()) return Annotate(model.status(), path);
  return SurveyModel(*model);
}

}  // namespace tcc
