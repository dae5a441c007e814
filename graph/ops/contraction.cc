#include "graph/ops/lowerings.h"

namespace tcc {
namespace {

Status CheckSameNumbers(const NodeLowering& node) {
  if (node.Type(0).is_bool()) return node.Error("input 0 has type bool; expected numbers");
  return node.CheckSameTypes();
}

Expr Scaled(const Expr& value, double factor) {
  return factor == 1 ? value : value * Const(value.dtype(), factor);
}

// numpy's matmul: a vector on the left is a row, one on the right a column, and that dimension is
// dropped again; the leading dimensions broadcast.
struct MatMulAccess {
  std::vector<Expr> shape;
  std::vector<Axis> axes;
  Axis depth;
  std::vector<Expr> left;   // index of input 0
  std::vector<Expr> right;  // index of input 1

  // Input 0's row and input 1's column of a point, in a tensor that has the operand's shape but for
  // an extent of 1 along the depth.
  std::vector<Expr> row() const { return WithoutDepth(left); }
  std::vector<Expr> column() const { return WithoutDepth(right); }

 private:
  std::vector<Expr> WithoutDepth(std::vector<Expr> index) const {
    for (Expr& expr : index) {
      if (expr.same_as(depth.var)) expr = 0;
    }
    return index;
  }
};

StatusOr<MatMulAccess> AccessMatMul(NodeLowering& node) {
  const std::vector<Expr>& a = node.Shape(0);
  const std::vector<Expr>& b = node.Shape(1);
  TCC_RETURN_IF_ERROR(node.CheckLeastRank(0, 1));
  TCC_RETURN_IF_ERROR(node.CheckLeastRank(1, 1));
  const Expr& depth = a.back();
  if (!node.Agree(depth, b[b.size() < 2 ? 0 : b.size() - 2], "inner dimensions").ok()) {
    return node.Error("operands of shapes {} and {} disagree on the inner dimension", ShapeText(a),
                      ShapeText(b));
  }
  std::vector<Expr> a_batch(a.begin(), a.end() - std::min<size_t>(2, a.size()));
  std::vector<Expr> b_batch(b.begin(), b.end() - std::min<size_t>(2, b.size()));
  MatMulAccess access;
  TCC_ASSIGN_OR_RETURN(access.shape, BroadcastShapes(node, {a_batch, b_batch}));
  size_t batch_rank = access.shape.size();
  for (size_t d = 0; d < batch_rank; ++d) {
    access.axes.push_back(NodeLowering::MakeAxis(fmt::format("b{}", d), access.shape[d]));
  }
  if (a.size() > 1) access.axes.push_back(NodeLowering::MakeAxis("i", a[a.size() - 2]));
  if (b.size() > 1) access.axes.push_back(NodeLowering::MakeAxis("j", b.back()));
  std::vector<Expr> vars = VarsOf(access.axes);
  access.depth = NodeLowering::MakeAxis("k", depth);
  const Expr& k = access.depth.var;
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
      a.size() > 1 ? std::vector<Expr>{vars[batch_rank], k} : std::vector<Expr>{k};
  std::vector<Expr> column =
      b.size() > 1 ? std::vector<Expr>{k, vars.back()} : std::vector<Expr>{k};
  access.left = index_of(a_batch, row);
  access.right = index_of(b_batch, column);
  for (size_t d = batch_rank; d < access.axes.size(); ++d) {
    access.shape.push_back(access.axes[d].extent);
  }
  return access;
}

// Input 2 or 3, of operand 0 or 1, as i32: one number, one for each row (column) of all matrices,
// or of the operand's rank with an extent of 1 along the depth. `index` is that of row or column.
StatusOr<Expr> MatMulZeroPoint(NodeLowering& node, size_t operand, const std::vector<Expr>& index) {
  size_t input = operand + 2;
  if (!node.Has(input)) return Const(kInt32, 0);
  const std::vector<Expr>& shape = node.Shape(input);
  const std::vector<Expr>& whole = node.Shape(operand);
  if (IsConstant(Product(shape), 1)) {
    return CastTo(kInt32, node.Load(input, std::vector<Expr>(shape.size(), Expr(0))));
  }
  size_t kept = operand == 0 ? whole.size() - 2 : whole.size() - 1;
  size_t depth = operand == 0 ? whole.size() - 1 : whole.size() - 2;
  bool matrix = whole.size() > 1;
  auto agree = [&](const Expr& own, const Expr& dim) {
    return node.Agree(own, dim, "dimensions of zero point and operand").ok();
  };
  if (matrix && shape.size() == 1 && agree(shape[0], whole[kept])) {
    return CastTo(kInt32, node.Load(input, {index[kept]}));
  }
  bool fits = matrix && shape.size() == whole.size();
  for (size_t d = 0; fits && d < shape.size(); ++d) {
    fits = d == depth ? IsConstant(shape[d], 1) : agree(shape[d], whole[d]);
  }
  if (!fits) {
    return node.Error("zero point {} has shape {}, which does not fit the operand's, {}", operand,
                      ShapeText(shape), ShapeText(whole));
  }
  return CastTo(kInt32, node.Load(input, index));
}

}  // namespace

// out = alpha * A' B' + beta * C, where ' transposes if asked.
Status LowerGemm(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  TCC_RETURN_IF_ERROR(CheckSameNumbers(node));
  const std::vector<Expr>& a = node.Shape(0);
  const std::vector<Expr>& b = node.Shape(1);
  if (a.size() != 2 || b.size() != 2) {
    return node.Error("operands have shapes {} and {}; expected matrices", ShapeText(a),
                      ShapeText(b));
  }
  bool transposed_a = node.node().Int("transA", 0) != 0;
  bool transposed_b = node.node().Int("transB", 0) != 0;
  std::vector<Expr> shape = {a[transposed_a ? 1 : 0], b[transposed_b ? 0 : 1]};
  Expr depth = a[transposed_a ? 0 : 1];
  if (!node.Agree(depth, b[transposed_b ? 1 : 0], "inner dimensions").ok()) {
    return node.Error(
        "operands of shapes {} and {} (transA {}, transB {}) disagree on the inner dimension",
        ShapeText(a), ShapeText(b), transposed_a ? 1 : 0, transposed_b ? 1 : 0);
  }
  double alpha = node.node().Float("alpha", 1);
  double beta = node.node().Float("beta", 1);
  bool adds = node.Has(2) && beta != 0;
  if (node.Has(2)) {
    TCC_ASSIGN_OR_RETURN(std::vector<Expr> joint, BroadcastShapes(node, {shape, node.Shape(2)}));
    // Dimensions that broadcast agree; C's must not stretch the product's.
    auto is_kept = [&](size_t d) {
      return !IsConstant(shape[d], 1) || node.Agree(joint[d], shape[d], "C's dimensions").ok();
    };
    if (joint.size() != 2 || !is_kept(0) || !is_kept(1)) {
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

Status LowerMatMul(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TCC_RETURN_IF_ERROR(CheckSameNumbers(node));
  TCC_ASSIGN_OR_RETURN(MatMulAccess access, AccessMatMul(node));
  DType type = node.Type(0);
  DType sum_type = AccumulationType(type);
  StoredBuffer out = node.Output(0, type, access.shape);
  StoredBuffer sum = sum_type == type ? out : node.Intermediate("sum", sum_type, access.shape);
  node.Reduce({.outputs = {sum},
               .axes = access.axes,
               .reduce_axes = {access.depth},
               .combiner = SumCombiner(sum_type),
               .values = {CastTo(sum_type, node.Load(0, access.left)) *
                          CastTo(sum_type, node.Load(1, access.right))}});
  if (sum_type == type) return OkStatus();
  std::vector<Axis> axes = node.Axes(access.shape);
  node.Map(out, axes, CastTo(type, node.Load(sum, VarsOf(axes))), "_round");
  return OkStatus();
}

// The product of operands less their zero points, as i32.
Status LowerMatMulInteger(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 4));
  for (size_t i : {0, 1}) {
    DType type = node.Type(i);
    if (!type.is_integer() || type.bits() != 8) {
      return node.Error("input {} has type {}; expected i8 or u8", i, ToString(type));
    }
    if (node.Has(i + 2) && node.Type(i + 2) != type) {
      return node.Error("zero point {} has type {}; expected {}", i, ToString(node.Type(i + 2)),
                        ToString(type));
    }
  }
  TCC_ASSIGN_OR_RETURN(MatMulAccess access, AccessMatMul(node));
  TCC_ASSIGN_OR_RETURN(Expr a_zero, MatMulZeroPoint(node, 0, access.row()));
  TCC_ASSIGN_OR_RETURN(Expr b_zero, MatMulZeroPoint(node, 1, access.column()));
  Expr a = CastTo(kInt32, node.Load(0, access.left));
  Expr b = CastTo(kInt32, node.Load(1, access.right));
  if (!IsConstant(a_zero, 0)) a = a - a_zero;
  if (!IsConstant(b_zero, 0)) b = b - b_zero;
  node.Reduce({.outputs = {node.Output(0, kInt32, access.shape)},
               .axes = access.axes,
               .reduce_axes = {access.depth},
               .combiner = SumCombiner(kInt32),
               .values = {a * b}});
  return OkStatus();
}

}  // namespace tcc
