#pragma once

#include "ir/expr/function.h"
#include "ir/expr/tensor_expr.h"

namespace tcc {

// Builds the program's kTensor function. Its parameters are the program's inputs, then its outputs.
// Every intermediate is a global buffer allocated at the root. Each stage is one nest of serial
// loops around one block, axes first, then reduce axes, in the stage's order; an OrderedExpr has
// its axes in their order. Loops are keyed "stage/axis". Buffers of equal names get different
// suffixes.
//
//   stage mm: C[i, j] = sum over k of A[i, k] * B[k, j]
//   -->
//   for i @mm/i  for j @mm/j  for k @mm/k
//     block mm(i: spatial, j: spatial, k: reduce) { reduce sum init (C[i, j]) with (A[i, k] * B[k,
//     j]) }
//
// The reduction initializes its result where its domain provably has a point; else a nest with the
// block "stage.init" does so before.
Function BuildLoopNest(const TensorProgram& program);

}  // namespace tcc
