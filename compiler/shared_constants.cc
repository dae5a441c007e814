#include "compiler/shared_constants.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace tcc {
namespace {

std::string_view TextOf(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

}  // namespace

void SharedConstants::Share(Graph& graph) {
  for (Value& value : graph.values) {
    if (!value.constant) continue;
    Tensor& tensor = *value.constant;
    const uint64_t hash = std::hash<std::string_view>{}(TextOf(tensor));
    auto [begin, end] = known_.equal_range(hash);
    auto equal = std::find_if(begin, end, [&](const auto& entry) {
      const Tensor& known = entry.second;
      return known.dtype == tensor.dtype && known.shape == tensor.shape &&
             (known.bytes.data() == tensor.bytes.data() || TextOf(known) == TextOf(tensor));
    });
    if (equal != end) {
      tensor = equal->second;
    } else {
      known_.emplace(hash, tensor);
    }
  }
  for (Node& node : graph.nodes) {
    for (Graph& body : node.bodies) Share(body);
  }
}

}  // namespace tcc
