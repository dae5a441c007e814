#include <algorithm>

#include "graph/ops/lowerings.h"
#include "ir/simplify/simplify.h"
#include "ir/simplify/size_arithmetic.h"

namespace tcc {
namespace {

// A run of dimensions of either shape with the same number of elements.
struct DimGroup {
  size_t in_begin, in_end;
  size_t out_begin, out_end;
};

// The numbers of elements of leading dimensions, and of trailing ones.
struct Products {
  explicit Products(const std::vector<Expr>& dims)
      : first(dims.size() + 1, Expr(1)), last(dims.size() + 1, Expr(1)) {
    size_t rank = dims.size();
    for (size_t d = 0; d < rank; ++d) first[d + 1] = ProductOf(first[d], dims[d]);
    for (size_t d = rank; d > 0; --d) last[d - 1] = ProductOf(dims[d - 1], last[d]);
  }
  std::vector<Expr> first;  // [d]: the product of dimensions 0..d-1
  std::vector<Expr> last;   // [d]: the product of dimensions d..rank-1
};

// Returns the finest such runs, so that a dimension that stays keeps its plain index. Both shapes
// have the same number of elements: two places match if the products before them are equal, or the
// products behind them.
std::vector<DimGroup> CommonGroups(const std::vector<Expr>& in, const std::vector<Expr>& out) {
  Products of_in(in);
  Products of_out(out);
  auto ends = [&](size_t i, size_t o) {
    return (i == in.size() && o == out.size()) ||
           EqualUpToAlgebra(of_in.first[i], of_out.first[o]) ||
           EqualUpToAlgebra(of_in.last[i], of_out.last[o]);
  };
  auto next = [&](size_t i_begin, size_t o_begin) {
    for (size_t i = std::min(i_begin + 1, in.size()); i <= in.size(); ++i) {
      for (size_t o = std::min(o_begin + 1, out.size()); o <= out.size(); ++o) {
        if (ends(i, o)) return DimGroup{i_begin, i, o_begin, o};
      }
    }
    return DimGroup{i_begin, in.size(), o_begin, out.size()};
  };
  std::vector<DimGroup> groups;
  size_t i = 0;
  size_t o = 0;
  while (i < in.size() || o < out.size()) {
    groups.push_back(next(i, o));
    i = groups.back().in_end;
    o = groups.back().out_end;
  }
  return groups;
}

// The input's indices of the element that stands at `out_index` of the output.
std::vector<Expr> InputIndices(const std::vector<Expr>& in, const std::vector<Expr>& out,
                               const std::vector<Expr>& out_index) {
  std::vector<Expr> indices;
  for (const DimGroup& group : CommonGroups(in, out)) {
    Expr flat = 0;
    for (size_t d = group.out_begin; d < group.out_end; ++d) {
      if (IsConstant(out[d], 1)) continue;
      flat = IsConstant(flat, 0) ? out_index[d] : Times(flat, out[d]) + out_index[d];
    }
    bool outermost = true;
    for (size_t d = group.in_begin; d < group.in_end; ++d) {
      if (IsConstant(in[d], 1)) {
        indices.push_back(Expr(0));
        continue;
      }
      Expr rest = 1;
      for (size_t inner = group.in_end; inner > d + 1; --inner) {
        rest = ProductOf(in[inner - 1], rest);
      }
      Expr index = IsConstant(rest, 1) ? flat : FloorDivide(flat, rest);
      indices.push_back(outermost ? index : FloorModulo(index, in[d]));
      outermost = false;
    }
  }
  return indices;
}

// Expects a shape of the input's number of elements.
Status MapReshaped(NodeLowering& node, const std::vector<Expr>& shape) {
  const std::vector<Expr>& in_shape = node.Shape(0);
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  // Nothing is read from an empty tensor, so any index will do.
  bool empty = std::ranges::any_of(in_shape, [](const Expr& dim) { return IsConstant(dim, 0); });
  std::vector<Expr> indices = empty ? std::vector<Expr>(in_shape.size(), Expr(0))
                                    : InputIndices(in_shape, shape, VarsOf(axes));
  node.Map(out, axes, node.Load(0, indices));
  return OkStatus();
}

Status CheckCount(NodeLowering& node, const std::vector<Expr>& shape) {
  std::optional<std::vector<int64_t>> in_numbers = AsNumbers(node.Shape(0));
  std::optional<std::vector<int64_t>> numbers = AsNumbers(shape);
  if (in_numbers && numbers) {
    TCC_ASSIGN_OR_RETURN(int64_t in_count, ElementCount(*in_numbers));
    StatusOr<int64_t> count = ElementCount(*numbers);
    if (count.ok() && *count == in_count) return OkStatus();
    return node.Error("{} cannot take the shape {}: {} elements", node.InputText(0),
                      ShapeText(shape), in_count);
  }
  Expr in_count = Simplify(Product(node.Shape(0)));
  Status agreed =
      node.Agree(in_count, Simplify(Product(shape)), "numbers of elements before and after");
  if (agreed.ok()) return OkStatus();
  return node.Error("{} cannot take the shape {}", node.InputText(0), ShapeText(shape));
}

// Returns the extent of one more dimension beside the `known` elements of the others; nullopt where
// none gives the input's number of elements. CheckCount sees to a remainder of formulas.
std::optional<Expr> InferredExtent(const std::vector<Expr>& in_shape, const Expr& known) {
  Expr count = Simplify(Product(in_shape));
  std::optional<int64_t> count_number = AsConstant(count);
  std::optional<int64_t> known_number = AsConstant(known);
  if (known_number && *known_number < 1) return std::nullopt;
  if (count_number && known_number) {
    if (*count_number % *known_number != 0) return std::nullopt;
    return Expr(*count_number / *known_number);
  }
  // Equal factors cancel, even those that may be 0: the dimension is the same at all other values.
  Expr extent = QuotientOf(count, known);
  if (EqualUpToAlgebra(extent * known, count)) return extent;
  return QuotientOf(count, LargerOf(known, Expr(1)));
}

}  // namespace

// A formula in `shape` is an extent: neither the 0 that copies nor the -1 that is inferred. At such
// a value, CheckCount's agreement fails.
Status LowerReshape(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  const std::vector<Expr>& in_shape = node.Shape(0);
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> shape, node.Ints(1, "shape"));
  std::string wanted = ShapeText(shape);

  bool zero_copies = node.node().Int("allowzero", 0) == 0;
  int inferred = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    std::optional<int64_t> number = AsConstant(shape[d]);
    if (!number) {
      TCC_RETURN_IF_ERROR(node.TakeAsExtent(shape[d], fmt::format("dimension {} of shape", d)));
    } else if (*number == 0 && zero_copies) {
      if (d >= in_shape.size()) {
        return node.Error("shape {} copies dimension {} of {}", wanted, d, node.InputText(0));
      }
      shape[d] = in_shape[d];
    } else if (*number == -1 && inferred < 0) {
      inferred = static_cast<int>(d);
    } else if (*number < 0) {
      return node.Error("shape {} has dimension {}; expected one -1 at most", wanted, *number);
    }
  }
  if (inferred >= 0) {
    shape[inferred] = Expr(1);
    std::optional<Expr> extent = InferredExtent(in_shape, Simplify(Product(shape)));
    if (!extent) return node.Error("{} cannot take the shape {}", node.InputText(0), wanted);
    shape[inferred] = *extent;
  }
  TCC_RETURN_IF_ERROR(CheckCount(node, shape));
  return MapReshaped(node, shape);
}

Status LowerFlatten(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  std::span<const Expr> in_shape = node.Shape(0);
  int64_t rank = static_cast<int64_t>(in_shape.size());
  int64_t axis = node.node().Int("axis", 1);
  if (axis < -rank || axis > rank) {
    return node.Error("axis is {}; expected {} to {}", axis, -rank, rank);
  }
  if (axis < 0) axis += rank;
  Expr rows = Simplify(Product(in_shape.first(axis)));
  Expr columns = Simplify(Product(in_shape.subspan(axis)));
  return MapReshaped(node, {rows, columns});
}

Status LowerSqueeze(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 2));
  const std::vector<Expr>& in_shape = node.Shape(0);
  std::vector<bool> dropped(in_shape.size(), false);
  if (node.Has(1)) {
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> axes, node.ConstantInts(1, "axes"));
    for (int64_t axis : axes) {
      TCC_ASSIGN_OR_RETURN(int dim, node.NormalizedAxis(axis, in_shape.size()));
      std::string what = fmt::format("a squeezed axis {} and 1", axis);
      if (!node.Agree(in_shape[dim], Expr(1), what).ok()) {
        return node.Error("axis {} of {} is {}; expected 1", axis, node.InputText(0),
                          ShapeText({in_shape[dim]}));
      }
      dropped[dim] = true;
    }
  } else {
    // The rank must be known before a run: a free extent stays, and a run may not make it 1.
    for (size_t d = 0; d < in_shape.size(); ++d) {
      dropped[d] = IsConstant(in_shape[d], 1);
      if (dropped[d] || AsConstant(in_shape[d])) continue;
      Expr kept = ChosenOf(Make<Eq>(in_shape[d], Expr(1)), Expr(2), in_shape[d]);
      std::string what = fmt::format("axis {} and an extent that stays without axes", d);
      TCC_RETURN_IF_ERROR(node.Agree(in_shape[d], kept, what));
    }
  }
  std::vector<Expr> shape;
  for (size_t d = 0; d < in_shape.size(); ++d) {
    if (!dropped[d]) shape.push_back(in_shape[d]);
  }
  return MapReshaped(node, shape);
}

Status LowerUnsqueeze(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  const std::vector<Expr>& in_shape = node.Shape(0);
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> axes, node.ConstantInts(1, "axes"));
  std::vector<bool> added(in_shape.size() + axes.size(), false);
  for (int64_t axis : axes) {
    TCC_ASSIGN_OR_RETURN(int dim, node.NormalizedAxis(axis, added.size()));
    if (added[dim]) return node.Error("axis {} is given twice", axis);
    added[dim] = true;
  }
  std::vector<Expr> shape;
  size_t next = 0;
  for (bool is_new : added) shape.push_back(is_new ? Expr(1) : in_shape[next++]);
  return MapReshaped(node, shape);
}

}  // namespace tcc
