#pragma once

#include <string>
#include <string_view>

#include "runtime/measure/measure_protocol.h"
#include "support/target.h"

namespace tcc {

// The compilers in the environment of records over an emulated driver, whose images are CUDA text.
inline constexpr std::string_view kTextCompilers = "CUDA text";

// Describes a worker's GPU as the environments of records name it. A slice of a GPU has fewer
// multiprocessors and so is another device; the driver's version is left out, or each update would
// measure everything anew.
std::string DescribeGpu(const ReadyMessage& ready);

// Unavailable: the worker's GPU does not run machine code for the target; the message names both.
Status ExpectRuns(const Target& target, const ReadyMessage& ready);

}  // namespace tcc
