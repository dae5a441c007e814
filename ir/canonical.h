#pragma once

#include <string>

#include "ir/function.h"

namespace tcc {

// A text that is the same for alpha-equal functions, whatever their variables are called: variables
// are numbered in order of definition. Commutative operands of integer Add and Mul, Min, Max, And
// and Or are ordered by their canonical text, never by address, name or creation order.
std::string CanonicalText(const Function& fn);

// SHA-256 of the canonical text, hexadecimal: the persistent key of a function.
std::string FunctionKey(const Function& fn);

}  // namespace tcc
