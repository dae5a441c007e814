#pragma once

#include "ir/expr/function.h"
#include "support/random.h"
#include "tests/fuzz/fuzz.h"

namespace tcc {

// The same function with all its variables made anew, with other hints.
Function WithOtherVars(const Function& fn);

// Another way to write the same: new variables, other names of function, blocks, keys and
// attributes, and commutative operands swapped at random.
Function WrittenOtherwise(const Function& fn, Random& random);

// One thing that matters is different: a constant, the kind of the loops, a statement, the level.
Function Changed(const Function& fn, Random& random);

// Adds the number of nodes of each kind.
void CountKinds(const Function& fn, Histogram& histogram);

}  // namespace tcc
