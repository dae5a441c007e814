#pragma once

#include <vector>

#include "support/tensor.h"

namespace tcc {

// [n, c, h, w] as [n, h, w, c] and back, of float32; tensors of other ranks as they are.
Tensor ToChannelsLast(const Tensor& tensor);
Tensor FromChannelsLast(const Tensor& tensor);

std::vector<Tensor> ToChannelsLast(const std::vector<Tensor>& tensors);
std::vector<Tensor> FromChannelsLast(const std::vector<Tensor>& tensors);

}  // namespace tcc
