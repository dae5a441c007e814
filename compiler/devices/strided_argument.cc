#include "compiler/devices/strided_argument.h"

#include <algorithm>
#include <cstring>

namespace tcc {
namespace {

StatusOr<std::vector<int64_t>> Numbers(const Buffer& param, const std::vector<Expr>& exprs,
                                       const Assignment& sizes) {
  std::vector<int64_t> numbers;
  for (const Expr& expr : exprs) {
    std::optional<int64_t> number = EvaluateInt(expr, sizes);
    if (!number) return InvalidInput("parameter '{}' has a symbolic shape", param.var->name);
    if (*number < 0) {
      return InvalidInput("parameter '{}' has the extent or stride {}", param.var->name, *number);
    }
    numbers.push_back(*number);
  }
  return numbers;
}

// Returns the bytes from the first element to the end of the last; on overflow, more than any
// memory.
int64_t Reach(const StridedArgument& argument) {
  int64_t elements = 1;
  for (size_t d = 0; d < argument.shape.size(); ++d) {
    if (argument.shape[d] == 0) return 0;
    int64_t step;
    if (__builtin_mul_overflow(argument.shape[d] - 1, argument.strides[d], &step) ||
        __builtin_add_overflow(elements, step, &elements)) {
      return INT64_MAX;
    }
  }
  int64_t bytes;
  bool fits = !__builtin_mul_overflow(elements, argument.dtype.bytes(), &bytes);
  return fits ? bytes : INT64_MAX;
}

// Calls visit(element in the caller's memory, element of a compact tensor), both in bytes.
template <typename Visit>
void ForEachElement(const StridedArgument& argument, const Visit& visit) {
  int64_t size = argument.dtype.bytes();
  std::vector<int64_t> index(argument.shape.size(), 0);
  int64_t at = 0;
  int64_t count = ElementCount(argument.shape).value();
  for (int64_t i = 0; i < count; ++i) {
    visit(at * size, i * size);
    for (size_t d = index.size(); d-- > 0;) {
      at += argument.strides[d];
      if (++index[d] < argument.shape[d]) break;
      at -= argument.strides[d] * argument.shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace

StatusOr<StridedArgument> ArgumentOver(StridedArgument argument, const std::string& what) {
  TCC_ASSIGN_OR_RETURN(int64_t need, ByteCount(argument.dtype, argument.shape));
  if (!argument.strides.empty()) {
    if (argument.dtype.bits() < 8) {
      return InvalidInput("{} of {} has strides", what, ToString(argument.dtype));
    }
    need = std::max(need, Reach(argument));
  }
  if (need > std::ssize(argument.memory)) {
    return InvalidInput("{} takes {} bytes; its buffer has {}", what, need, argument.memory.size());
  }
  argument.memory = argument.memory.first(static_cast<size_t>(need));
  return argument;
}

StatusOr<StridedArgument> ArgumentOver(const Buffer& param, const Assignment& sizes, void* data,
                                       int64_t bytes) {
  StridedArgument argument{param.dtype(), {}, {}, {}};
  TCC_ASSIGN_OR_RETURN(argument.shape, Numbers(param, param.shape, sizes));
  TCC_ASSIGN_OR_RETURN(argument.strides, Numbers(param, param.layout.strides, sizes));
  argument.memory = {static_cast<uint8_t*>(data), static_cast<size_t>(bytes)};
  return ArgumentOver(std::move(argument), fmt::format("parameter '{}'", param.var->name));
}

Tensor TensorOf(const StridedArgument& argument) {
  if (argument.strides.empty()) {
    Tensor tensor;
    tensor.dtype = argument.dtype;
    tensor.shape = argument.shape;
    tensor.bytes = argument.memory;
    return tensor;
  }
  Tensor tensor = MakeZeroTensor(argument.dtype, argument.shape);
  std::span<uint8_t> bytes = MutableBytes(tensor);
  ForEachElement(argument, [&](int64_t from, int64_t to) {
    std::memcpy(&bytes[to], &argument.memory[from], argument.dtype.bytes());
  });
  return tensor;
}

void StoreBack(const Tensor& tensor, const StridedArgument& argument) {
  if (argument.strides.empty()) {
    std::ranges::copy(tensor.bytes, argument.memory.begin());
    return;
  }
  ForEachElement(argument, [&](int64_t to, int64_t from) {
    std::memcpy(&argument.memory[to], &tensor.bytes[from], argument.dtype.bytes());
  });
}

}  // namespace tcc
