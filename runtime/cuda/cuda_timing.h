#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/cuda/cuda_stream.h"
#include "runtime/executor/module.h"

// How long work takes on a GPU, gaps between the kernels of a graph included; nothing is
// subtracted. A graph hides the host, operands that alternate the cache, turns and the median of
// blocks the clock's wandering.
namespace tcc {

// What is timed: enqueues one run on the timer's stream, on operands number `set`.
using CudaWork = std::function<Status(size_t set)>;

struct CudaTimingOptions {
  int launches = 20;  // of a graph at least, and so many that it takes graph_seconds
  double graph_seconds = 2e-3;
  int replays = 5;  // between two events
  int blocks = 9;   // of those
};

struct CudaTime {
  double median_seconds = 0;  // of one run, over the blocks
  double min_seconds = 0;
  int launches = 0;  // of the graph
  Status graph;      // why the work cannot be captured and was launched run by run; ok: it was not
};

// Of operands of so many bytes as many sets as fill the L2 cache twice, so that no run finds what
// the one before left there; fewer where the device's memory would not do.
int64_t CountColdSets(int64_t set_bytes, const CudaDeviceInfo& device);

// A stream to time on. Its context is to be the thread's as long as it lives.
class CudaTimer {
 public:
  static StatusOr<std::unique_ptr<CudaTimer>> Make(std::shared_ptr<const CudaContext> context);
  // Waits, so that no kernel runs on memory that is given back.
  ~CudaTimer();
  CudaTimer(const CudaTimer&) = delete;
  CudaTimer& operator=(const CudaTimer&) = delete;

  CudaStreamHandle stream() const { return stream_.get(); }
  Status Finish() const;

  // Seconds of one run, the least of three, after one to warm up.
  StatusOr<double> TimeOnce(const CudaWork& work);

  // Each is captured as a graph of many runs, which alternate between `sets` sets of operands; then
  // the graphs are timed in turn, block by block, so that a drift of the clock meets all of them.
  StatusOr<std::vector<CudaTime>> Time(std::span<const CudaWork> contestants, size_t sets,
                                       const CudaTimingOptions& options);

 private:
  struct Contestant;
  explicit CudaTimer(std::shared_ptr<const CudaContext> context) : context_(std::move(context)) {}
  StatusOr<Contestant> Prepare(const CudaWork& work, size_t sets, const CudaTimingOptions& options);
  Status Replay(const Contestant& contestant) const;

  std::shared_ptr<const CudaContext> context_;
  CudaStream stream_;
  CudaStopwatch stopwatch_;
};

// Whether a run finds its operands in the L2 cache.
enum class CudaCache { kCold, kWarm };

// Times a kernel of a module for device "cuda" on that device. contents[i] is what buffer i of its
// Call holds at first; the kernel may change it.
StatusOr<CudaTime> TimeCudaKernel(const Module& module, size_t kernel,
                                  std::span<const std::span<const uint8_t>> contents,
                                  std::span<const int64_t> shapes, CudaCache cache,
                                  const CudaTimingOptions& options = {});

}  // namespace tcc
