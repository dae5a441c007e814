#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ir/support/status.h"
#include "runtime/cuda_context.h"

namespace tcc {

// Something that is timed: enqueues one run on the stream, on operands number `set`.
using GpuWork = std::function<Status(size_t set)>;

struct GpuTimingOptions {
  size_t sets = 1;    // runs alternate between so many sets of operands
  int launches = 20;  // of a graph at least, and so many that it takes graph_seconds
  double graph_seconds = 2e-3;
  int replays = 5;  // between two events
  int blocks = 9;   // of those; the median counts
};

struct GpuTime {
  double median_us = 0;  // of one run, gaps between the kernels of a graph included
  double min_us = 0;
  bool graph = true;  // false: it cannot be captured and was launched run by run
};

// A GPU, its memory and one stream, to compare kernels of different makers on. Its context is the
// thread's as long as it lives.
class GpuBench {
 public:
  // The driver and the device are those of TCC_CUDA_DRIVER and TCC_CUDA_DEVICE.
  static StatusOr<std::unique_ptr<GpuBench>> Open();
  ~GpuBench();
  GpuBench(const GpuBench&) = delete;
  GpuBench& operator=(const GpuBench&) = delete;

  const CudaDriver& driver() const { return context_->driver(); }
  const CudaDeviceInfo& device() const { return context_->device(); }
  CudaStreamHandle stream() const { return stream_.get(); }

  StatusOr<CudaMemory> Allocate(int64_t bytes, std::string_view what) const;
  StatusOr<CudaMemory> Upload(std::span<const uint8_t> bytes, std::string_view what) const;
  // Every byte 0xff: NaN as a float.
  Status Poison(uint8_t* memory, int64_t bytes) const;
  Status Download(std::span<uint8_t> to, const uint8_t* from) const;  // waits
  Status Finish() const;

  // Seconds of one run, the least of three, after one to warm up.
  StatusOr<double> TimeOnce(const GpuWork& work) const;

  // Each is captured as a graph of many runs; then the graphs are timed in turn, block by block, so
  // that a drift of the clock meets all of them.
  StatusOr<std::vector<GpuTime>> Time(std::span<const GpuWork> contestants,
                                      const GpuTimingOptions& options) const;

 private:
  struct Contestant;
  GpuBench() = default;
  Status CopyToDevice(uint8_t* to, std::span<const uint8_t> from) const;
  StatusOr<double> SecondsOf(const std::function<Status()>& work) const;
  StatusOr<Contestant> Prepare(const GpuWork& work, const GpuTimingOptions& options) const;
  StatusOr<CudaGraphExec> Capture(const GpuWork& work, int launches, size_t sets) const;

  std::shared_ptr<const CudaContext> context_;
  std::unique_ptr<CudaScope> scope_;
  CudaStream stream_;
  CudaEvent start_, end_;
};

}  // namespace tcc
