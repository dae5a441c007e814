#pragma once

#include "graph/ops/node_lowering.h"

// One lowering function per operator or family of operators, held by the table in op_lowering.cc.
// Each checks its node, returns InvalidArgument or Unimplemented if that fails, and writes the
// node's meaning as stages.
namespace tcc {

// elementwise.cc
Status LowerElementwise(NodeLowering& node);
Status LowerClip(NodeLowering& node);
Status LowerWhere(NodeLowering& node);
Status LowerCast(NodeLowering& node);
Status LowerPow(NodeLowering& node);
Status LowerDropout(NodeLowering& node);

// reshape.cc: the same elements in the same order, another shape
Status LowerReshape(NodeLowering& node);
Status LowerFlatten(NodeLowering& node);
Status LowerSqueeze(NodeLowering& node);
Status LowerUnsqueeze(NodeLowering& node);

// movement.cc
Status LowerTranspose(NodeLowering& node);
Status LowerConcat(NodeLowering& node);
Status LowerSlice(NodeLowering& node);
Status LowerRepack(NodeLowering& node);

// split.cc
Status LowerSplit(NodeLowering& node);

// repeat.cc
Status LowerExpand(NodeLowering& node);
Status LowerTile(NodeLowering& node);

// gather.cc
Status LowerGather(NodeLowering& node);
Status LowerGatherElements(NodeLowering& node);
Status LowerGatherND(NodeLowering& node);

// scatter.cc
Status LowerScatterElements(NodeLowering& node);
Status LowerScatterND(NodeLowering& node);

// tensor_scatter.cc
Status LowerTensorScatter(NodeLowering& node);

// scan.cc
// CumProd and CumSum.
Status LowerCumulative(NodeLowering& node);

// topk.cc
Status LowerTopK(NodeLowering& node);

// resize.cc
Status LowerResize(NodeLowering& node);

// generators.cc
Status LowerEyeLike(NodeLowering& node);
Status LowerOneHot(NodeLowering& node);
Status LowerRange(NodeLowering& node);
Status LowerTrilu(NodeLowering& node);

// pad.cc
Status LowerCenterCropPad(NodeLowering& node);
Status LowerPad(NodeLowering& node);

// shape_values.cc
Status LowerShape(NodeLowering& node);
Status LowerSize(NodeLowering& node);
Status LowerConstantOfShape(NodeLowering& node);

// conv.cc
Status LowerConv(NodeLowering& node);
Status LowerConvInteger(NodeLowering& node);

// conv_transpose.cc
Status LowerConvTranspose(NodeLowering& node);

// contraction.cc
Status LowerGemm(NodeLowering& node);
Status LowerMatMul(NodeLowering& node);
Status LowerMatMulInteger(NodeLowering& node);

// matmul_words.cc
Status LowerMatMulWords(NodeLowering& node);

// pool.cc
Status LowerMaxPool(NodeLowering& node);
Status LowerAveragePool(NodeLowering& node);
Status LowerLpPool(NodeLowering& node);
Status LowerGlobalPool(NodeLowering& node);

// quantize.cc
// Casts floats to an f8 type that does not saturate. Input `overflow` holds the values that results
// above and below the type's range become.
Expr CastWithOverflow(NodeLowering& node, DType type, const Expr& value, size_t overflow);
Status LowerQuantizeLinear(NodeLowering& node);
Status LowerDequantizeLinear(NodeLowering& node);

// reduction.cc
Status LowerReduction(NodeLowering& node);
Status LowerSoftmax(NodeLowering& node);

// arg_reduction.cc
Status LowerArgReduction(NodeLowering& node);
Status LowerHardmax(NodeLowering& node);

// channel_normalization.cc
Status LowerBatchNormalization(NodeLowering& node);
Status LowerGroupNormalization(NodeLowering& node);
Status LowerInstanceNormalization(NodeLowering& node);
Status LowerLRN(NodeLowering& node);

// row_normalization.cc
Status LowerLayerNormalization(NodeLowering& node);
Status LowerLpNormalization(NodeLowering& node);
Status LowerMeanVarianceNormalization(NodeLowering& node);
Status LowerRMSNormalization(NodeLowering& node);

// attention.cc
Status LowerAttention(NodeLowering& node);

// rotary_embedding.cc
Status LowerRotaryEmbedding(NodeLowering& node);

// loss.cc
Status LowerNegativeLogLikelihoodLoss(NodeLowering& node);

// depth_space.cc
Status LowerDepthToSpace(NodeLowering& node);
Status LowerSpaceToDepth(NodeLowering& node);

// reverse.cc
Status LowerReverseSequence(NodeLowering& node);

// einsum.cc
Status LowerEinsum(NodeLowering& node);

// grid_sample.cc
Status LowerGridSample(NodeLowering& node);
Status LowerAffineGrid(NodeLowering& node);

// roi_align.cc
Status LowerRoiAlign(NodeLowering& node);

// unpool.cc
Status LowerMaxUnpool(NodeLowering& node);
Status LowerCol2Im(NodeLowering& node);

// dft.cc
Status LowerDFT(NodeLowering& node);

// det.cc
Status LowerDet(NodeLowering& node);

}  // namespace tcc
