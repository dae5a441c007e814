#include <bit>
#include <cstdio>
#include <cstdlib>

#include "api/devices.h"
#include "api/module_state.h"
#include "runtime/executor/aligned_memory.h"
#include "runtime/executor/binding.h"
#include "support/cuda/cuda_api.h"
#include "support/version.h"

namespace tcc::v1 {
namespace {

tcc::StatusOr<std::vector<std::vector<int64_t>>> ShapesOfOutputs(
    const Metadata& metadata, std::span<const tcc::Tensor> inputs) {
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> variables, BindInputs(metadata, inputs));
  std::vector<std::vector<int64_t>> shapes;
  for (const tcc::TensorInfo& info : metadata.outputs) {
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, ShapeOf(info, metadata, variables));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

StatusOr<tcc::Executor::Bound> BindViews(tcc::Executor& executor, std::span<const Input> inputs,
                                         std::span<const Output> outputs) {
  const Metadata& metadata = executor.module().metadata();
  TCC_ASSIGN_OR_RETURN(std::vector<tcc::Tensor> in, ArrangeViews(metadata, inputs));
  TCC_ASSIGN_OR_RETURN(std::vector<std::vector<int64_t>> shapes, ShapesOfOutputs(metadata, in));
  TCC_ASSIGN_OR_RETURN(std::vector<tcc::Tensor> out, ArrangeViews(metadata, shapes, outputs));
  return executor.Bind(std::move(in), std::move(out));
}

tcc::Status RunOn(tcc::Executor& executor, tcc::Executor::Bound& bound, Copies* copies) {
  TCC_RETURN_IF_ERROR(executor.RunBound(bound));
  if (copies) *copies = {executor.copies().tensors, executor.copies().bytes};
  return tcc::OkStatus();
}

tcc::Status RunViews(tcc::Executor& executor, std::span<const Input> inputs,
                     std::span<const Output> outputs, Copies* copies) {
  TCC_ASSIGN_OR_RETURN(tcc::Executor::Bound bound, BindViews(executor, inputs, outputs));
  return RunOn(executor, bound, copies);
}

tcc::Status EnqueueViews(tcc::Executor& executor, std::span<const DeviceTensor> inputs,
                         std::span<const DeviceTensor> outputs, void* stream) {
  const Metadata& metadata = executor.module().metadata();
  TCC_ASSIGN_OR_RETURN(std::vector<tcc::Tensor> in, ArrangeViews(metadata, inputs));
  TCC_ASSIGN_OR_RETURN(std::vector<std::vector<int64_t>> shapes, ShapesOfOutputs(metadata, in));
  TCC_ASSIGN_OR_RETURN(std::vector<tcc::Tensor> out, ArrangeViews(metadata, shapes, outputs));
  if (stream == nullptr) stream = std::bit_cast<void*>(kCudaDefaultStream);
  return executor.Enqueue(in, out, stream);
}

// Computes the shapes of the outputs; uses only types and shapes of the inputs.
template <typename View>
Result<std::vector<std::vector<std::int64_t>>> ShapesFor(const Metadata& metadata,
                                                         std::span<const View> inputs) {
  static uint8_t nothing = 0;
  std::vector<View> views(inputs.begin(), inputs.end());
  for (View& view : views) view.data = &nothing;
  StatusOr<std::vector<tcc::Tensor>> in = ArrangeViews(metadata, std::span<const View>(views));
  if (!in.ok()) return ToApi(in.status());
  for (tcc::Tensor& tensor : *in) {
    StatusOr<int64_t> bytes = ByteCount(tensor.dtype, tensor.shape);
    if (!bytes.ok()) return ToApi(bytes.status());
    tensor.bytes = {&nothing, static_cast<size_t>(*bytes)};
  }
  StatusOr<std::vector<std::vector<int64_t>>> shapes = ShapesOfOutputs(metadata, *in);
  if (!shapes.ok()) return ToApi(shapes.status());
  return std::move(*shapes);
}

}  // namespace

void EndOnError(const Status& status) {
  std::fprintf(stderr, "tcc: %s\n", status.ok() ? "no value" : status.message().c_str());
  std::abort();
}

std::string_view ToString(DType dtype) {
  // clang-format off
  switch (dtype) {
#define TCC_DTYPE_NAME(text, code, bits, kind) case DType::code: return text;
    TCC_DTYPES(TCC_DTYPE_NAME)
#undef TCC_DTYPE_NAME
  }
  // clang-format on
  return "";
}

std::shared_ptr<void> AllocateAligned(std::size_t bytes) {
  auto memory = AllocateMemory(static_cast<int64_t>(bytes), "a tensor");
  return memory.ok() ? *memory : nullptr;
}

std::string_view Version() {
  return kVersion;
}

ThreadPool::ThreadPool(int threads) : state_(std::make_shared<State>(threads)) {}

int ThreadPool::threads() const {
  return state_->pool->threads();
}

tcc::LoadOptions Module::Access::Options(const LoadOptions& options) {
  tcc::LoadOptions load;
  if (options.pool) load.pool = options.pool->state_->pool;
  load.threads = options.threads;
  load.devices = EmbeddedDevices();
  load.ordinal = options.device;
  load.map_weights = options.map_weights;
  return load;
}

Result<Module> Module::Access::Wrap(StatusOr<tcc::Module> module) {
  if (!module.ok()) return ToApi(module.status());
  auto state = std::make_shared<State>(*std::move(module));
  const Metadata& metadata = state->module.metadata();
  for (const tcc::TensorInfo& info : metadata.inputs) {
    state->inputs.push_back(ToApi(info, metadata));
  }
  for (const tcc::TensorInfo& info : metadata.outputs) {
    state->outputs.push_back(ToApi(info, metadata));
  }
  for (const tcc::KernelInfo& info : metadata.kernels) state->kernels.push_back(ToApi(info));
  return Module(std::move(state));
}

Result<Module> Module::Load(const std::string& path, const LoadOptions& options) {
  return WithinMemory(
      [&] { return Access::Wrap(tcc::Module::Load(path, Access::Options(options))); });
}

Result<Module> Module::Load(std::span<const std::uint8_t> file, std::shared_ptr<const void> owner,
                            const LoadOptions& options) {
  return WithinMemory([&]() -> Result<Module> {
    SharedBytes bytes{std::move(owner), file};
    if (bytes.owner == nullptr) {
      // Nobody keeps the caller's memory alive.
      StatusOr<tcc::Tensor> copy =
          CopyTensor(tcc::DType(DTypeCode::kUInt8), {static_cast<int64_t>(file.size())}, file,
                     "a copy of the artefact");
      if (!copy.ok()) return ToApi(copy.status());
      bytes = {copy->owner, copy->bytes};
    }
    return Access::Wrap(tcc::Module::FromBytes(std::move(bytes), Access::Options(options)));
  });
}

const std::string& Module::name() const {
  return state_->module.metadata().model;
}
const std::string& Module::target() const {
  return state_->module.artefact().target;
}
const std::vector<TensorInfo>& Module::inputs() const {
  return state_->inputs;
}
const std::vector<TensorInfo>& Module::outputs() const {
  return state_->outputs;
}
const std::vector<KernelInfo>& Module::kernels() const {
  return state_->kernels;
}
const std::vector<std::pair<std::string, std::string>>& Module::properties() const {
  return state_->module.metadata().properties;
}
std::size_t Module::weights_bytes() const {
  return state_->module.artefact().weights.bytes.size();
}
std::optional<std::size_t> Module::activation_bytes() const {
  std::optional<int64_t> bytes = state_->module.artefact().plan.arena_bytes.AsConstant();
  return bytes ? std::optional(static_cast<std::size_t>(*bytes)) : std::nullopt;
}
int Module::threads() const {
  return state_->module.pool()->threads();
}
std::optional<int> Module::device() const {
  return state_->module.kernels().ordinal;
}

Result<std::vector<std::vector<std::int64_t>>> Module::OutputShapes(
    std::span<const Input> inputs) const {
  return WithinMemory([&] { return ShapesFor(state_->module.metadata(), inputs); });
}

Result<std::vector<std::vector<std::int64_t>>> Module::OutputShapes(
    std::span<const DeviceTensor> inputs) const {
  return WithinMemory([&] { return ShapesFor(state_->module.metadata(), inputs); });
}

Status Module::Run(std::span<const Input> inputs, std::span<const Output> outputs,
                   Copies* copies) const {
  return WithinMemory([&] {
    State::Idle& idle = state_->idle.Get();
    std::unique_ptr<tcc::Executor> executor;
    {
      std::lock_guard lock(idle.mutex);
      if (!idle.executors.empty()) {
        executor = std::move(idle.executors.back());
        idle.executors.pop_back();
      }
    }
    if (!executor) executor = std::make_unique<tcc::Executor>(state_->module);
    Status status = ToApi(RunViews(*executor, inputs, outputs, copies));
    std::lock_guard lock(idle.mutex);
    idle.executors.push_back(std::move(executor));
    return status;
  });
}

struct Executor::State {
  tcc::Executor executor;
  std::optional<tcc::Executor::Bound> bound = {};
};

Executor::Executor(const Module& module)
    : state_(std::make_unique<State>(tcc::Executor(module.state_->module))) {}
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;
Executor::~Executor() = default;

Status Executor::Run(std::span<const Input> inputs, std::span<const Output> outputs,
                     Copies* copies) {
  return WithinMemory([&] { return ToApi(RunViews(state_->executor, inputs, outputs, copies)); });
}

Status Executor::Bind(std::span<const Input> inputs, std::span<const Output> outputs) {
  return WithinMemory([&]() -> Status {
    StatusOr<tcc::Executor::Bound> bound = BindViews(state_->executor, inputs, outputs);
    if (!bound.ok()) return ToApi(bound.status());
    state_->bound = *std::move(bound);
    return {};
  });
}

Status Executor::RunBound(Copies* copies) {
  return WithinMemory([&]() -> Status {
    if (!state_->bound) return {Code::kUsage, "the executor has no tensors: nothing was bound"};
    return ToApi(RunOn(state_->executor, *state_->bound, copies));
  });
}

Status Executor::Enqueue(std::span<const DeviceTensor> inputs,
                         std::span<const DeviceTensor> outputs, void* stream) {
  return WithinMemory(
      [&] { return ToApi(EnqueueViews(state_->executor, inputs, outputs, stream)); });
}

}  // namespace tcc::v1
