#include "bench/operator/channels_last.h"

namespace tcc {
namespace {

// Transposes each image, a matrix of `rows` rows and `columns` columns.
Tensor Turned(const Tensor& from, std::vector<int64_t> shape, int64_t rows, int64_t columns) {
  Tensor to = MakeZeroTensor(from.dtype, std::move(shape));
  auto* values = reinterpret_cast<float*>(MutableBytes(to).data());
  std::span<const float> given = from.values<float>();
  for (int64_t begin = 0; begin < std::ssize(given); begin += rows * columns) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        values[begin + column * rows + row] =
            given[static_cast<size_t>(begin + row * columns + column)];
      }
    }
  }
  return to;
}

}  // namespace

Tensor ToChannelsLast(const Tensor& tensor) {
  const std::vector<int64_t>& shape = tensor.shape;
  if (shape.size() != 4) return tensor;
  return Turned(tensor, {shape[0], shape[2], shape[3], shape[1]}, shape[1], shape[2] * shape[3]);
}

Tensor FromChannelsLast(const Tensor& tensor) {
  const std::vector<int64_t>& shape = tensor.shape;
  if (shape.size() != 4) return tensor;
  return Turned(tensor, {shape[0], shape[3], shape[1], shape[2]}, shape[1] * shape[2], shape[3]);
}

std::vector<Tensor> ToChannelsLast(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> turned;
  for (const Tensor& tensor : tensors) turned.push_back(ToChannelsLast(tensor));
  return turned;
}

std::vector<Tensor> FromChannelsLast(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> turned;
  for (const Tensor& tensor : tensors) turned.push_back(FromChannelsLast(tensor));
  return turned;
}

}  // namespace tcc
