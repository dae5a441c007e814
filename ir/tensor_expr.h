#pragma once

#include <string>
#include <variant>
#include <vector>

#include "ir/function.h"

namespace tcc {

struct Axis {
  Var var;  // role kIter
  Expr extent;
  auto Fields() const { return std::tie(var, extent); }
};

// For every point of `axes`: with no combiner, outputs[e][index] = values[e]; with one, outputs =
// combine over all points of `reduce_axes` at which `predicate` holds, from the identities.
//
// One struct for Map (no reduce axes), View (a Map whose value is one Load), Reduce, Window
// (indices o * stride + k * dilation - pad, the predicate keeps them inside), Contract (sum of
// products) and Gather (an index that is a Load).
struct ComputeExpr {
  std::string name;  // of the block; unique in a task
  std::vector<Axis> axes;
  std::vector<Axis> reduce_axes;
  Expr predicate = True();      // over both kinds of axes; without reduce axes it must be True()
  Combiner combiner;            // null without reduce axes
  std::vector<Buffer> outputs;  // an element each
  std::vector<std::vector<Expr>> indices;  // of each output, over `axes`
  std::vector<Expr> values;                // an element each: stored, or what comes in
};

// What an operator means, without any schedule. Scatter, Scan and Sort get structs of their own
// when an operator needs them.
using TensorExpr = std::variant<ComputeExpr>;

// Several stages in order, and which buffers are seen from outside.
struct TensorProgram {
  std::string name;
  std::vector<Buffer> inputs;
  std::vector<Buffer> outputs;
  std::vector<Buffer> intermediates;
  std::vector<Var> shape_vars;
  std::vector<TensorExpr> stages;
};

}  // namespace tcc
