#include <algorithm>

#include "graph/ops/lowerings.h"
#include "graph/ops/window.h"
#include "ir/simplify/simplify.h"

// The inverses of windows: values go back to where a pool or an unfolding took them from.
namespace tcc {
namespace {

// The extents that a MaxPool with these attributes had as its input.
StatusOr<std::vector<Expr>> PooledShape(NodeLowering& node, const std::vector<Expr>& shape) {
  size_t dims = shape.size() - 2;
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> kernel, WindowSizes(node, "kernel_shape", dims, 1, 1));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> strides, WindowSizes(node, "strides", dims, 1, 1));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> pads, WindowSizes(node, "pads", 2 * dims, 0, 0));
  std::vector<Expr> result = {shape[0], shape[1]};
  for (size_t d = 0; d < dims; ++d) {
    Expr extent =
        Plus(Times(Plus(shape[d + 2], -1), strides[d]), kernel[d] - pads[d] - pads[dims + d]);
    if (!node.AgreeAtMost(Expr(0), extent, "the least extent and a pooled one").ok() ||
        !node.AgreeAtMost(extent, Expr(kMaxWindowSize), "a pooled extent and the greatest").ok()) {
      return node.Error("kernel {}, stride {} and pads {} and {} for an extent of {}", kernel[d],
                        strides[d], pads[d], pads[dims + d], ShapeText({shape[d + 2]}));
    }
    result.push_back(extent);
  }
  return result;
}

// The shapes of a MaxUnpool.
struct Unpooled {
  std::vector<Expr> pooled;  // the shape that indices count places of
  std::vector<Expr> result;  // the output's shape
};

StatusOr<Unpooled> UnpooledShapes(NodeLowering& node) {
  const std::vector<Expr>& shape = node.Shape(0);
  const std::vector<Expr>& places = node.Shape(1);
  bool fits = shape.size() >= 3 && places.size() == shape.size() && node.Type(1) == kInt64;
  for (size_t d = 0; fits && d < shape.size(); ++d) {
    fits = node.Agree(shape[d], places[d], "dimensions of values and indices").ok();
  }
  if (!fits) {
    return node.Error("values of shape {} with indices of shape {}", ShapeText(shape),
                      ShapeText(places));
  }
  Unpooled shapes;
  TCC_ASSIGN_OR_RETURN(shapes.pooled, PooledShape(node, shape));
  shapes.result = shapes.pooled;
  if (node.Has(2)) {
    TCC_ASSIGN_OR_RETURN(shapes.result, node.Ints(2, "output_shape"));
    bool good = shapes.result.size() == shape.size();
    for (const Expr& extent : shapes.result) {
      good = good && node.AgreeAtMost(Expr(0), extent, "the least extent and an extent").ok();
    }
    if (!good) return node.Error("output_shape is {}", ShapeText(shapes.result));
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    for (const Expr& extent : {shapes.pooled[d], shapes.result[d]}) {
      if (!node.AgreeOnPlaces(extent, Product(shape)).ok()) {
        return node.Error("values of shape {} for an output of shape {}", ShapeText(shape),
                          ShapeText(shapes.result));
      }
    }
  }
  return shapes;
}

}  // namespace

// Zeros, and each value where its index says: a place in the flat tensor that was pooled. A larger
// output has the same places.
Status LowerMaxUnpool(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  TCC_ASSIGN_OR_RETURN(auto shapes, UnpooledShapes(node));
  const auto& [pooled, result] = shapes;
  DType type = node.Type(0);
  StoredBuffer out = node.Output(0, type, result);
  node.Map(out, node.Axes(result), Const(type, 0), "_zeros");
  std::vector<Axis> axes = node.Axes(node.Shape(0));
  // An index outside is clamped, as everywhere.
  Expr flat = MinOf(MaxOf(node.Load(1, VarsOf(axes)), Expr(0)), Plus(Product(pooled), -1));
  std::vector<Expr> indices(axes.size(), Expr(0));
  for (size_t d = axes.size(); d-- > 0;) {
    if (IsConstant(pooled[d], 0)) continue;
    Expr index = d == 0 ? flat : FloorModulo(flat, pooled[d]);
    flat = FloorDivide(flat, pooled[d]);
    bool is_cut = BoundsOf(Simplify(pooled[d] - result[d]), {}).high > 0;
    indices[d] = is_cut ? MinOf(index, Plus(result[d], -1)) : index;
  }
  node.StoreInOrder({.output = out,
                     .axes = axes,
                     .kinds = std::vector<IterKind>(axes.size(), IterKind::kReduce),
                     .indices = indices,
                     .value = node.Load(0, VarsOf(axes))});
  return OkStatus();
}

// image[n, c, y...] = sum of columns[n, (c, k...), (o...)] over the k with
// o * stride + k * dilation - pad = y: those where y + pad - k * dilation is a multiple of the
// stride, and inside.
Status LowerCol2Im(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  const std::vector<Expr>& columns = node.Shape(0);
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> image, node.Ints(1, "image_shape"));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> block, node.ConstantInts(2, "block_shape"));
  size_t dims = image.size();
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> strides, WindowSizes(node, "strides", dims, 1, 1));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> dilations, WindowSizes(node, "dilations", dims, 1, 1));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> pads, WindowSizes(node, "pads", 2 * dims, 0, 0));
  bool good = columns.size() == 3 && block.size() == dims && dims >= 1;
  std::vector<Expr> outputs;
  for (size_t d = 0; good && d < dims; ++d) {
    good = MayExceed(image[d], Expr(0)) && MayExceed(Expr(kMaxWindowSize), image[d]) &&
           block[d] > 0 && block[d] < kMaxWindowSize / dilations[d];
    if (!good) break;
    int64_t reach = dilations[d] * (block[d] - 1) + 1;
    Expr room = Plus(image[d], pads[d] + pads[dims + d] - reach);
    outputs.push_back(Simplify(Plus(FloorDivide(room, Expr(strides[d])), 1)));
    good = MayExceed(outputs[d], Expr(0));
  }
  StatusOr<int64_t> blocks = ElementCount(block);
  good = good && blocks.ok() &&
         node.Agree(Product(outputs), columns[2], "windows of the image and columns").ok();
  if (good && !AsConstant(columns[1])) {
    return node.NotSupported("{}; expected a known dimension 1", node.InputText(0));
  }
  good = good && *AsConstant(columns[1]) % *blocks == 0;
  if (!good) {
    return node.Error("columns of shape {} for an image of {} in blocks of {}", ShapeText(columns),
                      ShapeText(image), ShapeToString(block));
  }

  std::vector<Expr> shape = {columns[0], Expr(*AsConstant(columns[1]) / *blocks)};
  shape.insert(shape.end(), image.begin(), image.end());
  DType type = node.Type(0);
  DType computed = AccumulationType(type);
  StoredBuffer out = node.Output(0, type, shape);
  StoredBuffer sum = computed == type ? out : node.Intermediate("sum", computed, shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Axis> taps;
  Expr inside = True();
  Expr row = axes[1].var;
  Expr column = 0;
  auto require = [&](const Expr& condition) { inside = AndAlso(inside, condition); };
  for (size_t d = 0; d < dims; ++d) {
    taps.push_back(NodeLowering::MakeAxis(fmt::format("k{}", d), Expr(block[d])));
    row = Times(row, block[d]) + taps[d].var;
    Expr reached = Plus(axes[d + 2].var - Times(taps[d].var, dilations[d]), pads[d]);
    require(reached >= Expr(0));
    if (strides[d] > 1) require(Make<Eq>(FloorModulo(reached, Expr(strides[d])), Expr(0)));
    Expr output = strides[d] > 1 ? FloorDivide(reached, Expr(strides[d])) : reached;
    require(output < outputs[d]);
    column = d == 0 ? output : Product(std::vector<Expr>{column, outputs[d]}) + output;
  }
  node.Reduce({.outputs = {sum},
               .axes = axes,
               .reduce_axes = taps,
               .combiner = SumCombiner(computed),
               .values = {CastTo(computed, node.Load(0, {axes[0].var, row, column}))},
               .predicate = inside});
  if (computed == type) return OkStatus();
  std::vector<Axis> rounded = node.Axes(shape);
  node.Map(out, rounded, CastTo(type, node.Load(sum, VarsOf(rounded))), "_round");
  return OkStatus();
}

}  // namespace tcc
