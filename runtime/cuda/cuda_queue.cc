#include "runtime/cuda/cuda_queue.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "runtime/artefact/gpu_launch.h"
#include "runtime/cuda/tensor_map.h"
#include "support/check.h"

namespace tcc {
namespace {

// The largest grid: CUDA C Programming Guide, table of compute capabilities.
constexpr std::array<int64_t, 3> kMaxBlocks = {0x7fffffff, 65535, 65535};

std::string DescribeOrdinal(const CudaDriver& driver, int ordinal) {
  StatusOr<CudaDeviceInfo> device = FindCudaDevice(driver, ordinal);
  return device.ok() ? Describe(*device) : fmt::format("device {}", ordinal);
}

// Handles that the driver does not know are the caller's mistake.
Status RefuseHandle(const CudaDriver& driver, CudaResult result, std::string_view call,
                    const std::string& what) {
  const Status status = CudaStatus(driver, result, call, what);
  const bool unknown =
      result == kCudaInvalidValue || result == kCudaInvalidHandle || result == kCudaInvalidContext;
  return unknown ? InvalidInput("{}", Message(status)) : status;
}

// Returns the device of a context. The driver answers for the current context only, so the context
// is made current for the call.
StatusOr<CudaDeviceHandle> DeviceOf(const CudaDriver& driver, CudaContextHandle handle) {
  constexpr std::string_view kWhat = "asking for a stream's device";
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, kWhat, cuCtxPushCurrent_v2, handle));
  CudaDeviceHandle device = 0;
  const Status asked = TCC_CUDA_CALL(driver, kWhat, cuCtxGetDevice, &device);
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, kWhat, cuCtxPopCurrent_v2, &handle));
  TCC_RETURN_IF_ERROR(asked);
  return device;
}

}  // namespace

StatusOr<std::unique_ptr<CudaQueue>> CudaQueue::Make(std::shared_ptr<const CudaProgram> program) {
  std::unique_ptr<CudaQueue> queue(new CudaQueue(std::move(program)));
  CudaScope scope(*queue->context());
  TCC_RETURN_IF_ERROR(scope.status());
  TCC_ASSIGN_OR_RETURN(queue->stream_, MakeCudaStream(queue->context()));
  return queue;
}

CudaQueue::~CudaQueue() {
  if (!stream_) return;
  UseStream(nullptr);
  arrivals_.clear();
  (void)Finish();
}

Status CudaQueue::Wait(std::string_view what) {
  return TCC_CUDA_CALL(driver(), what, cuStreamSynchronize, stream());
}

StatusOr<uint8_t*> CudaQueue::Reserve(size_t slot, int64_t bytes, std::string_view what) {
  if (slots_.size() <= slot) slots_.resize(slot + 1);
  CudaMemory& memory = slots_[slot];
  if (memory.data() == nullptr || memory.bytes() < bytes) {
    CudaScope scope(*context());
    TCC_RETURN_IF_ERROR(scope.status());
    TCC_RETURN_IF_ERROR(Replace(memory, bytes, what));
  }
  return memory.data();
}

// Frees the memory in stream order, since the previous run may still use it in this stream (in
// another one it has ended), and allocates anew. During a caller's capture, both would become part
// of the caller's graph.
Status CudaQueue::Replace(CudaMemory& memory, int64_t bytes, std::string_view what) {
  TCC_RETURN_IF_ERROR(CheckNotCaptured(stream()));
  after_kernel_ = false;
  TCC_RETURN_IF_ERROR(program_->pool().GiveBack(memory, stream()));
  graphs_.clear();
  TCC_ASSIGN_OR_RETURN(memory, program_->pool().Allocate(stream(), bytes, what));
  return OkStatus();
}

// The driver takes a caller's stream and memory as bare addresses: without the checks, those of
// another device may show only when a kernel fails.
Status CudaQueue::CheckStream(void* stream) {
  CudaScope scope(*context());
  TCC_RETURN_IF_ERROR(scope.status());
  CudaContextHandle owner = nullptr;
  const CudaResult result = driver().cuStreamGetCtx(static_cast<CudaStreamHandle>(stream), &owner);
  if (result != kCudaSuccess) {
    return RefuseHandle(driver(), result, "cuStreamGetCtx",
                        "expected a stream of " + Describe(context()->device()));
  }
  if (owner == context()->handle()) return OkStatus();
  TCC_ASSIGN_OR_RETURN(CudaDeviceHandle device, DeviceOf(driver(), owner));
  if (device == context()->device().handle) return OkStatus();
  // Handles of devices are their numbers.
  return InvalidInput("the stream is of {}; expected one of {}", DescribeOrdinal(driver(), device),
                      Describe(context()->device()));
}

Status CudaQueue::CheckNotCaptured(void* stream) {
  CudaScope scope(*context());
  TCC_RETURN_IF_ERROR(scope.status());
  int status = kCudaNotCaptured;
  const CudaResult result =
      driver().cuStreamIsCapturing(static_cast<CudaStreamHandle>(stream), &status);
  if (result == kCudaCaptureImplicit) {
    return InvalidInput(
        "the stream is the default one, which waits for one that is being captured; expected one "
        "that does not");
  }
  TCC_RETURN_IF_ERROR(
      CudaStatus(driver(), result, "cuStreamIsCapturing", "asking whether a stream is captured"));
  if (status == kCudaNotCaptured) return OkStatus();
  return InvalidInput(
      "the stream is being captured; expected one that is not: a graph of the caller's would use "
      "memory that the executor may replace");
}

Status CudaQueue::CheckMemory(const void* memory, std::string_view what) {
  CudaScope scope(*context());
  TCC_RETURN_IF_ERROR(scope.status());
  int ordinal = 0;
  const CudaResult result =
      driver().cuPointerGetAttribute(&ordinal, kCudaPointerOrdinal, AddressOf(memory));
  if (result != kCudaSuccess) {
    return RefuseHandle(driver(), result, "cuPointerGetAttribute",
                        fmt::format("'{}': expected memory of {}, got {}", what,
                                    Describe(context()->device()), memory));
  }
  if (ordinal == context()->device().ordinal) return OkStatus();
  return InvalidInput("'{}': expected memory of {}, got memory of {}", what,
                      Describe(context()->device()), DescribeOrdinal(driver(), ordinal));
}

Status CudaQueue::Upload(uint8_t* to, std::span<const uint8_t> from) {
  if (from.empty()) return OkStatus();
  CudaScope scope(*context());
  TCC_RETURN_IF_ERROR(scope.status());
  const uint8_t* source = from.data();
  if (CudaStaging::IsWorthwhile(from.size())) {
    TCC_ASSIGN_OR_RETURN(uint8_t* staged, staging_.Reserve(context(), from.size()));
    std::ranges::copy(from, staged);
    source = staged;
  }
  after_kernel_ = false;
  return TCC_CUDA_CALL(driver(), "uploading an input", cuMemcpyHtoDAsync_v2, AddressOf(to), source,
                       from.size(), stream());
}

Status CudaQueue::Download(std::span<uint8_t> to, const uint8_t* from) {
  Status status = EnqueueDownload(to, from);
  // The caller gives up, so the destinations of earlier downloads may not stay valid.
  if (!status.ok()) arrivals_.clear();
  return status;
}

Status CudaQueue::EnqueueDownload(std::span<uint8_t> to, const uint8_t* from) {
  if (to.empty()) return OkStatus();
  CudaScope scope(*context());
  TCC_RETURN_IF_ERROR(scope.status());
  uint8_t* place = to.data();
  if (CudaStaging::IsWorthwhile(to.size())) {
    TCC_ASSIGN_OR_RETURN(place, staging_.Reserve(context(), to.size()));
    arrivals_.push_back({to, place});
  }
  after_kernel_ = false;
  return TCC_CUDA_CALL(driver(), "downloading a result", cuMemcpyDtoHAsync_v2, place,
                       AddressOf(from), to.size(), stream());
}

Status CudaQueue::Copy(uint8_t* to, const uint8_t* from, int64_t bytes) {
  if (bytes == 0 || to == from) return OkStatus();
  CudaScope scope(*context());
  TCC_RETURN_IF_ERROR(scope.status());
  // The driver does not define copies whose ranges overlap.
  if (to < from + bytes && from < to + bytes) {
    TCC_RETURN_IF_ERROR(GrowScratch(bytes));
    TCC_RETURN_IF_ERROR(CopyApart(scratch_.data(), from, bytes));
    from = scratch_.data();
  }
  return CopyApart(to, from, bytes);
}

Status CudaQueue::CopyApart(uint8_t* to, const uint8_t* from, int64_t bytes) {
  after_kernel_ = false;
  return TCC_CUDA_CALL(driver(), "copying a buffer", cuMemcpyDtoDAsync_v2, AddressOf(to),
                       AddressOf(from), static_cast<size_t>(bytes), stream());
}

Status CudaQueue::GrowScratch(int64_t bytes) {
  if (scratch_.bytes() >= bytes) return OkStatus();
  // A recorded run follows an equal unrecorded one, which allocated the memory.
  TCC_CHECK(!recording_) << "memory grows while work is recorded";
  return Replace(scratch_, bytes, "the workspaces of a kernel");
}

Status CudaQueue::GrowTickets(int64_t count) {
  const int64_t bytes = count * kTicketBytes;
  if (tickets_.bytes() >= bytes) return OkStatus();
  TCC_CHECK(!recording_) << "tickets grow while work is recorded";
  TCC_RETURN_IF_ERROR(Replace(tickets_, bytes, "the tickets of a kernel's blocks"));
  Status cleared =
      TCC_CUDA_CALL(driver(), "clearing tickets", cuMemsetD8Async, AddressOf(tickets_.data()), 0,
                    static_cast<size_t>(bytes), stream());
  // Memory that was not cleared would be used as it is.
  if (!cleared.ok()) tickets_.Reset();
  return cleared;
}

Status CudaQueue::PlaceWorkspaces(const GpuKernel& kernel, std::span<const int64_t> shapes) {
  workspaces_.clear();
  if (kernel.workspace_bytes.empty()) return OkStatus();
  TCC_ASSIGN_OR_RETURN(const GpuWorkspaces places, LayOutWorkspaces(kernel, shapes));
  TCC_RETURN_IF_ERROR(GrowScratch(places.end));
  for (size_t i = 0; i < places.begins.size(); ++i) {
    workspaces_.push_back({scratch_.data() + places.begins[i], places.sizes[i]});
  }
  return OkStatus();
}

StatusOr<int64_t> CudaQueue::WorkspaceBytes(size_t kernel,
                                            std::span<const int64_t> shape_args) const {
  const GpuKernel& launched = program_->kernels()[kernel];
  // Enqueue refuses this launch.
  if (shape_args.size() != launched.shapes) return 0;
  TCC_ASSIGN_OR_RETURN(const GpuWorkspaces places, LayOutWorkspaces(launched, shape_args));
  return places.end;
}

Status CudaQueue::ReserveWorkspace(int64_t bytes) {
  if (scratch_.bytes() >= bytes) return OkStatus();
  CudaScope scope(*context());
  TCC_RETURN_IF_ERROR(scope.status());
  return GrowScratch(bytes);
}

Status CudaQueue::Launch(size_t kernel, const LaunchArguments& arguments) {
  CudaScope scope(*context());
  TCC_RETURN_IF_ERROR(scope.status());
  return Enqueue(kernel, arguments);
}

Status CudaQueue::Enqueue(size_t index, const LaunchArguments& arguments) {
  const GpuKernel& kernel = program_->kernels()[index];
  TCC_RETURN_IF_ERROR(CheckCall(kernel, arguments.buffers.size(), arguments.shape_args.size()));
  TCC_RETURN_IF_ERROR(PlaceWorkspaces(kernel, arguments.shape_args));
  passed_.clear();
  for (size_t i = 0; i < kernel.launches.size(); ++i) {
    TCC_RETURN_IF_ERROR(Enqueue(kernel.launches[i], program_->function(index, i), arguments));
  }
  return OkStatus();
}

void CudaQueue::Pass(uint64_t value, const CudaArgumentNote& note) {
  values_.push_back(value);
  notes_.push_back(note);
}

void CudaQueue::Pass(const void* buffer, CudaArgumentNote note) {
  const auto* begin = static_cast<const uint8_t*>(buffer);
  if (std::ranges::find(passed_, begin) == passed_.end()) {
    passed_.push_back(begin);
  } else {
    note.kind = CudaArgumentNote::Kind::kKnown;
  }
  Pass(AddressOf(begin), note);
}

Status CudaQueue::PassMap(const GpuLaunch& launch, uint32_t index,
                          const LaunchArguments& arguments) {
  const GpuTensorMap& map = launch.maps[index];
  const uint32_t array = map.array.index;
  const bool is_buffer = map.array.kind == GpuArgument::Kind::kBuffer;
  const BufferPlace place = is_buffer ? BufferPlace{static_cast<uint8_t*>(arguments.buffers[array]),
                                                    arguments.bytes[array]}
                                      : workspaces_[array];
  StatusOr<EncodedMap> encoded =
      EncodeTensorMap(driver(), program_->driver_version(), map, place, arguments.shape_args);
  if (!encoded.ok()) {
    return Annotate(encoded.status(), fmt::format("tensor map {} of '{}'", index, launch.symbol));
  }
  maps_[index] = encoded->map;
  Pass(uint64_t{0}, {encoded->bytes, CudaArgumentNote::Kind::kKnown});
  return OkStatus();
}

// Sets value_places_ and notes_.
Status CudaQueue::PassAll(const GpuLaunch& launch, const LaunchArguments& arguments) {
  values_.clear();
  notes_.clear();
  maps_.resize(launch.maps.size());
  for (const auto& [kind, index] : launch.arguments) {
    switch (kind) {
      case GpuArgument::Kind::kBuffer:
        Pass(arguments.buffers[index], {arguments.bytes[index], CudaArgumentNote::Kind::kBuffer});
        break;
      case GpuArgument::Kind::kWorkspace:
        Pass(workspaces_[index].data,
             {workspaces_[index].bytes, CudaArgumentNote::Kind::kWorkspace});
        break;
      case GpuArgument::Kind::kTickets:
        Pass(AddressOf(tickets_.data()), {tickets_.bytes(), CudaArgumentNote::Kind::kKnown});
        break;
      case GpuArgument::Kind::kShape:
        Pass(static_cast<uint64_t>(arguments.shape_args[index]), {});
        break;
      case GpuArgument::Kind::kTensorMap:
        TCC_RETURN_IF_ERROR(PassMap(launch, index, arguments));
        break;
    }
  }
  value_places_.clear();
  for (size_t i = 0; i < values_.size(); ++i) {
    const auto& [kind, index] = launch.arguments[i];
    const bool is_map = kind == GpuArgument::Kind::kTensorMap;
    value_places_.push_back(is_map ? static_cast<void*>(&maps_[index]) : &values_[i]);
  }
  return OkStatus();
}

Status CudaQueue::Enqueue(const GpuLaunch& launch, CudaFunctionHandle function,
                          const LaunchArguments& arguments) {
  TCC_ASSIGN_OR_RETURN(auto grid, GridOf(launch, arguments.shape_args, kMaxBlocks));
  if (!grid) return OkStatus();
  if (HasTickets(launch)) TCC_RETURN_IF_ERROR(GrowTickets((*grid)[0]));
  TCC_RETURN_IF_ERROR(PassAll(launch, arguments));
  std::array<void*, 1> all_notes = {notes_.data()};
  void** notes = driver().takes_notes ? all_notes.data() : nullptr;
  if (std::exchange(after_kernel_, true) && launch.waits && program_->overlaps_launches()) {
    return EnqueueDependent(launch, function, *grid, notes);
  }
  const auto& [x, y, z] = launch.block;
  return TCC_CUDA_CALL(driver(), "launching " + launch.symbol, cuLaunchKernel, function, (*grid)[0],
                       (*grid)[1], (*grid)[2], x, y, z,
                       static_cast<unsigned>(launch.dynamic_shared_bytes), stream(),
                       value_places_.data(), notes);
}

// Enqueues a kernel that may begin while the one before it ends. That one waited for those before
// it in all of its threads, or was launched when they had ended, so its end is theirs, too.
Status CudaQueue::EnqueueDependent(const GpuLaunch& launch, CudaFunctionHandle function,
                                   const std::array<unsigned, 3>& grid, void** notes) {
  CudaLaunchAttribute attribute{.id = kCudaProgrammaticSerialization, .value = 1};
  const CudaLaunchConfig config{
      .grid = {grid[0], grid[1], grid[2]},
      .block = {launch.block[0], launch.block[1], launch.block[2]},
      .dynamic_shared_bytes = static_cast<unsigned>(launch.dynamic_shared_bytes),
      .stream = stream(),
      .attributes = &attribute,
      .attribute_count = 1};
  return TCC_CUDA_CALL(driver(), "launching " + launch.symbol, cuLaunchKernelEx, &config, function,
                       value_places_.data(), notes);
}

StatusOr<double> CudaQueue::TimedLaunch(size_t kernel, const LaunchArguments& arguments) {
  CudaScope scope(*context());
  TCC_RETURN_IF_ERROR(scope.status());
  after_kernel_ = false;  // events are recorded around it
  StatusOr<double> seconds =
      stopwatch_.Time(context(), stream(), [&] { return Enqueue(kernel, arguments); });
  after_kernel_ = false;
  return seconds;
}

// Records on the queue's own stream: a caller's may be the default one, which cannot be captured.
StatusOr<CudaGraphExec> CudaQueue::Record(const std::function<Status()>& work) {
  recording_ = true;
  CudaStreamHandle caller_stream = caller_stream_;
  UseStream(nullptr);
  StatusOr<CudaGraphExec> graph = CaptureCudaGraph(context(), stream(), work);
  UseStream(caller_stream);
  recording_ = false;
  return graph;
}

Status CudaQueue::DoRecorded(size_t recording, const std::function<Status()>& work) {
  CudaScope scope(*context());
  TCC_RETURN_IF_ERROR(scope.status());
  if (graphs_.size() <= recording) graphs_.resize(recording + 1);
  if (!graphs_[recording]) {
    TCC_ASSIGN_OR_RETURN(graphs_[recording], Record(work));
  }
  after_kernel_ = false;
  return TCC_CUDA_CALL(driver(), "launching the model's graph", cuGraphLaunch,
                       graphs_[recording].get(), stream());
}

void CudaQueue::Forget(size_t recording) {
  if (recording < graphs_.size()) graphs_[recording].Reset();
}

Status CudaQueue::Finish() {
  const std::vector<Arrival> arrivals = std::exchange(arrivals_, {});
  CudaScope scope(*context());
  TCC_RETURN_IF_ERROR(scope.status());
  TCC_RETURN_IF_ERROR(Wait("running the model"));
  for (const Arrival& arrival : arrivals) {
    std::copy_n(arrival.staged, arrival.to.size(), arrival.to.begin());
  }
  staging_.Clear();
  return OkStatus();
}

// Drops Finish's status: the failure has been reported already, and any other is of work before it.
void CudaQueue::Abandon() {
  arrivals_.clear();
  if (CheckNotCaptured(stream()).ok()) (void)Finish();
}

}  // namespace tcc
