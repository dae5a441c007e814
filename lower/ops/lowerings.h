#pragma once

#include "lower/ops/node_lowering.h"

// One function an operator or family of operators, held by the table in op_lowering.cc. Each checks
// its node, InvalidArgument or Unimplemented where that fails, and says what it means as stages.
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
Status LowerExpand(NodeLowering& node);
Status LowerGather(NodeLowering& node);
Status LowerRepack(NodeLowering& node);

// pad.cc
Status LowerPad(NodeLowering& node);

// shape_values.cc
Status LowerShape(NodeLowering& node);
Status LowerConstantOfShape(NodeLowering& node);

// conv.cc
Status LowerConv(NodeLowering& node);

// contraction.cc
Status LowerGemm(NodeLowering& node);
Status LowerMatMul(NodeLowering& node);

// pool.cc
Status LowerMaxPool(NodeLowering& node);
Status LowerAveragePool(NodeLowering& node);
Status LowerGlobalPool(NodeLowering& node);

// reduction.cc
Status LowerReduction(NodeLowering& node);
Status LowerSoftmax(NodeLowering& node);

// normalization.cc
Status LowerBatchNormalization(NodeLowering& node);

}  // namespace tcc
