#include "bench/cpu/kernel_case.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/cpu/compiled_kernel.h"
#include "support/random.h"

namespace tcc {
namespace {

Tensor RandomTensor(const Buffer& buffer, Random& random) {
  std::vector<int64_t> shape;
  for (const Expr& extent : buffer.shape) shape.push_back(AsConstant(extent).value());
  Tensor tensor = MakeZeroTensor(buffer.dtype(), shape);
  std::span<uint8_t> bytes = MutableBytes(tensor);
  auto* values = reinterpret_cast<float*>(bytes.data());
  for (size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
    values[i] = static_cast<float>(random.Unit() * 2 - 1);
  }
  return tensor;
}

Tensor Absolute(const Tensor& tensor) {
  Tensor result = MakeTensor(tensor.dtype, tensor.shape, tensor.bytes);
  std::span<uint8_t> bytes = MutableBytes(result);
  auto* values = reinterpret_cast<float*>(bytes.data());
  for (size_t i = 0; i < bytes.size() / sizeof(float); ++i) values[i] = std::abs(values[i]);
  return result;
}

// Returns the result of the function as it is written.
StatusOr<std::vector<float>> Unscheduled(const Function& fn, const std::vector<Tensor>& arguments) {
  TCC_ASSIGN_OR_RETURN(BenchedKernel compiled, BenchedKernel::Create(fn, std::nullopt, arguments));
  ThreadPool alone({.threads = 1});
  compiled.Run(alone);
  std::span<const float> values = arguments.back().values<float>();
  return std::vector<float>(values.begin(), values.end());
}

}  // namespace

StatusOr<KernelCase> KernelCase::Create(const BenchKernel& kernel) {
  KernelCase made;
  made.fn_ = TensorFunction(kernel);
  Random random(1);
  for (const Buffer& param : made.fn_.params) {
    made.arguments_.push_back(RandomTensor(param, random));
  }
  TCC_ASSIGN_OR_RETURN(made.expected_, Unscheduled(made.fn_, made.arguments_));
  made.magnitudes_ = made.expected_;
  // The terms of a softmax are positive as they are.
  if (kernel.kind != KernelKind::kSoftmax) {
    std::vector<Tensor> absolute;
    for (const Tensor& tensor : made.arguments_) absolute.push_back(Absolute(tensor));
    TCC_ASSIGN_OR_RETURN(made.magnitudes_, Unscheduled(made.fn_, absolute));
  }
  made.factor_ =
      8 * std::sqrt(static_cast<double>(TermsOf(kernel))) * std::numeric_limits<float>::epsilon();
  return made;
}

Status KernelCase::Check(const std::string& who, const std::function<void()>& run) const {
  // `run` writes to the same memory.
  std::span<const uint8_t> bytes = arguments_.back().bytes;
  std::fill_n(const_cast<uint8_t*>(bytes.data()), bytes.size(), uint8_t{0xff});
  run();
  std::span<const float> got = arguments_.back().values<float>();
  for (size_t i = 0; i < got.size(); ++i) {
    double wanted = expected_[i], bound = factor_ * magnitudes_[i];
    if (std::abs(got[i] - wanted) <= bound) continue;
    return absl::InternalError(fmt::format("{}: {} gives {} at element {}; expected {} +- {}",
                                           fn_.name, who, got[i], i, wanted, bound));
  }
  return OkStatus();
}

}  // namespace tcc
