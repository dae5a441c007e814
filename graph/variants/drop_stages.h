#pragma once

#include <set>

#include "graph/ops/node_lowering.h"

namespace tcc {

// Of a Concat, Split or Slice: without the stages that copy from or to these values, and without
// their buffers.
void DropStages(LoweredNode& lowered, const std::set<ValueId>& values);

}  // namespace tcc
