#pragma once

#include "support/cuda/cuda_api.h"

namespace tcc::emulator::calls {

// The functions of the driver on the emulated machine, without recording and faults.
#define TCC_DECLARE_CALL(name, parameters, names) CudaResult name parameters;
TCC_CUDA_CALLS(TCC_DECLARE_CALL)
#undef TCC_DECLARE_CALL

}  // namespace tcc::emulator::calls
