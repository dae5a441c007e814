#include "models/onnx/import_onnx.h"

#include <climits>
#include <unordered_set>

#include "models/onnx/onnx_bodies.h"
#include "models/onnx/onnx_graph_importer.h"
#include "models/onnx/onnx_ops.h"
#include "models/onnx/onnx_properties.h"
#include "models/onnx/onnx_shapes.h"
#include "models/onnx/onnx_tensor.h"
#include "models/onnx/onnx_wire.h"
#include "support/file_kind.h"
#include "support/wanted_option.h"

namespace tcc {
namespace {

// Says what an input is whose type is not a tensor's.
std::string_view WhatIsNoTensor(const onnxpb::Type& type) {
  if (type.has_sequence_type()) return "is a sequence, which is not supported";
  if (type.has_optional_type()) return "is an optional, which is not supported";
  if (type.has_map_type()) return "is a map, which is not supported";
  if (type.has_sparse_tensor_type()) return "is a sparse tensor, which is not supported";
  if (type.has_opaque_type()) return "is opaque, which is not supported";
  return "has no type in the model";
}

// The main graph: what is asked for, of what shapes, and which of the inputs are bound.
class Importer {
 public:
  Importer(onnxpb::Model& model, std::vector<OnnxBodies>& bodies, const std::string& folder,
           const ImportOptions& options, const OnnxSurvey& survey)
      : proto_(*model.mutable_graph()),
        bodies_(bodies),
        live_(FindLive(proto_, bodies)),
        options_(options),
        survey_(survey),
        session_{.files = ExternalData(
                     options.external_data_folder.empty() ? folder : options.external_data_folder,
                     options.external_data_links),
                 .limits = {.max_bytes = options.max_tensor_bytes},
                 .facts_of = options.facts_of,
                 .has_unsupported = !survey.unsupported.empty()},
        shapes_(options),
        importer_(session_, nullptr, static_cast<int>(survey.opset)) {
    for (const onnxpb::Function& function : model.functions()) {
      session_.functions.emplace(
          FunctionKey(function.domain(), function.name(), function.overload()), &function);
    }
  }

  StatusOr<Graph> Import() {
    graph().name = proto_.name();
    TCC_RETURN_IF_ERROR(CollectDefinitions());
    CollectNames();
    TCC_RETURN_IF_ERROR(AddInputs());
    Status added = importer_.AddContents(proto_, bodies_, live_);
    if (session_.met_unsupported) return RefuseUnsupported(survey_);
    TCC_RETURN_IF_ERROR(added);
    TCC_RETURN_IF_ERROR(AddOutputs());
    SetBodyDimensions(graph());
    TCC_RETURN_IF_ERROR(VerifyGraph(graph()));
    return std::move(graph());
  }

 private:
  Graph& graph() { return importer_.graph(); }

  // Names of inputs and initializers; before IR version 4 an initializer is an input too.
  Status CollectDefinitions() {
    for (const std::string& name : InitializerNames(proto_)) {
      if (name.empty()) return InvalidInput("an initializer has no name");
      if (!defined_.insert(name).second) {
        return InvalidInput("initializer '{}' is defined twice", name);
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
    for (const std::string& name : defined_) importer_.Reserve(name);
    for (const onnxpb::Node& node : proto_.node()) {
      importer_.Reserve(node.name());
      for (const std::string& output : node.output()) importer_.Reserve(output);
    }
    for (const onnxpb::ValueInfo& output : proto_.output()) importer_.KeepName(output.name());
  }

  Status AddInputs() {
    for (const onnxpb::ValueInfo* input : inputs_) {
      if (!input->type().has_tensor_type()) {
        return Unsupported("input '{}' {}; expected a tensor", input->name(),
                           WhatIsNoTensor(input->type()));
      }
    }
    TCC_RETURN_IF_ERROR(shapes_.ReadInputs(inputs_, live_.names));
    for (const onnxpb::ValueInfo* input : inputs_) {
      int32_t type = input->type().tensor_type().elem_type();
      std::optional<DType> dtype = FromOnnxType(type);
      if (!dtype) return UnsupportedType("input '" + input->name() + "'", type);
      auto bound = options_.binds.find(input->name());
      if (bound == options_.binds.end()) {
        ValueId id = importer_.Define(input->name(), *dtype);
        graph().values[id].shape = shapes_.ShapeOf(input->name());
        graph().inputs.push_back(id);
        continue;
      }
      if (bound->second.dtype != *dtype) {
        return UsageError("input '{}' is {}; {} was given", input->name(), ToString(*dtype),
                          ToString(bound->second));
      }
      TCC_ASSIGN_OR_RETURN(Tensor tensor, BoundTensor(input->name(), bound->second));
      importer_.DefineConstant(input->name(), std::move(tensor));
    }
    graph().shape_vars = shapes_.vars();
    return OkStatus();
  }

  // With the declared shape, if it has none of its own.
  StatusOr<Tensor> BoundTensor(const std::string& name, Tensor tensor) {
    if (!options_.binds_as_declared.contains(name)) return tensor;
    tensor.shape.clear();
    for (const Expr& dim : shapes_.ShapeOf(name)) {
      std::optional<int64_t> extent = AsConstant(dim);
      if (!extent) {
        Status status = UsageError(
            "bound input '{}' has free dimensions; expected them, or its shape, to be given", name);
        return WithOption(WithOption(status, Option::kDims), Option::kShapes, name);
      }
      tensor.shape.push_back(*extent);
    }
    TCC_ASSIGN_OR_RETURN(int64_t bytes, ByteCount(tensor.dtype, tensor.shape));
    if (tensor.bytes.size() == static_cast<size_t>(bytes)) return tensor;
    return InvalidInput("bound input '{}': {} takes {} bytes, got {}", name, ToString(tensor),
                        bytes, tensor.bytes.size());
  }

  Status AddOutputs() {
    for (const onnxpb::ValueInfo& output : proto_.output()) {
      StatusOr<OnnxValue> found = importer_.Find(output.name());
      if (!found.ok()) return InvalidInput("output '{}' is not defined", output.name());
      if (found->tensor == kNoValue) {
        return Unsupported(
            "output '{}' is {}; expected a tensor", output.name(),
            found->sequence ? "a sequence, which is not supported" : "an empty optional");
      }
      Value& value = graph().values[found->tensor];
      int32_t type = output.type().tensor_type().elem_type();
      if (type != onnxpb::TENSOR_UNDEFINED && FromOnnxType(type) != value.dtype) {
        return InvalidInput("output '{}' is {}; the model says element type {}", output.name(),
                            ToString(value.dtype), OnnxTypeName(type));
      }
      bool computed = !value.constant && !defined_.contains(value.name);
      if (std::optional<std::vector<Expr>> shape = shapes_.OutputShape(output); computed && shape) {
        value.shape = *shape;
      }
      graph().outputs.push_back(found->tensor);
    }
    if (graph().outputs.empty()) return InvalidInput("the graph has no output");
    return OkStatus();
  }

  // The dimensions left free are known in all bodies.
  static void SetBodyDimensions(Graph& around) {
    for (Node& node : around.nodes) {
      for (Graph& body : node.bodies) {
        body.shape_vars = around.shape_vars;
        SetBodyDimensions(body);
      }
    }
  }

  onnxpb::Graph& proto_;
  std::vector<OnnxBodies>& bodies_;
  OnnxLiveness live_;
  const ImportOptions& options_;
  const OnnxSurvey& survey_;
  OnnxImportSession session_;
  ModelShapes shapes_;
  OnnxGraphImporter importer_;
  std::vector<const onnxpb::ValueInfo*> inputs_;
  std::unordered_set<std::string> defined_;
};

// The bodies of its nodes stand apart.
struct ParsedModel {
  onnxpb::Model model;
  std::vector<OnnxBodies> bodies;
};

StatusOr<ParsedModel> ParseModel(std::span<const uint8_t> bytes) {
  if (std::string kind = KindOfFile(bytes); !kind.empty()) {
    return InvalidInput("not an ONNX model but {}", kind);
  }
  if (bytes.size() > INT_MAX) {
    return InvalidInput(
        "the model has {} bytes; the format's limit is 2 GiB less one, larger "
        "weights are external data",
        bytes.size());
  }
  TCC_RETURN_IF_ERROR(CheckModelMessage(bytes));
  ParsedModel parsed;
  onnxpb::Model& model = parsed.model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidInput("not an ONNX model: the message is malformed");
  }
  if (!model.has_graph()) return InvalidInput("not an ONNX model: there is no graph");
  TCC_ASSIGN_OR_RETURN(parsed.bodies, ParseBodies(*model.mutable_graph()->mutable_node(), 0));
  return parsed;
}

StatusOr<Graph> ImportFrom(std::span<const uint8_t> bytes, const std::string& folder,
                           const ImportOptions& options) {
  TCC_ASSIGN_OR_RETURN(ParsedModel parsed, ParseModel(bytes));
  TCC_ASSIGN_OR_RETURN(OnnxSurvey survey, SurveyModel(parsed.model, parsed.bodies));
  if (!MayBeRead(survey)) return RefuseUnsupported(survey);
  TCC_ASSIGN_OR_RETURN(Graph graph,
                       Importer(parsed.model, parsed.bodies, folder, options, survey).Import());
  graph.properties = PropertiesOf(parsed.model, options.warn);
  return graph;
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
  StatusOr<ParsedModel> parsed = ParseModel(file.bytes);
  if (!parsed.ok()) return Annotate(parsed.status(), path);
  return SurveyModel(parsed->model, parsed->bodies);
}

StatusOr<Tensor> ParseOnnxTensor(std::span<const uint8_t> bytes, const std::string& name) {
  onnxpb::Tensor proto;
  if (bytes.size() > INT_MAX ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidInput("'{}' is not an ONNX tensor", name);
  }
  ExternalData no_files("");
  constexpr TensorLimits kLimits = {.max_bytes = int64_t{1} << 32};
  return ReadOnnxTensor(proto, name, no_files, kLimits);
}

StatusOr<Tensor> ReadOnnxTensorFile(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(SharedBytes file, MapFile(path));
  return ParseOnnxTensor(file.bytes, path);
}

}  // namespace tcc
