#pragma once

#include <memory>
#include <span>
#include <string>

#include "runtime/artefact/artefact.h"
#include "runtime/executor/device.h"
#include "runtime/executor/thread_pool.h"
#include "support/status.h"

namespace tcc {

struct LoadOptions {
  // The threads that run kernels; null: a new pool with `threads`.
  std::shared_ptr<ThreadPool> pool;
  int threads = 0;  // 0: one for each allowed CPU
  // The devices among which the artefact's device name chooses.
  std::span<const DeviceRow> devices = RuntimeDevices();
  // The device that runs the kernels, whatever the artefact's device is; null: one of `devices`.
  std::shared_ptr<const Device> device = {};
  // Whether the weights stay in the mapped file, shared by all processes that map it, instead of
  // being copied into huge pages.
  bool map_weights = false;
  int ordinal = -1;  // the number among devices of that name; -1: the device chooses
};

// A compiled model, ready to run: an artefact and its loaded kernels. Copies are handles that share
// both. A module may be used from several threads at once.
class Module {
 public:
  // Loads a model. Fails with InvalidArgument for a bad artefact and with Unavailable if its
  // device, or what its kernels need of the device, is missing.
  static StatusOr<Module> Load(const std::string& path, const LoadOptions& options = {});
  static StatusOr<Module> FromBytes(SharedBytes file, const LoadOptions& options = {});
  static StatusOr<Module> FromArtefact(Artefact artefact, const LoadOptions& options = {});

  const Artefact& artefact() const { return state_->artefact; }
  const Metadata& metadata() const { return state_->artefact.metadata; }
  const Device& device() const { return *state_->device; }
  const LoadedKernels& kernels() const { return state_->kernels; }
  const std::shared_ptr<ThreadPool>& pool() const { return state_->pool; }

 private:
  struct State {
    Artefact artefact;
    std::shared_ptr<ThreadPool> pool;
    std::shared_ptr<const Device> device;
    LoadedKernels kernels;
  };
  explicit Module(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

// Moves the weights of an artefact that ReadArtefact mapped into memory of huge pages, if the
// system has such pages and the weights fill several of them; leaves them mapped otherwise, also
// where memory is short. A file's pages have 4 KiB: a kernel that streams weights then misses the
// TLB every 64 cache lines, and which cache sets they share is left to chance. The mapping's pages
// are given back while they are copied, so that the peak stays one copy.
void MoveWeightsToHugePages(Artefact& artefact);

}  // namespace tcc
