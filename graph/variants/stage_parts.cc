#include "graph/variants/stage_parts.h"

#include <set>

namespace tcc {

std::string FreeName(const TensorProgram& program, const std::string& hint) {
  std::set<std::string> taken;
  for (const auto* buffers : {&program.inputs, &program.outputs, &program.intermediates}) {
    for (const Buffer& buffer : *buffers) taken.insert(buffer.var->name);
  }
  for (const TensorExpr& stage : program.stages) {
    taken.insert(std::visit([](const auto& s) { return s.name; }, stage));
  }
  std::string name = hint;
  for (int suffix = 1; taken.contains(name); ++suffix) name = hint + "_" + std::to_string(suffix);
  return name;
}

Buffer AddIntermediate(TensorProgram& program, const std::string& hint, DType dtype,
                       std::vector<Expr> shape) {
  Buffer buffer;
  buffer.var = BufferVar(FreeName(program, hint), dtype);
  buffer.shape = std::move(shape);
  program.intermediates.push_back(buffer);
  return buffer;
}

ComputeExpr StageOver(const Buffer& buffer, const std::vector<const char*>& names) {
  ComputeExpr stage;
  stage.name = buffer.var->name;
  stage.outputs = {buffer};
  stage.indices.emplace_back();
  for (size_t d = 0; d < buffer.rank(); ++d) {
    stage.axes.push_back({IterationVar(names[d]), buffer.shape[d]});
    stage.indices[0].emplace_back(stage.axes[d].var);
  }
  return stage;
}

std::optional<std::pair<Expr, Expr>> FactorsOf(const Expr& value) {
  if (const auto* product = value.as<Mul>()) return std::pair(product->a, product->b);
  const auto* call = value.as<Call>();
  if (!call || call->op != ScalarOp::kDotI16x2) return std::nullopt;
  return std::pair(call->args[0], call->args[1]);
}

}  // namespace tcc
