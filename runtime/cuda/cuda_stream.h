#pragma once

#include <functional>
#include <memory>

#include "runtime/cuda/cuda_context.h"

// Streams of a context, and operations on the work in them. All functions expect the context to be
// current in the calling thread.
namespace tcc {

// Makes a stream that does not wait for the default stream.
StatusOr<CudaStream> MakeCudaStream(const std::shared_ptr<const CudaContext>& context);

// Captures what `work` enqueues on the stream as a graph, without running it.
StatusOr<CudaGraphExec> CaptureCudaGraph(const std::shared_ptr<const CudaContext>& context,
                                         CudaStreamHandle stream,
                                         const std::function<Status()>& work);

// A stopwatch of two events, which are made when they are first used.
class CudaStopwatch {
 public:
  // Waits, and returns the seconds that the device took for what `work` enqueues on the stream.
  // DeadlineExceeded: it was not done after `limit` seconds, and may never be; 0: no limit.
  StatusOr<double> Time(const std::shared_ptr<const CudaContext>& context, CudaStreamHandle stream,
                        const std::function<Status()>& work, double limit = 0);

 private:
  CudaEvent start_, end_;
};

}  // namespace tcc
