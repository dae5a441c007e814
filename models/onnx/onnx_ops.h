#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"

// The operators that tcc reads: one table, in onnx_ops.cc.
namespace tcc {

// The newest opset of the default domain against which the table has been checked.
inline constexpr int kNewestOpset = 27;

// The type of an attribute. A kSparseTensor is kept in its dense form; kStrings are kept as one
// string joined by commas; kGraph becomes a body of the node.
enum class AttributeType : uint8_t {
  kInt,
  kFloat,
  kString,
  kInts,
  kFloats,
  kTensor,
  kSparseTensor,
  kStrings,
  kGraph,
  kType  // always kIgnored
};
std::string_view ToString(AttributeType type);

enum class Presence : uint8_t {
  kOptional,  // absence means something of its own
  kDefault,   // if absent, `number` or `text` is filled in
  kRequired,
  kFixed,    // only the default is supported; not kept
  kIgnored,  // says nothing about inference; not kept
};

struct OnnxAttribute {
  std::string_view name;
  AttributeType type;
  Presence presence;
  double number = 0;           // default of kInt and kFloat
  std::string_view text = {};  // default of kString
  int since = 1;
  int until = kNewestOpset;  // the last opset that has it
};

inline constexpr int kManyInputs = INT32_MAX;
inline constexpr int kManyOutputs = INT32_MAX;

class OnnxNodeContext;

struct OnnxOp {
  std::string_view name;  // ONNX's; "com.microsoft.QGemm" in another than the default domain
  OpKind op;
  int since;  // the oldest opset of its domain that is read
  // Types of inputs and, after '>', outputs. T: one type of `types`, the same everywhere; U, V: one
  // numeric type each; F: any float; B: bool; I: i64; J: i32 or i64; K: i32; A: any; Q, S: one of
  // kQuantized, of kStored; L: a sequence of one type of `types`; *: normalize checks or sets it.
  // The last letter stands for all further operands.
  std::string_view signature;
  TypeClass types;
  int min_inputs;
  int max_inputs;
  int max_outputs;  // that are supported
  std::span<const OnnxAttribute> attributes;
  // Brings the node into the form that ir/graph/graph.h describes; nullptr if it has that form
  // already.
  Status (*normalize)(OnnxNodeContext& context) = nullptr;
};

std::span<const OnnxOp> AllOnnxOps();
// Returns the row of that name, or nullptr if the table has no such operator.
const OnnxOp* FindOnnxOp(std::string_view name);

// Checks a node's operands against its operator's signature and returns the dtypes of its results,
// `outputs` of them; dtypes that normalization sets (*) are f32 for now. Inputs that are kNoValue
// are skipped.
//
// Fails with Unimplemented for a type that the operator does not take; with InvalidArgument for two
// operands that should have the same type and do not, or an index that is no integer. `where`
// begins the messages.
StatusOr<std::vector<DType>> CheckTypes(const Graph& graph, const OnnxOp& op,
                                        const std::vector<ValueId>& inputs, size_t outputs,
                                        const std::string& where);

}  // namespace tcc
