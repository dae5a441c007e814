#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen_cuda/text/tile_call.h"
#include "ir/expr/warp_instruction.h"
#include "ir/simplify/interval.h"
#include "support/status.h"

// The operands of lowered calls of warp instructions (ir/expr/warp_instruction.h), read from the
// loops that the calls stand for.
namespace tcc {

// A call of mma.
struct MmaCall {
  FragmentWords a, b, c;
  std::string function;  // its name in the prelude
};

struct LoadMatricesCall {
  Var from, to;
  // The word of `to` that each matrix goes to.
  std::vector<int64_t> words;
  // The index where the row that a lane names begins, as an expression of `lane`.
  Expr row;
  bool transposed = false;
};

// Returns the instruction of a call that stores to a warp's buffer; nullptr if the body is to be
// emitted as it stands.
const WarpInstruction* InstructionOf(const IntrinsicCall& call,
                                     const std::function<Scope(const Var&)>& scope_of);

// Reads the operands of an mma call. Error (Unsupported): the body has conditions, or a tile does
// not lie where the instruction expects it; every cell is checked.
StatusOr<MmaCall> ReadMma(const IntrinsicCall& call, const WarpInstruction& instruction,
                          const Bounds& bounds);
// Reads the operands of an ldmatrix call; `lane` stands for the lane's number. Errors as above.
StatusOr<LoadMatricesCall> ReadLoadMatrices(const IntrinsicCall& call, const Var& lane,
                                            const Bounds& bounds);

// Checks whether intrinsic calls use a warp's buffer, which then holds fragments; otherwise each
// lane has one cell of it.
bool HoldsFragments(const Stmt& body, const Var& buffer);

// Returns the most rows of one matrix that lie in the same bank of shared memory, with all
// variables but the lane at 0; 1 means no conflicts.
int64_t RowsPerBank(const LoadMatricesCall& call, const Var& lane);

}  // namespace tcc
