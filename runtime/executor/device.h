#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/artefact/artefact.h"
#include "runtime/executor/thread_pool.h"
#include "support/status.h"

namespace tcc {

// The kernels that a device has loaded. `module` keeps them alive; only that device understands it.
// entries[i] belongs to metadata.kernels[i].
struct LoadedKernels {
  std::shared_ptr<const void> module;
  std::vector<const void*> entries;
  // The address at which kernels find the weights; null: where the artefact has them.
  uint8_t* weights = nullptr;
  // The number of the device that holds them, if there may be several.
  std::optional<int> ordinal;
  std::string gpu;  // the name of the GPU, as its driver tells; "": another device
};

// The arguments of a kernel launch, in the order of its plan's Call. bytes[i] is buffers[i]'s size.
struct LaunchArguments {
  std::span<void* const> buffers;
  std::span<const int64_t> bytes;
  std::span<const int64_t> shape_args;
};

// A queue of work on a device with memory of its own. Each piece of work runs after the ones
// before. The host computes addresses in that memory but does not read it. One thread at a time may
// use a queue; different queues may be used at once. A failure of enqueued work may show at any
// later call, at Finish at the latest.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;

  // Returns memory number `slot`, of at least `bytes`, at a multiple of 256. It keeps its address
  // until more is asked for, which discards its content. `what` names the memory in messages.
  virtual StatusOr<uint8_t*> Reserve(size_t slot, int64_t bytes, std::string_view what) = 0;

  // Enqueues later work in this stream of the caller's; null: in a stream of the queue's own.
  // Nothing orders the work before and after the change, and the queue's destructor does not wait
  // for a caller's stream.
  virtual void UseStream(void* stream) = 0;

  // Fails with InvalidArgument if a caller's stream belongs to another device, naming both devices,
  // or if the device's driver does not know it.
  virtual Status CheckStream(void* stream) = 0;
  // Fails with InvalidArgument while the stream is being captured into a graph, and for the default
  // stream while it waits for one that is.
  virtual Status CheckNotCaptured(void* stream) = 0;
  // Fails with InvalidArgument if a caller's memory is on another device, naming both devices, or
  // if the device's driver does not know it. Accepts host memory that the driver made for the
  // device. `what` names the memory in messages.
  virtual Status CheckMemory(const void* memory, std::string_view what) = 0;

  // Enqueues an upload. The caller may change `from` after the call.
  virtual Status Upload(uint8_t* to, std::span<const uint8_t> from) = 0;
  // Enqueues a download. The bytes are in `to` after Finish, which the caller calls unless a
  // download fails.
  virtual Status Download(std::span<uint8_t> to, const uint8_t* from) = 0;
  // Enqueues a copy within the device's memory; the ranges may overlap.
  virtual Status Copy(uint8_t* to, const uint8_t* from, int64_t bytes) = 0;

  // WorkspaceBytes returns the bytes of workspace that a launch of the kernel needs.
  // ReserveWorkspace allocates at least that much, so that such launches do not fail for lack of
  // it.
  virtual StatusOr<int64_t> WorkspaceBytes(size_t kernel,
                                           std::span<const int64_t> shape_args) const = 0;
  virtual Status ReserveWorkspace(int64_t bytes) = 0;
  virtual Status Launch(size_t kernel, const LaunchArguments& arguments) = 0;
  // Launches the kernel, waits, and returns the seconds that the device was busy with it.
  virtual StatusOr<double> TimedLaunch(size_t kernel, const LaunchArguments& arguments) = 0;

  // Enqueues the launches and copies of `work` all at once: replays a recording, known by its
  // number, or calls `work` to make it if there is none since that number was forgotten. Memory
  // that moves or is lost drops all recordings, so `work` of a number is the same from one Forget
  // to the next. The caller has run the same work unrecorded before, so all memory is allocated.
  virtual Status DoRecorded(size_t recording, const std::function<Status()>& work) = 0;
  virtual void Forget(size_t recording) = 0;

  // Waits for all enqueued work.
  virtual Status Finish() = 0;
  // Cleans up after a failure: waits for the work that was enqueued before it, and downloads
  // nothing. Does not wait for a stream that the caller is capturing.
  virtual void Abandon() = 0;
};

// A device that runs kernels. It may be used from several threads at once.
class Device {
 public:
  virtual ~Device() = default;

  // Makes the artefact's kernels section runnable, finds metadata.kernels in it and brings the
  // weights to where kernels read them. Fails with Unavailable when this machine lacks what the
  // kernels need, with InvalidArgument when the section is bad.
  virtual StatusOr<LoadedKernels> LoadKernels(const Artefact& artefact) const = 0;

  // Returns the alignment at which Launch takes a tensor of the caller's. Weights and the arena
  // begin at multiples of 64, whatever this is.
  virtual int64_t TensorAlignment(DType) const { return 64; }

  // Runs a kernel on host memory and returns when it has ended. Expects kernel <
  // kernels.entries.size().
  virtual Status Launch(const LoadedKernels& kernels, size_t kernel,
                        const LaunchArguments& arguments) const = 0;

  // Returns the seconds that a launch takes on the machine that a simulator stands for; nullopt
  // where the clock tells. Expects kernel < kernels.entries.size().
  virtual std::optional<double> SimulatedSeconds(const LoadedKernels&, size_t) const {
    return std::nullopt;
  }

  // Makes a queue for kernels that run on the device's own memory; null if they run on the host's.
  virtual StatusOr<std::unique_ptr<DeviceQueue>> MakeQueue(const LoadedKernels&) const {
    return nullptr;
  }
};

struct DeviceOptions {
  std::shared_ptr<ThreadPool> pool;  // shared by the devices of a module
  int ordinal = -1;                  // the device's number among several; -1: it chooses itself
};

// A device under the name that artefacts give it.
struct DeviceRow {
  std::string_view name;
  std::shared_ptr<const Device> (*make)(const DeviceOptions& options);
};

// Returns the devices of the bare runtime: "cpu", "vdla", "cuda", "opencl".
std::span<const DeviceRow> RuntimeDevices();

// Returns the number among the GPUs of that name that counts where none is given: the value of
// TCC_CUDA_DEVICE or TCC_OPENCL_DEVICE, else 0. FailedPrecondition: that is not a number.
StatusOr<int> ChosenOrdinal(std::string_view gpu_device);

}  // namespace tcc
