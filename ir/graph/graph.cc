#include "ir/graph/graph.h"

#include <iterator>

#include "support/check.h"

namespace tcc {
namespace {

constexpr std::string_view kOpNames[] = {
#define TCC_OP_NAME(name) #name,
    TCC_OP_KINDS(TCC_OP_NAME)
#undef TCC_OP_NAME
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
  std::vector<int64_t> shape;
  shape.reserve(value.shape.size());
  for (const Expr& dim : value.shape) {
    std::optional<int64_t> extent = AsConstant(dim);
    if (!extent) return std::nullopt;
    shape.push_back(*extent);
  }
  return shape;
}

std::vector<Expr> ToExprs(const std::vector<int64_t>& shape) {
  return {shape.begin(), shape.end()};
}

}  // namespace tcc
