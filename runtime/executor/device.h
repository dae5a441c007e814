#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/artefact/artefact.h"
#include "runtime/executor/thread_pool.h"
#include "support/status.h"

namespace tcc {

// Kernels that a device has loaded; `module` is what only that device understands and keeps them
// alive. entries[i] belongs to metadata.kernels[i].
struct LoadedKernels {
  std::shared_ptr<const void> module;
  std::vector<const void*> entries;
  // Where kernels find the weights; null: where the artefact has them.
  uint8_t* weights = nullptr;
  // The number of the device that has them, where there may be several.
  std::optional<int> ordinal;
};

// What a kernel is launched with, in the order of its plan's Call. bytes[i] is buffers[i]'s size.
struct LaunchArguments {
  std::span<void* const> buffers;
  std::span<const int64_t> bytes;
  std::span<const int64_t> shape_args;
};

// Memory of a device that is not the host's, and work on it, each piece after the ones before.
// Memory is addressed from the host but not read there. One thread at a time; different queues may
// be used at once. Failures of work may show at any later call, at Finish at the latest.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;

  // Memory number `slot`, of at least `bytes`, at a multiple of 256. It stays where it is until
  // more is asked for; then what it held is lost. `what` names it in messages.
  virtual StatusOr<uint8_t*> Reserve(size_t slot, int64_t bytes, std::string_view what) = 0;

  // Work goes to this stream of the caller's from now on; null: to one of the queue's own. Nothing
  // orders the work before and after the change, nor does a queue's end wait for a caller's stream.
  virtual void UseStream(void* stream) = 0;

  // Whether work of the queue can go to that stream of the caller's, and use that memory of the
  // caller's, which `what` names. Fail with InvalidArgument, naming both devices, for another's.
  virtual Status CheckStream(void* stream) = 0;
  // Fails with InvalidArgument while somebody records what goes to the stream.
  virtual Status CheckNotCaptured(void* stream) = 0;
  virtual Status CheckMemory(const void* memory, std::string_view what) = 0;

  // `from` may change after the call.
  virtual Status Upload(uint8_t* to, std::span<const uint8_t> from) = 0;
  // The bytes are there after Finish, which follows unless a download fails.
  virtual Status Download(std::span<uint8_t> to, const uint8_t* from) = 0;
  // Both are memory of the device and may overlap.
  virtual Status Copy(uint8_t* to, const uint8_t* from, int64_t bytes) = 0;

  // What Launch of the kernel needs to work in, and room for that much at least, so that launches
  // of such kernels do not fail for want of it.
  virtual StatusOr<int64_t> WorkspaceBytes(size_t kernel,
                                           std::span<const int64_t> shape_args) const = 0;
  virtual Status ReserveWorkspace(int64_t bytes) = 0;
  virtual Status Launch(size_t kernel, const LaunchArguments& arguments) = 0;
  // Waits; the seconds that the device was busy with it.
  virtual StatusOr<double> TimedLaunch(size_t kernel, const LaunchArguments& arguments) = 0;

  // Does the launches and copies that `work` makes, all at once: as they were recorded, or recorded
  // now if nothing is since the last Forget. Memory that moves or is lost forgets too, so `work` is
  // equal from one Forget to the next. It has been done before, so that all memory is there.
  virtual Status DoRecorded(const std::function<Status()>& work) = 0;
  virtual void Forget() = 0;

  // Waits for everything.
  virtual Status Finish() = 0;
  // After a failure: waits for what was enqueued before it, and downloads nothing. What a caller
  // captures is left alone.
  virtual void Abandon() = 0;
};

// Runs kernels. May be used from several threads at once.
class Device {
 public:
  virtual ~Device() = default;

  // Makes the artefact's kernels section runnable, finds metadata.kernels in it and brings the
  // weights to where kernels read them. Fails with Unavailable when this machine lacks what the
  // kernels need, with InvalidArgument when the section is bad.
  virtual StatusOr<LoadedKernels> LoadKernels(const Artefact& artefact) const = 0;

  // For kernels that run on host memory. Returns when the kernel has ended. Expects
  // kernel < kernels.entries.size().
  virtual Status Launch(const LoadedKernels& kernels, size_t kernel,
                        const LaunchArguments& arguments) const = 0;

  // For kernels that run on memory of their own; null where they run on the host's.
  virtual StatusOr<std::unique_ptr<DeviceQueue>> MakeQueue(const LoadedKernels&) const {
    return nullptr;
  }
};

struct DeviceOptions {
  std::shared_ptr<ThreadPool> pool;  // shared by the devices of a module
  int ordinal = -1;                  // which of several; -1: the device's own choice
};

// A device by the name that artefacts give it.
struct DeviceRow {
  std::string_view name;
  std::shared_ptr<const Device> (*make)(const DeviceOptions& options);
};

// What the bare runtime has: "cpu", "cuda".
std::span<const DeviceRow> RuntimeDevices();

}  // namespace tcc
