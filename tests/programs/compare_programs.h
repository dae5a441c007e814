#pragma once

#include <string>

#include "ir/expr/function.h"
#include "ir/interpret/interpreter.h"
#include "support/random.h"

namespace tcc {

// Tensors for every parameter of `fn` (static shapes): inputs random, outputs zero.
std::vector<Tensor> RandomArguments(const Function& fn, Random& random);

// Runs `fn` on copies of the arguments. Error: what the interpreter says.
StatusOr<std::vector<Tensor>> RunInterpreter(const Function& fn,
                                             const std::vector<Tensor>& arguments,
                                             const InterpretOptions& options = {});

// Empty if all elements of all tensors agree within 1e-5 of the larger magnitude (or 1), NaN with
// NaN; else the first difference.
std::string FirstDifference(const std::vector<Tensor>& got, const std::vector<Tensor>& want);

}  // namespace tcc
