#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"

// The tensors that importers and passes make constants of.
namespace tcc {

Tensor IntScalar(int64_t number);
Tensor IntVector(const std::vector<int64_t>& numbers);
Tensor ScalarTensor(DType dtype, double number);

// Returns a tensor as it is, and numbers as i64 or f32; nullopt for a text.
std::optional<Tensor> TensorOf(const Attribute& attribute);

// Returns whether every dimension is 1.
bool HasOneElement(const Tensor& tensor);

// Returns whether no element differs from `number`.
bool HoldsOnly(const Tensor& tensor, double number);

}  // namespace tcc
