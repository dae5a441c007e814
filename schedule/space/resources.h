#pragma once

#include <array>
#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "support/target.h"

// What a scheduled function takes of a machine, as formulas over its free sizes: the numbers that
// the lowered function has at a point, without lowering it.
namespace tcc {

// A nest at the root of a function, below the buffers that all nests see.
struct RootNest {
  std::string name;  // of the block that its outermost loop belongs to
  Stmt stmt;
};
// The nests of a function without nested blocks (UnnestBlocks) that may have work, in order.
std::vector<RootNest> RootNestsOf(const Function& fn);

// Of one nest at the root of a function; on a GPU that is one launch.
struct NestResources {
  std::string name;  // of the block that its outermost loop belongs to
  // Extents by axis (x, y, z): the largest loop of that axis; 1 where no loop is bound to it.
  std::array<Expr, 3> grid;
  std::array<Expr, 3> threads_by_axis;
  Expr threads;   // of a thread block
  Expr vthreads;  // the most that one leaf runs in
  // With layouts, padding and versions: all shared buffers, which start at multiples of
  // kSharedAlignment; of a thread's local ones the most that are alive at a time, those that live
  // across a barrier with a version for each vthread round them.
  Expr shared_bytes;
  Expr local_bytes;
  Expr register_bytes;  // of them, those of buffers whose indices are constants once unrolled
  // An estimate. GPU: 32-bit registers a thread: register_bytes, the operands of a reduction that
  // are alive at a time, and kBookkeepingRegisters. Of one read those are the cells of one step,
  // and no fewer than what unrolled copies that stand apart read again. CPU: vector registers, the
  // same way with one for a broadcast operand.
  Expr registers;
  Expr lanes;         // of the widest vector
  Expr vector_bytes;  // that the widest access of a vectorized loop asks for
  // Stores in the code, each by the product of the unrolled and vectorized extents round it; a
  // reduction that initialises itself counts twice.
  Expr statements;
};

inline constexpr int64_t kSharedAlignment = 16;
// Addresses, counters and predicates: cubins of 8x8 and 16x8 thread tiles have 128 and 194
// registers (reference: gpu_perf, section 2) for 64 + 16 and 128 + 24 of results and operands.
inline constexpr int64_t kBookkeepingRegisters = 48;

// Of each nest, in order. The function is kTensor or kScheduled.
std::vector<NestResources> ResourcesOf(const Function& fn, const Target& target);

}  // namespace tcc
