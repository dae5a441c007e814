#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/executor/executor.h"
#include "runtime/measure/measure_protocol.h"
#include "support/status.h"

namespace tcc {

// The times of one run of a network, in seconds.
struct NetworkRun {
  double seconds = 0;                  // of the whole run, without preparing constants
  std::vector<double> kernel_seconds;  // by kernel, all of its calls together
  // Whether some kernel's constants were prepared in this run, which leaves the caches cold.
  bool prepared = false;
};

class BindingDevice;

// A network whose kernels are candidates, bound one by one, so that candidates are timed where they
// run: on the operands, caches and neighbours of the network.
//
// The network is a skeleton: an artefact without code whose calls pass every parameter of a
// kernel's tensor function in order, constants as the model has them. A kernel has two slots, 0 and
// 1. A candidate prepares its constants in its first run, for each call of the kernel that has
// constants of its own, and keeps the result.
class BoundNetwork {
 public:
  // Makes the network and its inputs, from the seed. `roles` has the roles of each kernel's
  // parameters. Errors: the skeleton's; memory is short.
  static StatusOr<std::unique_ptr<BoundNetwork>> Create(Artefact skeleton,
                                                        std::vector<std::vector<OperandRole>> roles,
                                                        std::shared_ptr<ThreadPool> pool,
                                                        uint64_t seed);

  size_t kernels() const;
  // The network's inputs, which a caller may fill with other values before a run, and the outputs
  // of the last run.
  std::span<Tensor> inputs() { return inputs_; }
  std::span<const Tensor> outputs() const { return outputs_; }

  // Loads a candidate's artefact into a kernel's slot.
  Status Bind(size_t kernel, size_t slot, std::vector<uint8_t> artefact);

  // Runs the network once, each kernel from the given slot. Errors: a slot is empty; a kernel
  // fails.
  StatusOr<NetworkRun> Run(std::span<const uint8_t> slots);

 private:
  explicit BoundNetwork(Module module) : executor_(std::move(module)) {}
  const BindingDevice& device() const;

  Executor executor_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
};

}  // namespace tcc
