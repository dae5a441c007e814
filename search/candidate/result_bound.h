#pragma once

#include "ir/expr/function.h"

namespace tcc {

// The most values that one result adds up: the largest product of a block's reduce domains, at
// least 1. A domain that is not constant counts as 1.
double TermsOf(const Function& fn);

// The distance from 1 to the next larger number of the least precise float that the function rounds
// to: of its buffers' types and of the types that it casts to. 0 where there is no float.
double EpsilonOf(const Function& fn);

}  // namespace tcc
