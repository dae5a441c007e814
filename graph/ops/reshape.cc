#include <algorithm>

#include "graph/ops/lowerings.h"

namespace tcc {
namespace {

// A run of dimensions of either shape with the same number of elements.
struct DimGroup {
  size_t in_begin, in_end;
  size_t out_begin, out_end;
};

// The finest such runs, so that a dimension that stays keeps its plain index.
std::vector<DimGroup> CommonGroups(const std::vector<int64_t>& in,
                                   const std::vector<int64_t>& out) {
  std::vector<DimGroup> groups;
  size_t i = 0;
  size_t o = 0;
  while (i < in.size() || o < out.size()) {
    DimGroup group{i, i, o, o};
    int64_t in_count = 1;
    int64_t out_count = 1;
    if (i < in.size()) in_count *= in[i++];
    if (o < out.size()) out_count *= out[o++];
    while (in_count != out_count) {
      bool take_in = i < in.size() && (in_count < out_count || o == out.size());
      (take_in ? in_count : out_count) *= take_in ? in[i++] : out[o++];
    }
    group.in_end = i;
    group.out_end = o;
    groups.push_back(group);
  }
  return groups;
}

// The input's indices of the element that stands at `out_index` of the output.
std::vector<Expr> InputIndices(const std::vector<int64_t>& in, const std::vector<int64_t>& out,
                               const std::vector<Expr>& out_index) {
  std::vector<Expr> indices;
  for (const DimGroup& group : CommonGroups(in, out)) {
    Expr flat = 0;
    for (size_t d = group.out_begin; d < group.out_end; ++d) {
      if (out[d] == 1) continue;
      flat = IsConstant(flat, 0) ? out_index[d] : Times(flat, out[d]) + out_index[d];
    }
    int64_t rest = 1;
    bool outermost = true;
    for (size_t d = group.in_begin; d < group.in_end; ++d) rest *= in[d];
    for (size_t d = group.in_begin; d < group.in_end; ++d) {
      if (in[d] == 1) {
        indices.push_back(Expr(0));
        continue;
      }
      rest /= in[d];
      Expr index = rest == 1 ? flat : FloorDivide(flat, Expr(rest));
      indices.push_back(outermost ? index : FloorModulo(index, Expr(in[d])));
      outermost = false;
    }
  }
  return indices;
}

Status MapReshaped(NodeLowering& node, const std::vector<int64_t>& out_shape) {
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> in_shape, node.StaticShape(0));
  TCC_ASSIGN_OR_RETURN(int64_t in_count, ElementCount(in_shape));
  StatusOr<int64_t> out_count = ElementCount(out_shape);
  if (!out_count.ok() || *out_count != in_count) {
    return node.Error("{} cannot take the shape {}: {} elements", node.InputText(0),
                      ShapeToString(out_shape), in_count);
  }
  std::vector<Expr> shape = ToExprs(out_shape);
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  // Nothing is read from an empty tensor, so any index will do.
  std::vector<Expr> indices = in_count == 0 ? std::vector<Expr>(in_shape.size(), Expr(0))
                                            : InputIndices(in_shape, out_shape, VarsOf(axes));
  node.Map(out, axes, node.Load(0, indices));
  return OkStatus();
}

}  // namespace

Status LowerReshape(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> in_shape, node.StaticShape(0));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.ConstantInts(1, "shape"));
  std::string wanted = ShapeToString(shape);

  bool zero_copies = node.node().Int("allowzero", 0) == 0;
  int inferred = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && zero_copies) {
      if (d >= in_shape.size()) {
        return node.Error("shape {} copies dimension {} of {}", wanted, d, node.InputText(0));
      }
      shape[d] = in_shape[d];
    } else if (shape[d] == -1 && inferred < 0) {
      inferred = static_cast<int>(d);
    } else if (shape[d] < 0) {
      return node.Error("shape {} has dimension {}; expected one -1 at most", wanted, shape[d]);
    }
  }
  if (inferred >= 0) {
    shape[inferred] = 1;
    TCC_ASSIGN_OR_RETURN(int64_t in_count, ElementCount(in_shape));
    StatusOr<int64_t> known = ElementCount(shape);
    if (!known.ok() || *known == 0 || in_count % *known != 0) {
      return node.Error("{} cannot take the shape {}", node.InputText(0), wanted);
    }
    shape[inferred] = in_count / *known;
  }
  return MapReshaped(node, shape);
}

Status LowerFlatten(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> in_shape, node.StaticShape(0));
  int64_t rank = static_cast<int64_t>(in_shape.size());
  int64_t axis = node.node().Int("axis", 1);
  if (axis < -rank || axis > rank) {
    return node.Error("axis is {}; expected {} to {}", axis, -rank, rank);
  }
  if (axis < 0) axis += rank;
  std::span<const int64_t> dims(in_shape);
  TCC_ASSIGN_OR_RETURN(int64_t rows, ElementCount(dims.first(axis)));
  TCC_ASSIGN_OR_RETURN(int64_t columns, ElementCount(dims.subspan(axis)));
  return MapReshaped(node, {rows, columns});
}

Status LowerSqueeze(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 2));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> in_shape, node.StaticShape(0));
  std::vector<bool> dropped(in_shape.size(), false);
  if (node.Has(1)) {
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> axes, node.ConstantInts(1, "axes"));
    for (int64_t axis : axes) {
      TCC_ASSIGN_OR_RETURN(int dim, node.NormalizedAxis(axis, in_shape.size()));
      if (in_shape[dim] != 1) {
        return node.Error("axis {} of {} is {}; expected 1", axis, node.InputText(0),
                          in_shape[dim]);
      }
      dropped[dim] = true;
    }
  } else {
    for (size_t d = 0; d < in_shape.size(); ++d) dropped[d] = in_shape[d] == 1;
  }
  std::vector<int64_t> shape;
  for (size_t d = 0; d < in_shape.size(); ++d) {
    if (!dropped[d]) shape.push_back(in_shape[d]);
  }
  return MapReshaped(node, shape);
}

Status LowerUnsqueeze(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> in_shape, node.StaticShape(0));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> axes, node.ConstantInts(1, "axes"));
  std::vector<int64_t> shape(in_shape.size() + axes.size(), 0);
  for (int64_t axis : axes) {
    TCC_ASSIGN_OR_RETURN(int dim, node.NormalizedAxis(axis, shape.size()));
    if (shape[dim] != 0) return node.Error("axis {} is given twice", axis);
    shape[dim] = 1;
  }
  // Dimensions of 0 in the input must not look unset; a copy marks the new ones.
  std::vector<int64_t> result;
  size_t next = 0;
  for (int64_t marked : shape) result.push_back(marked == 1 ? 1 : in_shape[next++]);
  return MapReshaped(node, result);
}

}  // namespace tcc
