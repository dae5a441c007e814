#pragma once

#include "autodiff_features/counts/loop_sites.h"

namespace tcc {

// The arithmetic of one instance of a leaf block: of its body, of the combiner if the body is a
// reduction, and of its predicate. Equal parts count once, index arithmetic not at all: lowering
// hoists it out of loops.
struct OperationCounts {
  double fma = 0;  // a sum or difference with a product below it, which code generators contract
  double add = 0;
  double mul = 0;
  double divide = 0;
  double root = 0;
  double special = 0;  // exponentials and the like, each by its weight: 1 for exp, 2.5 for erf
  double compare = 0;  // comparisons, choices, minima and maxima
  double convert = 0;
  double tests = 0;  // terms of the predicate, and the question for a reduction's first instance

  double Arithmetic() const {
    return fma + add + mul + divide + root + special + compare + convert;
  }
};

// Counts the operations. `tested`: the predicate is tested at run time, which a partitioned loop
// round the block avoids.
OperationCounts OperationsOf(const Block& block, bool tested);
OperationCounts OperationsOf(const Site& site);

}  // namespace tcc
