#include "runtime/measure/loaded_candidate.h"

#include <optional>
#include <variant>

namespace tcc {
namespace {

StatusOr<int64_t> Constant(const SizeExpr& size, std::string_view what) {
  std::optional<int64_t> value = size.AsConstant();
  if (!value) return InvalidInput("{} is no constant", what);
  return *value;
}

StatusOr<KernelCall> CallOf(const Instruction& instruction, std::span<const int64_t> bytes) {
  const auto* call = std::get_if<PlanCall>(&instruction.op);
  if (call == nullptr) return InvalidInput("the plan has more than calls of kernels");
  KernelCall result;
  result.kernel = call->kernel;
  for (BufferId buffer : call->buffers) {
    result.buffers.push_back(buffer);
    result.bytes.push_back(bytes[buffer]);
  }
  for (const SizeExpr& size : call->shape_args) {
    TCC_ASSIGN_OR_RETURN(int64_t value, Constant(size, "a shape argument"));
    result.shape_args.push_back(value);
  }
  return result;
}

// Holds the plan's buffers to the roles and returns the parameters' types.
StatusOr<std::vector<DType>> DTypesOf(const Artefact& artefact,
                                      std::span<const OperandRole> roles) {
  const std::vector<PlanBuffer>& buffers = artefact.plan.buffers;
  if (buffers.size() < roles.size()) {
    return InvalidInput("the plan has {} buffers; expected at least the task's {} operands",
                        buffers.size(), roles.size());
  }
  std::vector<DType> dtypes;
  uint32_t inputs = 0, outputs = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    bool is_prepared = i >= roles.size();
    bool is_output = !is_prepared && roles[i] == OperandRole::kOutput;
    BufferKind kind = is_prepared ? BufferKind::kArena
                      : is_output ? BufferKind::kOutput
                                  : BufferKind::kInput;
    uint32_t index = is_prepared ? 0 : is_output ? outputs++ : inputs++;
    if (buffers[i].kind != kind || buffers[i].index != index ||
        (!is_prepared && buffers[i].offset != SizeExpr(0))) {
      return InvalidInput("buffer {} of the plan is not the task's operand {}", i, i);
    }
    if (is_prepared) continue;
    const Metadata& metadata = artefact.metadata;
    dtypes.push_back((is_output ? metadata.outputs : metadata.inputs)[index].dtype);
  }
  return dtypes;
}

}  // namespace

StatusOr<LoadedCandidate> LoadCandidate(std::vector<uint8_t> artefact,
                                        std::span<const OperandRole> roles,
                                        const LoadOptions& options) {
  TCC_ASSIGN_OR_RETURN(Module module, Module::FromBytes(OwnBytes(std::move(artefact)), options));
  LoadedCandidate candidate{.module = std::move(module), .dtypes = {}, .bytes = {}, .calls = {}};
  TCC_ASSIGN_OR_RETURN(candidate.dtypes, DTypesOf(candidate.module.artefact(), roles));
  const Plan& plan = candidate.module.artefact().plan;
  for (const PlanBuffer& buffer : plan.buffers) {
    TCC_ASSIGN_OR_RETURN(int64_t bytes, Constant(buffer.bytes, "the size of a buffer"));
    candidate.bytes.push_back(bytes);
  }
  for (const Instruction& instruction : plan.body) {
    TCC_ASSIGN_OR_RETURN(KernelCall call, CallOf(instruction, candidate.bytes));
    candidate.calls.push_back(std::move(call));
  }
  if (candidate.calls.empty()) return InvalidInput("the plan calls no kernel");
  return candidate;
}

Status LaunchCall(const LoadedCandidate& candidate, const KernelCall& call,
                  std::span<void* const> buffers) {
  const Module& module = candidate.module;
  return module.device().Launch(module.kernels(), call.kernel,
                                {buffers, call.bytes, call.shape_args});
}

StatusOr<QueuedCandidate> QueueCandidate(std::vector<uint8_t> artefact,
                                         std::span<const OperandRole> roles,
                                         const LoadOptions& options, void* stream) {
  TCC_ASSIGN_OR_RETURN(LoadedCandidate loaded, LoadCandidate(std::move(artefact), roles, options));
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<DeviceQueue> queue,
                       loaded.module.device().MakeQueue(loaded.module.kernels()));
  if (!queue) return InvalidInput("the kernels run on no GPU, as the task's do");
  queue->UseStream(stream);
  return QueuedCandidate{.loaded = std::move(loaded), .queue = std::move(queue)};
}

Status LaunchCall(const QueuedCandidate& candidate, const KernelCall& call,
                  std::span<void* const> buffers) {
  return candidate.queue->Launch(call.kernel, {buffers, call.bytes, call.shape_args});
}

std::vector<void*> BuffersOf(const KernelCall& call, std::span<void* const> operands,
                             std::span<uint8_t* const> prepared) {
  std::vector<void*> buffers;
  for (size_t buffer : call.buffers) {
    bool is_operand = buffer < operands.size();
    buffers.push_back(is_operand ? operands[buffer] : prepared[buffer - operands.size()]);
  }
  return buffers;
}

std::vector<void*> ConstantsOf(std::span<const OperandRole> roles,
                               std::span<void* const> operands) {
  std::vector<void*> constants;
  for (size_t i = 0; i < roles.size(); ++i) {
    if (roles[i] == OperandRole::kConstant) constants.push_back(operands[i]);
  }
  return constants;
}

}  // namespace tcc
