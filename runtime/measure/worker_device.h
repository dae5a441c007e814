#pragma once

#include <string>
#include <string_view>

#include "runtime/measure/measure_protocol.h"
#include "support/target.h"

namespace tcc {

// The compilers in the environment of records over an emulated driver, whose images are CUDA text.
inline constexpr std::string_view kTextCompilers = "CUDA text";

// Describes a worker's GPU as the environments of records name it. A slice of a GPU has fewer
// multiprocessors and so is another device. The version of CUDA's driver is left out, or each
// update would measure everything anew; OpenCL's driver is the compiler, and is named.
std::string DescribeGpu(const ReadyMessage& ready);

// Returns the name by which a worker's machine locks its device (MeasuringLock). A driver of GPUs
// whose kernels run on the CPU locks the CPU.
std::string LockedDevice(const ReadyMessage& ready);

// Unavailable: the worker's GPU does not run code for the target; the message names both.
Status ExpectRuns(const Target& target, const ReadyMessage& ready);

}  // namespace tcc
