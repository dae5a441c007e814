#pragma once

#include <vector>

#include "support/tensor.h"

namespace tcc {

// Transposes float32 tensors [n, c, h, w] to [n, h, w, c] and back. Tensors of other ranks stay as
// they are.
Tensor ToChannelsLast(const Tensor& tensor);
Tensor FromChannelsLast(const Tensor& tensor);

std::vector<Tensor> ToChannelsLast(const std::vector<Tensor>& tensors);
std::vector<Tensor> FromChannelsLast(const std::vector<Tensor>& tensors);

}  // namespace tcc
