#pragma once

#include <string_view>

#include "runtime/cuda/cuda_context.h"

// A caller's stream and memory against the device that is to use them: the driver takes both as
// bare addresses, and what is another device's may show only when a kernel fails.
namespace tcc {

// Fails with InvalidArgument, naming both devices, for a stream of another device's, and where the
// driver does not know the stream.
Status CheckCallersStream(const CudaContext& context, CudaStreamHandle stream);

// Fails with InvalidArgument for a stream that is being captured, and for the default one while it
// waits for such a stream.
Status CheckNotCaptured(const CudaContext& context, CudaStreamHandle stream);

// As CheckCallersStream, of memory, which `what` names in messages. Memory of the host that the
// driver made for the device will do.
Status CheckCallersMemory(const CudaContext& context, const void* memory, std::string_view what);

}  // namespace tcc
