#pragma once

#include "ir/expr/function.h"
#include "support/random.h"

namespace tcc {

// A function whose nodes satisfy their constructors, and nothing more: every kind of node, scope,
// layout and name occurs, indices go anywhere. For what needs no verified function: text, keys,
// comparison, substitution. Vectors occur at kLowered only, blocks at the other levels only.
Function RandomFunction(Random& random);

}  // namespace tcc
