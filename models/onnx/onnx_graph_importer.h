#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "models/onnx/onnx_bodies.h"
#include "models/onnx/onnx_ops.h"
#include "models/onnx/onnx_tensor.h"
#include "models/onnx/value_facts.h"

namespace tcc {

// The most nodes of a model, with its bodies and with functions inlined at each call: a few hundred
// bytes can stand for any number.
inline constexpr int64_t kMaxImportedNodes = 200'000;
// The deepest nesting of function calls.
inline constexpr int kMaxCallDepth = 64;

// The state that the graphs of one model share during the import.
struct OnnxImportSession {
  ExternalData files;
  TensorLimits limits;
  ValueFactsFunction facts_of = {};
  bool has_unsupported = false;  // whether a branch holds a node that cannot be read
  bool met_unsupported = false;  // whether the import has come to such a node
  std::map<std::string, const onnxpb::Function*> functions = {};  // by FunctionKey
  std::unordered_set<std::string> node_names = {};
  std::unordered_map<std::string, int> node_wishes = {};  // uses of a name so far
  std::vector<const onnxpb::Function*> calls = {};        // the open calls, outermost first
  int64_t nodes = 0;
  int64_t elements = 0;  // of all sequences
};

// A list of tensors of one type. Its length is known, and only its elements are in the graph.
struct OnnxSequence {
  DType dtype;
  std::vector<ValueId> elements;
};

// The value that a name of the model stands for: a tensor, a sequence, or nothing, which is an
// omitted operand or an empty optional. An optional with an element is that element.
struct OnnxValue {
  ValueId tensor = kNoValue;
  std::shared_ptr<const OnnxSequence> sequence = nullptr;

  bool is_nothing() const { return tensor == kNoValue && sequence == nullptr; }
};

// Returns the key that matches a call with its function: domain, name and overload.
std::string FunctionKey(const std::string& domain, const std::string& name,
                        const std::string& overload);

// Refuses a value that only a run knows: "WHAT is computed from 'x' at run time; expected
// EXPECTED". The failure asks for the inputs that it is computed from.
Status RefuseComputed(const std::string& what, const ValueFacts& facts, std::string_view expected);

// Makes one graph from a model's main graph or a body, calls of the model's functions inlined.
class OnnxGraphImporter {
 public:
  // `around` is the importer of the graph that encloses the body; nullptr for the main graph.
  OnnxGraphImporter(OnnxImportSession& session, OnnxGraphImporter* around, int opset);

  OnnxImportSession& session() { return session_; }
  Graph& graph() { return graph_; }
  int opset() const { return scope_->opset; }

  // Returns what the names of nodes and values begin with: the open calls of functions.
  const std::string& prefix() const { return scope_->prefix; }
  int depth() const { return depth_; }  // bodies around

  // Reserves a name, which later fresh names avoid.
  void Reserve(const std::string& name) { taken_.insert(name); }
  // Marks a name that a value must keep, even if it is an alias of a constant.
  void KeepName(const std::string& name) { kept_names_.insert(name); }
  // Returns a value name that is unique in the graph, made from `wish`.
  std::string FreshName(const std::string& wish);
  // Returns a node name that is unique in the whole model.
  std::string FreshNodeName(const std::string& wish);

  // Adds a value under the model's name for it.
  ValueId Define(const std::string& name, DType dtype);
  ValueId DefineConstant(const std::string& name, Tensor tensor);
  // Adds another name for a value.
  void Alias(const std::string& name, OnnxValue value) { scope_->values[name] = std::move(value); }
  bool Knows(const std::string& name) const;
  // Adds the result at `index` of a node; `name` is "" if nothing reads it.
  ValueId DefineResult(const std::string& name, size_t index, DType dtype);
  // Returns what the name stands for. A value of an enclosing graph becomes a captured value of
  // this one; a constant is copied. A function's input that the call omits is nothing.
  StatusOr<OnnxValue> Find(const std::string& name);
  // Returns the operands of a node, whose numbers fit the operator. `where` begins the messages.
  StatusOr<std::vector<OnnxValue>> Operands(const onnxpb::Node& proto, const OnnxOp& op,
                                            const std::string& where);

  struct Capture {
    ValueId outside;
    ValueId inside;
  };
  // Returns the captured values in the order of their first use.
  const std::vector<Capture>& captures() const { return captures_; }

  // Adds the live contents of a graph: initializers, then nodes in topological order.
  Status AddContents(onnxpb::Graph& graph, std::vector<OnnxBodies>& bodies,
                     const OnnxLiveness& live);
  // Count what the import makes. Refuse a model with more than tcc reads.
  Status CountNodes(int64_t count);
  Status CountElements(int64_t count);
  // Returns what is known of a value at this point.
  ValueFacts FactsOf(ValueId id) const;
  // Adds the contents of the branch that an If always takes; its results become those of the If.
  Status AddBranch(const onnxpb::Node& proto, OnnxBody& branch);
  // Adds a copy of a value under a name; of a constant it is an alias, unless the name is kept.
  void AddIdentity(const std::string& node, const std::string& name, ValueId input);
  // Appends a node that the model does not have; its results have these types and fresh names.
  std::vector<ValueId> Emit(Node node, const std::vector<DType>& types);

 private:
  // The names of the graph itself, of one call of a function, or of a branch in place of its If.
  struct Scope {
    Scope* caller = nullptr;
    bool sees_caller = false;  // whether the names of `caller` are visible too
    int opset = 0;
    std::string prefix = {};  // of value and node names
    std::unordered_map<std::string, OnnxValue> values = {};
    std::unordered_set<std::string> left_out = {};  // initializers that nothing needs
    std::unordered_map<std::string, std::string> result_names = {};  // of its outputs
    std::map<std::string, const onnxpb::Attribute*> arguments = {};  // of the function's call
  };

  // Returns the innermost visible scope that knows the name; the outermost visible one for none.
  const Scope& ScopeOf(const std::string& name) const;
  std::string ValueName(const std::string& name);
  Status AddInitializers(onnxpb::Graph& graph, const OnnxLiveness& live);
  // Returns whether the initializer is to be read, and notes one that nothing needs.
  bool WantsInitializer(const std::string& name, const OnnxLiveness& live);
  Status AddNodes(google::protobuf::RepeatedPtrField<onnxpb::Node>& nodes,
                  std::vector<OnnxBodies>& bodies, const OnnxLiveness& live);
  Status AddNode(onnxpb::Node& proto, OnnxBodies& bodies);
  Status AddOperator(onnxpb::Node& proto, const OnnxOp& op);
  Status AddConstant(const onnxpb::Node& proto, std::map<std::string, Attribute>& attributes,
                     const std::string& where);
  Status AddCall(onnxpb::Node& proto, const onnxpb::Function& function);
  Status BindCall(onnxpb::Node& proto, const onnxpb::Function& function, Scope& scope);
  // Returns the names of the node's results, and gives them to the `results` of a scope inside.
  std::vector<std::string> NameResults(const onnxpb::Node& proto,
                                       const std::vector<std::string>& results, Scope& inner);
  // Makes `results` of the current scope the node's results, known to the caller.
  Status TakeResults(const onnxpb::Node& proto, const std::vector<std::string>& results,
                     const std::vector<std::string>& names, std::string_view what);
  // Adds a copy of a value under another name; of a constant it is one too.
  ValueId CopyAs(const std::string& name, ValueId id);
  void ResolveReferences(onnxpb::Node& proto) const;
  // Returns the operands of a node that takes tensors alone.
  StatusOr<std::vector<ValueId>> Inputs(const onnxpb::Node& proto, const OnnxOp& op,
                                        const std::string& where);
  // Returns the value of this graph that stands for one of the enclosing graph.
  ValueId Captured(ValueId outside);

  OnnxImportSession& session_;
  OnnxGraphImporter* around_;
  int depth_;
  Scope own_;
  Scope* scope_ = &own_;  // the current scope
  Graph graph_;
  std::vector<Capture> captures_;
  std::unordered_map<ValueId, ValueId> insides_;  // by the value of the enclosing graph
  std::unordered_set<std::string> taken_;
  std::unordered_set<std::string> kept_names_;
  std::unordered_map<std::string, int> wishes_;
};

}  // namespace tcc
