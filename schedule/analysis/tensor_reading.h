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

// Returns the chain of loops that `stmt` is. Error, naming the step: a statement of another form; a
// loop that is not serial.
StatusOr<LoopNest> LoopNestFrom(const char* step, const Stmt& stmt, const LoopRef& key);
LoopNest MeaningNest(const TensorIntrinsic& intrinsic);

// The access of the nest that stands for each parameter of the meaning.
using IntrinsicOperands = std::map<std::string, Access>;

// Returns every way to match `value` with the value of a meaning: the operands of sums and products
// may be swapped.
std::vector<IntrinsicOperands> ReadValue(const Expr& meaning, const Expr& value);

struct IntrinsicReading {
  IntrinsicOperands operands;
  std::vector<size_t> axes;  // for each loop of the meaning, the loop of the nest
  // For each parameter: the operand's dimension that stands for dimension d.
  std::map<std::string, std::vector<size_t>> dims;
};

// Returns a way to match `nest` with the intrinsic's meaning, preferably one with equal extents, or
// nullopt if it is another computation. Operands may have further dimensions whose indices use none
// of the loops. The dimensions of fragments (buffers of a warp) may come in any order, and all of
// an intrinsic that takes strides or is a group's product.
std::optional<IntrinsicReading> ReadNest(const Function& fn, const LoopNest& nest,
                                         const TensorIntrinsic& intrinsic);

// Returns whether the accessed buffer is held by a warp.
bool IsFragment(const Function& fn, const Access& access);

}  // namespace tcc
