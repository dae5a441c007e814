#pragma once

#include "ir/graph/graph.h"
#include "support/random.h"

namespace tcc {

struct RandomGraphOptions {
  int nodes = 8;
  int outputs = 3;  // the last value, then any: views, inputs, constants, the same one twice
  // Axis 0 of the inputs; 0: any. If it is given, axis 0 of all that depends on them stays that.
  int64_t batch = 0;
};

// A graph of small tensors over element-wise operators, convolutions, products, reductions and
// views that reads some values often and others never. Values are of order 1.
Graph RandomGraph(Random& random, const RandomGraphOptions& options);

}  // namespace tcc
