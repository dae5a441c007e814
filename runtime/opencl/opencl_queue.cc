#include "runtime/opencl/opencl_queue.h"

#include <algorithm>
#include <limits>

#include "runtime/artefact/gpu_launch.h"
#include "support/check.h"

namespace tcc {
namespace {

// Kernels count blocks in int.
constexpr std::array<int64_t, 3> kMaxBlocks = {INT32_MAX, INT32_MAX, INT32_MAX};

// More launches than these are waited for, as each keeps an object of the driver's.
constexpr size_t kMaxLaunched = 1024;

constexpr char kRunning[] = "running the model";
constexpr char kTiming[] = "taking time";

}  // namespace

StatusOr<std::unique_ptr<OpenClQueue>> OpenClQueue::Make(
    std::shared_ptr<const OpenClProgram> program) {
  std::unique_ptr<OpenClQueue> queue(new OpenClQueue(std::move(program)));
  TCC_ASSIGN_OR_RETURN(queue->kernels_, queue->program_->MakeKernels());
  TCC_ASSIGN_OR_RETURN(queue->stream_, MakeOpenClStream(queue->context(), 0));
  return queue;
}

OpenClQueue::~OpenClQueue() {
  if (stream_) Abandon();
}

StatusOr<uint8_t*> OpenClQueue::Reserve(size_t slot, int64_t bytes, std::string_view what) {
  if (slots_.size() <= slot) slots_.resize(slot + 1);
  OpenClBlock& block = slots_[slot];
  if (block.data() == nullptr || block.bytes() < bytes) {
    TCC_RETURN_IF_ERROR(Replace(block, bytes, what));
  }
  return block.data();
}

Status OpenClQueue::Replace(OpenClBlock& block, int64_t bytes, std::string_view what) {
  block = {};
  TCC_ASSIGN_OR_RETURN(block, OpenClBlock::Allocate(program_->memory(), bytes, what));
  return OkStatus();
}

// CheckStream refuses every stream of a caller's.
void OpenClQueue::UseStream(void* stream) {
  TCC_CHECK(stream == nullptr) << "work of OpenCL's goes to a queue of its own";
}

Status OpenClQueue::CheckStream(void*) {
  return InvalidInput(
      "kernels on {} run in a queue of their own, not in a stream of the caller's; expected a "
      "call that takes tensors in host memory",
      Describe(context()->device()));
}

Status OpenClQueue::CheckNotCaptured(void*) {
  return OkStatus();
}

Status OpenClQueue::CheckMemory(const void* address, std::string_view what) {
  return Annotate(memory().Find(address, 0).status(), fmt::format("'{}'", what));
}

Status OpenClQueue::Upload(uint8_t* to, std::span<const uint8_t> from) {
  if (from.empty()) return OkStatus();
  TCC_ASSIGN_OR_RETURN(const OpenClMemory::Place place,
                       memory().Find(to, static_cast<int64_t>(from.size())));
  return TCC_OPENCL_CALL(driver(), "uploading an input", clEnqueueWriteBuffer, stream(),
                         place.buffer, 1, static_cast<size_t>(place.offset), from.size(),
                         from.data(), 0, nullptr, nullptr);
}

Status OpenClQueue::Download(std::span<uint8_t> to, const uint8_t* from) {
  if (to.empty()) return OkStatus();
  TCC_ASSIGN_OR_RETURN(const OpenClMemory::Place place,
                       memory().Find(from, static_cast<int64_t>(to.size())));
  return TCC_OPENCL_CALL(driver(), "downloading a result", clEnqueueReadBuffer, stream(),
                         place.buffer, 1, static_cast<size_t>(place.offset), to.size(), to.data(),
                         0, nullptr, nullptr);
}

Status OpenClQueue::Copy(uint8_t* to, const uint8_t* from, int64_t bytes) {
  if (bytes == 0 || to == from) return OkStatus();
  // Drivers refuse copies whose ranges overlap.
  if (to < from + bytes && from < to + bytes) {
    TCC_RETURN_IF_ERROR(ReserveWorkspace(bytes));
    TCC_RETURN_IF_ERROR(CopyApart(scratch_.data(), from, bytes));
    from = scratch_.data();
  }
  return CopyApart(to, from, bytes);
}

Status OpenClQueue::CopyApart(uint8_t* to, const uint8_t* from, int64_t bytes) {
  TCC_ASSIGN_OR_RETURN(const OpenClMemory::Place source, memory().Find(from, bytes));
  TCC_ASSIGN_OR_RETURN(const OpenClMemory::Place target, memory().Find(to, bytes));
  return TCC_OPENCL_CALL(driver(), "copying a buffer", clEnqueueCopyBuffer, stream(), source.buffer,
                         target.buffer, static_cast<size_t>(source.offset),
                         static_cast<size_t>(target.offset), static_cast<size_t>(bytes), 0, nullptr,
                         nullptr);
}

StatusOr<int64_t> OpenClQueue::WorkspaceBytes(size_t kernel,
                                              std::span<const int64_t> shape_args) const {
  const GpuKernel& launched = program_->kernels()[kernel];
  // Enqueue refuses this launch.
  if (shape_args.size() != launched.shapes) return 0;
  TCC_ASSIGN_OR_RETURN(const GpuWorkspaces places, LayOutWorkspaces(launched, shape_args));
  return places.end;
}

Status OpenClQueue::ReserveWorkspace(int64_t bytes) {
  if (scratch_.data() != nullptr && scratch_.bytes() >= bytes) return OkStatus();
  return Replace(scratch_, bytes, "the workspaces of a kernel");
}

Status OpenClQueue::GrowTickets(int64_t count) {
  const int64_t bytes = count * kTicketBytes;
  if (tickets_.bytes() >= bytes) return OkStatus();
  TCC_RETURN_IF_ERROR(Replace(tickets_, bytes, "the tickets of a kernel's blocks"));
  TCC_ASSIGN_OR_RETURN(const OpenClMemory::Place place, memory().Find(tickets_.data(), bytes));
  const uint32_t zero = 0;
  Status cleared =
      TCC_OPENCL_CALL(driver(), "clearing tickets", clEnqueueFillBuffer, stream(), place.buffer,
                      &zero, sizeof(zero), 0, static_cast<size_t>(bytes), 0, nullptr, nullptr);
  // Memory that was not cleared would be used as it is.
  if (!cleared.ok()) tickets_ = {};
  return cleared;
}

Status OpenClQueue::PlaceWorkspaces(const GpuKernel& kernel, std::span<const int64_t> shapes) {
  workspaces_.clear();
  if (kernel.workspace_bytes.empty()) return OkStatus();
  TCC_ASSIGN_OR_RETURN(const GpuWorkspaces places, LayOutWorkspaces(kernel, shapes));
  TCC_RETURN_IF_ERROR(ReserveWorkspace(places.end));
  for (size_t i = 0; i < places.begins.size(); ++i) {
    workspaces_.push_back({scratch_.data() + places.begins[i], places.sizes[i]});
  }
  return OkStatus();
}

Status OpenClQueue::Launch(size_t kernel, const LaunchArguments& arguments) {
  return Enqueue(kernel, arguments);
}

Status OpenClQueue::Enqueue(size_t index, const LaunchArguments& arguments) {
  const GpuKernel& kernel = program_->kernels()[index];
  TCC_RETURN_IF_ERROR(CheckCall(kernel, arguments.buffers.size(), arguments.shape_args.size()));
  TCC_RETURN_IF_ERROR(PlaceWorkspaces(kernel, arguments.shape_args));
  for (size_t i = 0; i < kernel.launches.size(); ++i) {
    TCC_RETURN_IF_ERROR(Enqueue(kernel.launches[i], kernels_[index][i].get(), arguments));
  }
  return OkStatus();
}

StatusOr<BufferPlace> OpenClQueue::PlaceOf(const GpuArgument& argument,
                                           const LaunchArguments& arguments) const {
  switch (argument.kind) {
    case GpuArgument::Kind::kBuffer:
      return BufferPlace{static_cast<uint8_t*>(arguments.buffers[argument.index]),
                         arguments.bytes[argument.index]};
    case GpuArgument::Kind::kWorkspace:
      return workspaces_[argument.index];
    case GpuArgument::Kind::kTickets:
      return BufferPlace{tickets_.data(), tickets_.bytes()};
    case GpuArgument::Kind::kShape:
    case GpuArgument::Kind::kTensorMap:
      break;
  }
  TCC_UNREACHABLE();
}

// Sets the arguments of a launch: the handle and an offset in bytes for each piece of memory, a
// number of 64 bits for each shape.
Status OpenClQueue::Pass(OpenClKernelHandle kernel, const GpuLaunch& launch,
                         const LaunchArguments& arguments) {
  uint32_t next = 0;
  auto set = [&](const auto& value) {
    // The argument is the value's own bytes, a handle's too.
    constexpr size_t kBytes = sizeof(decltype(value));
    return TCC_OPENCL_CALL(driver(), "launching " + launch.symbol, clSetKernelArg, kernel, next++,
                           kBytes, static_cast<const void*>(&value));
  };
  for (const GpuArgument& argument : launch.arguments) {
    if (argument.kind == GpuArgument::Kind::kShape) {
      TCC_RETURN_IF_ERROR(set(arguments.shape_args[argument.index]));
      continue;
    }
    TCC_ASSIGN_OR_RETURN(const BufferPlace buffer, PlaceOf(argument, arguments));
    StatusOr<OpenClMemory::Place> place = memory().Find(buffer.data, buffer.bytes);
    if (!place.ok()) return Annotate(place.status(), "launching " + launch.symbol);
    TCC_RETURN_IF_ERROR(set(place->buffer));
    TCC_RETURN_IF_ERROR(set(place->offset));
  }
  return OkStatus();
}

Status OpenClQueue::Enqueue(const GpuLaunch& launch, OpenClKernelHandle kernel,
                            const LaunchArguments& arguments) {
  TCC_ASSIGN_OR_RETURN(auto grid, GridOf(launch, arguments.shape_args, kMaxBlocks));
  if (!grid) return OkStatus();
  if (HasTickets(launch)) TCC_RETURN_IF_ERROR(GrowTickets((*grid)[0]));
  TCC_RETURN_IF_ERROR(Pass(kernel, launch, arguments));
  if (launched_.size() >= kMaxLaunched && !is_timed_) TCC_RETURN_IF_ERROR(Finish());
  std::array<size_t, 3> threads{}, block{};
  for (size_t i = 0; i < block.size(); ++i) {
    block[i] = launch.block[i];
    threads[i] = size_t{(*grid)[i]} * block[i];
  }
  OpenClEventHandle event = nullptr;
  TCC_RETURN_IF_ERROR(TCC_OPENCL_CALL(driver(), "launching " + launch.symbol,
                                      clEnqueueNDRangeKernel, stream(), kernel, 3, nullptr,
                                      threads.data(), block.data(), 0, nullptr, &event));
  launched_.push_back({OpenClEvent(context(), event), &launch});
  return OkStatus();
}

// Waiting for a queue tells nothing of kernels that failed in it: their events do.
Status OpenClQueue::AwaitLaunches() const {
  TCC_RETURN_IF_ERROR(TCC_OPENCL_CALL(driver(), kRunning, clFinish, stream()));
  for (const auto& [event, launch] : launched_) {
    OpenClResult status = kOpenClSuccess;
    TCC_RETURN_IF_ERROR(TCC_OPENCL_CALL(driver(), kRunning, clGetEventInfo, event.get(),
                                        kOpenClEventStatus, sizeof(status), &status, nullptr));
    if (status < 0) return OpenClStatus(status, "the kernel", "running " + launch->symbol);
  }
  return OkStatus();
}

StatusOr<double> OpenClQueue::SecondsOfLaunches() const {
  uint64_t first = std::numeric_limits<uint64_t>::max(), last = 0;
  for (const Launched& each : launched_) {
    uint64_t start = 0, end = 0;
    TCC_RETURN_IF_ERROR(TCC_OPENCL_CALL(driver(), kTiming, clGetEventProfilingInfo,
                                        each.event.get(), kOpenClStarted, sizeof(start), &start,
                                        nullptr));
    TCC_RETURN_IF_ERROR(TCC_OPENCL_CALL(driver(), kTiming, clGetEventProfilingInfo,
                                        each.event.get(), kOpenClEnded, sizeof(end), &end,
                                        nullptr));
    first = std::min(first, start);
    last = std::max(last, end);
  }
  // A clock may be coarser than a short kernel; no kernel takes no time.
  const uint64_t nanoseconds = last > first ? last - first : 1;
  return 1e-9 * static_cast<double>(nanoseconds);
}

// Waits for earlier work first, since nothing orders the work of two queues.
StatusOr<double> OpenClQueue::TimedLaunch(size_t kernel, const LaunchArguments& arguments) {
  if (!timed_stream_) {
    TCC_ASSIGN_OR_RETURN(timed_stream_, MakeOpenClStream(context(), kOpenClProfiling));
  }
  TCC_RETURN_IF_ERROR(Finish());
  is_timed_ = true;
  StatusOr<double> seconds = 0.0;
  Status status = Enqueue(kernel, arguments);
  if (status.ok()) status = AwaitLaunches();
  if (status.ok()) seconds = SecondsOfLaunches();
  is_timed_ = false;
  launched_.clear();
  TCC_RETURN_IF_ERROR(status);
  return seconds;
}

Status OpenClQueue::DoRecorded(size_t, const std::function<Status()>& work) {
  return work();
}

void OpenClQueue::Forget(size_t) {}

Status OpenClQueue::Finish() {
  const Status status = AwaitLaunches();
  launched_.clear();
  return status;
}

// Drops what went wrong: the failure has been reported already, and any other is of work before it.
void OpenClQueue::Abandon() {
  if (timed_stream_) driver().clFinish(timed_stream_.get());
  (void)Finish();
}

}  // namespace tcc
