#include "bench/gpu/gpu_bench.h"

#include <vector>

#include "runtime/cuda/cuda_device.h"
#include "runtime/executor/cold_sets.h"

namespace tcc {

StatusOr<std::unique_ptr<GpuBench>> GpuBench::Open() {
  std::unique_ptr<GpuBench> bench(new GpuBench);
  TCC_ASSIGN_OR_RETURN(CudaDriver driver, OpenCudaDriver());
  TCC_ASSIGN_OR_RETURN(int ordinal, ChosenCudaOrdinal());
  TCC_ASSIGN_OR_RETURN(bench->context_, CudaContext::Open(driver, ordinal));
  bench->scope_ = std::make_unique<CudaScope>(*bench->context_);
  TCC_RETURN_IF_ERROR(bench->scope_->status());
  TCC_ASSIGN_OR_RETURN(bench->timer_, CudaTimer::Make(bench->context_));
  return bench;
}

StatusOr<CudaMemory> GpuBench::Allocate(int64_t bytes, std::string_view what) const {
  return CudaMemory::Allocate(context_, bytes, what);
}

// The copy returns when the driver has taken the bytes over, and our stream does not wait for the
// default stream, in which they arrive.
Status GpuBench::CopyToDevice(uint8_t* to, std::span<const uint8_t> from) const {
  if (from.empty()) return OkStatus();
  constexpr char kCopy[] = "uploading an operand";
  TCC_RETURN_IF_ERROR(
      TCC_CUDA_CALL(driver(), kCopy, cuMemcpyHtoD_v2, AddressOf(to), from.data(), from.size()));
  return TCC_CUDA_CALL(driver(), kCopy, cuStreamSynchronize, nullptr);
}

StatusOr<CudaMemory> GpuBench::Upload(std::span<const uint8_t> bytes, std::string_view what) const {
  TCC_ASSIGN_OR_RETURN(CudaMemory memory, Allocate(std::ssize(bytes), what));
  TCC_RETURN_IF_ERROR(CopyToDevice(memory.data(), bytes));
  return memory;
}

Status GpuBench::Poison(uint8_t* memory, int64_t bytes) const {
  return CopyToDevice(memory, std::vector<uint8_t>(static_cast<size_t>(bytes), 0xff));
}

Status GpuBench::Download(std::span<uint8_t> to, const uint8_t* from) const {
  if (to.empty()) return OkStatus();
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver(), "downloading a result", cuMemcpyDtoHAsync_v2,
                                    to.data(), AddressOf(from), to.size(), stream()));
  return timer_->Finish();
}

int64_t GpuOperandSets::CountFor(const Tensors& tensors, const CudaDeviceInfo& device) {
  int64_t bytes = 0;
  for (const Tensor& input : tensors.inputs) bytes += std::ssize(input.bytes);
  for (int64_t output : tensors.output_bytes) bytes += output;
  return CountColdSets(bytes, {device.l2_bytes, device.memory_bytes});
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
