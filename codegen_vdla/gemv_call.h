#pragma once

#include <string_view>

#include "ir/expr/stmt.h"
#include "support/status.h"

namespace tcc {

// The intrinsic that is a micro-op of VDLA (schedule/analysis/tensor_intrinsics.cc).
inline constexpr std::string_view kGemvIntrinsic = "vdla_gemv_16x16";

// Where the condition holds (null: always), for all o and i below 16:
//   sums[sum + o] += i32(activations[activation + i]) * i32(weights[weight + 16 * o + i])
struct GemvCall {
  Var sums, activations, weights;
  Expr sum, activation, weight;  // indices of the first elements
  Expr condition;
};

// Reads a call of kGemvIntrinsic. Unsupported, naming the statement: operands that lie otherwise.
StatusOr<GemvCall> ReadGemv(const IntrinsicCall& call);

}  // namespace tcc
