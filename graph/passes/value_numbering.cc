#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "graph/passes/edit.h"
#include "graph/passes/passes.h"
#include "ir/text/printer.h"

namespace tcc {
namespace {

// A key of numbers and texts; different sequences give different keys.
class Key {
 public:
  template <typename T>
  void AddNumber(T number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  void AddBytes(std::span<const uint8_t> bytes) {
    AddNumber(bytes.size());
    text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void AddText(const std::string& text) {
    AddBytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  template <typename T>
  void AddNumbers(const std::vector<T>& numbers) {
    AddNumber(numbers.size());
    for (const T& number : numbers) AddNumber(number);
  }
  std::string Take() && { return std::move(text_); }

 private:
  std::string text_;
};

void AddAttribute(Key& key, const Attribute& attribute) {
  key.AddNumber(attribute.index());
  if (const auto* number = std::get_if<int64_t>(&attribute)) key.AddNumber(*number);
  if (const auto* number = std::get_if<double>(&attribute)) key.AddNumber(*number);
  if (const auto* text = std::get_if<std::string>(&attribute)) key.AddText(*text);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute)) key.AddNumbers(*list);
  if (const auto* list = std::get_if<std::vector<double>>(&attribute)) key.AddNumbers(*list);
  if (const auto* tensor = std::get_if<Tensor>(&attribute)) {
    key.AddText(ToString(*tensor));
    key.AddBytes(tensor->bytes);
  }
}

// Returns a key that is equal for nodes that compute the same.
std::string KeyOf(const Node& node) {
  Key key;
  key.AddNumber(node.op);
  key.AddNumber(node.layout);
  std::vector<ValueId> inputs = node.inputs;
  if (IsCommutative(node.op)) std::ranges::sort(inputs);
  key.AddNumbers(inputs);
  key.AddNumber(node.outputs.size());
  for (ValueId output : node.outputs) key.AddNumber(output == kNoValue);
  for (const auto& [name, attribute] : node.attributes) {
    key.AddText(name);
    AddAttribute(key, attribute);
  }
  return std::move(key).Take();
}

// Returns type, shape and a sample of the bytes as a key: weights take hundreds of megabytes, and
// nearly all that differ do so in the sample.
std::string SampleOf(const Tensor& tensor) {
  constexpr size_t kSample = 256;
  Key key;
  key.AddText(ToString(tensor));
  key.AddBytes(tensor.bytes.first(std::min(kSample, tensor.bytes.size())));
  return std::move(key).Take();
}

// Returns a key that is equal for equal formulas of one graph.
std::string FormulasOf(const Value& value) {
  Key key;
  key.AddNumber(value.dtype.code());
  for (const auto* formulas : {&value.shape, &value.elements}) {
    key.AddNumber(formulas->size());
    for (const Expr& formula : *formulas) key.AddText(Print(formula));
  }
  return std::move(key).Take();
}

// Returns, for each value, the first one that is known to be the same, else the value itself: of
// constants the first one with the same bytes, of sizes that no node computes the first one with
// the same formulas. Inputs and outputs of the graph stay.
std::vector<ValueId> FirstEqualValues(const Graph& graph, const std::vector<bool>& is_output) {
  std::vector<ValueId> first(graph.values.size());
  std::iota(first.begin(), first.end(), 0);
  std::vector<int> producers = ProducersOf(graph);
  std::unordered_map<std::string, std::vector<ValueId>> constants;
  std::unordered_map<std::string, ValueId> sizes;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    auto id = static_cast<ValueId>(i);
    const Value& value = graph.value(id);
    const std::optional<Tensor>& constant = value.constant;
    if (is_output[id]) continue;
    bool is_size = !value.elements.empty() && producers[id] < 0 &&
                   std::ranges::find(graph.inputs, id) == graph.inputs.end();
    if (is_size) first[id] = sizes.emplace(FormulasOf(value), id).first->second;
    if (!constant) continue;
    std::vector<ValueId>& alike = constants[SampleOf(*constant)];
    auto equal = std::ranges::find_if(alike, [&](ValueId other) {
      std::span<const uint8_t> bytes = graph.values[other].constant->bytes;
      return bytes.data() == constant->bytes.data() ||
             std::equal(bytes.begin(), bytes.end(), constant->bytes.begin());
    });
    if (equal != alike.end()) {
      first[id] = *equal;
    } else {
      alike.push_back(id);
    }
  }
  return first;
}

}  // namespace

Status EliminateCommonSubexpressions(Graph& graph) {
  std::vector<bool> is_output = UsesOf(graph).is_output;
  std::vector<ValueId> same = FirstEqualValues(graph, is_output);
  std::unordered_map<std::string, const Node*> first;
  for (Node& node : graph.nodes) {
    for (ValueId& input : node.inputs) {
      if (input != kNoValue) input = same[input];
    }
    if (!node.bodies.empty()) continue;
    auto [entry, absent] = first.emplace(KeyOf(node), &node);
    bool is_interface = std::ranges::any_of(
        node.outputs, [&](ValueId id) { return id != kNoValue && is_output[id]; });
    if (absent || is_interface) continue;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kNoValue) same[node.outputs[i]] = entry->second->outputs[i];
    }
  }
  return RemoveDead(graph);
}

}  // namespace tcc
