#pragma once

#include <string>

#include "ir/expr/function.h"

namespace tcc {

// A text that is the same for functions that compute the same in the same way, whatever their parts
// are called: variables are numbered in order of definition; names of functions, blocks, combiners,
// keys of loops and attributes are left out, so that a subgraph met again in another network has
// the same key. What schedules refer to by name is fixed by position.
//
// Commutative operands (of integer Add and Mul, of Min, Max, Eq and Ne, and of And and Or where
// neither operand loads) are ordered by their canonical text, never by address, name or creation
// order.
std::string CanonicalText(const Function& fn);

// SHA-256 of the canonical text, hexadecimal: the persistent key of a function.
std::string FunctionKey(const Function& fn);

}  // namespace tcc
