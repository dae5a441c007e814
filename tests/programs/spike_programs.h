#pragma once

#include <string>
#include <vector>

#include "schedule/space/trace.h"
#include "support/random.h"

namespace tcc {

// A kTensor function and a trace with free sizes for it.
struct SpikeProgram {
  std::string name;
  Function fn;
  Trace trace;
};

// Functions of random small extents (1, primes and non-divisors among them), made from text.
Function MatmulFunction(int64_t m, int64_t n, int64_t k);
struct ConvShape {
  int64_t height = 7, width = 6, channels = 3, filters = 5, kernel_h = 3, kernel_w = 2;
  int64_t stride = 2, dilation = 1, pad = 1;
  int64_t out(int64_t extent, int64_t kernel) const {
    return (extent + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  }
};
Function ConvFunction(const ConvShape& shape);
Function SoftmaxFunction(int64_t rows, int64_t columns);
// The same by four blocks: max, exp, sum and out, from X to Y.
Function SoftmaxByBlocks(int64_t rows, int64_t columns);
// Softmax(mask(Q K^T)) V as scores, logits, one reduction to (maximum, sum, sums of values) whose
// elements differ in their axes, and a quotient; 0 for a query that sees no key. Keys before
// `blind` are seen by nobody, the others where B[i, t] is above `threshold`.
struct AttentionShape {
  int64_t queries = 5, keys = 13, depth = 3, width = 4;
  int64_t blind = 0;
  double threshold = -1e9;
};
Function AttentionFunction(const AttentionShape& shape);
// Two blocks read A: a three-point sum, and a scaled copy added to it.
Function TwoReadersFunction(int64_t extent);
// A sum over a dimension of extent 0, initialised by a block of its own.
Function EmptyReductionFunction(int64_t rows);

// The list of hand-written symbolic schedules: every step of step.h occurs, inexact splits after
// placement, fusions above and below caches, caches at two depths, threads.
size_t SpikeCount();
SpikeProgram BuildSpike(size_t index, Random& random);

}  // namespace tcc
