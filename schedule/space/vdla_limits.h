#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "support/vdla_config.h"

namespace tcc {

// An amount that a nest takes of what the accelerator has.
struct VdlaNeed {
  Expr amount;
  int64_t most = 0;
  std::string what;  // "bytes of activations"
};

// Returns what each call of the accelerator's intrinsic takes of the memories on the chip, for all
// contexts together, over the free sizes of a scheduled function; none without such a call.
std::vector<VdlaNeed> VdlaNeedsOf(const Function& fn, const VdlaConfig& config);

}  // namespace tcc
