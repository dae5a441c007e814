#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schedule/analysis/loop_tree.h"
#include "schedule/analysis/tensor_intrinsics.h"

// Matches a nest of loops with the meaning of a tensor intrinsic.
namespace tcc {

// A chain of loops around one block.
struct LoopNest {
  std::vector<Ref<For>> loops;
  Ref<Block> block;
};

// Error, in the words of the step: a statement of another form; a loop that is not serial.
StatusOr<LoopNest> LoopNestFrom(const char* step, const Stmt& stmt, const LoopRef& key);
LoopNest MeaningNest(const TensorIntrinsic& intrinsic);

// Which access of the nest stands for which parameter of the meaning.
using IntrinsicOperands = std::map<std::string, Access>;

// Every way to match `value` with the value of a meaning: sums and products may have their operands
// swapped.
std::vector<IntrinsicOperands> ReadValue(const Expr& meaning, const Expr& value);

struct IntrinsicReading {
  IntrinsicOperands operands;
  std::vector<size_t> axes;  // for each loop of the meaning, the loop of the nest
  // For each parameter: the operand's dimension that stands for dimension d.
  std::map<std::string, std::vector<size_t>> dims;
};

// A way to match `nest` with `meaning`, preferably one with equal extents; nullopt: it is another
// computation. Operands may have further dimensions whose indices do not move. The dimensions of
// fragments (buffers of a warp) may come in any order.
std::optional<IntrinsicReading> ReadNest(const Function& fn, const LoopNest& nest,
                                         const LoopNest& meaning);

// Whether the accessed buffer is held by a warp.
bool IsFragment(const Function& fn, const Access& access);

}  // namespace tcc
