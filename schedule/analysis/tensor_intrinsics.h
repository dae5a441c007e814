#pragma once

#include <span>
#include <string_view>

#include "ir/expr/function.h"
#include "support/status.h"

namespace tcc {

// The computation of one or a few instructions. `meaning` is a tensor function in the text form: a
// single block, a reduction or copy into its last parameter, whose indices are its iteration
// variables; the loops in their order are the axes. A backend that has `instruction` emits it; all
// others emit the loops of `meaning`. An empty `instruction` means that there is no special one and
// the loops are the micro-kernel.
struct TensorIntrinsic {
  std::string_view name;
  std::string_view meaning;
  std::string_view instruction;
  // Whether operands may have their dimensions in any order and with any strides, which the backend
  // reads off the loops.
  bool takes_strides = false;
};

std::span<const TensorIntrinsic> TensorIntrinsics();

// Returns the intrinsic of that name. The error lists the existing ones.
StatusOr<const TensorIntrinsic*> FindTensorIntrinsic(std::string_view name);
Function MeaningOf(const TensorIntrinsic& intrinsic);

}  // namespace tcc
