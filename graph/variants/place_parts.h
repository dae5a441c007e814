#pragma once

#include <vector>

#include "graph/variants/task.h"

namespace tcc {

// Concat, Split and Slice without copies: what computes an operand of a Concat writes its part of
// the result, and what reads a part of a Split reads the whole. Rows of a part are as far apart as
// the whole's (Layout::strides of the kernels' parameters).
//
// Outputs of the graph are no parts, nor is what a Loop or If computes; inputs and constants are
// none of a Concat, but may be split. What is looked at under another shape or read by a Loop or If
// may only be a part that is one run of bytes. Subgraphs with nothing left to do become kPart; of
// others `done_elsewhere` says what they need not copy. Bodies are left as they are, and so is what
// has free dimensions. Parts start at multiples of `alignment` bytes from where a buffer does.
PlacedParts PlaceParts(const Graph& graph, std::vector<Subgraph>& subgraphs, int64_t alignment);

}  // namespace tcc
