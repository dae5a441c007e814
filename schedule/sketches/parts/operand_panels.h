#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "schedule/steps/prepack.h"
#include "schedule/steps/step.h"

namespace tcc {

// Returns the step that computes the result of `block`, a stage of the operator, when the model is
// linked, or nullopt: the block must read only constants, and its result must take at most four
// times their bytes.
std::optional<Prepack> PrepackOfStage(const Function& fn, const Block& block);

// An operand that a tiled reduction reads along the columns of its tile, and the order of stored
// dimensions in which panels of columns are read sequentially.
struct PanelOperand {
  Buffer buffer;
  bool is_parameter = false;      // else computed by `fn`
  int dim = 0;                    // the dimension that the columns index
  std::vector<int64_t> order;     // the columns of a panel last
  bool streams_as_it_is = false;  // if one panel holds all columns
  int64_t reuse = 1;              // results of a column that read the same cells, at known extents
};

// These two return the constant and the non-constant operands that `block`, a reduction, reads at
// its iteration variable `column`.
std::vector<PanelOperand> ConstantOperands(const Function& fn, const Block& block, size_t column);
std::vector<PanelOperand> VaryingOperands(const Function& fn, const Block& block, size_t column);

// Returns whether panels of `width` columns differ from the operand's own order, and their padding
// adds at most a quarter.
bool IsWorthPacking(const PanelOperand& operand, int64_t width);

// Returns the name of a copy, "mm.B" for B, or one with another suffix if the write-back of `mm` or
// its initialisation has that name.
std::string CopyName(const std::string& reader, const std::string& buffer);

// Returns the steps that pack the operand for `reader`. A parameter is copied once, when the model
// is linked; an operand that the function computes gets the packed layout directly. Cells of an
// `inner` block lie together within a column of a panel. `packed` gets the name of the buffer of
// panels.
std::vector<Step> PackingSteps(const PanelOperand& operand, const std::string& reader,
                               const Expr& registers, const Expr& lanes,
                               std::vector<std::string>& packed,
                               const std::optional<BlockFactor>& inner = {});

}  // namespace tcc
