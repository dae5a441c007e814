#include "models/onnx/onnx_types.h"

#include <algorithm>
#include <optional>

namespace tcc {
namespace {

char LetterAt(std::string_view letters, size_t index) {
  return letters[std::min(index, letters.size() - 1)];
}

class TypeChecker {
 public:
  TypeChecker(const OnnxOp& op, const std::string& where) : op_(op), where_(where) {}

  Status Check(char letter, size_t index, const Value& value) {
    switch (letter) {
      case 'T':
        return Same(t_, op_.types, index, value);
      case 'U':
        return Same(u_, TypeClass::kNumber, index, value);
      case 'V':
        return Same(v_, TypeClass::kNumber, index, value);
      case 'A':
        return InClass(TypeClass::kAnyType, index, value);
      case 'F':
        return InClass(TypeClass::kAnyFloat, index, value);
      case 'Q':
        return InClass(TypeClass::kQuantized, index, value);
      case 'S':
        return InClass(TypeClass::kStored, index, value);
      case 'B':
        return Expect(value.dtype.is_bool(), "bool", index, value);
      case 'I':
        return Expect(value.dtype == kInt64, "i64", index, value);
      case 'K':
        return Expect(value.dtype == kInt32, "i32", index, value);
      default:
        break;  // J
    }
    return Expect(value.dtype == kInt64 || value.dtype == kInt32, "i32 or i64", index, value);
  }

  DType Result(char letter) const {
    if (letter == 'T') return t_.value_or(kFloat32);
    if (letter == 'U') return u_.value_or(kFloat32);
    if (letter == 'V') return v_.value_or(kFloat32);
    if (letter == 'K') return kInt32;
    if (letter == 'B') return kBool;
    return letter == 'I' ? kInt64 : kFloat32;
  }

 private:
  Status Same(std::optional<DType>& type, TypeClass types, size_t index, const Value& value) {
    TCC_RETURN_IF_ERROR(InClass(types, index, value));
    if (!type) type = value.dtype;
    return Expect(*type == value.dtype, ToString(*type), index, value);
  }

  Status InClass(TypeClass types, size_t index, const Value& value) {
    if (Contains(types, value.dtype)) return OkStatus();
    return Unsupported("{}: input {} ('{}') is {}; supported is {}", where_, index, value.name,
                       ToString(value.dtype), ToString(types));
  }

  Status Expect(bool holds, const std::string& expected, size_t index, const Value& value) {
    if (holds) return OkStatus();
    return InvalidInput("{}: input {} ('{}') is {}; expected {}", where_, index, value.name,
                        ToString(value.dtype), expected);
  }

  const OnnxOp& op_;
  const std::string& where_;
  std::optional<DType> t_;
  std::optional<DType> u_;
  std::optional<DType> v_;
};

}  // namespace

StatusOr<std::vector<DType>> CheckTypes(const Graph& graph, const OnnxOp& op,
                                        const std::vector<ValueId>& inputs, size_t outputs,
                                        const std::string& where) {
  size_t arrow = op.signature.find('>');
  std::string_view in = op.signature.substr(0, arrow);
  std::string_view out = op.signature.substr(arrow + 1);
  TypeChecker checker(op, where);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kNoValue) continue;
    TCC_RETURN_IF_ERROR(checker.Check(LetterAt(in, i), i, graph.value(inputs[i])));
  }
  std::vector<DType> types;
  for (size_t i = 0; i < outputs; ++i) types.push_back(checker.Result(LetterAt(out, i)));
  return types;
}

}  // namespace tcc
