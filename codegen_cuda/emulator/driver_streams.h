#pragma once

#include <functional>

#include "codegen_cuda/emulator/driver_machine.h"

namespace tcc::emulator {

// Finds a stream of the thread's context. Expects the machine to be locked.
CudaResult FindStream(CudaStreamHandle handle, Stream** stream);

// Does the work, or records it while the stream is captured. Work that fails with an error of a
// kernel breaks the context. Takes the machine's lock, but not while the work runs.
CudaResult Enqueue(CudaStreamHandle stream, std::function<CudaResult(Context&)> work);

}  // namespace tcc::emulator
