#pragma once

#include <functional>
#include <memory>

#include "runtime/cuda/cuda_context.h"

// A stream of a context, and what is done with the work on it. All expect the context to be the
// thread's.
namespace tcc {

// One that does not wait for the default stream.
StatusOr<CudaStream> MakeCudaStream(const std::shared_ptr<const CudaContext>& context);

// What `work` enqueues on the stream, not run but as a graph.
StatusOr<CudaGraphExec> CaptureCudaGraph(const std::shared_ptr<const CudaContext>& context,
                                         CudaStreamHandle stream,
                                         const std::function<Status()>& work);

// Two events of a context, made when they are first used.
class CudaStopwatch {
 public:
  // Waits; the seconds that the device took for what `work` enqueues on the stream.
  StatusOr<double> Time(const std::shared_ptr<const CudaContext>& context, CudaStreamHandle stream,
                        const std::function<Status()>& work);

 private:
  CudaEvent start_, end_;
};

}  // namespace tcc
