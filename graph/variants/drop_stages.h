#pragma once

#include <set>

#include "graph/ops/node_lowering.h"

namespace tcc {

// Removes the stages of a Concat, Split or Slice that copy from or to `values`, and the buffers of
// `values`.
void DropStages(LoweredNode& lowered, const std::set<ValueId>& values);

}  // namespace tcc
