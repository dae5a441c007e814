#include "models/onnx/onnx_attributes.h"
#include "models/onnx/onnx_graph_importer.h"

// Optionals whose content is known at import: one with an element is that element, an empty one is
// an omitted value.
namespace tcc {

Status OnnxGraphImporter::AddOptional(onnxpb::Node& proto, const OnnxOp& op) {
  std::string where = fmt::format("node '{}' ({})", NodeName(proto), op.name);
  TCC_ASSIGN_OR_RETURN(std::vector<ValueId> inputs, Inputs(proto, op, where));
  if (proto.output_size() == 0 || proto.output(0).empty()) {
    return InvalidInput("{} has no output", where);
  }
  const std::string& name = proto.output(0);
  bool is_empty = inputs.empty() || inputs[0] == kNoValue;
  if (op.name == "OptionalHasElement") {
    Tensor result = MakeZeroTensor(kBool, {});
    SetElementInt(result, 0, is_empty ? 0 : 1);
    DefineConstant(name, std::move(result));
    return OkStatus();
  }
  if (!is_empty) return AddOperator(proto, op);
  if (op.name == "OptionalGetElement") return InvalidInput("{}: the optional is empty", where);
  Alias(name, kNoValue);
  return OkStatus();
}

}  // namespace tcc
