#include "runtime/cuda/cuda_stream.h"

#include <chrono>
#include <thread>

#include "support/stopwatch.h"

namespace tcc {

StatusOr<CudaStream> MakeCudaStream(const std::shared_ptr<const CudaContext>& context) {
  CudaStreamHandle stream = nullptr;
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(context->driver(), "making a stream", cuStreamCreate, &stream,
                                    kCudaStreamNonBlocking));
  return CudaStream(context, stream);
}

// A capture is ended whatever happened in it, or the stream would stay unusable.
StatusOr<CudaGraphExec> CaptureCudaGraph(const std::shared_ptr<const CudaContext>& context,
                                         CudaStreamHandle stream,
                                         const std::function<Status()>& work) {
  constexpr char kWhat[] = "recording a graph";
  const CudaDriver& driver = context->driver();
  TCC_RETURN_IF_ERROR(
      TCC_CUDA_CALL(driver, kWhat, cuStreamBeginCapture_v2, stream, kCudaCaptureThreadLocal));
  Status worked = work();
  CudaGraphHandle handle = nullptr;
  Status ended = TCC_CUDA_CALL(driver, kWhat, cuStreamEndCapture, stream, &handle);
  CudaGraph graph;
  if (handle != nullptr) graph = {context, handle};
  TCC_RETURN_IF_ERROR(worked);
  TCC_RETURN_IF_ERROR(ended);
  CudaGraphExecHandle exec = nullptr;
  TCC_RETURN_IF_ERROR(
      TCC_CUDA_CALL(driver, "making a graph", cuGraphInstantiateWithFlags, &exec, graph.get(), 0));
  return CudaGraphExec(context, exec);
}

namespace {

constexpr auto kNap = std::chrono::microseconds(50);

// Waits for an event, for ever where `limit` is 0.
Status Await(const CudaDriver& driver, CudaEventHandle event, double limit) {
  constexpr char kWhat[] = "taking time";
  if (limit <= 0) return TCC_CUDA_CALL(driver, kWhat, cuEventSynchronize, event);
  Stopwatch stopwatch;
  while (true) {
    const CudaResult result = driver.cuEventQuery(event);
    if (result != kCudaNotReady) return CudaStatus(driver, result, "cuEventQuery", kWhat);
    if (stopwatch.Seconds() > limit) {
      return absl::DeadlineExceededError(fmt::format("the GPU was not done after {:.3g} s", limit));
    }
    std::this_thread::sleep_for(kNap);
  }
}

}  // namespace

StatusOr<double> CudaStopwatch::Time(const std::shared_ptr<const CudaContext>& context,
                                     CudaStreamHandle stream, const std::function<Status()>& work,
                                     double limit) {
  constexpr char kWhat[] = "taking time";
  const CudaDriver& driver = context->driver();
  for (CudaEvent* event : {&start_, &end_}) {
    if (*event) continue;
    CudaEventHandle handle = nullptr;
    TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, "making an event", cuEventCreate, &handle, 0));
    *event = {context, handle};
  }
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, kWhat, cuEventRecord, start_.get(), stream));
  TCC_RETURN_IF_ERROR(work());
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, kWhat, cuEventRecord, end_.get(), stream));
  TCC_RETURN_IF_ERROR(Await(driver, end_.get(), limit));
  float milliseconds = 0;
  TCC_RETURN_IF_ERROR(
      TCC_CUDA_CALL(driver, kWhat, cuEventElapsedTime, &milliseconds, start_.get(), end_.get()));
  return milliseconds / 1e3;
}

}  // namespace tcc
