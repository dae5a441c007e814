#include "runtime/cuda/cuda_pool.h"

#include <algorithm>

#include "support/integer_division.h"

namespace tcc {
namespace {

// The freed memory that the pool keeps; more returns to the device when a stream is waited for.
// Executors that grow in turn need no new memory from the device up to this size.
constexpr uint64_t kKeptBytes = uint64_t{64} << 20;

constexpr char kMaking[] = "making a memory pool";

constexpr size_t kAlignment = 64;

}  // namespace

StatusOr<CudaPool> CudaPool::Make(std::shared_ptr<const CudaContext> context) {
  const CudaDriver& driver = context->driver();
  CudaPool pool;
  pool.context_ = context;
  if (!context->device().has_pools) return pool;
  const CudaPoolProperties properties{.ordinal = context->device().ordinal};
  CudaPoolHandle handle = nullptr;
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, kMaking, cuMemPoolCreate, &handle, &properties));
  pool.pool_ = {std::move(context), handle};
  uint64_t kept = kKeptBytes;
  TCC_RETURN_IF_ERROR(
      TCC_CUDA_CALL(driver, kMaking, cuMemPoolSetAttribute, handle, kCudaPoolKeptBytes, &kept));
  return pool;
}

StatusOr<CudaMemory> CudaPool::Allocate(CudaStreamHandle stream, int64_t bytes,
                                        std::string_view what) const {
  if (!pool_) return CudaMemory::Allocate(context_, bytes, what);
  const CudaDriver& driver = context_->driver();
  CudaAddress address = 0;
  // The driver refuses 0 bytes.
  const size_t size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  CudaResult result = driver.cuMemAllocFromPoolAsync(&address, size, pool_.get(), stream);
  // A failure in between also fails later waits for the stream's work.
  if (result == kCudaOutOfMemory && driver.cuStreamSynchronize(stream) == kCudaSuccess &&
      driver.cuMemPoolTrimTo(pool_.get(), 0) == kCudaSuccess) {
    result = driver.cuMemAllocFromPoolAsync(&address, size, pool_.get(), stream);
  }
  if (result != kCudaSuccess) {
    return NoCudaMemory(*context_, result, "cuMemAllocFromPoolAsync", bytes, what);
  }
  return CudaMemory(context_, address, bytes);
}

Status CudaPool::GiveBack(CudaMemory& memory, CudaStreamHandle stream) const {
  if (memory.data() == nullptr) return OkStatus();
  const CudaDriver& driver = context_->driver();
  if (pool_) {
    // Errors are dropped, as in CudaOwned: they are failures of other work.
    driver.cuMemFreeAsync(memory.Detach(), stream);
    return OkStatus();
  }
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, "running the model", cuStreamSynchronize, stream));
  memory.Reset();
  return OkStatus();
}

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
  used_ += RoundUp(bytes, kAlignment);
  return place;
}

void CudaStaging::Clear() {
  block_ = 0;
  used_ = 0;
}

}  // namespace tcc
