#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "schedule/steps/prepack.h"
#include "schedule/steps/step.h"

namespace tcc {

// The step that makes a constant of what `block`, a stage of the operator, computes: it reads
// constants alone, and its result takes at most twice their room.
std::optional<Prepack> PrepackOfStage(const Function& fn, const Block& block);

// An operand that a tiled reduction reads along the columns of its tile, and the order of stored
// dimensions in which panels of columns are read from front to back.
struct PanelOperand {
  Buffer buffer;
  bool is_parameter = false;      // else computed by `fn` itself
  int dim = 0;                    // the dimension that the columns index
  std::vector<int64_t> order;     // the columns of a panel last
  bool streams_as_it_is = false;  // if one panel holds all columns
  int64_t reuse = 1;              // results of a column that read the same cells, at known extents
};

// The constants that `block`, a reduction, reads at its iteration variable `column`, and what else
// it reads so.
std::vector<PanelOperand> ConstantOperands(const Function& fn, const Block& block, size_t column);
std::vector<PanelOperand> VaryingOperands(const Function& fn, const Block& block, size_t column);

// Whether panels of `width` columns are another order than that of the operand, and padding them
// adds at most a quarter.
bool IsWorthPacking(const PanelOperand& operand, int64_t width);

// "mm.B" of B, with another end where the write-back of `mm` or its initialisation has that name.
std::string CopyName(const std::string& reader, const std::string& buffer);

// The steps that pack the operand for `reader`: of a parameter a copy, once, when the model is
// linked; what the function computes is laid out so at once. `copies` gets the names of the copies.
std::vector<Step> PackingSteps(const PanelOperand& operand, const std::string& reader,
                               const Expr& registers, const Expr& lanes,
                               std::vector<std::string>& copies);

}  // namespace tcc
