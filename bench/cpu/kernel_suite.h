#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/expr/function.h"
#include "support/status.h"

// The kernels that tcc-bench measures: single operators of common networks.
namespace tcc {

enum class KernelKind {
  kGemm,         // C[rows, columns] = A[rows, depth] * B[depth, columns], B constant
  kConvolution,  // NHWC, stride 1, as many pixels out as in, weights [k, k, in, out] constant
  kDepthwise,    // the same with a filter [k, k] for each channel
  kSoftmax,      // along the columns of [rows, columns]
};

struct BenchKernel {
  std::string_view name;
  KernelKind kind;
  // The sizes of matrices.
  int64_t rows = 0, columns = 0, depth = 0;
  // The sizes of images, which are square: pixels per side, channels, taps per side.
  int64_t side = 0, in = 0, out = 0, taps = 0;
};

// Returns the suite of that name, empty if there is none.
std::span<const BenchKernel> KernelSuite(std::string_view name);
std::string_view KernelSuiteNames();
// Returns the kernels of these names in any suite. Error: a name that no suite has.
StatusOr<std::vector<BenchKernel>> KernelsNamed(std::span<const std::string> names);

// Returns the tensor function (kTensor) of the kernel: its inputs come first, the last parameter is
// its output.
Function TensorFunction(const BenchKernel& kernel);

// Returns twice the number of multiplications, including those on padding; 0 where that is no
// measure of the work.
double NominalFlops(const BenchKernel& kernel);

// Returns the number of terms that are summed for one element of the result.
int64_t TermsOf(const BenchKernel& kernel);

}  // namespace tcc
