#pragma once

#include <string_view>

#include "codegen_cuda/text/dialect.h"

namespace tcc {

// OpenCL C 1.2, without any extension but cl_khr_fp64 where a kernel has f64.
extern const Dialect kOpenClDialect;

}  // namespace tcc
