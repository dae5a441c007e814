#include "ir/graph/constants.h"

#include <algorithm>

namespace tcc {

Tensor IntScalar(int64_t number) {
  Tensor tensor = MakeZeroTensor(kInt64, {});
  SetElementInt(tensor, 0, number);
  return tensor;
}

Tensor IntVector(const std::vector<int64_t>& numbers) {
  Tensor tensor = MakeZeroTensor(kInt64, {static_cast<int64_t>(numbers.size())});
  for (size_t i = 0; i < numbers.size(); ++i) SetElementInt(tensor, i, numbers[i]);
  return tensor;
}

Tensor ScalarTensor(DType dtype, double number) {
  Tensor tensor = MakeZeroTensor(dtype, {});
  SetElement(tensor, 0, number);
  return tensor;
}

std::optional<Tensor> TensorOf(const Attribute& attribute) {
  if (const auto* tensor = std::get_if<Tensor>(&attribute)) return *tensor;
  if (const auto* number = std::get_if<int64_t>(&attribute)) return IntScalar(*number);
  if (const auto* number = std::get_if<double>(&attribute)) return ScalarTensor(kFloat32, *number);
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&attribute)) return IntVector(*ints);
  const auto* floats = std::get_if<std::vector<double>>(&attribute);
  if (floats == nullptr) return std::nullopt;
  Tensor tensor = MakeZeroTensor(kFloat32, {static_cast<int64_t>(floats->size())});
  for (size_t i = 0; i < floats->size(); ++i) SetElement(tensor, i, (*floats)[i]);
  return tensor;
}

bool HasOneElement(const Tensor& tensor) {
  return std::ranges::all_of(tensor.shape, [](int64_t extent) { return extent == 1; });
}

bool HoldsOnly(const Tensor& tensor, double number) {
  int64_t count = ElementCount(tensor.shape).value_or(0);
  for (int64_t i = 0; i < count; ++i) {
    if (ElementAsDouble(tensor, i) != number) return false;
  }
  return true;
}

}  // namespace tcc
