#include "compiler/check/random_inputs.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/executor/aligned_memory.h"
#include "runtime/executor/binding.h"
#include "support/random.h"

namespace tcc {
namespace {

void Fill(Tensor& tensor, Random& random) {
  int64_t count = ElementCount(tensor.shape).value_or(0);
  for (int64_t i = 0; i < count; ++i) {
    if (tensor.dtype.is_float()) {
      SetElement(tensor, i, random.Normal());
    } else {
      SetElementInt(tensor, i, random.Between(0, tensor.dtype.is_bool() ? 1 : 7));
    }
  }
}

}  // namespace

StatusOr<std::vector<int64_t>> SizeWith(const Metadata& metadata,
                                        const std::map<std::string, int64_t>& dims) {
  const std::vector<ShapeVariable>& variables = metadata.shape_variables;
  std::vector<std::pair<size_t, int64_t>> given;
  for (const auto& [name, value] : dims) {
    auto variable = std::ranges::find(variables, name, &ShapeVariable::name);
    if (variable == variables.end()) {
      return UsageError("the compiled model has no free dimension '{}'; expected one of {}", name,
                        fmt::join(metadata.ShapeVariableNames(), ", "));
    }
    given.emplace_back(static_cast<size_t>(variable - variables.begin()), value);
  }
  if (metadata.sizes.empty()) {
    std::vector<int64_t> size = metadata.UsualSizes();
    for (const auto& [variable, value] : given) size[variable] = value;
    return size;
  }
  auto fits = [&](const std::vector<int64_t>& size) {
    return std::ranges::all_of(given, [&](const auto& g) { return size[g.first] == g.second; });
  };
  auto size = std::ranges::find_if(metadata.sizes, fits);
  if (size != metadata.sizes.end()) return *size;
  std::vector<std::string> wanted;
  for (const auto& [name, value] : dims) wanted.push_back(fmt::format("{}={}", name, value));
  return UsageError("the model was not compiled for {}; its sizes are {}", fmt::join(wanted, ","),
                    SizesText(metadata));
}

StatusOr<std::vector<Tensor>> RandomInputs(const Metadata& metadata, uint64_t seed) {
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> size, SizeWith(metadata, {}));
  return RandomInputs(metadata, seed, size);
}

StatusOr<std::vector<Tensor>> RandomInputs(const Metadata& metadata, uint64_t seed,
                                           std::span<const int64_t> size) {
  Random random(seed);
  std::vector<Tensor> inputs;
  for (const TensorInfo& info : metadata.inputs) {
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, ShapeOf(info, metadata, size));
    TCC_ASSIGN_OR_RETURN(Tensor tensor,
                         AllocateTensor(info.dtype, shape, "input '" + info.name + "'"));
    Random own = random.Fork();
    Fill(tensor, own);
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

}  // namespace tcc
