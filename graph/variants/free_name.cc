#include "graph/variants/free_name.h"

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

}  // namespace tcc
