#pragma once

#include <string>
#include <vector>

#include "graph/passes/node_writer.h"
#include "support/status.h"

namespace tcc {

// One of the activation functions of LSTM, GRU and RNN.
struct RecurrenceActivation {
  std::string name;  // in lower case
  double alpha = 0;
  double beta = 0;
};

// The functions of a node by its attributes activations, activation_alpha and activation_beta, or
// `defaults` for each direction. Parameters are taken in the order of the functions that have some.
StatusOr<std::vector<RecurrenceActivation>> ReadActivations(
    const Node& node, const std::vector<std::string>& defaults, size_t directions);

ValueId ApplyActivation(NodeWriter& writer, const RecurrenceActivation& activation, ValueId x);

}  // namespace tcc
