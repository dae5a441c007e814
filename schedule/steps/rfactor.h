#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Gives each iteration of a reduction's loop a partial result of its own; the block then combines
// the partial results.
//
//   for i { for k0 { for k1 { C[i] += f(i, k) } } }     (loop = mm/k.0, axis = 0, name = mm_p)
//     -->
//   allocate mm_p[K0, N] {
//     for i { for k0 { block mm_p.init: mm_p[k0, i] = 0 } }
//     for i { for k0 { for k1 { block mm_p: mm_p[k0, i] += f(i, k) } } }
//     for i { block mm.init: C[i] = 0 }
//     for i { for k0 { block mm: C[i] += mm_p[k0, i] } } }
//
// The partial block has a new spatial variable p bound to the loop, which may then run in parallel,
// on threads or in vector lanes; its reduce variables keep bindings and domains. Its loops are
// keyed by its name, "mm_p/k.0". Every initialisation is a block of its own: a slice may be empty,
// and then its partial result is the identity.
struct RFactor {
  std::string block;
  LoopRef loop;
  // The place of the new dimension in the partial results: before dimension `axis` of the output,
  // or last if it is -1.
  int64_t axis = 0;
  Scope scope = Scope::kGlobal;
  std::string name;  // of the partial block and its buffer; buffers of a tuple: name.0, name.1, ...
  auto Fields() { return std::tie(block, loop, axis, scope, name); }
};

// Refused: a block that is no reduction, or one of outputs that differ in their axes; a loop that
// is not serial, encloses other blocks, or feeds no reduce variable; a loop of the reduction that
// holds other blocks; loops that feed both spatial and reduce variables; a loop whose extent
// depends on other loops; a dimension that some output does not have; names in use.
StatusOr<Constraints> CheckRFactor(const Function& fn, const RFactor& step);
Function ApplyRFactor(const Function& fn, const RFactor& step);

}  // namespace tcc
