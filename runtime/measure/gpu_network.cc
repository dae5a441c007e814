#include "runtime/measure/gpu_network.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "runtime/artefact/gpu_program.h"
#include "runtime/cuda/cuda_queue.h"
#include "runtime/executor/aligned_memory.h"
#include "runtime/executor/run_sizes.h"
#include "runtime/measure/gpu_task.h"
#include "runtime/measure/kernel_operands.h"
#include "runtime/measure/loaded_candidate.h"
#include "support/check.h"

namespace tcc {
namespace {

// Choices of candidates whose graphs are kept: a comparison takes turns between three.
constexpr size_t kMaxGraphs = 4;

// A candidate in its slot, and its prepared constants, by the constants of each call.
struct Bound {
  std::optional<QueuedCandidate> candidate;
  struct Prepared {
    std::vector<CudaMemory> owners;
    std::vector<uint8_t*> memory;
  };
  std::map<std::vector<void*>, Prepared> prepared;
};

struct KernelSlots {
  std::vector<OperandRole> roles;
  Bound bound[2];
};

}  // namespace

// The candidates of all kernels, launched on the timer's stream.
class BoundKernels {
 public:
  BoundKernels(std::vector<std::vector<OperandRole>> roles, const CudaMeasuringOptions& options,
               CudaStreamHandle stream)
      : context_(options.context),
        load_{.pool = options.pool,
              .devices = options.devices,
              .ordinal = options.context->device().ordinal},
        stream_(stream),
        kernels_(roles.size()) {
    for (size_t k = 0; k < roles.size(); ++k) kernels_[k].roles = std::move(roles[k]);
  }

  size_t size() const { return kernels_.size(); }

  Status Bind(size_t kernel, size_t slot, std::vector<uint8_t> artefact) {
    KernelSlots& slots = kernels_[kernel];
    Bound& bound = slots.bound[slot];
    bound.candidate.reset();
    bound.prepared.clear();
    TCC_ASSIGN_OR_RETURN(bound.candidate,
                         QueueCandidate(std::move(artefact), slots.roles, load_, stream_));
    return OkStatus();
  }

  void Choose(std::span<const uint8_t> slots) { choice_.assign(slots.begin(), slots.end()); }

  Status Launch(size_t kernel, std::span<void* const> operands) {
    KernelSlots& slots = kernels_[kernel];
    Bound& bound = slots.bound[choice_[kernel]];
    if (!bound.candidate) return InvalidInput("kernel {} has no candidate", kernel);
    auto [found, is_new] = bound.prepared.try_emplace(ConstantsOf(slots.roles, operands));
    if (is_new) {
      Status prepared = Prepare(*bound.candidate, operands, found->second);
      if (!prepared.ok()) {
        bound.prepared.erase(found);
        return Annotate(prepared, "prepare kernel");
      }
    }
    const KernelCall& call = bound.candidate->kernel();
    return LaunchCall(*bound.candidate, call, BuffersOf(call, operands, found->second.memory));
  }

 private:
  // Runs the prepare kernels. The memory that they fill begins as zeros, as it does in an artefact.
  Status Prepare(const QueuedCandidate& candidate, std::span<void* const> operands,
                 Bound::Prepared& prepared) {
    for (int64_t bytes : std::span(candidate.loaded.bytes).subspan(operands.size())) {
      TCC_ASSIGN_OR_RETURN(CudaMemory memory,
                           CudaMemory::Allocate(context_, bytes, "prepared constants"));
      std::vector<uint8_t> zeros(static_cast<size_t>(bytes));
      TCC_RETURN_IF_ERROR(candidate.queue->Upload(memory.data(), zeros));
      prepared.memory.push_back(memory.data());
      prepared.owners.push_back(std::move(memory));
    }
    std::span<const KernelCall> calls = candidate.loaded.calls;
    for (const KernelCall& call : calls.first(calls.size() - 1)) {
      TCC_RETURN_IF_ERROR(LaunchCall(candidate, call, BuffersOf(call, operands, prepared.memory)));
    }
    return OkStatus();
  }

  std::shared_ptr<const CudaContext> context_;
  LoadOptions load_;
  CudaStreamHandle stream_;
  std::vector<KernelSlots> kernels_;
  std::vector<uint8_t> choice_;  // by kernel: the slot that is launched
};

namespace {

// A queue with the memory of one of CUDA that launches what is bound to a kernel. Candidates have
// workspaces of their own. No wait is longer than the timer's limit.
class BindingQueue final : public DeviceQueue {
 public:
  BindingQueue(std::unique_ptr<DeviceQueue> queue, BoundKernels& kernels, CudaTimer& timer)
      : queue_(std::move(queue)), kernels_(kernels), timer_(timer) {}

  StatusOr<uint8_t*> Reserve(size_t slot, int64_t bytes, std::string_view what) override {
    return queue_->Reserve(slot, bytes, what);
  }
  void UseStream(void* stream) override { queue_->UseStream(stream); }
  Status CheckStream(void* stream) override { return queue_->CheckStream(stream); }
  Status CheckNotCaptured(void* stream) override { return queue_->CheckNotCaptured(stream); }
  Status CheckMemory(const void* memory, std::string_view what) override {
    return queue_->CheckMemory(memory, what);
  }
  Status Upload(uint8_t* to, std::span<const uint8_t> from) override {
    return queue_->Upload(to, from);
  }
  Status Download(std::span<uint8_t> to, const uint8_t* from) override {
    return queue_->Download(to, from);
  }
  Status Copy(uint8_t* to, const uint8_t* from, int64_t bytes) override {
    return queue_->Copy(to, from, bytes);
  }
  StatusOr<int64_t> WorkspaceBytes(size_t, std::span<const int64_t>) const override { return 0; }
  Status ReserveWorkspace(int64_t) override { return OkStatus(); }
  Status Launch(size_t kernel, const LaunchArguments& arguments) override {
    return kernels_.Launch(kernel, arguments.buffers);
  }
  StatusOr<double> TimedLaunch(size_t, const LaunchArguments&) override { TCC_UNREACHABLE(); }
  Status DoRecorded(size_t, const std::function<Status()>&) override { TCC_UNREACHABLE(); }
  void Forget(size_t recording) override { queue_->Forget(recording); }
  Status Finish() override {
    TCC_RETURN_IF_ERROR(timer_.Finish());
    return queue_->Finish();
  }
  void Abandon() override {
    if (queue_->CheckNotCaptured(timer_.stream()).ok() && timer_.Finish().ok()) queue_->Abandon();
  }

 private:
  std::unique_ptr<DeviceQueue> queue_;
  BoundKernels& kernels_;
  CudaTimer& timer_;
};

// A GPU that loads only the weights. Kernels and timer outlive it.
class BindingDevice final : public Device {
 public:
  BindingDevice(std::shared_ptr<const CudaContext> context, BoundKernels& kernels, CudaTimer& timer)
      : context_(std::move(context)), kernels_(kernels), timer_(timer) {}

  StatusOr<LoadedKernels> LoadKernels(const Artefact& skeleton) const override {
    Artefact bare;
    bare.target = skeleton.target;
    bare.device = skeleton.device;
    bare.weights = skeleton.weights;
    bare.kernels = OwnBytes(GpuProgramBytes(
        {.sm = context_->device().sm, .code = GpuCode::kCubin, .images = {}, .kernels = {}}));
    TCC_ASSIGN_OR_RETURN(std::shared_ptr<const CudaProgram> program,
                         CudaProgram::Load(context_, bare));
    LoadedKernels loaded;
    loaded.entries.resize(skeleton.metadata.kernels.size());
    loaded.weights = program->weights();
    loaded.ordinal = context_->device().ordinal;
    loaded.module = std::move(program);
    return loaded;
  }

  Status Launch(const LoadedKernels&, size_t, const LaunchArguments&) const override {
    TCC_UNREACHABLE();
  }

  StatusOr<std::unique_ptr<DeviceQueue>> MakeQueue(const LoadedKernels& loaded) const override {
    TCC_ASSIGN_OR_RETURN(
        std::unique_ptr<CudaQueue> queue,
        CudaQueue::Make(std::static_pointer_cast<const CudaProgram>(loaded.module)));
    return std::make_unique<BindingQueue>(std::move(queue), kernels_, timer_);
  }

 private:
  std::shared_ptr<const CudaContext> context_;
  BoundKernels& kernels_;
  CudaTimer& timer_;
};

}  // namespace

GpuNetwork::GpuNetwork(Artefact skeleton, std::vector<std::vector<OperandRole>> roles,
                       const CudaMeasuringOptions& options)
    : skeleton_(std::move(skeleton)), roles_(std::move(roles)), options_(options) {}

GpuNetwork::~GpuNetwork() {
  if (end_ == MeasureStatus::kHang) return;
  CudaScope scope(*context());
  if (timer_) (void)timer_->Finish();
  graphs_.clear();
  executor_.reset();
  kernels_.reset();
  timer_.reset();
}

Status GpuNetwork::Ended(Status status) {
  if (absl::IsDeadlineExceeded(status)) {
    end_ = MeasureStatus::kHang;
  } else if (!status.ok() && timer_ && !timer_->Finish().ok()) {
    end_ = MeasureStatus::kFault;
  }
  return status;
}

Status GpuNetwork::Open(uint64_t seed) {
  CudaScope scope(*context());
  TCC_RETURN_IF_ERROR(scope.status());
  return Ended(Make(seed));
}

Status GpuNetwork::Make(uint64_t seed) {
  const size_t kernels = skeleton_.metadata.kernels.size();
  if (roles_.size() != kernels) {
    return InvalidInput("the skeleton has {} kernels; expected {}", kernels, roles_.size());
  }
  TCC_ASSIGN_OR_RETURN(timer_, CudaTimer::Make(context()));
  timer_->LimitRuns(kMaxFirstSeconds);
  kernels_ = std::make_unique<BoundKernels>(std::move(roles_), options_, timer_->stream());
  LoadOptions load{.pool = options_.pool,
                   .device = std::make_shared<BindingDevice>(context(), *kernels_, *timer_)};
  TCC_ASSIGN_OR_RETURN(Module module, Module::FromArtefact(std::move(skeleton_), load));
  for (const TensorInfo& info : module.metadata().inputs) {
    TCC_ASSIGN_OR_RETURN(DeviceTensor input, Allocate(info));
    std::vector<uint8_t> values(input.tensor.bytes.size());
    FillValues(info.dtype, values, seed + inputs_.size());
    if (!values.empty()) {
      TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(context()->driver(), "uploading an input",
                                        cuMemcpyHtoDAsync_v2, AddressOf(input.memory.data()),
                                        values.data(), values.size(), timer_->stream()));
      TCC_RETURN_IF_ERROR(timer_->Finish());
    }
    inputs_.push_back(std::move(input));
  }
  for (const TensorInfo& info : module.metadata().outputs) {
    TCC_ASSIGN_OR_RETURN(outputs_.emplace_back(), Allocate(info));
  }
  executor_.emplace(std::move(module));
  executor_->set_recording(false);
  return OkStatus();
}

StatusOr<GpuNetwork::DeviceTensor> GpuNetwork::Allocate(const TensorInfo& info) {
  std::optional<std::vector<int64_t>> shape = StaticShape(info);
  if (!shape) return Unsupported("'{}' has free dimensions", info.name);
  TCC_ASSIGN_OR_RETURN(int64_t bytes, ByteCount(info.dtype, *shape));
  TCC_ASSIGN_OR_RETURN(CudaMemory memory, CudaMemory::Allocate(context(), bytes, info.name));
  Tensor tensor{info.dtype, *std::move(shape), {}, {memory.data(), static_cast<size_t>(bytes)}};
  return DeviceTensor{std::move(memory), std::move(tensor)};
}

Status GpuNetwork::Bind(size_t kernel, size_t slot, std::vector<uint8_t> artefact) {
  CudaScope scope(*context());
  TCC_RETURN_IF_ERROR(scope.status());
  return Ended(BindNow(kernel, slot, std::move(artefact)));
}

Status GpuNetwork::BindNow(size_t kernel, size_t slot, std::vector<uint8_t> artefact) {
  if (kernel >= kernels_->size()) return InvalidInput("there is no kernel {}", kernel);
  if (slot > 1) return InvalidInput("there is no slot {}", slot);
  // Nothing runs any more on what is freed.
  TCC_RETURN_IF_ERROR(timer_->Finish());
  std::erase_if(graphs_, [&](const CapturedRun& run) { return run.slots[kernel] == slot; });
  return kernels_->Bind(kernel, slot, std::move(artefact));
}

StatusOr<double> GpuNetwork::Run(std::span<const uint8_t> slots, int runs) {
  CudaScope scope(*context());
  TCC_RETURN_IF_ERROR(scope.status());
  StatusOr<double> seconds = TimeRuns(slots, runs);
  if (!seconds.ok()) return Ended(seconds.status());
  return seconds;
}

Status GpuNetwork::Enqueue() {
  std::vector<Tensor> inputs, outputs;
  for (const DeviceTensor& input : inputs_) inputs.push_back(input.tensor);
  for (const DeviceTensor& output : outputs_) outputs.push_back(output.tensor);
  return executor_->Enqueue(inputs, outputs, timer_->stream());
}

StatusOr<CudaGraphExecHandle> GpuNetwork::GraphOf(std::span<const uint8_t> slots) {
  auto known = std::ranges::find_if(
      graphs_, [&](const CapturedRun& run) { return std::ranges::equal(run.slots, slots); });
  if (known != graphs_.end()) {
    std::rotate(known, known + 1, graphs_.end());
    return graphs_.back().graph.get();
  }
  // Allocates workspaces and prepares constants, which a capture must not do.
  TCC_RETURN_IF_ERROR(Enqueue());
  TCC_RETURN_IF_ERROR(timer_->Finish());
  if (!MayBeRecorded(executor_->module().artefact())) return nullptr;
  TCC_ASSIGN_OR_RETURN(CudaGraphExec graph,
                       CaptureCudaGraph(context(), timer_->stream(), [this] { return Enqueue(); }));
  if (graphs_.size() == kMaxGraphs) graphs_.pop_front();
  graphs_.push_back({{slots.begin(), slots.end()}, std::move(graph)});
  return graphs_.back().graph.get();
}

StatusOr<double> GpuNetwork::TimeRuns(std::span<const uint8_t> slots, int runs) {
  if (slots.size() != kernels_->size()) {
    return InvalidInput("{} slots are chosen; the network has {} kernels", slots.size(),
                        kernels_->size());
  }
  kernels_->Choose(slots);
  const double limit = least_ == 0 ? kMaxFirstSeconds
                                   : std::max(GpuTimingLimits().hang_seconds, kHangRatio * least_);
  timer_->LimitRuns(limit);
  TCC_ASSIGN_OR_RETURN(CudaGraphExecHandle graph, GraphOf(slots));
  auto run = [&](int times) -> Status {
    for (int i = 0; i < times; ++i) {
      TCC_RETURN_IF_ERROR(graph == nullptr
                              ? Enqueue()
                              : TCC_CUDA_CALL(context()->driver(), "running the network",
                                              cuGraphLaunch, graph, timer_->stream()));
    }
    return OkStatus();
  };
  // Another choice left its own operands in the caches.
  TCC_RETURN_IF_ERROR(run(1));
  TCC_ASSIGN_OR_RETURN(double seconds, stopwatch_.Time(
                                           context(), timer_->stream(), [&] { return run(runs); },
                                           limit + kHangRatio * runs * least_));
  seconds /= runs;
  least_ = least_ == 0 ? seconds : std::min(least_, seconds);
  return seconds;
}

StatusOr<std::vector<Tensor>> GpuNetwork::Outputs() {
  CudaScope scope(*context());
  TCC_RETURN_IF_ERROR(scope.status());
  StatusOr<std::vector<Tensor>> outputs = Download();
  if (!outputs.ok()) return Ended(outputs.status());
  return outputs;
}

StatusOr<std::vector<Tensor>> GpuNetwork::Download() {
  std::vector<Tensor> outputs;
  for (const auto& [memory, place] : outputs_) {
    TCC_ASSIGN_OR_RETURN(outputs.emplace_back(),
                         AllocateTensor(place.dtype, place.shape, "an output"));
    std::span<uint8_t> to = MutableBytes(outputs.back());
    if (to.empty()) continue;
    TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(context()->driver(), "downloading an output",
                                      cuMemcpyDtoHAsync_v2, to.data(), AddressOf(memory.data()),
                                      to.size(), timer_->stream()));
  }
  TCC_RETURN_IF_ERROR(timer_->Finish());
  return outputs;
}

}  // namespace tcc
