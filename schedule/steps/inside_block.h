#pragma once

#include "schedule/steps/step.h"

// Steps on a function in which blocks hold blocks (Blockize).
namespace tcc {

// Refuses, of what names something in a nest of a block: a block that is inside another one; a loop
// inside a block, unless the step stays among the loops there (split, fuse, reorder, unroll,
// partition, vectorize, tensorize); a block that holds a nest, unless it is the reader of a copy;
// and, for steps that change what blocks do with a buffer, a buffer that such a nest accesses.
Status ExpectWholeBlocks(const Function& fn, const Step& step);

// The step with each block that holds a nest called as the block in it: what it is on
// UnnestBlocks(fn), where a check sees all bindings.
Step UnnestedStep(const Function& fn, const Step& step);

}  // namespace tcc
