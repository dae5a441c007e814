#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "codegen_cuda/emulator/driver.h"
#include "codegen_cuda/emulator/emulator.h"
#include "support/cuda/cuda_api.h"
#include "support/target.h"

// The state of the emulated driver. Handles are the addresses of these objects.
namespace tcc::emulator {

// The memory of each device.
inline constexpr int64_t kDeviceMemoryBytes = int64_t{4} << 30;

struct Context {
  Target target;  // the target of its device
  int device = 0;
  int64_t retained = 0;
  int64_t memory_bytes = 0;  // in use
  // The error that broke the context; until it ends, every call but those that free fails with it.
  CudaResult broken = kCudaSuccess;
  std::string message = {};
};

struct Module;
struct KernelFunction {
  Module* module = nullptr;
  std::string name = {};
  const TccKernel* kernel = nullptr;
  int64_t most_dynamic_shared_bytes = 0;
  int64_t launches = 0;  // how many have run; SharedProgram::running guards it
};
struct Module {
  Context* context = nullptr;
  std::shared_ptr<SharedProgram> program = nullptr;
  std::map<std::string, std::unique_ptr<KernelFunction>> functions = {};
};

using Work = std::function<CudaResult(Context&)>;
struct Graph {
  Context* context = nullptr;
  std::vector<Work> nodes = {};
};
struct GraphExec {
  Context* context = nullptr;
  std::vector<Work> nodes = {};
};
struct Stream {
  Context* context = nullptr;
  std::unique_ptr<Graph> capture = nullptr;  // set while it is captured
  std::thread::id capturer = {};
  bool blocks = false;       // whether the default stream waits for it
  bool invalidated = false;  // by a call that a capture does not allow
};
struct Event {
  Context* context = nullptr;
  bool recorded = false;
  double seconds = 0;
};

struct Pool {
  Context* context = nullptr;
};

// The live objects of one kind.
template <typename T>
class Objects {
 public:
  T* Make(Context* context) {
    auto object = std::make_unique<T>();
    object->context = context;
    T* address = object.get();
    objects_.emplace(address, std::move(object));
    return address;
  }
  // Returns null for an unknown handle.
  T* Find(void* handle) const {
    auto found = objects_.find(static_cast<T*>(handle));
    return found == objects_.end() ? nullptr : found->second.get();
  }
  bool Remove(void* handle) { return objects_.erase(static_cast<T*>(handle)) > 0; }
  // Removes all objects of a destroyed context and returns their number.
  int64_t RemoveAll(const Context* context) {
    return static_cast<int64_t>(std::erase_if(
        objects_, [&](const auto& entry) { return entry.second->context == context; }));
  }
  template <typename Function>
  void ForEach(Function function) const {
    for (const auto& [address, object] : objects_) function(*object);
  }
  template <typename Condition>
  int64_t Count(Condition condition) const {
    return std::ranges::count_if(objects_,
                                 [&](const auto& entry) { return condition(*entry.second); });
  }
  int64_t size() const { return static_cast<int64_t>(objects_.size()); }

 private:
  std::unordered_map<T*, std::unique_ptr<T>> objects_;
};

// The address ranges that kernels and copies began to write, used to tell when old contents are
// dead. Several kernels may write one buffer: first its parts (as in a concatenation, whose rows
// may alternate), then the whole. So old contents are known to be dead only if the last overlapping
// write began at the same byte and was no shorter: of two ranges that hold that byte one is a part
// of the other, and the part is written first.
class BegunBuffers {
 public:
  // Records a write. Returns whether the old contents of the bytes are known to be dead.
  bool Begin(CudaAddress begin, int64_t bytes);

  // Forgets the writes that overlap freed memory.
  void Forget(CudaAddress begin, int64_t bytes);

 private:
  std::map<CudaAddress, CudaAddress> end_of_;  // by begin; the ranges are disjoint
};

struct Allocation {
  Context* context;
  int64_t bytes;
};

// The emulated machine. `mutex` guards all but `memory`, which guards itself, and the execution of
// a Work.
// A fault by the name of a call (InjectDriverFault).
struct NamedFault {
  std::string call = {};  // "": none
  int64_t first = 0;      // the number of the call that fails, from 1
  bool and_later = false;
  CudaResult error = kCudaSuccess;
  bool sticky = false;
  int64_t calls = 0;  // of that name so far
};

struct Machine {
  std::mutex mutex;
  bool started = false;
  std::vector<std::unique_ptr<Context>> contexts;  // by device
  DeviceMemory memory;
  std::map<CudaAddress, Allocation> allocations;
  BegunBuffers begun;
  std::map<void*, std::unique_ptr<std::byte[]>> host_memory;
  Objects<Pool> pools;
  Objects<Module> modules;
  Objects<Stream> streams;
  std::map<const Context*, Stream> default_streams;
  Objects<Event> events;
  Objects<Graph> graphs;
  Objects<GraphExec> graph_execs;
  int64_t lost = 0;

  DriverFault fault;
  NamedFault named_fault;
  CudaResult stuck = kCudaSuccess;  // the sticky fault that has occurred
  std::vector<std::string> calls;
};
Machine& TheMachine();

// The state of a thread: its contexts, the last one current, and the message of its last failure.
struct DriverThread {
  std::vector<Context*> contexts = {};
  std::string message = {};
  CudaResult failure = kCudaSuccess;
};
DriverThread& ThisThread();

// Notes a message for cuGetErrorString and returns `error`.
CudaResult Fail(CudaResult error, std::string message);

// Does the work, or records it while the stream is captured. Work that fails with an error of a
// kernel breaks the context. Takes the machine's lock, but not while the work runs.
CudaResult Enqueue(CudaStreamHandle stream, Work work);

// The functions below expect the machine to be locked.

// Finds the calling thread's context. Fails if there is none or it is broken.
CudaResult CurrentContext(Context** context);

// Finds a stream of the thread's context.
CudaResult FindStream(CudaStreamHandle handle, Stream** stream);

// Fails while this thread captures a stream, and makes the capture fail too.
CudaResult RefuseInCapture();

// Allocates and frees memory of a context's device. Memory of any context can be freed, even if the
// thread's context is broken.
CudaResult AllocateMemory(Context& context, CudaAddress* memory, size_t bytes);
CudaResult FreeMemory(CudaAddress memory);

// Ends a context and frees all that is left in it.
void EndContext(Context& context);

}  // namespace tcc::emulator
