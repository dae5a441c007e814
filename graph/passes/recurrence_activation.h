#pragma once

#include <string>
#include <vector>

#include "graph/passes/node_writer.h"
#include "support/status.h"

namespace tcc {

// An activation function of LSTM, GRU and RNN.
struct RecurrenceActivation {
  std::string name;  // as ONNX spells it
  double alpha = 0;
  double beta = 0;
};

// Returns the functions of a node from its attributes activations, activation_alpha and
// activation_beta, or `defaults` for each direction. Parameters are assigned in order to the
// functions that take some.
StatusOr<std::vector<RecurrenceActivation>> ReadActivations(
    const Node& node, const std::vector<std::string>& defaults, size_t directions);

ValueId ApplyActivation(NodeWriter& writer, const RecurrenceActivation& activation, ValueId x);

}  // namespace tcc
