#include "ir/expr/tensor_expr.h"

namespace tcc {

const Buffer* FindBuffer(const TensorProgram& program, const Var& var) {
  for (const std::vector<Buffer>* buffers : {&program.inputs, &program.intermediates}) {
    for (const Buffer& buffer : *buffers) {
      if (buffer.var == var) return &buffer;
    }
  }
  return nullptr;
}

}  // namespace tcc
