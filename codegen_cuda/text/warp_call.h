#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/expr/warp_instruction.h"
#include "ir/simplify/interval.h"
#include "support/status.h"

// What lowered calls of a warp's instructions (ir/expr/warp_instruction.h) work on, read from the
// loops that they mean.
namespace tcc {

// A word of a fragment is a 32-bit register of each lane.
struct MmaCall {
  struct Operand {
    Var buffer;
    int64_t word = 0;   // the first of the tile's
    int64_t words = 0;  // of the tile
  };
  Operand a, b, c;
  std::string function;  // of the prelude
};

struct LoadMatricesCall {
  Var from, to;
  // The word of `to` that each matrix goes to.
  std::vector<int64_t> words;
  // Where the row begins that a lane names, over `lane`.
  Expr row;
  bool transposed = false;
};

// nullptr: the body stands for itself.
const WarpInstruction* InstructionOf(const IntrinsicCall& call,
                                     const std::function<Scope(const Var&)>& scope_of);

// Error (Unsupported): a body with conditions, or whose tiles are not where the instruction has
// them: every cell is looked at.
StatusOr<MmaCall> ReadMma(const IntrinsicCall& call, const WarpInstruction& instruction,
                          const Bounds& bounds);
// `lane`: a variable for the lane's number.
StatusOr<LoadMatricesCall> ReadLoadMatrices(const IntrinsicCall& call, const Var& lane,
                                            const Bounds& bounds);

// Whether calls use a warp's buffer, which then holds fragments; else each lane has a cell of it.
bool HoldsFragments(const Stmt& body, const Var& buffer);

// The register (not word) of a cell of a warp's buffer, if it is the lane's own: at index
// register * 32 + lane. `is_lane`: whether a variable is the thread's index along x.
std::optional<int64_t> OwnRegister(const Expr& index, const Bounds& bounds,
                                   const std::function<bool(const Var&)>& is_lane);

// The most rows of one matrix that meet in a bank of shared memory; 1: no conflicts. With all other
// variables 0.
int64_t RowsPerBank(const LoadMatricesCall& call, const Var& lane);

}  // namespace tcc
