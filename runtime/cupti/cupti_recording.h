#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/status.h"

namespace tcc {

// A kernel that a GPU has run, by CUPTI's clock.
struct KernelActivity {
  std::string symbol;
  uint64_t start_ns = 0, end_ns = 0;
};

// A recording by CUPTI of every kernel of this process, those of CUDA graphs one by one, from Start
// to Stop. There is one recording at a time.
class CuptiRecording {
 public:
  // Starts a recording. Unavailable without the library, sought as support/cuda/cuda_library.h says
  // (TCC_CUPTI), or where recording is not allowed.
  static StatusOr<std::unique_ptr<CuptiRecording>> Start();
  CuptiRecording(const CuptiRecording&) = delete;
  CuptiRecording& operator=(const CuptiRecording&) = delete;
  ~CuptiRecording();

  // Returns the kernels of work that has ended before the call, in the order of their start.
  StatusOr<std::vector<KernelActivity>> Stop();

 private:
  CuptiRecording() = default;
  bool running_ = false;
};

}  // namespace tcc
