#include "lower/ops/broadcast.h"
#include "lower/ops/lowerings.h"

namespace tcc {
namespace {

Status CheckSameNumbers(const NodeLowering& node) {
  DType type = node.Type(0);
  if (type.is_bool()) return node.Error("input 0 has type bool; expected numbers");
  for (size_t i = 1; i < node.input_count(); ++i) {
    if (node.Has(i) && node.Type(i) != type) {
      return node.Error("input {} has type {}; expected {} as input 0", i, ToString(node.Type(i)),
                        ToString(type));
    }
  }
  return OkStatus();
}

Expr Scaled(const Expr& value, double factor) {
  return factor == 1 ? value : value * Const(value.dtype(), factor);
}

}  // namespace

// out = alpha * A' B' + beta * C, where ' transposes if asked.
Status LowerGemm(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  TCC_RETURN_IF_ERROR(CheckSameNumbers(node));
  const std::vector<Expr>& a = node.Shape(0);
  const std::vector<Expr>& b = node.Shape(1);
  if (a.size() != 2 || b.size() != 2) {
    return node.Error("operands are {} and {}; expected matrices", ShapeText(a), ShapeText(b));
  }
  bool transposed_a = node.node().Int("transA", 0) != 0;
  bool transposed_b = node.node().Int("transB", 0) != 0;
  std::vector<Expr> shape = {a[transposed_a ? 1 : 0], b[transposed_b ? 0 : 1]};
  Expr depth = a[transposed_a ? 0 : 1];
  if (!SameExtent(depth, b[transposed_b ? 1 : 0])) {
    return node.Error("operands {} and {} (transA {}, transB {}) disagree on the inner dimension",
                      ShapeText(a), ShapeText(b), transposed_a ? 1 : 0, transposed_b ? 1 : 0);
  }
  double alpha = node.node().Float("alpha", 1);
  double beta = node.node().Float("beta", 1);
  bool adds = node.Has(2) && beta != 0;
  if (node.Has(2)) {
    TCC_ASSIGN_OR_RETURN(std::vector<Expr> joint, BroadcastShapes(node, {shape, node.Shape(2)}));
    if (joint.size() != 2 || !SameExtent(joint[0], shape[0]) || !SameExtent(joint[1], shape[1])) {
      return node.Error("C has shape {}; expected one that broadcasts to {}",
                        ShapeText(node.Shape(2)), ShapeText(shape));
    }
  }

  DType type = node.Type(0);
  DType sum_type = AccumulationType(type);
  bool epilogue = adds || alpha != 1 || sum_type != type;
  StoredBuffer out = node.Output(0, type, shape);
  StoredBuffer sum = epilogue ? node.Intermediate("sum", sum_type, shape) : out;

  Axis i = NodeLowering::MakeAxis("i", shape[0]);
  Axis j = NodeLowering::MakeAxis("j", shape[1]);
  Axis k = NodeLowering::MakeAxis("k", depth);
  Expr left = node.Load(0, transposed_a ? std::vector<Expr>{k.var, i.var} : VarsOf({i, k}));
  Expr right = node.Load(1, transposed_b ? std::vector<Expr>{j.var, k.var} : VarsOf({k, j}));
  node.Reduce({.outputs = {sum},
               .axes = {i, j},
               .reduce_axes = {k},
               .combiner = SumCombiner(sum_type),
               .values = {CastTo(sum_type, left) * CastTo(sum_type, right)}});
  if (!epilogue) return OkStatus();

  std::vector<Axis> axes = node.Axes(shape);
  Expr value = Scaled(node.Load(sum, VarsOf(axes)), alpha);
  if (adds) {
    value = value + Scaled(CastTo(sum_type, node.LoadBroadcast(2, VarsOf(axes))), beta);
  }
  node.Map(out, axes, CastTo(type, value), "_bias");
  return OkStatus();
}

// numpy's matmul: a vector on the left is a row, one on the right a column, and that dimension is
// dropped again; the leading dimensions broadcast.
Status LowerMatMul(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TCC_RETURN_IF_ERROR(CheckSameNumbers(node));
  const std::vector<Expr>& a = node.Shape(0);
  const std::vector<Expr>& b = node.Shape(1);
  if (a.empty() || b.empty()) return node.Error("an operand is a scalar");
  Expr depth = a.back();
  if (!SameExtent(depth, b[b.size() < 2 ? 0 : b.size() - 2])) {
    return node.Error("operands {} and {} disagree on the inner dimension", ShapeText(a),
                      ShapeText(b));
  }
  std::vector<Expr> a_batch(a.begin(), a.end() - std::min<size_t>(2, a.size()));
  std::vector<Expr> b_batch(b.begin(), b.end() - std::min<size_t>(2, b.size()));
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> shape, BroadcastShapes(node, {a_batch, b_batch}));
  size_t batch_rank = shape.size();

  auto make_axes = [&] {
    std::vector<Axis> axes;
    for (size_t d = 0; d < batch_rank; ++d) {
      axes.push_back(NodeLowering::MakeAxis(fmt::format("b{}", d), shape[d]));
    }
    if (a.size() > 1) axes.push_back(NodeLowering::MakeAxis("i", a[a.size() - 2]));
    if (b.size() > 1) axes.push_back(NodeLowering::MakeAxis("j", b.back()));
    return axes;
  };
  std::vector<Axis> axes = make_axes();
  std::vector<Expr> vars = VarsOf(axes);
  Axis k = NodeLowering::MakeAxis("k", depth);
  auto index_of = [&](const std::vector<Expr>& batch, std::vector<Expr> matrix) {
    std::vector<Expr> index;
    for (size_t d = 0; d < batch.size(); ++d) {
      const Expr& var = vars[batch_rank - batch.size() + d];
      index.push_back(IsConstant(batch[d], 1) ? Expr(0) : var);
    }
    index.insert(index.end(), matrix.begin(), matrix.end());
    return index;
  };
  std::vector<Expr> row =
      a.size() > 1 ? std::vector<Expr>{vars[batch_rank], k.var} : std::vector<Expr>{k.var};
  std::vector<Expr> column =
      b.size() > 1 ? std::vector<Expr>{k.var, vars.back()} : std::vector<Expr>{k.var};
  for (size_t d = batch_rank; d < axes.size(); ++d) shape.push_back(axes[d].extent);

  DType type = node.Type(0);
  DType sum_type = AccumulationType(type);
  StoredBuffer out = node.Output(0, type, shape);
  StoredBuffer sum = sum_type == type ? out : node.Intermediate("sum", sum_type, shape);
  node.Reduce({.outputs = {sum},
               .axes = axes,
               .reduce_axes = {k},
               .combiner = SumCombiner(sum_type),
               .values = {CastTo(sum_type, node.Load(0, index_of(a_batch, row))) *
                          CastTo(sum_type, node.Load(1, index_of(b_batch, column)))}});
  if (sum_type == type) return OkStatus();
  std::vector<Axis> out_axes = make_axes();
  node.Map(out, out_axes, CastTo(type, node.Load(sum, VarsOf(out_axes))), "_round");
  return OkStatus();
}

}  // namespace tcc
