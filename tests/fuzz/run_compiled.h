#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "support/tensor.h"

namespace tcc {

class JitModule;

// A lowered function compiled for this CPU.
class CompiledFunction {
 public:
  static StatusOr<CompiledFunction> Make(const Function& lowered);
  // Runs it on the calling thread, arguments in place, for these values of its variables.
  Status Run(std::vector<Tensor>& arguments, std::span<const int64_t> sizes = {}) const;

 private:
  std::shared_ptr<JitModule> module_;
  std::string name_;
};

// Compiles a lowered function for this CPU and runs it on the calling thread, arguments in place.
Status RunCompiled(const Function& lowered, std::vector<Tensor>& arguments);

// Whether loops are bound to hardware indices, which a CPU does not have.
bool HasThreads(const Function& fn);

}  // namespace tcc
