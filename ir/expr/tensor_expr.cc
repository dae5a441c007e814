#include "ir/expr/tensor_expr.h"

namespace tcc {

bool HasKnownExtents(const ComputeExpr& stage) {
  for (const std::vector<Axis>* axes : {&stage.axes, &stage.reduce_axes}) {
    for (const Axis& axis : *axes) {
      if (AsConstant(axis.extent).value_or(0) <= 0) return false;
    }
  }
  return true;
}

const Buffer* FindBuffer(const TensorProgram& program, const Var& var) {
  for (const std::vector<Buffer>* buffers : {&program.inputs, &program.intermediates}) {
    for (const Buffer& buffer : *buffers) {
      if (buffer.var == var) return &buffer;
    }
  }
  return nullptr;
}

}  // namespace tcc
