#pragma once

#include <span>
#include <string>

#include "ir/expr/function.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

// The text of kLowered functions in OpenCL C, with its prelude. Error: EmitKernels'.
StatusOr<std::string> OpenClTextOf(std::span<const Function> functions, const Target& target);

// Whether clang (TCC_TEST_CLANG, else clang-19) takes a text as OpenCL C 1.2 without a warning, but
// for comparisons that are always true or always false.
// Error: Internal, with the compiler's words; Unavailable without one.
Status CheckOpenClText(const std::string& text);

}  // namespace tcc
