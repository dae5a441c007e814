// cuDNN's functions for single operators as far as bench/gpu/cudnn_library.h goes, on host memory.
// Modes that the peer does not use are refused.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bench/gpu/cudnn_library.h"
#include "tests/bench/fake_log.h"

namespace {

using namespace tcc::cudnn;
using tcc::test::LogCall;

constexpr int kBadParameter = 2000;
constexpr size_t kWorkspaceBytes = 512;

struct TensorObject {
  std::vector<int> dims, strides;

  int64_t Count() const {
    int64_t count = 1;
    for (int dim : dims) count *= dim;
    return count;
  }
  // Where element `i` in the order of the axes is.
  int64_t Place(int64_t i) const {
    int64_t place = 0;
    for (size_t axis = dims.size(); axis-- > 0;) {
      place += i % dims[axis] * strides[axis];
      i /= dims[axis];
    }
    return place;
  }
};

struct PoolingObject {
  int height = 0, width = 0, pad_y = 0, pad_x = 0, stride_y = 1, stride_x = 1;
};

struct ReductionObject {
  bool set = false;
};

bool AreOneAndZero(const void* alpha, const void* beta) {
  return *static_cast<const float*>(alpha) == 1 && *static_cast<const float*>(beta) == 0;
}

template <typename Object>
int Make(void** object) {
  *object = new Object;
  return 0;
}
template <typename Object>
int Destroy(void* object) {
  delete static_cast<Object*>(object);
  return 0;
}

// Extents of an image after pooling, as the library defines them.
int Pooled(int extent, int pad, int window, int stride) {
  return 1 + (extent + 2 * pad - window) / stride;
}

}  // namespace

extern "C" {

int cudnnCreateTensorDescriptor(void** tensor) {
  return Make<TensorObject>(tensor);
}
int cudnnDestroyTensorDescriptor(void* tensor) {
  return Destroy<TensorObject>(tensor);
}
int cudnnSetTensorNdDescriptor(void* tensor, int type, int rank, const int* dims,
                               const int* strides) {
  if (type != kFloat || rank < 4 || rank > kMaxDims) return kBadParameter;
  *static_cast<TensorObject*>(tensor) = {{dims, dims + rank}, {strides, strides + rank}};
  return 0;
}
int cudnnCreatePoolingDescriptor(void** pooling) {
  return Make<PoolingObject>(pooling);
}
int cudnnDestroyPoolingDescriptor(void* pooling) {
  return Destroy<PoolingObject>(pooling);
}
int cudnnSetPooling2dDescriptor(void* pooling, int mode, int, int height, int width, int pad_y,
                                int pad_x, int stride_y, int stride_x) {
  if (mode != kAverageOfInside) return kBadParameter;
  *static_cast<PoolingObject*>(pooling) = {height, width, pad_y, pad_x, stride_y, stride_x};
  return 0;
}
int cudnnCreateReduceTensorDescriptor(void** reduction) {
  return Make<ReductionObject>(reduction);
}
int cudnnDestroyReduceTensorDescriptor(void* reduction) {
  return Destroy<ReductionObject>(reduction);
}
int cudnnSetReduceTensorDescriptor(void* reduction, int operation, int type, int, int indices,
                                   int) {
  if (operation != kReduceAdd || type != kFloat || indices != kNoIndices) return kBadParameter;
  static_cast<ReductionObject*>(reduction)->set = true;
  return 0;
}

int cudnnPoolingForward(void*, void* pooling, const void* alpha, void* x_tensor, const void* x,
                        const void* beta, void* y_tensor, void* y) {
  const auto& pool = *static_cast<PoolingObject*>(pooling);
  const auto& from = *static_cast<TensorObject*>(x_tensor);
  const auto& to = *static_cast<TensorObject*>(y_tensor);
  LogCall(std::string("cudnnPoolingForward ") + (from.strides[1] == 1 ? "NHWC" : "NCHW"));
  const int height = from.dims[2], width = from.dims[3];
  bool fits = to.dims[2] == Pooled(height, pool.pad_y, pool.height, pool.stride_y) &&
              to.dims[3] == Pooled(width, pool.pad_x, pool.width, pool.stride_x);
  if (!fits || !AreOneAndZero(alpha, beta)) return kBadParameter;
  for (int64_t i = 0; i < to.Count(); ++i) {
    const int64_t out_x = i % to.dims[3], out_y = i / to.dims[3] % to.dims[2];
    const int64_t image = i / to.dims[3] / to.dims[2];
    double sum = 0;
    int inside = 0;
    for (int64_t ky = 0; ky < pool.height; ++ky) {
      for (int64_t kx = 0; kx < pool.width; ++kx) {
        const int64_t row = out_y * pool.stride_y + ky - pool.pad_y;
        const int64_t column = out_x * pool.stride_x + kx - pool.pad_x;
        if (row < 0 || row >= height || column < 0 || column >= width) continue;
        const int64_t place = from.Place((image * height + row) * width + column);
        sum += static_cast<const float*>(x)[place];
        ++inside;
      }
    }
    static_cast<float*>(y)[to.Place(i)] = static_cast<float>(sum / inside);
  }
  return 0;
}

int cudnnSoftmaxForward(void*, int algorithm, int mode, const void* alpha, void* x_tensor,
                        const void* x, const void* beta, void* y_tensor, void* y) {
  LogCall("cudnnSoftmaxForward mode " + std::to_string(mode));
  const auto& tensor = *static_cast<TensorObject*>(x_tensor);
  bool rows = tensor.dims == static_cast<TensorObject*>(y_tensor)->dims && tensor.dims[2] == 1 &&
              tensor.dims[3] == 1;
  if (algorithm != kSoftmaxAccurate || !rows || !AreOneAndZero(alpha, beta)) return kBadParameter;
  const int64_t columns = tensor.dims[1];
  for (int64_t begin = 0; begin < tensor.Count(); begin += columns) {
    const auto* from = static_cast<const float*>(x) + begin;
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t c = 0; c < columns; ++c) largest = std::max<double>(largest, from[c]);
    for (int64_t c = 0; c < columns; ++c) sum += std::exp(from[c] - largest);
    for (int64_t c = 0; c < columns; ++c) {
      static_cast<float*>(y)[begin + c] = static_cast<float>(std::exp(from[c] - largest) / sum);
    }
  }
  return 0;
}

int cudnnGetReductionWorkspaceSize(void*, void* reduction, void*, void*, size_t* bytes) {
  *bytes = kWorkspaceBytes;
  return static_cast<ReductionObject*>(reduction)->set ? 0 : kBadParameter;
}
int cudnnReduceTensor(void*, void* reduction, void*, size_t, void* workspace,
                      size_t workspace_bytes, const void* alpha, void* x_tensor, const void* x,
                      const void* beta, void* y_tensor, void* y) {
  LogCall("cudnnReduceTensor");
  const auto& from = *static_cast<TensorObject*>(x_tensor);
  const auto& to = *static_cast<TensorObject*>(y_tensor);
  bool ready = static_cast<ReductionObject*>(reduction)->set && workspace != nullptr &&
               workspace_bytes >= kWorkspaceBytes && from.dims.size() == to.dims.size();
  if (!ready || !AreOneAndZero(alpha, beta)) return kBadParameter;
  std::vector<double> sums(static_cast<size_t>(to.Count()));
  for (int64_t i = 0; i < from.Count(); ++i) {
    int64_t rest = i, place = 0;
    for (size_t axis = from.dims.size(); axis-- > 0;) {
      if (to.dims[axis] != 1) place += rest % from.dims[axis] * to.strides[axis];
      rest /= from.dims[axis];
    }
    sums[static_cast<size_t>(place)] += static_cast<const float*>(x)[from.Place(i)];
  }
  std::ranges::transform(sums, static_cast<float*>(y),
                         [](double sum) { return static_cast<float>(sum); });
  return 0;
}

}  // extern "C"
