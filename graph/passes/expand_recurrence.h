#pragma once

#include <vector>

#include "ir/graph/graph.h"
#include "support/status.h"

namespace tcc {

bool IsRecurrence(const Node& node);  // LSTM, GRU or RNN

struct ExpandedRecurrence {
  std::vector<Node> nodes;
  std::vector<Agreement> agreements;  // what they take for granted of free extents
};

// Expands an LSTM, GRU or RNN into the nodes that it stands for, per direction:
//
//   x = Gemm(X as [T * B, I], W) + bias          for all steps at once
//   Loop over x carrying h (and c), stacking h:
//     g = Gemm(h, R) + x[t]
//     the gates, from slices of g
//
// The formulas are those of the ONNX operator specification. A gate is clipped before its
// activation. Where sequence lengths are given, a step beyond one keeps the state and gives zeros;
// the last states of a sequence of length 0 are zeros, as ONNX Runtime has them.
//
// The numbers of steps and sequences may be free. InvalidArgument if operands do not fit each
// other, Unimplemented for an unknown activation or a free hidden size.
StatusOr<ExpandedRecurrence> ExpandRecurrence(Graph& graph, const Node& node);

}  // namespace tcc
