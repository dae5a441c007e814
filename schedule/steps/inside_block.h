#pragma once

#include "schedule/steps/step.h"

// Steps on a function in which blocks hold blocks (Blockize).
namespace tcc {

// Refuses a step that names a block inside another one; a loop inside a block, unless the step only
// affects the loops there (split, fuse, reorder, unroll, partition, vectorize, tensorize); a block
// that holds a nest, unless it is the reader of a copy; or, for steps that change how blocks access
// a buffer, a buffer that such a nest accesses.
Status ExpectWholeBlocks(const Function& fn, const Step& step);

// Returns the step with each block that holds a nest renamed to the block in it: the equivalent
// step on UnnestBlocks(fn), where a check sees all bindings.
Step UnnestedStep(const Function& fn, const Step& step);

}  // namespace tcc
