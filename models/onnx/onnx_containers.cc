#include "models/onnx/onnx_containers.h"

#include <algorithm>

#include "ir/graph/constants.h"
#include "ir/text/printer.h"
#include "models/onnx/onnx_attributes.h"
#include "support/check.h"
#include "support/wanted_option.h"

namespace tcc {
namespace {

// The most elements of one sequence: each becomes a stage or an operand of a kernel.
constexpr int64_t kMaxElements = 4096;

// The import of one node.
class ContainerImporter {
 public:
  ContainerImporter(OnnxGraphImporter& importer, onnxpb::Node& proto, const OnnxOp& op)
      : importer_(importer), proto_(proto), op_(op) {}

  using Import = Status (ContainerImporter::*)();

  Status Run(Import import) {
    if (proto_.output_size() == 0 || proto_.output(0).empty()) {
      return InvalidInput("{} has no output", Where());
    }
    TCC_ASSIGN_OR_RETURN(operands_, importer_.Operands(proto_, op_, Where()));
    TCC_ASSIGN_OR_RETURN(attributes_,
                         ReadAttributes(proto_, op_, importer_.opset(), importer_.session().files,
                                        importer_.session().limits));
    TCC_RETURN_IF_ERROR(CheckOperands());
    return Annotate((this->*import)(), Where());
  }

  Status Copy() { return Give(operands_.empty() ? OnnxValue() : operands_[0]); }

  Status OptionalGetElement() {
    if (operands_.empty() || operands_[0].is_nothing()) {
      return InvalidInput("the optional is empty");
    }
    return Give(operands_[0]);
  }

  Status OptionalHasElement() {
    bool has_element = !operands_.empty() && !operands_[0].is_nothing();
    importer_.DefineConstant(proto_.output(0), ScalarTensor(kBool, has_element));
    return OkStatus();
  }

  Status SequenceEmpty() {
    int64_t code = Int("dtype");
    std::optional<DType> dtype =
        code < 0 || code > INT32_MAX ? std::nullopt : FromOnnxType(static_cast<int32_t>(code));
    if (!dtype) return Unsupported("element type {} is not supported", OnnxTypeName(code));
    return Give(*dtype, {});
  }

  Status SequenceConstruct() {
    std::vector<ValueId> elements;
    for (const OnnxValue& operand : operands_) elements.push_back(operand.tensor);
    DType type = TypeOf(elements[0]);
    return Give(type, std::move(elements));
  }

  Status SequenceLength() {
    importer_.DefineConstant(proto_.output(0), IntScalar(Count()));
    return OkStatus();
  }

  Status SequenceAt() {
    TCC_ASSIGN_OR_RETURN(int64_t position, Position(1, Count() - 1));
    return Give({.tensor = Elements()[static_cast<size_t>(position)]});
  }

  Status SequenceErase() {
    TCC_ASSIGN_OR_RETURN(int64_t position, Position(1, Count() - 1));
    std::vector<ValueId> elements = Elements();
    elements.erase(elements.begin() + position);
    return Give(Sequence().dtype, std::move(elements));
  }

  Status SequenceInsert() {
    ValueId tensor = operands_[1].tensor;
    if (TypeOf(tensor) != Sequence().dtype) {
      return InvalidInput("input 1 ('{}') is {}; the sequence holds {}", proto_.input(1),
                          ToString(TypeOf(tensor)), ToString(Sequence().dtype));
    }
    TCC_ASSIGN_OR_RETURN(int64_t position, Position(2, Count()));
    std::vector<ValueId> elements = Elements();
    elements.insert(elements.begin() + position, tensor);
    return Give(Sequence().dtype, std::move(elements));
  }

  Status ConcatFromSequence() {
    std::vector<ValueId> elements = Elements();
    if (elements.empty()) return InvalidInput("the sequence is empty");
    int64_t axis = Int("axis");
    if (Int("new_axis") != 0) {
      TCC_ASSIGN_OR_RETURN(elements, WithAxes(OpKind::kUnsqueeze, elements, axis));
    }
    Node node = NewNode(OpKind::kConcat, elements);
    node.attributes = {{"axis", axis}};
    node.outputs = {importer_.Define(proto_.output(0), Sequence().dtype)};
    importer_.graph().nodes.push_back(std::move(node));
    return OkStatus();
  }

  Status SplitToSequence() {
    ValueId data = operands_[0].tensor;
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> extents, PartExtents(data));
    std::vector<ValueId> parts;
    if (!extents.empty()) {
      TCC_RETURN_IF_ERROR(importer_.CountNodes(1));
      Node node = NewNode(OpKind::kSplit, {data, Constant(IntVector(extents))});
      node.attributes = {{"axis", Int("axis")}};
      parts = importer_.Emit(std::move(node), std::vector<DType>(extents.size(), TypeOf(data)));
    }
    if (!HasOperand(1) && Int("keepdims") == 0) {
      TCC_ASSIGN_OR_RETURN(parts, WithAxes(OpKind::kSqueeze, parts, Int("axis")));
    }
    return Give(TypeOf(data), std::move(parts));
  }

 private:
  std::string Where() const { return fmt::format("node '{}' ({})", NodeName(proto_), op_.name); }

  // Checks each operand against the signature's letter: L is a sequence. An operator without an L
  // takes anything.
  Status CheckOperands() {
    bool takes_all = op_.signature.find('L') == std::string_view::npos;
    std::vector<ValueId> tensors;
    for (size_t i = 0; i < operands_.size(); ++i) {
      const OnnxValue& operand = operands_[i];
      bool wants_sequence = op_.signature[std::min(i, op_.signature.find('>') - 1)] == 'L';
      bool is_sequence = operand.sequence != nullptr;
      if (!takes_all && !operand.is_nothing() && is_sequence != wants_sequence) {
        return InvalidInput("{}: input {} ('{}') is a {}; expected a {}", Where(), i,
                            proto_.input(static_cast<int>(i)), is_sequence ? "sequence" : "tensor",
                            wants_sequence ? "sequence" : "tensor");
      }
      tensors.push_back(operand.tensor);
    }
    return CheckTypes(importer_.graph(), op_, tensors, 1, Where()).status();
  }

  // Makes a value the node's result.
  Status Give(const OnnxValue& value) {
    if (value.tensor == kNoValue) {
      importer_.Alias(proto_.output(0), value);
    } else {
      importer_.AddIdentity(NodeName(proto_), proto_.output(0), value.tensor);
    }
    return OkStatus();
  }

  // Makes a sequence the node's result.
  Status Give(DType dtype, std::vector<ValueId> elements) {
    auto count = static_cast<int64_t>(elements.size());
    TCC_RETURN_IF_ERROR(CheckCount(count));
    TCC_RETURN_IF_ERROR(importer_.CountElements(count));
    OnnxSequence sequence{.dtype = dtype, .elements = std::move(elements)};
    return Give({.sequence = std::make_shared<const OnnxSequence>(std::move(sequence))});
  }

  static Status CheckCount(int64_t count) {
    if (count <= kMaxElements) return OkStatus();
    return Unsupported("a sequence of {} tensors; at most {} are supported", count, kMaxElements);
  }

  const OnnxSequence& Sequence() const { return *operands_[0].sequence; }
  const std::vector<ValueId>& Elements() const { return Sequence().elements; }
  int64_t Count() const { return static_cast<int64_t>(Elements().size()); }

  bool HasOperand(size_t index) const {
    return index < operands_.size() && !operands_[index].is_nothing();
  }
  int64_t Int(const std::string& key) const { return std::get<int64_t>(attributes_.at(key)); }
  DType TypeOf(ValueId id) const { return importer_.graph().value(id).dtype; }

  // Returns the integers of operand `index`.
  StatusOr<Tensor> KnownIntegers(size_t index) const {
    const std::string& name = proto_.input(static_cast<int>(index));
    ValueFacts facts = importer_.FactsOf(operands_[index].tensor);
    if (!facts.constant) {
      return RefuseComputed(
          fmt::format("the structure of a sequence depends on input {} ('{}'), which", index, name),
          facts, "a constant");
    }
    if (facts.constant->shape.size() <= 1) return *facts.constant;
    return InvalidInput("input {} ('{}') is {}; expected a number or a list", index, name,
                        ToString(*facts.constant));
  }

  // Returns the position that operand `index` gives, counted from the front; `last` is the largest,
  // and the position without that operand.
  StatusOr<int64_t> Position(size_t index, int64_t last) const {
    if (last < 0) return InvalidInput("the sequence is empty");
    if (!HasOperand(index)) return last;
    TCC_ASSIGN_OR_RETURN(Tensor tensor, KnownIntegers(index));
    if (ElementCount(tensor.shape).value_or(0) != 1) {
      return InvalidInput("the position is {}; expected one number", ToString(tensor));
    }
    int64_t given = ElementAsInt(tensor, 0);
    if (given < -Count() || given > last) {
      return InvalidInput("position {} of a sequence of {}; expected {} to {}", given, Count(),
                          -Count(), last);
    }
    return given < 0 ? given + Count() : given;
  }

  // Returns the extents along the axis of the parts that a SplitToSequence makes.
  StatusOr<std::vector<int64_t>> PartExtents(ValueId data) const {
    int64_t part = 1;
    if (HasOperand(1)) {
      TCC_ASSIGN_OR_RETURN(Tensor split, KnownIntegers(1));
      int64_t count = split.shape.empty() ? 1 : split.shape[0];
      if (count == 0) return InvalidInput("input 1 ('{}') is an empty list", proto_.input(1));
      TCC_RETURN_IF_ERROR(CheckCount(count));
      std::vector<int64_t> extents;
      for (int64_t i = 0; i < count; ++i) extents.push_back(ElementAsInt(split, i));
      if (!split.shape.empty()) return extents;
      part = extents[0];
    }
    if (part < 1) return InvalidInput("parts of {} elements; expected 1 or more", part);
    TCC_ASSIGN_OR_RETURN(int64_t extent, Extent(data, Int("axis")));
    TCC_RETURN_IF_ERROR(CheckCount(extent / part));
    std::vector<int64_t> extents;
    for (int64_t begin = 0; begin < extent; begin += part) {
      extents.push_back(std::min(part, extent - begin));
    }
    return extents;
  }

  // Returns the known extent of an axis, which says how many parts there are.
  StatusOr<int64_t> Extent(ValueId data, int64_t axis) const {
    ValueFacts facts = importer_.FactsOf(data);
    std::string what = fmt::format("the number of parts of '{}' is not known", proto_.input(0));
    if (!facts.shape.ok()) return Annotate(facts.shape.status(), what);
    auto rank = static_cast<int64_t>(facts.shape->size());
    if (axis < -rank || axis >= rank) {
      return InvalidInput("axis {} of rank {}", axis, rank);
    }
    const Expr& extent = (*facts.shape)[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
    if (std::optional<int64_t> known = AsConstant(extent)) return *known;
    Status status = Unsupported("{}: axis {} has {} elements; expected a number that is given",
                                what, axis, Print(extent));
    return WithOption(status, Option::kDims);
  }

  // Adds (kUnsqueeze) or removes (kSqueeze) an axis of each value.
  StatusOr<std::vector<ValueId>> WithAxes(OpKind op, const std::vector<ValueId>& ids,
                                          int64_t axis) {
    TCC_RETURN_IF_ERROR(importer_.CountNodes(static_cast<int64_t>(ids.size())));
    ValueId axes = Constant(IntVector({axis}));
    std::vector<ValueId> results;
    for (ValueId id : ids) {
      results.push_back(importer_.Emit(NewNode(op, {id, axes}), {TypeOf(id)})[0]);
    }
    return results;
  }

  Node NewNode(OpKind op, std::vector<ValueId> inputs) {
    return {.name = importer_.FreshNodeName(importer_.prefix() + NodeName(proto_)),
            .op = op,
            .inputs = std::move(inputs)};
  }

  ValueId Constant(Tensor tensor) {
    return importer_.graph().AddValue({.name = importer_.FreshName(NodeName(proto_)),
                                       .dtype = tensor.dtype,
                                       .shape = ToExprs(tensor.shape),
                                       .constant = std::move(tensor)});
  }

  OnnxGraphImporter& importer_;
  onnxpb::Node& proto_;
  const OnnxOp& op_;
  std::vector<OnnxValue> operands_;
  std::map<std::string, Attribute> attributes_;
};

struct Row {
  std::string_view name;
  ContainerImporter::Import import;
};

constexpr Row kRows[] = {
    {"Identity", &ContainerImporter::Copy},
    {"Optional", &ContainerImporter::Copy},
    {"OptionalGetElement", &ContainerImporter::OptionalGetElement},
    {"OptionalHasElement", &ContainerImporter::OptionalHasElement},
    {"SequenceEmpty", &ContainerImporter::SequenceEmpty},
    {"SequenceConstruct", &ContainerImporter::SequenceConstruct},
    {"SequenceLength", &ContainerImporter::SequenceLength},
    {"SequenceAt", &ContainerImporter::SequenceAt},
    {"SequenceErase", &ContainerImporter::SequenceErase},
    {"SequenceInsert", &ContainerImporter::SequenceInsert},
    {"SplitToSequence", &ContainerImporter::SplitToSequence},
    {"ConcatFromSequence", &ContainerImporter::ConcatFromSequence},
};

const Row* FindRow(const OnnxOp& op) {
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& candidate) { return candidate.name == op.name; });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

bool IsContainerOperator(const OnnxOp& op) {
  return FindRow(op) != nullptr;
}

Status ImportContainer(OnnxGraphImporter& importer, onnxpb::Node& proto, const OnnxOp& op) {
  const Row* row = FindRow(op);
  TCC_CHECK(row != nullptr) << op.name;
  return ContainerImporter(importer, proto, op).Run(row->import);
}

}  // namespace tcc
