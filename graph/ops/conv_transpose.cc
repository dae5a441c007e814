#include <algorithm>
#include <numeric>

#include "graph/ops/convolution.h"
#include "graph/ops/lowerings.h"
#include "ir/expr/substitute.h"
#include "ir/simplify/simplify.h"
#include "support/integer_division.h"

// ConvTranspose in gather form: an output position collects the taps that reach it.
//
// In one dimension input i reaches x = i * stride + k * dilation - pad through tap k, so x has a
// tap k exactly where stride divides x + pad - k * dilation. With x = stride * y + r that depends
// on the phase r alone: of stride neighbouring outputs each has taps of its own, k = first(r) +
// step * j, and within one phase neighbours read neighbouring inputs. The sums are therefore kept
// phase by phase, and a map puts them side by side.
namespace tcc {
namespace {

StatusOr<std::vector<WindowDim>> TransposedDims(NodeLowering& node,
                                                const std::vector<Expr>& spatial,
                                                const std::vector<int64_t>& kernel) {
  size_t count = spatial.size();
  TCC_ASSIGN_OR_RETURN(std::vector<WindowDim> dims, WindowsWithoutOutputs(node, spatial, kernel));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> extra,
                       WindowSizes(node, "output_padding", count, 0, 0));
  bool fixed = node.node().attributes.contains("output_shape");
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> outputs,
                       WindowSizes(node, "output_shape", count, 0, 0));
  std::string auto_pad = node.node().String("auto_pad", "NOTSET");
  bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";

  for (size_t d = 0; d < count; ++d) {
    WindowDim& dim = dims[d];
    if (dim.kernel < 1 || dim.kernel > kMaxWindowSize / dim.dilation ||
        BoundsOf(dim.input, {}).low > kMaxWindowSize / dim.stride) {
      return node.Error("input {}, kernel {}, stride {} and dilation {} in dimension {}",
                        ShapeText({dim.input}), dim.kernel, dim.stride, dim.dilation, d);
    }
    int64_t reach = extra[d] + (dim.kernel - 1) * dim.dilation + 1;
    Expr full = Simplify(Plus(Times(Plus(dim.input, -1), dim.stride), reach));
    if (fixed || same) {
      dim.output = fixed ? Expr(outputs[d]) : Times(dim.input, dim.stride);
      // The part that is cut off the full extent; if nothing is, the output grows at its end.
      PadBothEnds(dim, full - dim.output, auto_pad == "SAME_UPPER");
    } else {
      dim.output = Simplify(full - dim.pad_begin - dim.pad_end);
    }
    if (MayExceed(dim.output, Expr(0))) {
      TCC_RETURN_IF_ERROR(ExpectOutput(
          node, dim,
          fmt::format("1 and what pads leave of {} in dimension {}", ShapeText({full}), d)));
      continue;
    }
    if (MayExceed(dim.input, Expr(0))) {
      return node.Error("pads {} and {} leave nothing of {} in dimension {}",
                        ShapeText({dim.pad_begin}), ShapeText({dim.pad_end}), ShapeText({full}), d);
    }
    dim.output = Expr(0);
  }
  return dims;
}

// Returns the shapes. Weights are [C, M/g, k...], or [k..., C, M/g] of a channels-last node.
StatusOr<ConvolutionShapes> ShapesOf(NodeLowering& node) {
  TCC_ASSIGN_OR_RETURN(ConvolutionOperands operands, ConvolutionOperandsOf(node));
  if (operands.first_channels != operands.in_channels) {
    return node.Error("weight has {} input channels; expected {} (input {})",
                      operands.first_channels, operands.in_channels, ShapeText(node.Shape(0)));
  }
  TCC_ASSIGN_OR_RETURN(std::vector<WindowDim> dims,
                       TransposedDims(node, operands.spatial, operands.kernel));
  return ConvolutionShapes{.dims = std::move(dims),
                           .batch = operands.batch,
                           .in_channels = operands.in_channels,
                           .out_channels = operands.second_channels * operands.group,
                           .group = operands.group};
}

// Returns the x with a * x == 1 modulo `modulus`, by Euclid's extended algorithm. Expects numbers
// without a common factor.
int64_t InverseModulo(int64_t a, int64_t modulus) {
  int64_t r = modulus, next_r = a % modulus;
  int64_t t = 0, next_t = 1;
  while (next_r != 0) {
    int64_t quotient = r / next_r;
    t = std::exchange(next_t, t - quotient * next_t);
    r = std::exchange(next_r, r - quotient * next_r);
  }
  return t < 0 ? t + modulus : t;
}

// The summation of one dimension.
class DimPlan {
 public:
  DimPlan(const WindowDim& dim, const std::string& name) : dim_(dim), name_(name) {
    common_ = std::gcd(dim.dilation, dim.stride);
    step_ = dim.stride / common_;
    taps_ = CeilDivision(dim.kernel, step_);
    // Sums over the inputs instead of the taps if they are fewer; each one reaches an output
    // through at most one tap.
    std::optional<int64_t> inputs = AsConstant(dim.input);
    over_inputs_ = dim.dilation == 1 && inputs && *inputs < taps_;
  }

  bool has_phases() const { return dim_.stride > 1 && !over_inputs_; }
  Axis PhaseAxis() const { return NodeLowering::MakeAxis("r" + name_, Expr(dim_.stride)); }
  // Returns the axis of the position within a phase, or of the position itself without phases.
  Axis PlaceAxis() const {
    Expr extent = has_phases() ? Simplify(CeilDivide(dim_.output, Expr(dim_.stride))) : dim_.output;
    return NodeLowering::MakeAxis(name_, extent);
  }
  Axis TapAxis() const {
    return NodeLowering::MakeAxis((over_inputs_ ? "i" : "k") + name_,
                                  over_inputs_ ? dim_.input : Expr(taps_));
  }

  // The input and weight that a tap reads, and the conditions under which it exists. `phase` is 0
  // without phases.
  struct Tap {
    Expr input;
    Expr kernel;
    std::vector<Expr> conditions;
  };
  Tap TapAt(const Expr& phase, const Expr& place, const Expr& tap) const {
    if (over_inputs_) {
      Expr kernel = Plus(place - Times(tap, dim_.stride), dim_.pad_begin);
      return {tap, kernel, {kernel >= Expr(0), kernel < Expr(dim_.kernel)}};
    }
    Tap result;
    Expr shifted = Plus(phase, dim_.pad_begin);
    Expr first = FirstTap(shifted);
    result.kernel = step_ == 1 ? tap : first + Times(tap, step_);
    Expr offset = step_ == 1 ? shifted : shifted - Times(first, dim_.dilation);
    if (dim_.stride > 1) offset = FloorDivide(offset, Expr(dim_.stride));
    result.input = place + offset - Times(tap, dim_.dilation / common_);
    result.conditions = {result.input >= Expr(0), result.input < dim_.input};
    if (taps_ * step_ > dim_.kernel) result.conditions.push_back(result.kernel < Expr(dim_.kernel));
    if (common_ > 1) {
      result.conditions.push_back(Make<Eq>(FloorModulo(shifted, Expr(common_)), Expr(0)));
    }
    return result;
  }

  // Return the phase of output position x, and its place within the phase.
  Expr PhaseOf(const Expr& x) const { return FloorModulo(x, Expr(dim_.stride)); }
  Expr PlaceOf(const Expr& x) const { return has_phases() ? FloorDivide(x, Expr(dim_.stride)) : x; }

 private:
  // Returns the least k with k * dilation == shifted modulo stride, where there is one.
  Expr FirstTap(const Expr& shifted) const {
    if (step_ == 1) return 0;
    Expr reduced = common_ == 1 ? shifted : FloorDivide(shifted, Expr(common_));
    int64_t inverse = InverseModulo(dim_.dilation / common_, step_);
    return FloorModulo(Times(reduced, inverse), Expr(step_));
  }

  WindowDim dim_;
  std::string name_;
  int64_t common_ = 1;
  int64_t step_ = 1;
  int64_t taps_ = 1;
  bool over_inputs_ = false;
};

// The sums' axes in the order of `sum`'s dimensions, and the parts that taps are computed from.
struct SumAxes {
  std::vector<Axis> axes;
  Expr batch;
  Expr channel;
  std::vector<Expr> phases;  // 0 for a dimension without phases
  std::vector<Expr> places;
};

bool AnyPhases(const std::vector<DimPlan>& plans) {
  return std::ranges::any_of(plans, [](const DimPlan& plan) { return plan.has_phases(); });
}

// Returns the axes of the output if there are no phases. Else returns [n, phases..., places..., o]
// for a channels-last node, so that vectors run over channels and their neighbours are places of
// one phase, and [n, o, phases..., places...] for others.
SumAxes SumAxesOf(const ConvolutionShapes& shapes, const std::vector<DimPlan>& plans,
                  bool channels_last) {
  Axis batch = NodeLowering::MakeAxis("n", shapes.batch);
  Axis channel = NodeLowering::MakeAxis("o", Expr(shapes.out_channels));
  SumAxes sum{
      .axes = {batch}, .batch = batch.var, .channel = channel.var, .phases = {}, .places = {}};
  bool channel_last = channels_last && AnyPhases(plans);
  if (!channel_last) sum.axes.push_back(channel);
  for (const DimPlan& plan : plans) {
    sum.phases.emplace_back(0);
    if (!plan.has_phases()) continue;
    sum.axes.push_back(plan.PhaseAxis());
    sum.phases.back() = sum.axes.back().var;
  }
  for (const DimPlan& plan : plans) {
    sum.axes.push_back(plan.PlaceAxis());
    sum.places.push_back(sum.axes.back().var);
  }
  if (channel_last) sum.axes.push_back(channel);
  return sum;
}

// Returns the index into the sums of the output's point [n, o, x...].
std::vector<Expr> SumIndex(const std::vector<Expr>& point, const std::vector<DimPlan>& plans,
                           bool channels_last) {
  if (!AnyPhases(plans)) return point;
  std::vector<Expr> index = {point[0]};
  if (!channels_last) index.push_back(point[1]);
  for (size_t d = 0; d < plans.size(); ++d) {
    if (plans[d].has_phases()) index.push_back(plans[d].PhaseOf(point[2 + d]));
  }
  for (size_t d = 0; d < plans.size(); ++d) index.push_back(plans[d].PlaceOf(point[2 + d]));
  if (channels_last) index.push_back(point[1]);
  return index;
}

struct Terms {
  std::vector<Axis> reduce_axes;
  Expr value;
  Expr predicate = True();
};

// Returns the conditions that some tap may violate; if there are none, the sums are plain products.
// A position along a free axis is bounded from below and, counted from the end, from above.
Expr OpenConditions(const std::vector<Expr>& conditions, const std::vector<Axis>& axes,
                    const std::vector<Axis>& reduce_axes) {
  Bounds bounds;
  Substitution from_end;
  for (const std::vector<Axis>* of : {&axes, &reduce_axes}) {
    for (const Axis& axis : *of) {
      Interval extent = BoundsOf(axis.extent, {});
      if (extent.high > 0) bounds[axis.var] = {0, extent.high - 1};
      if (!AsConstant(axis.extent)) from_end[axis.var] = Plus(axis.extent, -1) - axis.var;
    }
  }
  Expr open = True();
  for (const Expr& condition : conditions) {
    if (Prove(condition, bounds) == Proof::kTrue) continue;
    if (Prove(Substitute(condition, from_end), bounds) == Proof::kTrue) continue;
    open = AndAlso(open, condition);
  }
  return open;
}

Terms TermsOf(NodeLowering& node, const ConvolutionShapes& shapes,
              const std::vector<DimPlan>& plans, const SumAxes& sum, DType type) {
  Terms terms;
  int64_t group_in = shapes.in_channels / shapes.group;
  int64_t group_out = shapes.out_channels / shapes.group;
  Expr channel = 0;
  std::vector<Axis> channel_axes;
  if (group_in != 1) {
    channel_axes = {NodeLowering::MakeAxis("c", Expr(group_in))};
    channel = channel_axes[0].var;
  }
  Expr out = sum.channel;
  if (shapes.group > 1) {
    Expr group = group_out == 1 ? sum.channel : FloorDivide(sum.channel, Expr(group_out));
    channel = group_in == 1 ? group : Times(group, group_in) + channel;
    out = group_out == 1 ? Expr(0) : FloorModulo(sum.channel, Expr(group_out));
  }
  std::vector<Expr> input = {sum.batch, channel};
  std::vector<Expr> kernel, conditions;
  for (size_t d = 0; d < plans.size(); ++d) {
    terms.reduce_axes.push_back(plans[d].TapAxis());
    DimPlan::Tap tap = plans[d].TapAt(sum.phases[d], sum.places[d], terms.reduce_axes.back().var);
    input.push_back(tap.input);
    kernel.push_back(tap.kernel);
    conditions.insert(conditions.end(), tap.conditions.begin(), tap.conditions.end());
  }
  terms.predicate = OpenConditions(conditions, sum.axes, terms.reduce_axes);
  std::vector<Expr> weight = {channel, out};
  weight.insert(node.channels_last() ? weight.begin() : weight.end(), kernel.begin(), kernel.end());
  // The innermost loop runs over the contiguous dimension of the weights.
  terms.reduce_axes.insert(
      node.channels_last() ? terms.reduce_axes.end() : terms.reduce_axes.begin(),
      channel_axes.begin(), channel_axes.end());
  terms.value = CastTo(type, node.Load(0, input)) * CastTo(type, node.Load(1, weight));
  return terms;
}

}  // namespace

Status LowerConvTranspose(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(CheckConvolutionTypes(node));
  TCC_ASSIGN_OR_RETURN(ConvolutionShapes shapes, ShapesOf(node));
  TCC_RETURN_IF_ERROR(CheckConvolutionBias(node, shapes.out_channels));
  std::vector<DimPlan> plans;
  std::vector<Expr> out_shape = {shapes.batch, Expr(shapes.out_channels)};
  for (size_t d = 0; d < shapes.dims.size(); ++d) {
    plans.emplace_back(shapes.dims[d], SpatialName(shapes.dims.size(), d));
    out_shape.push_back(shapes.dims[d].output);
  }

  DType type = node.Type(0);
  DType sum_type = AccumulationType(type);
  SumAxes sum = SumAxesOf(shapes, plans, node.channels_last());
  bool epilogue = node.Has(2) || sum_type != type || AnyPhases(plans);
  StoredBuffer out = node.Output(0, type, out_shape);
  StoredBuffer sums = epilogue ? node.Intermediate("sum", sum_type, ExtentsOf(sum.axes)) : out;
  Terms terms = TermsOf(node, shapes, plans, sum, sum_type);
  node.Reduce({.outputs = {sums},
               .axes = sum.axes,
               .reduce_axes = terms.reduce_axes,
               .combiner = SumCombiner(sum_type),
               .values = {terms.value},
               .predicate = terms.predicate});
  if (!epilogue) return OkStatus();

  std::vector<Axis> axes = node.Axes(out_shape);
  Expr value = node.Load(sums, SumIndex(VarsOf(axes), plans, node.channels_last()));
  if (node.Has(2)) value = value + CastTo(sum_type, node.Load(2, {axes[1].var}));
  node.Map(out, axes, CastTo(type, value), "_bias");
  return OkStatus();
}

}  // namespace tcc
