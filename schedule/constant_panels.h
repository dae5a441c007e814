#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/function.h"
#include "schedule/step.h"

namespace tcc {

// The step that makes a constant of what `block`, a stage of the operator, computes: it reads
// constants alone, and its result takes at most twice their room.
std::optional<Prepack> PrepackOfStage(const Function& fn, const Block& block);

// A constant that a tiled reduction reads along the columns of its tile, and the order of stored
// dimensions in which panels of columns are read from front to back.
struct ConstantOperand {
  Buffer buffer;
  bool is_parameter = false;      // else computed from constants by `fn` itself
  int dim = 0;                    // the dimension that the columns index
  std::vector<int64_t> order;     // the columns of a panel last
  bool streams_as_it_is = false;  // if one panel holds all columns
};

// The constants that `block`, a reduction, reads at its iteration variable `column`.
std::vector<ConstantOperand> ConstantOperands(const Function& fn, const Block& block,
                                              size_t column);

// Whether panels of `width` columns are another order than that of the operand, and padding them
// adds at most a quarter.
bool IsWorthPacking(const ConstantOperand& operand, int64_t width);

// The steps that pack the operand for `reader`: of a parameter a copy, once, when the model is
// linked; what the function computes is laid out so at once. `copies` gets the names of the copies.
std::vector<Step> PackingSteps(const ConstantOperand& operand, const std::string& reader,
                               const Expr& registers, const Expr& lanes,
                               std::vector<std::string>& copies);

}  // namespace tcc
