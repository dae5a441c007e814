#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "api/convert.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/per_process.h"

// The state behind the embedding API's handles.
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

  // The executors that no Run uses now.
  struct Idle {
    std::mutex mutex;
    std::vector<std::unique_ptr<tcc::Executor>> executors;
  };
  PerProcess<Idle> idle{[] { return std::make_unique<Idle>(); }};
};

struct Module::Access {
  static Result<Module> Wrap(StatusOr<tcc::Module> module);
  static tcc::LoadOptions Options(const LoadOptions& options);
};

}  // namespace tcc::v1
