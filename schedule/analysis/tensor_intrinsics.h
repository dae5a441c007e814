#pragma once

#include <span>
#include <string_view>

#include "ir/expr/function.h"
#include "ir/support/status.h"

namespace tcc {

// What one or a few instructions compute. `meaning` is a tensor function in the text form: a single
// block, a reduction or copy into its last parameter, whose accesses are its iteration variables;
// the loops in their order are the axes. `instruction` is what a backend that has it emits (empty:
// no special one, the loops are the micro-kernel); all others emit the meaning as it stands.
struct TensorIntrinsic {
  std::string_view name;
  std::string_view meaning;
  std::string_view instruction;
};

std::span<const TensorIntrinsic> TensorIntrinsics();

// Error: names what there is.
StatusOr<const TensorIntrinsic*> FindTensorIntrinsic(std::string_view name);
Function MeaningOf(const TensorIntrinsic& intrinsic);

}  // namespace tcc
