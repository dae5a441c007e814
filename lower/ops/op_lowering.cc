#include "lower/ops/op_lowering.h"

#include "ir/support/check.h"
#include "lower/ops/lowerings.h"

namespace tcc {
namespace {

constexpr OpLowering kTable[] = {
    {OpKind::kAbs, OpForm::kElementwise, LowerElementwise},
    {OpKind::kAdd, OpForm::kElementwise, LowerElementwise},
    {OpKind::kAnd, OpForm::kElementwise, LowerElementwise},
    {OpKind::kAveragePool, OpForm::kReduction, LowerAveragePool},
    {OpKind::kBatchNormalization, OpForm::kElementwise, LowerBatchNormalization},
    {OpKind::kCast, OpForm::kElementwise, LowerCast},
    {OpKind::kCeil, OpForm::kElementwise, LowerElementwise},
    {OpKind::kClip, OpForm::kElementwise, LowerClip},
    {OpKind::kConcat, OpForm::kMovement, LowerConcat},
    {OpKind::kConstantOfShape, OpForm::kMovement, LowerConstantOfShape},
    {OpKind::kConv, OpForm::kContraction, LowerConv},
    {OpKind::kDiv, OpForm::kElementwise, LowerElementwise},
    {OpKind::kDropout, OpForm::kElementwise, LowerDropout},
    {OpKind::kEqual, OpForm::kElementwise, LowerElementwise},
    {OpKind::kErf, OpForm::kElementwise, LowerElementwise},
    {OpKind::kExp, OpForm::kElementwise, LowerElementwise},
    {OpKind::kExpand, OpForm::kMovement, LowerExpand},
    {OpKind::kFlatten, OpForm::kView, LowerFlatten},
    {OpKind::kFloor, OpForm::kElementwise, LowerElementwise},
    {OpKind::kGather, OpForm::kMovement, LowerGather},
    {OpKind::kGemm, OpForm::kContraction, LowerGemm},
    {OpKind::kGlobalAveragePool, OpForm::kReduction, LowerGlobalPool},
    {OpKind::kGlobalMaxPool, OpForm::kReduction, LowerGlobalPool},
    {OpKind::kGreater, OpForm::kElementwise, LowerElementwise},
    {OpKind::kGreaterOrEqual, OpForm::kElementwise, LowerElementwise},
    {OpKind::kHardSigmoid, OpForm::kElementwise, LowerElementwise},
    {OpKind::kHardSwish, OpForm::kElementwise, LowerElementwise},
    {OpKind::kIdentity, OpForm::kElementwise, LowerElementwise},
    {OpKind::kLeakyRelu, OpForm::kElementwise, LowerElementwise},
    {OpKind::kLess, OpForm::kElementwise, LowerElementwise},
    {OpKind::kLessOrEqual, OpForm::kElementwise, LowerElementwise},
    {OpKind::kLog, OpForm::kElementwise, LowerElementwise},
    {OpKind::kLogSoftmax, OpForm::kReduction, LowerSoftmax},
    {OpKind::kMatMul, OpForm::kContraction, LowerMatMul},
    {OpKind::kMax, OpForm::kElementwise, LowerElementwise},
    {OpKind::kMaxPool, OpForm::kReduction, LowerMaxPool},
    {OpKind::kMin, OpForm::kElementwise, LowerElementwise},
    {OpKind::kMod, OpForm::kElementwise, LowerElementwise},
    {OpKind::kMul, OpForm::kElementwise, LowerElementwise},
    {OpKind::kNeg, OpForm::kElementwise, LowerElementwise},
    {OpKind::kNot, OpForm::kElementwise, LowerElementwise},
    {OpKind::kOr, OpForm::kElementwise, LowerElementwise},
    {OpKind::kPad, OpForm::kMovement, LowerPad},
    {OpKind::kPow, OpForm::kElementwise, LowerPow},
    {OpKind::kReciprocal, OpForm::kElementwise, LowerElementwise},
    {OpKind::kReduceMax, OpForm::kReduction, LowerReduction},
    {OpKind::kReduceMean, OpForm::kReduction, LowerReduction},
    {OpKind::kReduceMin, OpForm::kReduction, LowerReduction},
    {OpKind::kReduceProd, OpForm::kReduction, LowerReduction},
    {OpKind::kReduceSum, OpForm::kReduction, LowerReduction},
    {OpKind::kRelu, OpForm::kElementwise, LowerElementwise},
    {OpKind::kRepack, OpForm::kMovement, LowerRepack},
    {OpKind::kReshape, OpForm::kView, LowerReshape},
    {OpKind::kRound, OpForm::kElementwise, LowerElementwise},
    {OpKind::kShape, OpForm::kMovement, LowerShape},
    {OpKind::kSigmoid, OpForm::kElementwise, LowerElementwise},
    {OpKind::kSign, OpForm::kElementwise, LowerElementwise},
    {OpKind::kSlice, OpForm::kMovement, LowerSlice},
    {OpKind::kSoftmax, OpForm::kReduction, LowerSoftmax},
    {OpKind::kSqrt, OpForm::kElementwise, LowerElementwise},
    {OpKind::kSqueeze, OpForm::kView, LowerSqueeze},
    {OpKind::kSub, OpForm::kElementwise, LowerElementwise},
    {OpKind::kTanh, OpForm::kElementwise, LowerElementwise},
    {OpKind::kTranspose, OpForm::kMovement, LowerTranspose},
    {OpKind::kUnsqueeze, OpForm::kView, LowerUnsqueeze},
    {OpKind::kWhere, OpForm::kElementwise, LowerWhere},
};

}  // namespace

const OpLowering* FindOpLowering(OpKind op) {
  for (const OpLowering& row : kTable) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

OpForm FormOf(const Node& node) {
  const OpLowering* row = FindOpLowering(node.op);
  TCC_CHECK(row) << "no lowering of " << ToString(node.op);
  return row->form;
}

StatusOr<LoweredNode> LowerNode(const Graph& graph, const Node& node) {
  const OpLowering* row = FindOpLowering(node.op);
  TCC_CHECK(row) << "no lowering of " << ToString(node.op);
  NodeLowering lowering(graph, node);
  TCC_RETURN_IF_ERROR(row->lower(lowering));
  return std::move(lowering).Finish();
}

}  // namespace tcc
