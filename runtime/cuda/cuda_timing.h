#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/cuda/cuda_stream.h"
#include "runtime/executor/module.h"

// Times work on a GPU, gaps between the kernels of a graph included; nothing is subtracted. A graph
// hides the host's time, alternating operands keep the cache cold, and turns and the median of
// blocks cancel the drift of the clock.
namespace tcc {

// The work to time: enqueues one run on the timer's stream, on operands number `set`.
using CudaWork = std::function<Status(size_t set)>;

struct CudaTimingOptions {
  int launches = 20;  // per graph; more if it would take less than graph_seconds
  int max_launches = 4096;
  double graph_seconds = 2e-3;
  int replays = 5;  // of a graph between two events
  int blocks = 9;   // of that many replays
};

struct CudaTime {
  double median_seconds = 0;  // of one run, over the blocks
  double min_seconds = 0;
  int launches = 0;  // runs per graph
  int64_t runs = 0;  // timed, over all replays of all blocks
  Status graph;      // why capture failed and the work was launched run by run; ok: it did not
};

// A timer with a stream of its own. Its context must stay current in the thread as long as it
// lives.
class CudaTimer {
 public:
  static StatusOr<std::unique_ptr<CudaTimer>> Make(std::shared_ptr<const CudaContext> context);
  // Waits for the stream, so that no kernel runs on memory that is freed.
  ~CudaTimer();
  CudaTimer(const CudaTimer&) = delete;
  CudaTimer& operator=(const CudaTimer&) = delete;

  CudaStreamHandle stream() const { return stream_.get(); }
  // Limits the seconds that later calls wait for one run of a kernel; 0: no limit.
  void LimitRuns(double seconds) { limit_ = seconds; }
  // Waits for the stream. DeadlineExceeded: it was not done after the limit.
  Status Finish();

  // Returns the seconds of one run, the least of three, after one to warm up.
  StatusOr<double> TimeOnce(const CudaWork& work);

  // Captures each contestant as a graph of many runs, which alternate between `sets` sets of
  // operands. Then times the graphs in turn, block by block, so that a drift of the clock affects
  // all of them.
  StatusOr<std::vector<CudaTime>> Time(std::span<const CudaWork> contestants, size_t sets,
                                       const CudaTimingOptions& options);

 private:
  struct Contestant;
  explicit CudaTimer(std::shared_ptr<const CudaContext> context) : context_(std::move(context)) {}
  StatusOr<Contestant> Prepare(const CudaWork& work, size_t sets, const CudaTimingOptions& options);
  Status Replay(const Contestant& contestant) const;
  double LimitOf(double expected) const;

  std::shared_ptr<const CudaContext> context_;
  CudaStream stream_;
  CudaStopwatch stopwatch_;
  double limit_ = 0;
};

// Whether a run finds its operands in the L2 cache.
enum class CudaCache { kCold, kWarm };

// Times a kernel of a module for device "cuda" on that device. contents[i] is the initial content
// of buffer i of its Call; the kernel may change it.
StatusOr<CudaTime> TimeCudaKernel(const Module& module, size_t kernel,
                                  std::span<const std::span<const uint8_t>> contents,
                                  std::span<const int64_t> shapes, CudaCache cache,
                                  const CudaTimingOptions& options = {});

}  // namespace tcc
