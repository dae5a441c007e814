#pragma once

#include <array>
#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "support/target.h"

// The machine resources that a scheduled function needs, as formulas over its free sizes: they give
// the numbers of the lowered function at a point, without lowering it.
namespace tcc {

// A nest at the root of a function, below the buffers that all nests see.
struct RootNest {
  std::string name;  // of the block that its outermost loop belongs to
  Stmt stmt;
};
// Returns the nests of a function in order, except those that have no work.
std::vector<RootNest> RootNestsOf(const Function& fn);

// The resources of one nest at the root of a function; on a GPU a nest is one launch.
struct NestResources {
  std::string name;  // of the block that its outermost loop belongs to
  // Extents by axis (x, y, z): the largest loop of that axis; 1 where no loop is bound to it.
  std::array<Expr, 3> grid;
  std::array<Expr, 3> threads_by_axis;
  Expr threads;   // of a thread block
  Expr vthreads;  // the most around one leaf
  // Bytes with layouts, padding and versions. Shared: the sum over all shared buffers, which start
  // at multiples of kSharedAlignment. Local: the peak over a thread's simultaneously live buffers;
  // a buffer that is live across a barrier has a version per enclosing vthread.
  Expr shared_bytes;
  Expr local_bytes;
  Expr register_bytes;  // local bytes whose indices are constants once unrolled
  // An estimate. GPU: 32-bit registers per thread, namely register_bytes, the simultaneously live
  // operands of a reduction, and kBookkeepingRegisters. The live operands of one read are the cells
  // of one step, but at least those that unrolled copies further apart read again. CPU: vector
  // registers, counted the same way with one for a broadcast operand.
  Expr registers;
  Expr lanes;         // of the widest vector
  Expr vector_bytes;  // of the widest access of a vectorized loop
  // The stores in the code, each multiplied by the enclosing unrolled and vectorized extents; a
  // reduction that initialises itself counts twice.
  Expr statements;
};

// The registers for addresses, counters and predicates: cubins of 8x8 and 16x8 thread tiles have
// 128 and 194 registers (reference: gpu_perf, section 2) for 64 + 16 and 128 + 24 of results and
// operands.
inline constexpr int64_t kBookkeepingRegisters = 48;

// Returns the resources of each root nest, in order. The function is kTensor or kScheduled.
std::vector<NestResources> ResourcesOf(const Function& fn, const Target& target);

}  // namespace tcc
