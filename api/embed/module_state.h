#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "api/embed/convert.h"
#include "runtime/executor.h"

// What the embedding API's handles hold.
namespace tcc::v1 {

struct ThreadPool::State {
  explicit State(int threads)
      : pool(std::make_shared<tcc::ThreadPool>(ThreadPoolOptions{.threads = threads})) {}

  std::shared_ptr<tcc::ThreadPool> pool;
};

struct Module::State {
  explicit State(tcc::Module loaded) : module(std::move(loaded)) {}

  tcc::Module module;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::vector<KernelInfo> kernels;

  // Executors that no Run uses now.
  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<tcc::Executor>> idle;
};

struct Module::Access {
  static Result<Module> Wrap(StatusOr<tcc::Module> module);
  static tcc::LoadOptions Options(const LoadOptions& options);
};

}  // namespace tcc::v1
