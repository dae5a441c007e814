#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ir/expr/function.h"
#include "support/target.h"

namespace tcc {

// What the nests of a kLowered function take, counted in its statements: the other side of
// ResourcesOf's formulas. Vectors count where loops are still marked as well as where they are
// written.
struct NestFacts {
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::array<int64_t, 3> threads_by_axis = {1, 1, 1};
  int64_t shared_bytes = 0;  // of all buffers, each from a multiple of 16
  // Of those that one store reads or writes, which have places of their own, at most.
  int64_t shared_bytes_at_once = 0;
  int64_t local_bytes = 0;   // alive at a time
  int64_t vthreads = 1;      // of the deepest loops that are still marked so
  int64_t lanes = 1;         // of the widest vector
  int64_t vector_bytes = 1;  // of the widest vector access
  // Stores, a vector as its lanes; of the versions of a condition the longer one.
  int64_t statements = 0;
  int64_t threads() const { return threads_by_axis[0] * threads_by_axis[1] * threads_by_axis[2]; }
};

std::vector<NestFacts> FactsOf(const Function& lowered);

// Stores of each nest by the extents of the loops round them that are marked unrolled or
// vectorized: what is going to be written out. Of a function with flat buffers before those passes.
std::vector<int64_t> StatementsToUnroll(const Function& marked);

// Vector registers that the innermost loop that asks for most needs if what it loads stays until
// its last use: the vectors of local buffers that it accesses (at constant indices), those of
// memory that are alive at a time in the order of its statements, and one for a scalar that is
// broadcast.
int64_t VectorsAlive(const Function& lowered, const Target& target);

// Whether loops are pipelined: copies are staged in registers and repeated before the loop.
bool HasPipeline(const Function& marked);
// Whether loops are partitioned or virtual threads: interiors and threads are copies.
bool HasRepeatedLoops(const Function& marked);

// Whether every access whose lanes lie side by side, by an index that is affine in them, starts at
// a whole vector, by evaluating its index where each loop stands at its first, second, middle or
// last iteration, the others at their first. So do asynchronous copies. Of a function with flat
// buffers whose vectorized loops are still marked. Local buffers, which have no addresses, do not
// count.
bool VectorsAreAligned(const Function& marked);

// Whether the nests fit the machine.
bool Fits(const NestFacts& facts, const Target& target);

}  // namespace tcc
