#include "runtime/cuda/cuda_stream.h"

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

StatusOr<double> CudaStopwatch::Time(const std::shared_ptr<const CudaContext>& context,
                                     CudaStreamHandle stream, const std::function<Status()>& work) {
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
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, kWhat, cuEventSynchronize, end_.get()));
  float milliseconds = 0;
  TCC_RETURN_IF_ERROR(
      TCC_CUDA_CALL(driver, kWhat, cuEventElapsedTime, &milliseconds, start_.get(), end_.get()));
  return milliseconds / 1e3;
}

}  // namespace tcc
