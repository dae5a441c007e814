#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ir/graph/graph.h"

// The operators that tcc reads: one table, in onnx_ops.cc.
namespace tcc {

// The newest opset of the default domain whose operators in the table have been compared with it.
inline constexpr int kNewestOpset = 27;

// kStrings are kept as one string with commas between; kGraph becomes a body of the node.
enum class AttributeType : uint8_t {
  kInt,
  kFloat,
  kString,
  kInts,
  kFloats,
  kTensor,
  kStrings,
  kGraph
};
std::string_view ToString(AttributeType type);

enum class Presence : uint8_t {
  kOptional,  // absence means something of its own
  kDefault,   // where it is absent, `number` or `text` is filled in
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

// What an operand may be; the letters of OnnxOp::signature.
// kQuantized and kStored hold the types of f8 and of 4 bits, too, which only Cast, QuantizeLinear
// and DequantizeLinear take.
enum class TypeClass : uint8_t { kAnyFloat, kNumber, kAnyType, kQuantized, kStored };
std::string_view ToString(TypeClass types);
bool Contains(TypeClass types, DType dtype);

inline constexpr int kManyInputs = INT32_MAX;
inline constexpr int kManyOutputs = INT32_MAX;

class OnnxNodeContext;

struct OnnxOp {
  std::string_view name;  // ONNX's; "com.microsoft.QGemm" in another than the default domain
  OpKind op;
  int since;  // the oldest opset of its domain that is read
  // Types of inputs and, after '>', outputs. T: one type of `types`, the same everywhere; U, V: one
  // numeric type each; F: any float; B: bool; I: i64; J: i32 or i64; K: i32; A: any; Q, S: one of
  // kQuantized, of kStored; *: what normalize says. The last letter stands for all further
  // operands.
  std::string_view signature;
  TypeClass types;
  int min_inputs;
  int max_inputs;
  int max_outputs;  // that are supported
  std::span<const OnnxAttribute> attributes;
  // Brings the node into the form that ir/graph/graph.h describes; nullptr where it has it already.
  Status (*normalize)(OnnxNodeContext& context) = nullptr;
};

std::span<const OnnxOp> AllOnnxOps();
// By the name of a row; nullptr if the table has no such operator.
const OnnxOp* FindOnnxOp(std::string_view name);

}  // namespace tcc
