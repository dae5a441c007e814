#pragma once

#include "graph/ops/node_lowering.h"

// One lowering function per operator or family of operators. Each checks its node, returns
// InvalidArgument or Unimplemented if that fails, and writes the node's meaning as stages.
namespace tcc {

// The kinds that are no functions of scalars, by the file of their lowering.
// clang-format off
#define TCC_LOWERINGS(X) \
  /* elementwise.cc */ X(Clip, LowerClip) X(Where, LowerWhere) X(Cast, LowerCast) X(Pow, LowerPow) \
    X(Dropout, LowerDropout) \
  /* reshape.cc */ X(Reshape, LowerReshape) X(Flatten, LowerFlatten) X(Squeeze, LowerSqueeze) \
    X(Unsqueeze, LowerUnsqueeze) \
  /* movement.cc */ X(Transpose, LowerTranspose) X(Concat, LowerConcat) X(Slice, LowerSlice) \
    X(Repack, LowerRepack) \
  /* split.cc */ X(Split, LowerSplit) \
  /* repeat.cc */ X(Expand, LowerExpand) X(Tile, LowerTile) \
  /* gather.cc */ X(Gather, LowerGather) X(GatherElements, LowerGatherElements) \
    X(GatherND, LowerGatherND) \
  /* scatter.cc */ X(ScatterElements, LowerScatterElements) X(ScatterND, LowerScatterND) \
  /* tensor_scatter.cc */ X(TensorScatter, LowerTensorScatter) \
  /* scan.cc */ X(CumProd, LowerCumulative) X(CumSum, LowerCumulative) \
  /* topk.cc */ X(TopK, LowerTopK) \
  /* resize.cc */ X(Resize, LowerResize) \
  /* generators.cc */ X(EyeLike, LowerEyeLike) X(OneHot, LowerOneHot) X(Range, LowerRange) \
    X(Trilu, LowerTrilu) \
  /* pad.cc */ X(CenterCropPad, LowerCenterCropPad) X(Pad, LowerPad) \
  /* shape_values.cc */ X(Shape, LowerShape) X(Size, LowerSize) \
    X(ConstantOfShape, LowerConstantOfShape) \
  /* conv.cc */ X(Conv, LowerConv) X(ConvInteger, LowerConvInteger) \
  /* conv_transpose.cc */ X(ConvTranspose, LowerConvTranspose) \
  /* contraction.cc */ X(Gemm, LowerGemm) X(MatMul, LowerMatMul) \
    X(MatMulInteger, LowerMatMulInteger) \
  /* matmul_words.cc */ X(MatMulWords, LowerMatMulWords) \
  /* pool.cc */ X(MaxPool, LowerMaxPool) X(AveragePool, LowerAveragePool) X(LpPool, LowerLpPool) \
    X(GlobalAveragePool, LowerGlobalPool) X(GlobalLpPool, LowerGlobalPool) \
    X(GlobalMaxPool, LowerGlobalPool) \
  /* quantize.cc */ X(QuantizeLinear, LowerQuantizeLinear) \
    X(DequantizeLinear, LowerDequantizeLinear) \
  /* reduction.cc */ X(ReduceL1, LowerReduction) X(ReduceL2, LowerReduction) \
    X(ReduceLogSum, LowerReduction) X(ReduceLogSumExp, LowerReduction) \
    X(ReduceMax, LowerReduction) X(ReduceMean, LowerReduction) X(ReduceMin, LowerReduction) \
    X(ReduceProd, LowerReduction) X(ReduceSum, LowerReduction) X(ReduceSumSquare, LowerReduction) \
    X(LogSoftmax, LowerSoftmax) X(Softmax, LowerSoftmax) \
  /* arg_reduction.cc */ X(ArgMax, LowerArgReduction) X(ArgMin, LowerArgReduction) \
    X(Hardmax, LowerHardmax) \
  /* channel_normalization.cc */ X(BatchNormalization, LowerBatchNormalization) \
    X(GroupNormalization, LowerGroupNormalization) \
    X(InstanceNormalization, LowerInstanceNormalization) X(LRN, LowerLRN) \
  /* row_normalization.cc */ X(LayerNormalization, LowerLayerNormalization) \
    X(LpNormalization, LowerLpNormalization) \
    X(MeanVarianceNormalization, LowerMeanVarianceNormalization) \
    X(RMSNormalization, LowerRMSNormalization) \
  /* attention.cc */ X(Attention, LowerAttention) \
  /* rotary_embedding.cc */ X(RotaryEmbedding, LowerRotaryEmbedding) \
  /* loss.cc */ X(NegativeLogLikelihoodLoss, LowerNegativeLogLikelihoodLoss) \
  /* depth_space.cc */ X(DepthToSpace, LowerDepthToSpace) X(SpaceToDepth, LowerSpaceToDepth) \
  /* reverse.cc */ X(ReverseSequence, LowerReverseSequence) \
  /* einsum.cc */ X(Einsum, LowerEinsum) \
  /* grid_sample.cc */ X(GridSample, LowerGridSample) X(AffineGrid, LowerAffineGrid) \
  /* roi_align.cc */ X(RoiAlign, LowerRoiAlign) \
  /* unpool.cc */ X(MaxUnpool, LowerMaxUnpool) X(Col2Im, LowerCol2Im) \
  /* dft.cc */ X(DFT, LowerDFT) \
  /* det.cc */ X(Det, LowerDet)
// clang-format on

#define TCC_DECLARE_LOWERING(name, lowering) Status lowering(NodeLowering& node);
TCC_LOWERINGS(TCC_DECLARE_LOWERING)
#undef TCC_DECLARE_LOWERING

// Lowers a function of scalars, by its row in elementwise.cc.
Status LowerElementwise(NodeLowering& node);

// Casts floats to an f8 type that does not saturate (quantize.cc). Input `overflow` holds the
// values that results above and below the type's range become.
Expr CastWithOverflow(NodeLowering& node, DType type, const Expr& value, size_t overflow);

}  // namespace tcc
