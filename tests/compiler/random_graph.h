#pragma once

#include "ir/graph/graph.h"
#include "support/random.h"

namespace tcc {

struct RandomGraphOptions {
  int nodes = 8;
  int outputs = 3;  // the last value, then any: views, inputs, constants, the same one twice
};

// A graph of small tensors over element-wise operators, convolutions, products, reductions and
// views that reads some values often and others never. Values are of order 1.
Graph RandomGraph(Random& random, const RandomGraphOptions& options);

}  // namespace tcc
