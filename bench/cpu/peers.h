#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "bench/cpu/kernel_suite.h"
#include "bench/operator/operator.h"
#include "support/tensor.h"

// Libraries that run the same kernels, for comparison. They are opened where they are installed; a
// peer that is not there, or does not have a kernel, is left out.
namespace tcc {

struct Peer {
  std::string_view name;
  bool (*is_present)();
  // Returns a function that runs the kernel on so many threads, its weights packed as the peer
  // likes them; empty if the peer cannot run it. The tensors are those of the parameters of
  // TensorFunction(kernel). Only the run that was made last is sure to have its number of threads.
  std::function<void()> (*make)(const BenchKernel& kernel, const std::vector<Tensor>& arguments,
                                int threads);
};

std::span<const Peer> Peers();

// A peer for operators on a CPU: runs on the inputs and constants of the operator and writes to
// `output`. Only the run that was made last is sure to have its number of threads.
struct OperatorPeer {
  std::string_view name;
  std::function<void()> (*make)(const BenchOperator& op, const std::vector<Tensor>& inputs,
                                const std::vector<Tensor>& constants, const Tensor& output,
                                int threads);
};

std::span<const OperatorPeer> OperatorPeers();

std::function<void()> OnednnOperator(const BenchOperator& op, const std::vector<Tensor>& inputs,
                                     const std::vector<Tensor>& constants, const Tensor& output,
                                     int threads);
std::function<void()> OpenBlasOperator(const BenchOperator& op, const std::vector<Tensor>& inputs,
                                       const std::vector<Tensor>& constants, const Tensor& output,
                                       int threads);

bool HasOnednn();
std::function<void()> OnednnKernel(const BenchKernel& kernel, const std::vector<Tensor>& arguments,
                                   int threads);
bool HasOpenBlas();
std::function<void()> OpenBlasKernel(const BenchKernel& kernel,
                                     const std::vector<Tensor>& arguments, int threads);

}  // namespace tcc
