#pragma once

#include <string>

#include "ir/expr/function.h"

namespace tcc {

// Returns a text that is the same for functions that compute the same in the same way, whatever
// their names. Variables are numbered in order of definition; names of functions, blocks and
// combiners, keys of loops and attributes are left out. So a subgraph that recurs in another
// network has the same key. Blocks and loops, to which schedules refer by name, are identified by
// position.
//
// Commutative operands (of integer Add and Mul, of Min, Max, Eq and Ne, and of And and Or where
// neither operand loads) are ordered by their canonical text, never by address, name or creation
// order.
std::string CanonicalText(const Function& fn);

// Returns the persistent key of a function: the SHA-256 of its canonical text, in hexadecimal.
std::string FunctionKey(const Function& fn);

}  // namespace tcc
