#include <algorithm>

#include "graph/ops/node_lowering.h"
#include "graph/ops/storage_order.h"
#include "graph/passes/symbolic_rules.h"
#include "ir/simplify/simplify.h"
#include "support/integer_division.h"

// The shapes of results if dimensions are formulas.
namespace tcc {
namespace {

using Dims = std::vector<Expr>;

std::optional<int64_t> Axis(int64_t axis, size_t rank) {
  auto signed_rank = static_cast<int64_t>(rank);
  if (axis < 0) axis += signed_rank;
  return axis >= 0 && axis < signed_rank ? std::optional(axis) : std::nullopt;
}

SymbolicShape SameAsFirst(const Dims& shape, const SymbolicOperands&) {
  return shape;
}

SymbolicShape BroadcastTwo(const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()), Expr(1));
  for (size_t d = 0; d < result.size(); ++d) {
    size_t back = result.size() - d;
    Expr x = back <= a.size() ? a[a.size() - back] : Expr(1);
    Expr y = back <= b.size() ? b[b.size() - back] : Expr(1);
    result[d] = BroadcastDim(x, y);
  }
  return result;
}

SymbolicShape BroadcastAll(const SymbolicOperands& operands) {
  Dims result;
  for (size_t i = 0; i < operands.values.size(); ++i) {
    if (!operands.Has(i)) continue;
    const Dims* shape = operands.Shape(i);
    if (!shape) return std::nullopt;
    result = *BroadcastTwo(result, *shape);
  }
  return result;
}

SymbolicShape Transposed(const Dims& shape, const SymbolicOperands& operands) {
  std::vector<int64_t> perm = operands.node.Ints("perm");
  Dims result(shape.rbegin(), shape.rend());
  for (size_t d = 0; d < perm.size() && perm.size() == shape.size(); ++d) {
    result[d] = shape[static_cast<size_t>(perm[d]) % shape.size()];
  }
  return result;
}

SymbolicShape Concatenated(const Dims& first, const SymbolicOperands& operands) {
  std::optional<int64_t> axis = Axis(operands.node.Int("axis", 0), first.size());
  if (!axis) return std::nullopt;
  Dims result = first;
  for (size_t i = 1; i < operands.values.size(); ++i) {
    const Dims* shape = operands.Shape(i);
    if (!shape || shape->size() != result.size()) return std::nullopt;
    for (size_t d = 0; d < result.size(); ++d) {
      bool joined = static_cast<int64_t>(d) == *axis;
      const Expr& dim = (*shape)[d];
      if (joined) result[d] = result[d] && dim ? NormalForm(result[d] + dim) : Expr();
      if (!joined && !NumberOf(result[d])) result[d] = dim;
    }
  }
  return result;
}

SymbolicShape Gathered(const Dims& data, const SymbolicOperands& operands) {
  const Dims* picks = operands.Shape(1);
  std::optional<int64_t> axis = Axis(operands.node.Int("axis", 0), data.size());
  if (!axis || !picks) return std::nullopt;
  Dims result(data.begin(), data.begin() + *axis);
  result.insert(result.end(), picks->begin(), picks->end());
  result.insert(result.end(), data.begin() + *axis + 1, data.end());
  return result;
}

SymbolicShape Reduced(const Dims& shape, const SymbolicOperands& operands) {
  bool keep = operands.node.Int("keepdims", 1) != 0;
  std::vector<bool> reduced(shape.size(), false);
  if (operands.Has(1)) {
    std::optional<std::vector<int64_t>> axes = operands.Ints(1);
    if (!axes) return std::nullopt;
    for (int64_t at : *axes) {
      std::optional<int64_t> axis = Axis(at, shape.size());
      if (!axis) return std::nullopt;
      reduced[*axis] = true;
    }
    if (axes->empty() && operands.node.Int("noop_with_empty_axes", 0) == 0) reduced.flip();
  } else if (operands.node.Int("noop_with_empty_axes", 0) == 0) {
    reduced.flip();
  }
  Dims result;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!reduced[d]) result.push_back(shape[d]);
    if (reduced[d] && keep) result.push_back(Expr(1));
  }
  return result;
}

SymbolicShape ReducedAlongOne(const Dims& shape, const SymbolicOperands& operands) {
  std::optional<int64_t> axis = Axis(operands.node.Int("axis", 0), shape.size());
  if (!axis) return std::nullopt;
  Dims result = shape;
  result[*axis] = Expr(1);
  if (operands.node.Int("keepdims", 1) == 0) result.erase(result.begin() + *axis);
  return result;
}

SymbolicShape Multiplied(const Dims& a, const SymbolicOperands& operands) {
  const Dims* b = operands.Shape(1);
  if (!b || a.empty() || b->empty()) return std::nullopt;
  Dims left = a;
  Dims right = *b;
  if (left.size() == 1) left.insert(left.begin(), Expr(1));
  if (right.size() == 1) right.push_back(Expr(1));
  SymbolicShape batch =
      BroadcastTwo({left.begin(), left.end() - 2}, {right.begin(), right.end() - 2});
  if (a.size() > 1) batch->push_back(left[left.size() - 2]);
  if (b->size() > 1) batch->push_back(right.back());
  return batch;
}

SymbolicShape MultipliedMatrices(const Dims& a, const SymbolicOperands& operands) {
  const Dims* b = operands.Shape(1);
  if (!b || a.size() != 2 || b->size() != 2) return std::nullopt;
  return Dims{a[operands.node.Int("transA", 0) != 0], (*b)[operands.node.Int("transB", 0) == 0]};
}

// Returns the product of `numerator` over that of `denominator`, which divides it; null if a factor
// is null.
Expr Ratio(Dims numerator, const Dims& denominator) {
  Dims rest;
  for (const Expr& dim : denominator) {
    auto same = std::ranges::find_if(numerator, [&](const Expr& other) {
      return other && dim && !NumberOf(dim) && SameExtent(other, dim);
    });
    if (same != numerator.end()) {
      numerator.erase(same);
    } else {
      rest.push_back(dim);
    }
  }
  for (const Dims* factors : {&numerator, &rest}) {
    if (std::ranges::any_of(*factors, [](const Expr& dim) { return !dim; })) {
      return Expr();
    }
  }
  Expr divisor = NormalForm(Product(rest));
  Expr product = NormalForm(Product(numerator));
  return IsConstant(divisor, 0) ? Expr() : NormalForm(FloorDivide(product, divisor));
}

// Returns the elements of an operand that is a shape. Unknown elements are null, as many as the
// operand is long.
SymbolicShape FromTarget(const SymbolicOperands& operands, size_t input) {
  const Dims* elements = operands.Elements(input);
  if (elements) return *elements;
  const Dims* length = operands.Shape(input);
  std::optional<int64_t> rank =
      length && length->size() == 1 ? NumberOf((*length)[0]) : std::nullopt;
  return rank && *rank <= kMaxSymbolicElements ? SymbolicShape(Dims(*rank)) : std::nullopt;
}

SymbolicShape Reshaped(const SymbolicOperands& operands) {
  const Dims* target = operands.Elements(1);
  if (!target) return FromTarget(operands, 1);
  const Dims* in = operands.Shape(0);
  bool zero_copies = operands.node.Int("allowzero", 0) == 0;
  Dims result = *target;
  std::optional<size_t> inferred;
  for (size_t d = 0; d < result.size(); ++d) {
    std::optional<int64_t> number = NumberOf(result[d]);
    if (number == -1) inferred = d;
    if (number == 0 && zero_copies) result[d] = in && d < in->size() ? (*in)[d] : Expr();
  }
  if (!inferred) return result;
  Dims others = result;
  others.erase(others.begin() + static_cast<int64_t>(*inferred));
  result[*inferred] = in ? Ratio(*in, others) : Expr();
  return result;
}

SymbolicShape Flattened(const Dims& shape, const SymbolicOperands& operands) {
  int64_t axis = operands.node.Int("axis", 1);
  auto rank = static_cast<int64_t>(shape.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return std::nullopt;
  return Dims{Ratio({shape.begin(), shape.begin() + axis}, {}),
              Ratio({shape.begin() + axis, shape.end()}, {})};
}

SymbolicShape Squeezed(const Dims& shape, const SymbolicOperands& operands) {
  std::optional<std::vector<int64_t>> axes = operands.Ints(1);
  if (operands.Has(1) && !axes) return std::nullopt;
  std::vector<bool> dropped(shape.size(), false);
  for (size_t d = 0; d < shape.size() && !axes; ++d) dropped[d] = NumberOf(shape[d]) == 1;
  for (size_t i = 0; axes && i < axes->size(); ++i) {
    std::optional<int64_t> axis = Axis((*axes)[i], shape.size());
    if (!axis) return std::nullopt;
    dropped[*axis] = true;
  }
  Dims result;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!dropped[d]) result.push_back(shape[d]);
  }
  return result;
}

SymbolicShape Unsqueezed(const Dims& shape, const SymbolicOperands& operands) {
  std::optional<std::vector<int64_t>> axes = operands.Ints(1);
  if (!axes) return std::nullopt;
  size_t rank = shape.size() + axes->size();
  std::vector<bool> added(rank, false);
  for (int64_t at : *axes) {
    std::optional<int64_t> axis = Axis(at, rank);
    if (!axis) return std::nullopt;
    added[*axis] = true;
  }
  Dims result;
  size_t next = 0;
  for (size_t d = 0; d < rank; ++d) {
    if (!added[d] && next == shape.size()) return std::nullopt;
    result.push_back(added[d] ? Expr(1) : shape[next++]);
  }
  return result;
}

// Returns a position in a dimension, counted from its end if negative; null if its sign is unknown.
Expr Position(const Expr& position, const Expr& extent) {
  if (!position || !extent) return Expr();
  if (Holds(position >= Expr(0))) return position;
  return Holds(position < Expr(0)) ? position + extent : Expr();
}

// Returns the number of elements from `start` to `end` in steps of one. Assumes that a formula is a
// place inside: exporters slice tables to the length of the value that they are added to.
Expr SlicedDim(const Expr& extent, const Expr& start, const Expr& end, int64_t step) {
  Expr from = Position(start, extent);
  Expr to = Position(end, extent);
  if (step != 1 || !from || !to) return Expr();
  bool settled = NumberOf(from) && NumberOf(to);
  if (settled) from = NormalForm(MinOf(from, extent));
  if (NumberOf(to)) to = NormalForm(MinOf(to, extent));
  Expr count = NormalForm(to - from);
  return settled ? NormalForm(MaxOf(count, Expr(0))) : count;
}

SymbolicShape Sliced(const Dims& shape, const SymbolicOperands& operands) {
  const Dims* starts = operands.Elements(1);
  const Dims* ends = operands.Elements(2);
  std::optional<std::vector<int64_t>> axes = operands.Ints(3);
  std::optional<std::vector<int64_t>> steps = operands.Ints(4);
  if ((operands.Has(3) && !axes) || (operands.Has(4) && !steps)) return std::nullopt;
  size_t count = axes ? axes->size() : starts ? starts->size() : 0;
  if (!axes && !starts) return std::nullopt;
  Dims result = shape;
  for (size_t i = 0; i < count; ++i) {
    std::optional<int64_t> axis = Axis(axes ? (*axes)[i] : static_cast<int64_t>(i), shape.size());
    if (!axis) return std::nullopt;
    bool known = starts && ends && i < starts->size() && i < ends->size();
    result[*axis] = known ? SlicedDim(shape[*axis], (*starts)[i], (*ends)[i],
                                      steps && i < steps->size() ? (*steps)[i] : 1)
                          : Expr();
  }
  return result;
}

SymbolicShape Expanded(const Dims& shape, const SymbolicOperands& operands) {
  SymbolicShape target = FromTarget(operands, 1);
  return target ? BroadcastTwo(shape, *target) : std::nullopt;
}

SymbolicShape Tiled(const Dims& shape, const SymbolicOperands& operands) {
  const Dims* repeats = operands.Elements(1);
  if (!repeats || repeats->size() != shape.size()) return std::nullopt;
  Dims result;
  for (size_t d = 0; d < shape.size(); ++d) {
    bool known = shape[d] && (*repeats)[d];
    result.push_back(known ? NormalForm(shape[d] * (*repeats)[d]) : Expr());
  }
  return result;
}

SymbolicShape Padded(const Dims& shape, const SymbolicOperands& operands) {
  const Dims* pads = operands.Elements(1);
  if (!pads || operands.Has(3) || pads->size() != 2 * shape.size()) return std::nullopt;
  Dims result;
  for (size_t d = 0; d < shape.size(); ++d) {
    const Expr& before = (*pads)[d];
    const Expr& after = (*pads)[d + shape.size()];
    bool known = shape[d] && before && after;
    result.push_back(known ? NormalForm(shape[d] + before + after) : Expr());
  }
  return result;
}

SymbolicShape Counting(const SymbolicOperands& operands) {
  const Dims* start = operands.Elements(0);
  const Dims* limit = operands.Elements(1);
  const Dims* delta = operands.Elements(2);
  bool known = start && limit && delta && (*start)[0] && (*limit)[0];
  std::optional<int64_t> step = known ? NumberOf((*delta)[0]) : std::nullopt;
  if (!step || *step <= 0) return Dims{Expr()};
  Expr span = NormalForm((*limit)[0] - (*start)[0]);
  return Dims{NormalForm(MaxOf(CeilDivide(span, Expr(*step)), Expr(0)))};
}

SymbolicShape DimensionVector(const Dims& shape, const SymbolicOperands& operands) {
  auto rank = static_cast<int64_t>(shape.size());
  auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  int64_t begin = clamped(operands.node.Int("start", 0));
  return Dims{Expr(std::max<int64_t>(0, clamped(operands.node.Int("end", rank)) - begin))};
}

// Returns the output extent of one spatial dimension of a convolution or pool.
Expr WindowedDim(const Expr& extent, const Node& node, size_t dim, int64_t kernel) {
  if (!extent) return Expr();
  auto entry = [&](const char* key, size_t at, int64_t fallback) {
    std::vector<int64_t> list = node.Ints(key);
    return at < list.size() ? list[at] : fallback;
  };
  size_t dims = node.Ints("pads").size() / 2;
  int64_t stride = std::max<int64_t>(1, entry("strides", dim, 1));
  int64_t reach = (kernel - 1) * entry("dilations", dim, 1) + 1;
  std::string padding = node.String("auto_pad", "NOTSET");
  if (padding.starts_with("SAME")) return NormalForm(CeilDivide(extent, Expr(stride)));
  bool explicit_pads = padding == "NOTSET" && dims > 0;
  int64_t pads = explicit_pads ? entry("pads", dim, 0) + entry("pads", dims + dim, 0) : 0;
  Expr room = NormalForm(extent + Expr(pads - reach));
  if (node.Int("ceil_mode", 0) != 0 && stride > 1) return Expr();
  return NormalForm(FloorDivide(room, Expr(stride)) + Expr(1));
}

SymbolicShape Windowed(const Dims& shape, const SymbolicOperands& operands) {
  if (shape.size() < 3) return std::nullopt;
  bool is_conv = IsConvolution(operands.node.op);
  const Dims* weight = is_conv ? operands.Shape(1) : nullptr;
  if (is_conv && (!weight || weight->size() != shape.size())) return std::nullopt;
  std::vector<int64_t> kernel = operands.node.Ints("kernel_shape");
  Dims result = {shape[0], is_conv ? (*weight)[0] : shape[1]};
  for (size_t d = 2; d < shape.size(); ++d) {
    std::optional<int64_t> taps = is_conv ? NumberOf((*weight)[d]) : std::nullopt;
    if (!taps && d - 2 < kernel.size()) taps = kernel[d - 2];
    result.push_back(taps ? WindowedDim(shape[d], operands.node, d - 2, *taps) : Expr());
  }
  return result;
}

// Returns the shape of a ConvTranspose, whose weight is [C, M/group, k...].
SymbolicShape WindowedBack(const Dims& shape, const SymbolicOperands& operands) {
  const Dims* weight = operands.Shape(1);
  if (shape.size() < 3 || !weight || weight->size() != shape.size()) return std::nullopt;
  const Node& node = operands.node;
  size_t dims = shape.size() - 2;
  auto entry = [&](const char* key, size_t at, int64_t fallback) {
    std::vector<int64_t> list = node.Ints(key);
    return at < list.size() ? list[at] : fallback;
  };
  std::optional<int64_t> channels = NumberOf((*weight)[1]);
  Dims result = {shape[0], channels ? Expr(*channels * node.Int("group", 1)) : Expr()};
  for (size_t d = 0; d < dims; ++d) {
    const Expr& extent = shape[2 + d];
    std::optional<int64_t> taps = NumberOf((*weight)[2 + d]);
    Expr strided = extent ? extent * Expr(entry("strides", d, 1)) : Expr();
    if (node.attributes.contains("output_shape")) {
      result.emplace_back(entry("output_shape", d, 0));
    } else if (!extent || !taps) {
      result.emplace_back();
    } else if (node.String("auto_pad", "NOTSET").starts_with("SAME")) {
      result.push_back(NormalForm(strided));
    } else {
      int64_t reach = (*taps - 1) * entry("dilations", d, 1) + 1;
      int64_t pads = entry("pads", d, 0) + entry("pads", dims + d, 0);
      int64_t more = reach - entry("strides", d, 1) + entry("output_padding", d, 0) - pads;
      result.push_back(NormalForm(strided + Expr(more)));
    }
  }
  return result;
}

SymbolicShape PooledWhole(const Dims& shape, const SymbolicOperands&) {
  Dims result = shape;
  for (size_t d = 2; d < result.size(); ++d) result[d] = Expr(1);
  return result;
}

SymbolicShape Resized(const Dims& shape, const SymbolicOperands& operands) {
  if (operands.node.attributes.contains("axes")) return std::nullopt;
  if (operands.Has(3)) return FromTarget(operands, 3);
  return Dims(shape.size());
}

// Returns the queries' shape with the values' last dimension, times the ratio of heads if the heads
// are packed into it.
SymbolicShape Attended(const Dims& queries, const SymbolicOperands& operands) {
  const Dims* values = operands.Shape(2);
  if (!values || queries.size() != values->size()) return std::nullopt;
  Dims result = queries;
  result.back() = values->back();
  if (result.size() != 3) return result;
  std::optional<int64_t> width = NumberOf(values->back());
  int64_t query_heads = operands.node.Int("q_num_heads", 0);
  int64_t heads = operands.node.Int("kv_num_heads", 0);
  bool known = width && heads > 0 && query_heads > 0;
  result.back() = known ? Times(Expr(*width / heads), query_heads) : Expr();
  return result;
}

// A rule for operators whose results are unknown without the first operand's shape.
struct ShapeRule {
  OpKind op;
  SymbolicShape (*apply)(const Dims& first, const SymbolicOperands& operands);
};

// clang-format off
constexpr ShapeRule kRules[] = {
    {OpKind::kArgMax, ReducedAlongOne},
    {OpKind::kArgMin, ReducedAlongOne},
    {OpKind::kAttention, Attended},
    {OpKind::kAveragePool, Windowed},
    {OpKind::kBatchNormalization, SameAsFirst},
    {OpKind::kConcat, Concatenated},
    {OpKind::kConv, Windowed},
    {OpKind::kConvInteger, Windowed},
    {OpKind::kConvTranspose, WindowedBack},
    {OpKind::kCumProd, SameAsFirst},
    {OpKind::kCumSum, SameAsFirst},
    {OpKind::kDequantizeLinear, SameAsFirst},
    {OpKind::kExpand, Expanded},
    {OpKind::kFlatten, Flattened},
    {OpKind::kGather, Gathered},
    {OpKind::kGemm, MultipliedMatrices},
    {OpKind::kGlobalAveragePool, PooledWhole},
    {OpKind::kGlobalLpPool, PooledWhole},
    {OpKind::kGlobalMaxPool, PooledWhole},
    {OpKind::kGroupNormalization, SameAsFirst},
    {OpKind::kHardmax, SameAsFirst},
    {OpKind::kInstanceNormalization, SameAsFirst},
    {OpKind::kLRN, SameAsFirst},
    {OpKind::kLayerNormalization, SameAsFirst},
    {OpKind::kLogSoftmax, SameAsFirst},
    {OpKind::kLpNormalization, SameAsFirst},
    {OpKind::kLpPool, Windowed},
    {OpKind::kMatMul, Multiplied},
    {OpKind::kMatMulInteger, Multiplied},
    {OpKind::kMaxPool, Windowed},
    {OpKind::kMeanVarianceNormalization, SameAsFirst},
    {OpKind::kPad, Padded},
    {OpKind::kQuantizeLinear, SameAsFirst},
    {OpKind::kRMSNormalization, SameAsFirst},
    {OpKind::kReduceL1, Reduced},
    {OpKind::kReduceL2, Reduced},
    {OpKind::kReduceLogSum, Reduced},
    {OpKind::kReduceLogSumExp, Reduced},
    {OpKind::kReduceMax, Reduced},
    {OpKind::kReduceMean, Reduced},
    {OpKind::kReduceMin, Reduced},
    {OpKind::kReduceProd, Reduced},
    {OpKind::kReduceSum, Reduced},
    {OpKind::kReduceSumSquare, Reduced},
    {OpKind::kResize, Resized},
    {OpKind::kRotaryEmbedding, SameAsFirst},
    {OpKind::kScatterElements, SameAsFirst},
    {OpKind::kScatterND, SameAsFirst},
    {OpKind::kShape, DimensionVector},
    {OpKind::kSlice, Sliced},
    {OpKind::kSoftmax, SameAsFirst},
    {OpKind::kSqueeze, Squeezed},
    {OpKind::kTensorScatter, SameAsFirst},
    {OpKind::kTile, Tiled},
    {OpKind::kTranspose, Transposed},
    {OpKind::kTrilu, SameAsFirst},
    {OpKind::kUnsqueeze, Unsqueezed},
};
// clang-format on

// Returns the shapes of a Split: sizes from the input "split", or as equal as possible.
std::vector<SymbolicShape> SplitShapes(const SymbolicOperands& operands) {
  const Dims* shape = operands.Shape(0);
  std::optional<int64_t> axis =
      shape ? Axis(operands.node.Int("axis", 0), shape->size()) : std::nullopt;
  if (!axis) return {};
  const Dims* sizes = operands.Elements(1);
  auto count = static_cast<int64_t>(operands.node.outputs.size());
  std::vector<SymbolicShape> shapes;
  for (int64_t i = 0; i < count; ++i) {
    Dims part = *shape;
    std::optional<int64_t> extent = NumberOf(part[*axis]);
    if (operands.Has(1)) {
      part[*axis] = sizes && i < static_cast<int64_t>(sizes->size()) ? (*sizes)[i] : Expr();
    } else if (extent) {
      int64_t size = CeilDivision(*extent, count);
      part[*axis] = Expr(i + 1 < count ? size : *extent - size * (count - 1));
    } else {
      part[*axis] = Expr();
    }
    shapes.emplace_back(part);
  }
  return shapes;
}

// Returns the shapes of all states and of the last ones, once or twice, from x [steps, batch, size]
// and recurrent weights [directions, gates * hidden, hidden]. Under layout 1 the batch comes first
// everywhere.
std::vector<SymbolicShape> RecurrenceShapes(const SymbolicOperands& operands) {
  const Dims* x = operands.Shape(0);
  const Dims* weights = operands.Shape(2);
  if (!x || x->size() != 3 || !weights || weights->size() != 3) return {};
  bool batch_first = operands.node.Int("layout", 0) == 1;
  const Expr& steps = (*x)[batch_first ? 1 : 0];
  const Expr& batch = (*x)[batch_first ? 0 : 1];
  const Expr& directions = weights->front();
  const Expr& hidden = weights->back();
  Dims last = {directions, batch, hidden};
  if (batch_first) std::swap(last[0], last[1]);
  Dims all = last;
  all.insert(all.begin() + (batch_first ? 1 : 0), steps);
  return {all, last, last};
}

}  // namespace

std::vector<SymbolicShape> SymbolicOutputShapes(const SymbolicOperands& operands) {
  OpKind op = operands.node.op;
  const Dims* first = operands.Shape(0);
  if (op == OpKind::kSplit) return SplitShapes(operands);
  if (op == OpKind::kLSTM || op == OpKind::kGRU || op == OpKind::kRNN) {
    return RecurrenceShapes(operands);
  }
  if (op == OpKind::kConstantOfShape) return {FromTarget(operands, 0)};
  if (op == OpKind::kRange) return {Counting(operands)};
  if (op == OpKind::kReshape) return {Reshaped(operands)};
  if (op == OpKind::kSize) return {Dims{}};
  if (op == OpKind::kGatherElements) {
    const Dims* indices = operands.Shape(1);
    return {indices ? SymbolicShape(*indices) : std::nullopt};
  }
  const auto* row = std::ranges::find(kRules, op, &ShapeRule::op);
  if (row != std::end(kRules)) return {first ? row->apply(*first, operands) : std::nullopt};
  if (FormOf(op) == OpForm::kElementwise) return {BroadcastAll(operands)};
  return {};
}

}  // namespace tcc
