#include "ir/graph/graph.h"

#include <iterator>

#include "support/check.h"

namespace tcc {
namespace {

constexpr std::string_view kOpNames[] = {
#define TCC_OP_NAME(name, ...) #name,
    TCC_OP_KINDS(TCC_OP_NAME)
#undef TCC_OP_NAME
};

constexpr OpForm kOpForms[] = {
#define TCC_TENSOR_FORM(name, form) OpForm::form,
    TCC_TENSOR_KINDS(TCC_TENSOR_FORM)
#undef TCC_TENSOR_FORM
#define TCC_SCALAR_FORM(name, ...) OpForm::kElementwise,
        TCC_SCALAR_KINDS(TCC_SCALAR_FORM)
#undef TCC_SCALAR_FORM
};

// Returns nullptr where the node has no such attribute. A wrong type is a bug: the importer checked
// it.
template <typename T>
const T* FindAttribute(const Node& node, const std::string& key) {
  auto it = node.attributes.find(key);
  if (it == node.attributes.end()) return nullptr;
  const T* value = std::get_if<T>(&it->second);
  TCC_CHECK(value != nullptr) << "attribute '" << key << "' of node '" << node.name << "'";
  return value;
}

template <typename T>
T AttributeOr(const Node& node, const std::string& key, const T& fallback) {
  const T* value = FindAttribute<T>(node, key);
  return value ? *value : fallback;
}

}  // namespace

std::string_view ToString(OpKind op) {
  return kOpNames[static_cast<size_t>(op)];
}

std::optional<OpKind> FindOpKind(std::string_view name) {
  for (size_t i = 0; i < std::size(kOpNames); ++i) {
    if (kOpNames[i] == name) return static_cast<OpKind>(i);
  }
  return std::nullopt;
}

OpForm FormOf(OpKind op) {
  return kOpForms[static_cast<size_t>(op)];
}

std::string_view ToString(TypeClass types) {
  switch (types) {
    case TypeClass::kAnyFloat:
      return "float";
    case TypeClass::kNumber:
      return "float or integer";
    case TypeClass::kAnyInteger:
      return "integer";
    case TypeClass::kAnyUnsigned:
      return "unsigned integer";
    case TypeClass::kBoolean:
      return "bool";
    case TypeClass::kAnyType:
      return "float, integer or bool";
    case TypeClass::kQuantized:
      return "float, integer, f8, i4, u4, i2 or u2";
    case TypeClass::kStored:
      return "float, integer, bool, f8, i4, u4, i2 or u2";
  }
  return "";
}

bool Accepts(TypeClass types, DType dtype) {
  switch (types) {
    case TypeClass::kAnyFloat:
      return dtype.is_float();
    case TypeClass::kNumber:
      return dtype.is_float() || dtype.is_integer();
    case TypeClass::kAnyInteger:
      return dtype.is_integer();
    case TypeClass::kAnyUnsigned:
      return dtype.is_integer() && !dtype.is_signed_integer();
    case TypeClass::kBoolean:
      return dtype.is_bool();
    case TypeClass::kAnyType:
      return dtype.is_float() || dtype.is_integer() || dtype.is_bool();
    case TypeClass::kQuantized:
      return Accepts(TypeClass::kNumber, dtype) || dtype.is_storage_only();
    case TypeClass::kStored:
      return Accepts(TypeClass::kAnyType, dtype) || dtype.is_storage_only();
  }
  return false;
}

int64_t Node::Int(const std::string& key, int64_t fallback) const {
  return AttributeOr<int64_t>(*this, key, fallback);
}

double Node::Float(const std::string& key, double fallback) const {
  return AttributeOr<double>(*this, key, fallback);
}

std::string Node::String(const std::string& key, const std::string& fallback) const {
  return AttributeOr<std::string>(*this, key, fallback);
}

std::vector<int64_t> Node::Ints(const std::string& key,
                                const std::vector<int64_t>& fallback) const {
  return AttributeOr<std::vector<int64_t>>(*this, key, fallback);
}

const Value& Graph::value(ValueId id) const {
  TCC_CHECK(id >= 0 && static_cast<size_t>(id) < values.size())
      << "value " << id << " of graph '" << name << "', which has " << values.size();
  return values[id];
}

ValueId Graph::AddValue(Value value) {
  values.push_back(std::move(value));
  return static_cast<ValueId>(values.size() - 1);
}

const Tensor* Graph::ConstantOf(ValueId id) const {
  if (id == kNoValue || !value(id).constant) return nullptr;
  return &*value(id).constant;
}

std::optional<std::vector<int64_t>> StaticShape(const Value& value) {
  return AsNumbers(value.shape);
}

std::optional<std::vector<int64_t>> AsNumbers(const std::vector<Expr>& formulas) {
  std::vector<int64_t> numbers;
  numbers.reserve(formulas.size());
  for (const Expr& formula : formulas) {
    std::optional<int64_t> number = AsConstant(formula);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<Expr> ToExprs(const std::vector<int64_t>& shape) {
  return {shape.begin(), shape.end()};
}

}  // namespace tcc
