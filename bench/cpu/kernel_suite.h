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
  // Of matrices.
  int64_t rows = 0, columns = 0, depth = 0;
  // Of images, which are square: pixels of a side, channels, taps of a side.
  int64_t side = 0, in = 0, out = 0, taps = 0;
};

// The suite of that name, empty if there is none.
std::span<const BenchKernel> KernelSuite(std::string_view name);
std::string_view KernelSuiteNames();
// Kernels of any suite. Error: a name that none has.
StatusOr<std::vector<BenchKernel>> KernelsNamed(std::span<const std::string> names);

// What the kernel computes (kTensor): first its inputs, the last parameter is its output.
Function TensorFunction(const BenchKernel& kernel);

// Twice the multiplications, those of padding among them; 0 where that is no measure of the work.
double NominalFlops(const BenchKernel& kernel);

// Terms that are summed for one element of the result.
int64_t TermsOf(const BenchKernel& kernel);

}  // namespace tcc
