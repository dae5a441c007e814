#pragma once

#include <vector>

#include "ir/expr/function.h"
#include "support/tensor.h"

namespace tcc {

// Compiles a lowered function for this CPU and runs it on the calling thread, arguments in place.
Status RunCompiled(const Function& lowered, std::vector<Tensor>& arguments);

// Whether loops are bound to hardware indices, which a CPU does not have.
bool HasThreads(const Function& fn);

}  // namespace tcc
