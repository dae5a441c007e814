#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schedule/analysis/loop_tree.h"
#include "schedule/analysis/tensor_intrinsics.h"

// How a nest of loops computes what a tensor intrinsic means.
namespace tcc {

// A chain of loops round one block.
struct LoopNest {
  std::vector<Ref<For>> loops;
  Ref<Block> block;
};

// Error: another form, a loop that is not serial; in the words of the step.
StatusOr<LoopNest> LoopNestFrom(const char* step, const Stmt& stmt, const LoopRef& key);
LoopNest MeaningNest(const TensorIntrinsic& intrinsic);

// Which access of the nest stands for which parameter of the meaning.
using IntrinsicOperands = std::map<std::string, Access>;

// Every way to read `value` as what a meaning computes: sums and products may be turned round.
std::vector<IntrinsicOperands> ReadValue(const Expr& meaning, const Expr& value);

struct IntrinsicReading {
  IntrinsicOperands operands;
  std::vector<size_t> axes;  // the loop of the nest for each of the meaning
  // The dimension of each operand that is dimension d of the parameter.
  std::map<std::string, std::vector<size_t>> dims;
};

// A way to read `nest` as `meaning`, with its extents if there is such; nullopt: it is another
// computation. Operands may have further dimensions that stand still; those of fragments (buffers
// of a warp) may come in any order.
std::optional<IntrinsicReading> ReadNest(const Function& fn, const LoopNest& nest,
                                         const LoopNest& meaning);

// Whether what is accessed is held by a warp.
bool IsFragment(const Function& fn, const Access& access);

}  // namespace tcc
