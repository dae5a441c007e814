#include "graph/ops/op_lowering.h"

#include "graph/ops/lowerings.h"
#include "support/check.h"

namespace tcc {
namespace {

constexpr OpLowering kTable[] = {
    {OpKind::kAbs, OpForm::kElementwise, LowerElementwise},
    {OpKind::kAcos, OpForm::kElementwise, LowerElementwise},
    {OpKind::kAcosh, OpForm::kElementwise, LowerElementwise},
    {OpKind::kAdd, OpForm::kElementwise, LowerElementwise},
    {OpKind::kAffineGrid, OpForm::kMovement, LowerAffineGrid},
    {OpKind::kAnd, OpForm::kElementwise, LowerElementwise},
    {OpKind::kArgMax, OpForm::kReduction, LowerArgReduction},
    {OpKind::kArgMin, OpForm::kReduction, LowerArgReduction},
    {OpKind::kAsin, OpForm::kElementwise, LowerElementwise},
    {OpKind::kAsinh, OpForm::kElementwise, LowerElementwise},
    {OpKind::kAtan, OpForm::kElementwise, LowerElementwise},
    {OpKind::kAtanh, OpForm::kElementwise, LowerElementwise},
    {OpKind::kAttention, OpForm::kContraction, LowerAttention},
    {OpKind::kAveragePool, OpForm::kReduction, LowerAveragePool},
    {OpKind::kBatchNormalization, OpForm::kElementwise, LowerBatchNormalization},
    {OpKind::kBitShift, OpForm::kElementwise, LowerElementwise},
    {OpKind::kBitwiseAnd, OpForm::kElementwise, LowerElementwise},
    {OpKind::kBitwiseNot, OpForm::kElementwise, LowerElementwise},
    {OpKind::kBitwiseOr, OpForm::kElementwise, LowerElementwise},
    {OpKind::kBitwiseXor, OpForm::kElementwise, LowerElementwise},
    {OpKind::kCast, OpForm::kElementwise, LowerCast},
    {OpKind::kCeil, OpForm::kElementwise, LowerElementwise},
    {OpKind::kCelu, OpForm::kElementwise, LowerElementwise},
    {OpKind::kCenterCropPad, OpForm::kMovement, LowerCenterCropPad},
    {OpKind::kClip, OpForm::kElementwise, LowerClip},
    {OpKind::kCol2Im, OpForm::kReduction, LowerCol2Im},
    {OpKind::kConcat, OpForm::kMovement, LowerConcat},
    {OpKind::kConstantOfShape, OpForm::kMovement, LowerConstantOfShape},
    {OpKind::kConv, OpForm::kContraction, LowerConv},
    {OpKind::kConvInteger, OpForm::kContraction, LowerConvInteger},
    {OpKind::kConvTranspose, OpForm::kContraction, LowerConvTranspose},
    {OpKind::kCos, OpForm::kElementwise, LowerElementwise},
    {OpKind::kCosh, OpForm::kElementwise, LowerElementwise},
    {OpKind::kCumProd, OpForm::kMovement, LowerCumulative},
    {OpKind::kCumSum, OpForm::kMovement, LowerCumulative},
    {OpKind::kDFT, OpForm::kReduction, LowerDFT},
    {OpKind::kDepthToSpace, OpForm::kMovement, LowerDepthToSpace},
    {OpKind::kDequantizeLinear, OpForm::kElementwise, LowerDequantizeLinear},
    {OpKind::kDet, OpForm::kReduction, LowerDet},
    {OpKind::kDiv, OpForm::kElementwise, LowerElementwise},
    {OpKind::kDropout, OpForm::kElementwise, LowerDropout},
    {OpKind::kEinsum, OpForm::kContraction, LowerEinsum},
    {OpKind::kElu, OpForm::kElementwise, LowerElementwise},
    {OpKind::kEqual, OpForm::kElementwise, LowerElementwise},
    {OpKind::kErf, OpForm::kElementwise, LowerElementwise},
    {OpKind::kExp, OpForm::kElementwise, LowerElementwise},
    {OpKind::kExpand, OpForm::kMovement, LowerExpand},
    {OpKind::kEyeLike, OpForm::kMovement, LowerEyeLike},
    {OpKind::kFlatten, OpForm::kView, LowerFlatten},
    {OpKind::kFloor, OpForm::kElementwise, LowerElementwise},
    {OpKind::kGather, OpForm::kMovement, LowerGather},
    {OpKind::kGatherElements, OpForm::kMovement, LowerGatherElements},
    {OpKind::kGatherND, OpForm::kMovement, LowerGatherND},
    {OpKind::kGelu, OpForm::kElementwise, LowerElementwise},
    {OpKind::kGemm, OpForm::kContraction, LowerGemm},
    {OpKind::kGlobalAveragePool, OpForm::kReduction, LowerGlobalPool},
    {OpKind::kGlobalLpPool, OpForm::kReduction, LowerGlobalPool},
    {OpKind::kGlobalMaxPool, OpForm::kReduction, LowerGlobalPool},
    {OpKind::kGreater, OpForm::kElementwise, LowerElementwise},
    {OpKind::kGreaterOrEqual, OpForm::kElementwise, LowerElementwise},
    {OpKind::kGridSample, OpForm::kMovement, LowerGridSample},
    {OpKind::kGroupNormalization, OpForm::kReduction, LowerGroupNormalization},
    {OpKind::kHardSigmoid, OpForm::kElementwise, LowerElementwise},
    {OpKind::kHardSwish, OpForm::kElementwise, LowerElementwise},
    {OpKind::kHardmax, OpForm::kReduction, LowerHardmax},
    {OpKind::kIdentity, OpForm::kElementwise, LowerElementwise},
    {OpKind::kIf, OpForm::kControlFlow, nullptr},
    {OpKind::kInstanceNormalization, OpForm::kReduction, LowerInstanceNormalization},
    {OpKind::kIsInf, OpForm::kElementwise, LowerElementwise},
    {OpKind::kIsNaN, OpForm::kElementwise, LowerElementwise},
    {OpKind::kLRN, OpForm::kReduction, LowerLRN},
    {OpKind::kLayerNormalization, OpForm::kReduction, LowerLayerNormalization},
    {OpKind::kLeakyRelu, OpForm::kElementwise, LowerElementwise},
    {OpKind::kLess, OpForm::kElementwise, LowerElementwise},
    {OpKind::kLessOrEqual, OpForm::kElementwise, LowerElementwise},
    {OpKind::kLog, OpForm::kElementwise, LowerElementwise},
    {OpKind::kLogSoftmax, OpForm::kReduction, LowerSoftmax},
    {OpKind::kLoop, OpForm::kControlFlow, nullptr},
    {OpKind::kLpNormalization, OpForm::kReduction, LowerLpNormalization},
    {OpKind::kLpPool, OpForm::kReduction, LowerLpPool},
    {OpKind::kMatMul, OpForm::kContraction, LowerMatMul},
    {OpKind::kMatMulInteger, OpForm::kContraction, LowerMatMulInteger},
    {OpKind::kMatMulWords, OpForm::kContraction, LowerMatMulWords},
    {OpKind::kMax, OpForm::kElementwise, LowerElementwise},
    {OpKind::kMaxPool, OpForm::kReduction, LowerMaxPool},
    {OpKind::kMaxUnpool, OpForm::kMovement, LowerMaxUnpool},
    {OpKind::kMeanVarianceNormalization, OpForm::kReduction, LowerMeanVarianceNormalization},
    {OpKind::kMin, OpForm::kElementwise, LowerElementwise},
    {OpKind::kMish, OpForm::kElementwise, LowerElementwise},
    {OpKind::kMod, OpForm::kElementwise, LowerElementwise},
    {OpKind::kMul, OpForm::kElementwise, LowerElementwise},
    {OpKind::kNeg, OpForm::kElementwise, LowerElementwise},
    {OpKind::kNegativeLogLikelihoodLoss, OpForm::kReduction, LowerNegativeLogLikelihoodLoss},
    {OpKind::kNot, OpForm::kElementwise, LowerElementwise},
    {OpKind::kOneHot, OpForm::kMovement, LowerOneHot},
    {OpKind::kOr, OpForm::kElementwise, LowerElementwise},
    {OpKind::kPRelu, OpForm::kElementwise, LowerElementwise},
    {OpKind::kPad, OpForm::kMovement, LowerPad},
    {OpKind::kPow, OpForm::kElementwise, LowerPow},
    {OpKind::kQuantizeLinear, OpForm::kElementwise, LowerQuantizeLinear},
    {OpKind::kRMSNormalization, OpForm::kReduction, LowerRMSNormalization},
    {OpKind::kRange, OpForm::kMovement, LowerRange},
    {OpKind::kReciprocal, OpForm::kElementwise, LowerElementwise},
    {OpKind::kReduceL1, OpForm::kReduction, LowerReduction},
    {OpKind::kReduceL2, OpForm::kReduction, LowerReduction},
    {OpKind::kReduceLogSum, OpForm::kReduction, LowerReduction},
    {OpKind::kReduceLogSumExp, OpForm::kReduction, LowerReduction},
    {OpKind::kReduceMax, OpForm::kReduction, LowerReduction},
    {OpKind::kReduceMean, OpForm::kReduction, LowerReduction},
    {OpKind::kReduceMin, OpForm::kReduction, LowerReduction},
    {OpKind::kReduceProd, OpForm::kReduction, LowerReduction},
    {OpKind::kReduceSum, OpForm::kReduction, LowerReduction},
    {OpKind::kReduceSumSquare, OpForm::kReduction, LowerReduction},
    {OpKind::kRelu, OpForm::kElementwise, LowerElementwise},
    {OpKind::kRepack, OpForm::kMovement, LowerRepack},
    {OpKind::kReshape, OpForm::kView, LowerReshape},
    {OpKind::kResize, OpForm::kMovement, LowerResize},
    {OpKind::kReverseSequence, OpForm::kMovement, LowerReverseSequence},
    {OpKind::kRoiAlign, OpForm::kReduction, LowerRoiAlign},
    {OpKind::kRotaryEmbedding, OpForm::kMovement, LowerRotaryEmbedding},
    {OpKind::kRound, OpForm::kElementwise, LowerElementwise},
    {OpKind::kScatterElements, OpForm::kMovement, LowerScatterElements},
    {OpKind::kScatterND, OpForm::kMovement, LowerScatterND},
    {OpKind::kSelu, OpForm::kElementwise, LowerElementwise},
    {OpKind::kShape, OpForm::kMovement, LowerShape},
    {OpKind::kShrink, OpForm::kElementwise, LowerElementwise},
    {OpKind::kSigmoid, OpForm::kElementwise, LowerElementwise},
    {OpKind::kSign, OpForm::kElementwise, LowerElementwise},
    {OpKind::kSin, OpForm::kElementwise, LowerElementwise},
    {OpKind::kSinh, OpForm::kElementwise, LowerElementwise},
    {OpKind::kSize, OpForm::kMovement, LowerSize},
    {OpKind::kSlice, OpForm::kMovement, LowerSlice},
    {OpKind::kSoftmax, OpForm::kReduction, LowerSoftmax},
    {OpKind::kSoftplus, OpForm::kElementwise, LowerElementwise},
    {OpKind::kSoftsign, OpForm::kElementwise, LowerElementwise},
    {OpKind::kSpaceToDepth, OpForm::kMovement, LowerSpaceToDepth},
    {OpKind::kSplit, OpForm::kMovement, LowerSplit},
    {OpKind::kSqrt, OpForm::kElementwise, LowerElementwise},
    {OpKind::kSqueeze, OpForm::kView, LowerSqueeze},
    {OpKind::kSub, OpForm::kElementwise, LowerElementwise},
    {OpKind::kSwish, OpForm::kElementwise, LowerElementwise},
    {OpKind::kTan, OpForm::kElementwise, LowerElementwise},
    {OpKind::kTanh, OpForm::kElementwise, LowerElementwise},
    {OpKind::kTensorScatter, OpForm::kMovement, LowerTensorScatter},
    {OpKind::kThresholdedRelu, OpForm::kElementwise, LowerElementwise},
    {OpKind::kTile, OpForm::kMovement, LowerTile},
    {OpKind::kTopK, OpForm::kMovement, LowerTopK},
    {OpKind::kTranspose, OpForm::kMovement, LowerTranspose},
    {OpKind::kTrilu, OpForm::kMovement, LowerTrilu},
    {OpKind::kUnsqueeze, OpForm::kView, LowerUnsqueeze},
    {OpKind::kWhere, OpForm::kElementwise, LowerWhere},
    {OpKind::kXor, OpForm::kElementwise, LowerElementwise},
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
  // Over the statistics of the batch.
  bool trains = node.op == OpKind::kBatchNormalization && node.Int("training_mode", 0) != 0;
  return trains ? OpForm::kReduction : row->form;
}

StatusOr<LoweredNode> LowerNode(const Graph& graph, const Node& node) {
  const OpLowering* row = FindOpLowering(node.op);
  TCC_CHECK(row && row->lower) << "no lowering of " << ToString(node.op);
  NodeLowering lowering(graph, node);
  TCC_RETURN_IF_ERROR(row->lower(lowering));
  return std::move(lowering).Finish();
}

}  // namespace tcc
