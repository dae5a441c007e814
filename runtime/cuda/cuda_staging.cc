#include "runtime/cuda/cuda_staging.h"

namespace tcc {
namespace {

constexpr size_t kAlignment = 64;

}  // namespace

StatusOr<uint8_t*> CudaStaging::Reserve(const std::shared_ptr<const CudaContext>& context,
                                        size_t bytes) {
  if (used_ > kMaxBytes - bytes) {
    ++block_;
    used_ = 0;
  }
  if (block_ >= blocks_.size()) {
    void* memory = nullptr;
    TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(context->driver(), "making room for inputs and outputs",
                                      cuMemHostAlloc, &memory, kMaxBytes, 0));
    blocks_.emplace_back(context, memory);
  }
  uint8_t* place = static_cast<uint8_t*>(blocks_[block_].get()) + used_;
  used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return place;
}

void CudaStaging::Clear() {
  block_ = 0;
  used_ = 0;
}

}  // namespace tcc
