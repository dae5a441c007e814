#include "compiler/check/lone_kernel.h"

namespace tcc {

Status LoneKernels::Run(size_t kernel, std::span<const Operand> operands) {
  if (!ready_) {
    TCC_ASSIGN_OR_RETURN(queue_, module_.device().MakeQueue(module_.kernels()));
    if (queue_ != nullptr) queue_->UseStream(nullptr);
    ready_ = true;
  }
  if (queue_ != nullptr) {
    Status status = RunOnQueue(kernel, operands);
    if (!status.ok()) queue_->Abandon();
    return status;
  }
  // Kernels only read weights.
  auto* weights = const_cast<uint8_t*>(module_.artefact().weights.bytes.data());
  std::vector<void*> buffers;
  std::vector<int64_t> bytes;
  for (const Operand& operand : operands) {
    const bool is_weight = operand.weights_offset >= 0;
    buffers.push_back(is_weight ? weights + operand.weights_offset : operand.memory.data());
    bytes.push_back(is_weight ? operand.weights_bytes : std::ssize(operand.memory));
  }
  return module_.device().Launch(module_.kernels(), kernel, {buffers, bytes, {}});
}

Status LoneKernels::RunOnQueue(size_t kernel, std::span<const Operand> operands) {
  std::vector<void*> buffers;
  std::vector<int64_t> bytes;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    if (operand.weights_offset >= 0) {
      buffers.push_back(module_.kernels().weights + operand.weights_offset);
      bytes.push_back(operand.weights_bytes);
      continue;
    }
    bytes.push_back(std::ssize(operand.memory));
    TCC_ASSIGN_OR_RETURN(uint8_t* memory, queue_->Reserve(i, bytes.back(), "an operand"));
    TCC_RETURN_IF_ERROR(queue_->Upload(memory, operand.memory));
    buffers.push_back(memory);
  }
  TCC_ASSIGN_OR_RETURN(int64_t workspace, queue_->WorkspaceBytes(kernel, {}));
  TCC_RETURN_IF_ERROR(queue_->ReserveWorkspace(workspace));
  TCC_RETURN_IF_ERROR(queue_->Launch(kernel, {buffers, bytes, {}}));
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].weights_offset >= 0) continue;
    TCC_RETURN_IF_ERROR(
        queue_->Download(operands[i].memory, static_cast<const uint8_t*>(buffers[i])));
  }
  return queue_->Finish();
}

}  // namespace tcc
