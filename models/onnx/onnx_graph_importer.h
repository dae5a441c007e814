#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "models/onnx/onnx_bodies.h"
#include "models/onnx/onnx_liveness.h"
#include "models/onnx/onnx_ops.h"
#include "models/onnx/onnx_tensor.h"

namespace tcc {

// Nodes of a model with its bodies, functions put in at each of their calls: a few hundred bytes
// can stand for any number.
inline constexpr int64_t kMaxImportedNodes = 200'000;
// Functions that call functions.
inline constexpr int kMaxCallDepth = 64;

// What the graphs of one model share while they are read.
struct OnnxImportSession {
  ExternalData files;
  TensorLimits limits;
  std::map<std::string, const onnxpb::Function*> functions = {};  // by FunctionKey
  std::unordered_set<std::string> node_names = {};
  std::unordered_map<std::string, int> node_wishes = {};  // how often a name was taken
  std::vector<const onnxpb::Function*> calls = {};  // that are being read, one inside the other
  int64_t nodes = 0;
};

// What a call and a function agree on: domain, name and overload.
std::string FunctionKey(const std::string& domain, const std::string& name,
                        const std::string& overload);

// Makes one graph from a model's main graph or a body, calls of the model's functions inlined.
class OnnxGraphImporter {
 public:
  // `around`: of the graph that the body lies in; nullptr for the main graph.
  OnnxGraphImporter(OnnxImportSession& session, OnnxGraphImporter* around, int opset);

  OnnxImportSession& session() { return session_; }
  Graph& graph() { return graph_; }
  int opset() const { return scope_->opset; }

  int depth() const { return depth_; }  // bodies around

  // A name that later fresh names avoid.
  void Reserve(const std::string& name) { taken_.insert(name); }
  // A name that a value must have, even where it is another name for a constant.
  void KeepName(const std::string& name) { kept_names_.insert(name); }
  // A value name that nothing else in the graph has, from the one it would like.
  std::string FreshName(const std::string& wish);
  // A node name that is unique in the whole model.
  std::string FreshNodeName(const std::string& wish);

  // A new value under the name that the model has for it.
  ValueId Define(const std::string& name, DType dtype);
  ValueId DefineConstant(const std::string& name, Tensor tensor);
  // Another name for a value.
  void Alias(const std::string& name, ValueId id) { scope_->ids[name] = id; }
  bool Knows(const std::string& name) const;
  // The result at `index` of a node, "" where nobody wants it.
  ValueId DefineResult(const std::string& name, size_t index, DType dtype);
  // The value: of this graph, or of one around, which makes it a captured value of this one
  // (constants are copied). kNoValue for a function's input that the call leaves out.
  StatusOr<ValueId> Find(const std::string& name);

  struct Capture {
    ValueId outside;
    ValueId inside;
  };
  // In the order of their first use.
  const std::vector<Capture>& captures() const { return captures_; }

  // What is live of a graph: initializers, then nodes in topological order.
  Status AddContents(onnxpb::Graph& graph, std::vector<OnnxBodies>& bodies,
                     const OnnxLiveness& live);
  // Appends a node of ours; results have these types and fresh names.
  std::vector<ValueId> Emit(Node node, const std::vector<DType>& types);

 private:
  // Names of the graph itself, or of one call of a function.
  struct Scope {
    Scope* caller = nullptr;
    int opset = 0;
    std::string prefix = {};  // of value and node names
    std::unordered_map<std::string, ValueId> ids = {};
    std::unordered_map<std::string, std::string> result_names = {};  // of a function's outputs
    std::map<std::string, const onnxpb::Attribute*> arguments = {};  // of the function's call
  };

  std::string ValueName(const std::string& name);
  Status AddInitializers(google::protobuf::RepeatedPtrField<onnxpb::Tensor>& tensors,
                         const OnnxLiveness& live);
  Status AddNodes(google::protobuf::RepeatedPtrField<onnxpb::Node>& nodes,
                  std::vector<OnnxBodies>& bodies, const OnnxLiveness& live);
  Status AddNode(onnxpb::Node& proto, OnnxBodies& bodies);
  Status AddOperator(onnxpb::Node& proto, const OnnxOp& op);
  Status AddConstant(const onnxpb::Node& proto, std::map<std::string, Attribute>& attributes,
                     const std::string& where);
  Status AddCall(onnxpb::Node& proto, const onnxpb::Function& function);
  Status BindCall(onnxpb::Node& proto, const onnxpb::Function& function, Scope& scope);
  Status TakeResults(const onnxpb::Node& proto, const onnxpb::Function& function, Scope& inner);
  void ResolveReferences(onnxpb::Node& proto) const;
  StatusOr<std::vector<ValueId>> Inputs(const onnxpb::Node& proto, const OnnxOp& op,
                                        const std::string& where);

  OnnxImportSession& session_;
  OnnxGraphImporter* around_;
  int depth_;
  Scope own_;
  Scope* scope_ = &own_;  // at hand
  Graph graph_;
  std::vector<Capture> captures_;
  std::unordered_set<std::string> left_out_;  // initializers that nothing needs
  std::unordered_set<std::string> taken_;
  std::unordered_set<std::string> kept_names_;
  std::unordered_map<std::string, int> wishes_;
};

}  // namespace tcc
