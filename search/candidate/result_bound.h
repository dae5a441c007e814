#pragma once

#include "ir/expr/function.h"

namespace tcc {

// Returns the largest number of terms that one result sums: the largest product of a block's reduce
// domains, at least 1. A domain that is not constant counts as 1.
double TermsOf(const Function& fn);

// Returns the distance from 1 to the next larger number of the least precise float type that the
// function rounds to: the types of its buffers and of its casts. 0 if there is no float.
double EpsilonOf(const Function& fn);

}  // namespace tcc
