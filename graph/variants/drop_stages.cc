#include "graph/variants/drop_stages.h"

#include <algorithm>
#include <unordered_set>

#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

using Buffers = std::unordered_set<Var, VarHash>;

void EraseValues(std::vector<ValueId>& ids, std::vector<Buffer>& buffers,
                 const std::set<ValueId>& values, Buffers& erased) {
  for (size_t i = ids.size(); i > 0; --i) {
    if (!values.contains(ids[i - 1])) continue;
    erased.insert(buffers[i - 1].var);
    ids.erase(ids.begin() + static_cast<int64_t>(i) - 1);
    buffers.erase(buffers.begin() + static_cast<int64_t>(i) - 1);
  }
}

bool Reads(const ComputeExpr& stage, const Buffers& buffers) {
  bool reads = false;
  for (const Expr& value : stage.values) {
    PreOrder(value, [&](const Expr& node) {
      const auto* load = node.as<Load>();
      reads = reads || (load && buffers.contains(load->buffer));
    });
  }
  return reads;
}

}  // namespace

void DropStages(LoweredNode& lowered, const std::set<ValueId>& values) {
  if (values.empty()) return;
  Buffers erased;
  EraseValues(lowered.inputs, lowered.program.inputs, values, erased);
  EraseValues(lowered.outputs, lowered.program.outputs, values, erased);
  std::erase_if(lowered.program.stages, [&](const TensorExpr& expr) {
    const auto* stage = std::get_if<ComputeExpr>(&expr);
    return stage && (Reads(*stage, erased) ||
                     std::all_of(stage->outputs.begin(), stage->outputs.end(),
                                 [&](const Buffer& out) { return erased.contains(out.var); }));
  });
}

}  // namespace tcc
