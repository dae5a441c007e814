#pragma once

#include <string_view>

#include "runtime/cuda/cuda_context.h"

// Checks of a caller's stream and memory against the device that is to use them. The driver takes
// both as bare addresses, so that those of another device may show only when a kernel fails.
namespace tcc {

// Fails with InvalidArgument for a stream of another device, naming both devices, and for a stream
// that the driver does not know.
Status CheckCallersStream(const CudaContext& context, CudaStreamHandle stream);

// Fails with InvalidArgument for a stream that is being captured, and for the default one while it
// waits for such a stream.
Status CheckNotCaptured(const CudaContext& context, CudaStreamHandle stream);

// Fails in the same way for memory, which `what` names in messages. Host memory that the driver
// made for the device is accepted.
Status CheckCallersMemory(const CudaContext& context, const void* memory, std::string_view what);

}  // namespace tcc
