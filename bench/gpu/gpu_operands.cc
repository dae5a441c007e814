#include "bench/gpu/gpu_operands.h"

namespace tcc {

int64_t GpuOperandSets::CountFor(const Tensors& tensors, const CudaDeviceInfo& device) {
  int64_t bytes = 0;
  for (const Tensor& input : tensors.inputs) bytes += std::ssize(input.bytes);
  for (int64_t output : tensors.output_bytes) bytes += output;
  return CountColdSets(bytes, device);
}

StatusOr<GpuOperandSets> GpuOperandSets::Make(const GpuBench& bench, const Tensors& tensors,
                                              int64_t count) {
  GpuOperandSets made;
  auto upload = [&](const Tensor& tensor, std::vector<uint8_t*>& places) -> Status {
    TCC_ASSIGN_OR_RETURN(CudaMemory memory, bench.Upload(tensor.bytes, "an operand"));
    places.push_back(memory.data());
    made.memory_.push_back(std::move(memory));
    return OkStatus();
  };
  std::vector<uint8_t*> constants;
  for (const Tensor& constant : tensors.constants) {
    TCC_RETURN_IF_ERROR(upload(constant, constants));
  }
  for (int64_t set = 0; set < count; ++set) {
    GpuOperands& operands = made.sets_.emplace_back();
    operands.constants = constants;
    for (const Tensor& input : tensors.inputs) {
      TCC_RETURN_IF_ERROR(upload(input, operands.inputs));
    }
    for (int64_t bytes : tensors.output_bytes) {
      TCC_ASSIGN_OR_RETURN(CudaMemory memory, bench.Allocate(bytes, "a result"));
      operands.outputs.push_back(memory.data());
      made.memory_.push_back(std::move(memory));
    }
  }
  return made;
}

}  // namespace tcc
