#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "codegen_cuda/text/group_prelude.h"
#include "codegen_cuda/text/tile_call.h"

// Products of groups of four warps, read from the lowered calls that stand for what each warp does
// of 8 columns (Kind::kGroupMma of ir/expr/warp_instruction.h).
namespace tcc {

// An operand in shared memory: its first element, and how its descriptor says where the others lie
// (group_prelude.h).
struct GroupOperand {
  Var buffer;
  Expr index;
  int mode = 0;
  int64_t lead_bytes = 0, stride_bytes = 0;
  bool transposed = false;
};

// One instruction.
struct GroupProduct {
  GroupMma mma;
  GroupOperand a, b;
  Var c;
  int64_t first = 0;  // tile of C's fragments
};

// The threads round the calls, and what they share.
struct GroupPlace {
  Var warp;           // stands for the number of a warp, along threadIdx.y
  int64_t warps = 0;  // of a block
  // Whether a variable is such a number, and whether it is the same in all threads of a block.
  std::function<bool(const Var&)> is_warp, is_uniform;
  std::function<int64_t(const Var&)> alignment;  // of a shared buffer, in bytes
};

// Joins calls that follow each other to instructions. Every cell of the operands is
// checked. Error (Unsupported): the body of a call is another computation; the rows of four warps
// are not next to each other, or their columns differ; an operand lies as no descriptor says; no
// instruction has that number of columns.
StatusOr<std::vector<GroupProduct>> ReadGroupProducts(std::span<const IntrinsicCall* const> calls,
                                                      const GroupPlace& place,
                                                      const Bounds& bounds);

}  // namespace tcc
