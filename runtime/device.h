#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/file.h"
#include "ir/support/status.h"
#include "runtime/artefact/metadata.h"
#include "runtime/thread_pool.h"

namespace tcc {

// Kernels that a device has loaded; `module` is what only that device understands and keeps them
// alive. entries[i] belongs to metadata.kernels[i].
struct LoadedKernels {
  std::shared_ptr<const void> module;
  std::vector<const void*> entries;
};

// What a kernel is launched with, in the order of its plan's Call. bytes[i] is buffers[i]'s size.
struct LaunchArguments {
  std::span<void* const> buffers;
  std::span<const int64_t> bytes;
  std::span<const int64_t> shape_args;
};

// Runs kernels on host memory. Launch may be called from several threads at once.
class Device {
 public:
  virtual ~Device() = default;

  // Makes the kernels section runnable and finds metadata.kernels in it. Fails with Unavailable
  // when this machine lacks what the kernels need, with InvalidArgument when the section is bad.
  virtual StatusOr<LoadedKernels> LoadKernels(const SharedBytes& section,
                                              const Metadata& metadata) const = 0;

  // Returns when the kernel has ended. Expects kernel < kernels.entries.size().
  virtual Status Launch(const LoadedKernels& kernels, size_t kernel,
                        const LaunchArguments& arguments) const = 0;
};

// A device by the name that artefacts give it. The pool is shared by the devices of a module.
struct DeviceRow {
  std::string_view name;
  std::shared_ptr<const Device> (*make)(std::shared_ptr<ThreadPool> pool);
};

// What the bare runtime has: "cpu".
std::span<const DeviceRow> RuntimeDevices();

}  // namespace tcc
