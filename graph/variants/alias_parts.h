#pragma once

#include <vector>

#include "graph/variants/task.h"

namespace tcc {

// Makes Concat, Split, Slice and Transpose free of copies: the kernel that computes an operand of a
// Concat writes its part of the result, one that computes the operand of a Transpose writes the
// result, if that keeps the last dimension, and a reader of a part of a Split reads the whole. The
// rows of a part have the strides of the whole (Layout::strides of the kernels' parameters).
//
// Outputs of the graph and results of a Loop or If are never parts. Inputs and constants may be
// split, but are never parts of a Concat. A value that is viewed under another shape, or read by a
// Loop or If, may only be a part that is one run of bytes. Subgraphs with nothing left to do become
// kPart; for others `done_elsewhere` names the values that they need not copy. Bodies stay as they
// are. Parts start at multiples of `alignment` bytes from their buffer's start, at all values of
// free dimensions. A part is stored in the type of its whole, which `types` may state.
AliasedParts AliasParts(const Graph& graph, std::vector<Subgraph>& subgraphs, int64_t alignment,
                        const StoredTypes& types = {});

}  // namespace tcc
