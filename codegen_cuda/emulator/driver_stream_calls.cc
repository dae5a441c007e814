#include <bit>
#include <chrono>

#include "codegen_cuda/emulator/driver_calls.h"
#include "codegen_cuda/emulator/driver_machine.h"

// Streams, captures, graphs and events.
namespace tcc::emulator {
namespace {

double Now() {
  using Seconds = std::chrono::duration<double>;
  return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

CudaStreamHandle DefaultStream() {
  return std::bit_cast<CudaStreamHandle>(kCudaDefaultStream);
}

// Breaks the context for good if the error is one of a kernel: CUDA_ERROR_ILLEGAL_ADDRESS up to
// CUDA_ERROR_LAUNCH_FAILED. Expects the machine to be locked.
CudaResult BreakContext(Context& context, CudaResult error) {
  if (error < kCudaIllegalAddress || error > kCudaLaunchFailed) return error;
  context.broken = error;
  context.message = ThisThread().message;
  return error;
}

CudaResult Do(Context& context, const Work& work) {
  const CudaResult error = work(context);
  if (error == kCudaSuccess) return error;
  std::lock_guard lock(TheMachine().mutex);
  return BreakContext(context, error);
}

template <typename T>
CudaResult Remove(Objects<T>& objects, void* handle) {
  std::lock_guard lock(TheMachine().mutex);
  if (objects.Remove(handle)) return kCudaSuccess;
  return Fail(kCudaInvalidHandle, "destroyed what does not exist");
}

}  // namespace

CudaResult FindStream(CudaStreamHandle handle, Stream** stream) {
  Context* context = nullptr;
  if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
  if (handle == DefaultStream()) {
    *stream = &TheMachine().default_streams[context];
    (*stream)->context = context;
    return kCudaSuccess;
  }
  *stream = TheMachine().streams.Find(handle);
  if (*stream != nullptr && (*stream)->context == context) return kCudaSuccess;
  return Fail(kCudaInvalidHandle, "no stream of the thread's context");
}

CudaResult Enqueue(CudaStreamHandle handle, Work work) {
  Stream* stream = nullptr;
  {
    std::lock_guard lock(TheMachine().mutex);
    if (CudaResult error = FindStream(handle, &stream); error != kCudaSuccess) return error;
    if (stream->capture != nullptr) {
      stream->capture->nodes.push_back(std::move(work));
      return kCudaSuccess;
    }
  }
  return Do(*stream->context, work);
}

namespace calls {

CudaResult cuStreamCreate(CudaStreamHandle* stream, unsigned flags) {
  std::lock_guard lock(TheMachine().mutex);
  Context* context = nullptr;
  if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
  Stream* made = TheMachine().streams.Make(context);
  made->blocks = (flags & kCudaStreamNonBlocking) == 0;
  *stream = reinterpret_cast<CudaStreamHandle>(made);
  return kCudaSuccess;
}

CudaResult cuStreamDestroy_v2(CudaStreamHandle stream) {
  return Remove(TheMachine().streams, stream);
}

CudaResult cuStreamGetCtx(CudaStreamHandle handle, CudaContextHandle* found) {
  std::lock_guard lock(TheMachine().mutex);
  Context* context = nullptr;
  if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
  if (handle != nullptr && handle != DefaultStream()) {
    const Stream* stream = TheMachine().streams.Find(handle);
    if (stream == nullptr) return Fail(kCudaInvalidHandle, "no stream");
    context = stream->context;
  }
  *found = reinterpret_cast<CudaContextHandle>(context);
  return kCudaSuccess;
}

CudaResult cuStreamSynchronize(CudaStreamHandle handle) {
  std::lock_guard lock(TheMachine().mutex);
  if (handle == nullptr || handle == DefaultStream()) {
    Context* context = nullptr;
    if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
    return RefuseInCapture();
  }
  Stream* stream = nullptr;
  if (CudaResult error = FindStream(handle, &stream); error != kCudaSuccess) return error;
  if (stream->capture != nullptr) {
    stream->invalidated = true;
    return Fail(kCudaCaptureUnsupported, "waiting for a stream that is captured");
  }
  const Status intact = TheMachine().memory.CheckRedZones();
  if (intact.ok()) return kCudaSuccess;
  return BreakContext(*stream->context, Fail(kCudaIllegalAddress, Message(intact)));
}

CudaResult cuStreamIsCapturing(CudaStreamHandle handle, int* status) {
  std::lock_guard lock(TheMachine().mutex);
  *status = kCudaNotCaptured;
  // The default stream is not captured itself.
  if (handle == nullptr || handle == DefaultStream()) {
    Context* context = nullptr;
    if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
    const int64_t captured = TheMachine().streams.Count([&](const Stream& stream) {
      return stream.context == context && stream.blocks && stream.capture != nullptr;
    });
    if (captured == 0) return kCudaSuccess;
    return Fail(kCudaCaptureImplicit, "the default stream waits for one that is captured");
  }
  Stream* stream = nullptr;
  if (CudaResult error = FindStream(handle, &stream); error != kCudaSuccess) return error;
  if (stream->capture != nullptr) {
    *status = stream->invalidated ? kCudaCaptureIsInvalid : kCudaCaptured;
  }
  return kCudaSuccess;
}

CudaResult cuStreamBeginCapture_v2(CudaStreamHandle handle, int) {
  std::lock_guard lock(TheMachine().mutex);
  Stream* stream = nullptr;
  if (handle == DefaultStream()) {
    return Fail(kCudaCaptureUnsupported, "the default stream is not captured");
  }
  if (CudaResult error = FindStream(handle, &stream); error != kCudaSuccess) return error;
  if (stream->capture != nullptr) return Fail(kCudaInvalidValue, "the stream is captured already");
  stream->capture = std::make_unique<Graph>();
  stream->capturer = std::this_thread::get_id();
  stream->invalidated = false;
  return kCudaSuccess;
}

CudaResult cuStreamEndCapture(CudaStreamHandle handle, CudaGraphHandle* graph) {
  Machine& machine = TheMachine();
  std::lock_guard lock(machine.mutex);
  *graph = nullptr;
  Stream* stream = machine.streams.Find(handle);
  if (stream == nullptr || stream->capture == nullptr) {
    return Fail(kCudaInvalidValue, "the stream is not captured");
  }
  const std::unique_ptr<Graph> capture = std::move(stream->capture);
  if (stream->invalidated) {
    return Fail(kCudaCaptureInvalidated, "a call that captures do not allow was made meanwhile");
  }
  Graph* made = machine.graphs.Make(stream->context);
  made->nodes = std::move(capture->nodes);
  *graph = reinterpret_cast<CudaGraphHandle>(made);
  return kCudaSuccess;
}

CudaResult cuGraphInstantiateWithFlags(CudaGraphExecHandle* exec, CudaGraphHandle handle,
                                       unsigned long long) {
  Machine& machine = TheMachine();
  std::lock_guard lock(machine.mutex);
  Context* context = nullptr;
  if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
  const Graph* graph = machine.graphs.Find(handle);
  if (graph == nullptr) return Fail(kCudaInvalidHandle, "no graph");
  GraphExec* made = machine.graph_execs.Make(context);
  made->nodes = graph->nodes;
  *exec = reinterpret_cast<CudaGraphExecHandle>(made);
  return kCudaSuccess;
}

CudaResult cuGraphLaunch(CudaGraphExecHandle handle, CudaStreamHandle stream) {
  std::vector<Work> nodes;
  {
    std::lock_guard lock(TheMachine().mutex);
    const GraphExec* exec = TheMachine().graph_execs.Find(handle);
    if (exec == nullptr) return Fail(kCudaInvalidHandle, "no graph to launch");
    nodes = exec->nodes;
  }
  return Enqueue(stream, [nodes](Context& context) -> CudaResult {
    for (const Work& node : nodes) {
      if (CudaResult error = node(context); error != kCudaSuccess) return error;
    }
    return kCudaSuccess;
  });
}

CudaResult cuGraphExecDestroy(CudaGraphExecHandle exec) {
  return Remove(TheMachine().graph_execs, exec);
}
CudaResult cuGraphDestroy(CudaGraphHandle graph) {
  return Remove(TheMachine().graphs, graph);
}

CudaResult cuEventCreate(CudaEventHandle* event, unsigned) {
  std::lock_guard lock(TheMachine().mutex);
  Context* context = nullptr;
  if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
  *event = reinterpret_cast<CudaEventHandle>(TheMachine().events.Make(context));
  return kCudaSuccess;
}

CudaResult cuEventDestroy_v2(CudaEventHandle event) {
  return Remove(TheMachine().events, event);
}

CudaResult cuEventRecord(CudaEventHandle handle, CudaStreamHandle stream) {
  return Enqueue(stream, [handle](Context&) -> CudaResult {
    std::lock_guard lock(TheMachine().mutex);
    Event* event = TheMachine().events.Find(handle);
    if (event == nullptr) return Fail(kCudaInvalidHandle, "no event");
    event->recorded = true;
    event->seconds = Now();
    return kCudaSuccess;
  });
}

CudaResult cuEventSynchronize(CudaEventHandle handle) {
  std::lock_guard lock(TheMachine().mutex);
  Context* context = nullptr;
  if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
  if (TheMachine().events.Find(handle) == nullptr) return Fail(kCudaInvalidHandle, "no event");
  return kCudaSuccess;
}

CudaResult cuEventQuery(CudaEventHandle handle) {
  return cuEventSynchronize(handle);
}

CudaResult cuEventElapsedTime(float* milliseconds, CudaEventHandle start, CudaEventHandle end) {
  std::lock_guard lock(TheMachine().mutex);
  const Event* first = TheMachine().events.Find(start);
  const Event* last = TheMachine().events.Find(end);
  if (first == nullptr || last == nullptr || !first->recorded || !last->recorded) {
    return Fail(kCudaInvalidHandle, "events that were not recorded");
  }
  *milliseconds = static_cast<float>((last->seconds - first->seconds) * 1e3);
  return kCudaSuccess;
}

}  // namespace calls
}  // namespace tcc::emulator
