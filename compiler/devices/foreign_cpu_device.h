#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/executor/module.h"
#include "runtime/measure/instruction_counts.h"
#include "support/core_rates.h"
#include "support/target.h"

namespace tcc {

// Returns whether the target is a CPU of another architecture than this one.
bool IsForeignCpu(const Target& target);

// Returns the core by whose rates counted instructions become cycles. FailedPrecondition where the
// target is this machine's or a GPU, or has SVE, whose instructions the plugin does not classify.
StatusOr<const CoreRates*> CountedCore(const Target& target);

// Returns the command that runs tcc-worker for CPUs of the architecture on this machine:
// $TCC_WORKER_ and its name in capitals, else qemu-user with the worker that the preset for the
// architecture builds beside this program's. Unavailable, with the commands that make them, if
// there is none.
StatusOr<std::string> FindForeignWorker(CpuArch arch);

// Returns the command for FindForeignWorker's worker under a qemu that counts its instructions, by
// the plugin in ../lib of this program's folder (tools/qemu). Unavailable without either.
StatusOr<std::string> FindCountingWorker(CpuArch arch);

struct ForeignCpuOptions {
  std::string command = {};  // starts the worker; "": FindForeignWorker for the artefact's target
  // Whether instructions are counted, by FindCountingWorker. The pool must have one thread.
  bool counts = false;
};

// Makes a device that runs kernels of another architecture in a worker. Each set of loaded kernels
// has a worker with the pool's number of threads; launches send the memory that they use, and get
// it back. A kernel that ends the worker makes the launch Unavailable, with the signal's name.
std::shared_ptr<const Device> MakeForeignCpuDevice(std::shared_ptr<ThreadPool> pool,
                                                   ForeignCpuOptions options = {});

// Returns what the last launch of the module's kernels executed; nullopt if nothing was counted.
std::optional<InstructionCounts> CountsOfLastLaunch(const Module& module);

}  // namespace tcc
