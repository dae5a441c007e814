#pragma once

#include <string>
#include <variant>
#include <vector>

#include "ir/expr/function.h"

namespace tcc {

struct Axis {
  Var var;  // role kIter
  Expr extent;
  auto Fields() const { return std::tie(var, extent); }
};

// A computation for every point of `axes`: without a combiner, outputs[e][index] = values[e]; with
// one, outputs = combine over all points of `reduce_axes` at which `predicate` holds, from the
// identities.
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
  std::vector<Buffer> outputs;  // one per element
  std::vector<std::vector<Expr>> indices;  // per output, over `axes`
  std::vector<Expr> values;                // one per element: stored, or combined
};

// A computation whose order matters: output[indices] = value for the points of `axes` at which
// `predicate` holds, in lexicographic order. All three may read the output as earlier points left
// it; other stages may have written it before.
//
// Points that differ in a spatial axis have no order: neither writes a cell that the other
// accesses. The ordered axes are of kind kReduce, which schedules do not run in parallel.
//
// It represents Scatter (an index is a Load; the value may merge with the old value, duplicates in
// their order) and Scan (the value reads the previous point's result), both linear. Sort needs no
// struct: ranks are Reduces and Maps, and moving each element to the place of its rank is a Scatter
// without order.
struct OrderedExpr {
  std::string name;             // of the block; unique in a task
  std::vector<Axis> axes;       // from the outermost loop to the innermost
  std::vector<IterKind> kinds;  // per axis
  Expr predicate = True();      // over the axes
  Buffer output;
  std::vector<Expr> indices;
  Expr value;
};

// The meaning of an operator, without any schedule.
using TensorExpr = std::variant<ComputeExpr, OrderedExpr>;

// Visits each expression of a stage that may read buffers: values, predicate and an ordered stage's
// indices.
template <typename Stage, typename Visit>
void ForEachExpr(Stage& stage, const Visit& visit) {
  if (auto* compute = std::get_if<ComputeExpr>(&stage)) {
    for (auto& value : compute->values) visit(value);
    visit(compute->predicate);
  } else if (auto* ordered = std::get_if<OrderedExpr>(&stage)) {
    for (auto& index : ordered->indices) visit(index);
    visit(ordered->value);
    visit(ordered->predicate);
  }
}

// Several stages in order, and the buffers that are visible from outside.
struct TensorProgram {
  std::string name;
  std::vector<Buffer> inputs;
  std::vector<Buffer> outputs;
  std::vector<Buffer> intermediates;
  // The intermediates that are stored even if their readers could compute them instead.
  std::vector<Var> kept = {};
  std::vector<Var> shape_vars;
  std::vector<TensorExpr> stages;
};

// Returns the input or intermediate of that variable; nullptr if there is none.
const Buffer* FindBuffer(const TensorProgram& program, const Var& var);

}  // namespace tcc
