#include "codegen_cuda/emulator/driver_machine.h"

#include <bit>
#include <iterator>

namespace tcc::emulator {

bool BegunBuffers::Begin(CudaAddress begin, int64_t bytes) {
  if (bytes == 0) return false;
  const CudaAddress end = begin + static_cast<CudaAddress>(bytes);
  const auto known = end_of_.find(begin);
  if (known != end_of_.end() && known->second >= end) {
    known->second = end;
    return true;
  }
  Forget(begin, bytes);
  end_of_.emplace(begin, end);
  return false;
}

void BegunBuffers::Forget(CudaAddress begin, int64_t bytes) {
  const CudaAddress end = begin + static_cast<CudaAddress>(bytes);
  auto at = end_of_.lower_bound(begin);
  if (at != end_of_.begin() && std::prev(at)->second > begin) --at;
  while (at != end_of_.end() && at->first < end) at = end_of_.erase(at);
}

Machine& TheMachine() {
  // It is never destroyed: modules may be unloaded while the process ends.
  static auto* machine = new Machine;
  return *machine;
}

DriverThread& ThisThread() {
  static thread_local DriverThread thread;
  return thread;
}

CudaResult Fail(CudaResult error, std::string message) {
  DriverThread& thread = ThisThread();
  thread.failure = error;
  thread.message = std::move(message);
  return error;
}

CudaResult CurrentContext(Context** context) {
  DriverThread& thread = ThisThread();
  if (thread.contexts.empty()) return Fail(kCudaInvalidContext, "the thread has no context");
  *context = thread.contexts.back();
  if ((*context)->broken != kCudaSuccess) return Fail((*context)->broken, (*context)->message);
  return kCudaSuccess;
}

CudaResult RefuseInCapture() {
  bool refused = false;
  TheMachine().streams.ForEach([&](Stream& stream) {
    if (stream.capture == nullptr || stream.capturer != std::this_thread::get_id()) return;
    stream.invalidated = true;
    refused = true;
  });
  return refused ? Fail(kCudaCaptureUnsupported, "not allowed while a stream is captured")
                 : kCudaSuccess;
}

void EndContext(Context& context) {
  Machine& machine = TheMachine();
  machine.lost += machine.pools.RemoveAll(&context) + machine.modules.RemoveAll(&context) +
                  machine.streams.RemoveAll(&context) + machine.events.RemoveAll(&context) +
                  machine.graphs.RemoveAll(&context) + machine.graph_execs.RemoveAll(&context);
  for (auto at = machine.allocations.begin(); at != machine.allocations.end();) {
    if (at->second.context != &context) {
      ++at;
      continue;
    }
    machine.begun.Forget(at->first, at->second.bytes);
    (void)machine.memory.Free(std::bit_cast<void*>(at->first));
    at = machine.allocations.erase(at);
    ++machine.lost;
  }
  context.memory_bytes = 0;
  context.broken = kCudaSuccess;
  context.message.clear();
  machine.stuck = kCudaSuccess;
}

DriverObjects LiveDriverObjects() {
  Machine& machine = TheMachine();
  std::lock_guard lock(machine.mutex);
  DriverObjects live;
  for (const auto& context : machine.contexts) live.contexts += context->retained;
  live.memory = static_cast<int64_t>(machine.allocations.size());
  live.host_memory = static_cast<int64_t>(machine.host_memory.size());
  live.pools = machine.pools.size();
  live.modules = machine.modules.size();
  live.streams = machine.streams.size();
  live.captures =
      machine.streams.Count([](const Stream& stream) { return stream.capture != nullptr; });
  live.events = machine.events.size();
  live.graphs = machine.graphs.size();
  live.graph_execs = machine.graph_execs.size();
  live.lost = machine.lost;
  return live;
}

void RecordDriverCalls(const DriverFault& fault) {
  Machine& machine = TheMachine();
  std::lock_guard lock(machine.mutex);
  machine.fault = fault;
  machine.stuck = kCudaSuccess;
  machine.calls.clear();
}

std::vector<std::string> RecordedDriverCalls() {
  Machine& machine = TheMachine();
  std::lock_guard lock(machine.mutex);
  return machine.calls;
}

}  // namespace tcc::emulator
