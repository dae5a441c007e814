#pragma once

#include <span>

#include "codegen_cuda/text/launch.h"
#include "ir/expr/expr.h"
#include "runtime/artefact/gpu_program.h"
#include "runtime/artefact/size_expr.h"

namespace tcc {

// Encodes an i64 expression over `shapes` for the runtime; the i-th shape is variable i. Expects no
// other variable, and only the operations that sizes of grids and workspaces consist of: constants,
// sums, differences, products, divisions, remainders, minima and maxima.
SizeExpr SizeCodeOf(const Expr& expr, std::span<const Var> shapes);

// Describes to the runtime how to start a kLowered function: its launches, all in image `image`.
// Shapes are the function's variables in their order.
GpuKernel GpuKernelOf(const Function& fn, const LaunchPlan& plan, uint32_t image);

}  // namespace tcc
