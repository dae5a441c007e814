#include "codegen_cuda/emulator/begun_buffers.h"

#include <iterator>

namespace tcc::emulator {

bool BegunBuffers::Begin(CudaAddress begin, int64_t bytes) {
  if (bytes == 0) return false;
  const CudaAddress end = begin + static_cast<CudaAddress>(bytes);
  const auto known = end_of_.find(begin);
  if (known != end_of_.end() && known->second >= end) {
    known->second = end;
    return true;
  }
  Forget(begin, bytes);
  end_of_.emplace(begin, end);
  return false;
}

void BegunBuffers::Forget(CudaAddress begin, int64_t bytes) {
  const CudaAddress end = begin + static_cast<CudaAddress>(bytes);
  auto at = end_of_.lower_bound(begin);
  if (at != end_of_.begin() && std::prev(at)->second > begin) --at;
  while (at != end_of_.end() && at->first < end) at = end_of_.erase(at);
}

}  // namespace tcc::emulator
