#include "graph/ops/op_lowering.h"

#include "graph/ops/lowerings.h"
#include "graph/ops/normal_form.h"
#include "support/check.h"

namespace tcc {
namespace {

using Lowering = Status (*)(NodeLowering& node);

// Returns nullptr for an operator of the form kUnlowered.
Lowering LoweringOf(OpKind op) {
  // NOLINTBEGIN(bugprone-branch-clone): the table has operators with one lowering.
  switch (op) {
#define TCC_SCALAR_CASE(name, ...) case OpKind::k##name:
    TCC_SCALAR_KINDS(TCC_SCALAR_CASE)
#undef TCC_SCALAR_CASE
    return LowerElementwise;
#define TCC_LOWERING_CASE(name, lowering) \
  case OpKind::k##name:                   \
    return lowering;
    TCC_LOWERINGS(TCC_LOWERING_CASE)
#undef TCC_LOWERING_CASE
    case OpKind::kCompress:
    case OpKind::kConstant:
    case OpKind::kGRU:
    case OpKind::kIf:
    case OpKind::kLSTM:
    case OpKind::kLoop:
    case OpKind::kNonZero:
    case OpKind::kRNN:
    case OpKind::kUnique:
      return nullptr;
  }
  // NOLINTEND(bugprone-branch-clone)
  TCC_UNREACHABLE();
}

}  // namespace

OpForm FormOf(const Node& node) {
  bool trains = node.op == OpKind::kBatchNormalization && node.Int("training_mode", 0) != 0;
  return trains ? OpForm::kReduction : FormOf(node.op);
}

StatusOr<LoweredNode> LowerNode(const Graph& graph, const Node& node) {
  Lowering lower = LoweringOf(node.op);
  TCC_CHECK(lower) << "no lowering of " << ToString(node.op);
  NodeLowering lowering(graph, node);
  TCC_RETURN_IF_ERROR(lower(lowering));
  LoweredNode lowered = std::move(lowering).Finish();
  NormalizeShapes(graph, lowered.program);
  return lowered;
}

}  // namespace tcc
