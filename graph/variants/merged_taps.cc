#include <algorithm>

#include "graph/variants/stage_parts.h"
#include "graph/variants/variants.h"
#include "ir/analysis/affine.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/simplify/size_arithmetic.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// With more channels than this, one column is a vector.
constexpr int64_t kMaxChannels = 4;

// The elements of the widest copy. Tiles are expected to have a multiple of as many columns.
constexpr int64_t kLanes = 4;

// Fewer multiply-adds take less time than another launch, however they are fed.
constexpr double kMinProducts = 1 << 24;

// A sum over x[.., column * step + tap * dilation, .., c] * w[..] with few channels c.
struct Convolution {
  size_t stage = 0;
  Expr load;  // of x
  Buffer input;
  Reach reach;         // of the load's indices
  size_t channel = 0;  // the dimension of the input
  int64_t channels = 1;
  std::optional<Var> channel_axis = {};  // none: there is one channel
  size_t column = 0;                     // the dimension of the input along which taps are merged
  int64_t step = 1;
  int64_t tap_reach = 0;  // from the first tap to the last
  const std::vector<Expr>& indices() const { return load.as<Load>()->indices; }
};

// Returns the load whose value, perhaps widened, is the factor; a null expression if none is.
Expr LoadOf(const Expr& factor) {
  const auto* cast = factor.as<Cast>();
  const Expr& value = cast ? cast->value : factor;
  return value.as<Load>() ? value : Expr();
}

// Finds the dimension that one reduce axis goes through and no other axis does, else one of extent
// 1. Returns false if there are several, or the axis is in another index, too.
bool FindChannel(const ComputeExpr& stage, Convolution& conv) {
  const std::vector<Expr>& indices = conv.indices();
  for (const Axis& axis : stage.reduce_axes) {
    auto is_used = [&](const Expr& index) { return UsesVar(index, axis.var); };
    auto plain = std::ranges::find_if(indices, [&](const Expr& i) { return i.same_as(axis.var); });
    if (plain == indices.end()) continue;
    conv.channel = static_cast<size_t>(plain - indices.begin());
    conv.channels = AsConstant(axis.extent).value_or(0);
    bool is_whole = IsConstant(conv.input.shape[conv.channel], conv.channels);
    bool is_alone = std::ranges::count_if(indices, is_used) == 1;
    if (conv.channel_axis || !is_whole || !is_alone) return false;
    conv.channel_axis = axis.var;
  }
  if (conv.channel_axis) return conv.channels <= kMaxChannels;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!IsConstant(indices[d], 0) || !IsConstant(conv.input.shape[d], 1)) continue;
    conv.channel = d;
    return true;
  }
  return false;
}

// An axis in an index, with its coefficient.
struct Term {
  Axis axis;
  int64_t coefficient = 1;
};

// Returns the only one of the axes in the index; nullopt if there are several, or if the index is
// not affine in it.
std::optional<Term> OnlyTerm(const std::vector<Axis>& axes, const Expr& index) {
  std::vector<Axis> used;
  std::ranges::copy_if(axes, std::back_inserter(used),
                       [&](const Axis& axis) { return UsesVar(index, axis.var); });
  if (used.size() != 1) return std::nullopt;
  std::optional<AffineForm> form = ToAffine(index, {used[0].var});
  std::optional<int64_t> coefficient =
      form ? AsConstant(Simplify(form->coefficients[0])) : std::nullopt;
  if (!coefficient || *coefficient < 1) return std::nullopt;
  return Term{used[0], *coefficient};
}

// Finds the last dimension but the channels'. Returns false where no window slides along it.
bool FindColumn(const ComputeExpr& stage, Convolution& conv) {
  const size_t rank = conv.indices().size();
  if (rank < 2) return false;
  conv.column = conv.channel == rank - 1 ? rank - 2 : rank - 1;
  const Expr& index = conv.indices()[conv.column];
  std::optional<Term> column = OnlyTerm(stage.axes, index);
  std::optional<Term> tap = OnlyTerm(stage.reduce_axes, index);
  std::optional<int64_t> taps = tap ? AsConstant(tap->axis.extent) : std::nullopt;
  if (!column || !taps || *taps < 2) return false;
  conv.step = column->coefficient;
  conv.tap_reach = tap->coefficient * (*taps - 1);
  return true;
}

// Returns whether an axis of the results is in both factors.
bool IsGrouped(const ComputeExpr& stage, const Expr& a, const Expr& b) {
  return std::ranges::any_of(
      stage.axes, [&](const Axis& axis) { return UsesVar(a, axis.var) && UsesVar(b, axis.var); });
}

std::optional<Convolution> MatchInput(const TensorProgram& program, const ComputeExpr& stage,
                                      const Expr& factor) {
  Expr load = LoadOf(factor);
  const Buffer* input = load ? FindBuffer(program, load.as<Load>()->buffer) : nullptr;
  if (!input) return std::nullopt;
  bool is_everywhere = IsConstant(stage.predicate, 1);
  if (!is_everywhere && !KeepsInside(stage.predicate, *load.as<Load>(), *input)) {
    return std::nullopt;
  }
  Convolution conv{.load = load, .input = *input, .reach = ReachOf(stage, *load.as<Load>())};
  bool is_finite = conv.reach.size() == input->rank();
  bool fits = is_finite && FindChannel(stage, conv) && FindColumn(stage, conv);
  return fits ? std::optional(conv) : std::nullopt;
}

std::optional<Convolution> MatchStage(const TensorProgram& program, const ComputeExpr& stage) {
  bool reduces = stage.combiner && stage.values.size() == 1 && IsNeverEmpty(stage);
  const auto* product = reduces ? stage.values[0].as<Mul>() : nullptr;
  bool sums = product && stage.combiner.get() == SumCombiner(stage.outputs[0].dtype()).get();
  if (!sums || IsGrouped(stage, product->a, product->b)) return std::nullopt;
  std::optional<Convolution> conv = MatchInput(program, stage, product->a);
  return conv ? conv : MatchInput(program, stage, product->b);
}

std::optional<Convolution> FindConvolution(const TensorProgram& program) {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const auto* stage = std::get_if<ComputeExpr>(&program.stages[s]);
    std::optional<Convolution> conv = stage ? MatchStage(program, *stage) : std::nullopt;
    if (!conv) continue;
    conv->stage = s;
    return conv;
  }
  return std::nullopt;
}

// Builds the two stages that replace one.
class Builder {
 public:
  Builder(const TensorProgram& program, const Convolution& conv)
      : program_(program),
        conv_(conv),
        channel_{IterationVar("c"), ChannelsInSteps(conv)},
        width_(conv.reach[conv.column].extent) {}

  TensorProgram Build() const {
    TensorProgram result = program_;
    auto& stage = std::get<ComputeExpr>(result.stages[conv_.stage]);
    Buffer rows = AddIntermediate(result, stage.name + "_rows", conv_.input.dtype(), Shape());
    ReadRows(rows, stage);
    auto at = result.stages.begin() + static_cast<std::ptrdiff_t>(conv_.stage);
    result.stages.insert(at, RowsStage(rows));
    // It has one reader, but must not be recomputed for each of its instances.
    result.kept.push_back(rows.var);
    return result;
  }

 private:
  // Returns the extent of the axis of channels for which the cells that a multiple of kLanes
  // columns reads are a multiple of kLanes. A schedule unrolls the axis, and channels that are none
  // disappear.
  static int64_t ChannelsInSteps(const Convolution& conv) {
    int64_t cells = conv.channels * (conv.tap_reach - conv.step + 1);
    return conv.channels - cells + CeilDivision(cells, kLanes) * kLanes;
  }

  // Returns the dimensions of the input but the channels', and a row of all columns' channels last.
  std::vector<Expr> Shape() const {
    std::vector<Expr> shape;
    for (size_t d = 0; d < conv_.reach.size(); ++d) {
      if (d != conv_.channel && d != conv_.column) shape.push_back(conv_.reach[d].extent);
    }
    Expr cells = SumOf(ProductOf(DifferenceOf(width_, 1), conv_.channels), channel_.extent);
    shape.push_back(ProductOf(CeilQuotientOf(cells, kLanes), kLanes));
    return shape;
  }

  ComputeExpr RowsStage(const Buffer& rows) const {
    ComputeExpr stage = StageOver(rows);
    const Expr channels = conv_.channels;
    const Var& cell = stage.axes.back().var;
    Reach reach = conv_.reach;
    reach[conv_.column].extent = CeilQuotientOf(rows.shape.back(), channels);
    std::vector<Expr> places;
    size_t other = 0;
    for (size_t d = 0; d < reach.size(); ++d) {
      Expr place = d == conv_.channel  ? FloorModulo(cell, channels)
                   : d == conv_.column ? FloorDivide(cell, channels)
                                       : Expr(stage.axes[other++].var);
      places.push_back(Simplify(place + Expr(reach[d].low)));
    }
    stage.values = {ElementOrFill(conv_.input, places, reach, Const(rows.dtype(), 0))};
    return stage;
  }

  void ReadRows(const Buffer& rows, ComputeExpr& stage) const {
    std::vector<Expr> places;
    Expr row;
    for (size_t d = 0; d < conv_.reach.size(); ++d) {
      Expr place = Simplify(conv_.indices()[d] - Expr(conv_.reach[d].low));
      if (d == conv_.column) row = place * Expr(conv_.channels);
      if (d != conv_.channel && d != conv_.column) places.push_back(place);
    }
    places.push_back(Simplify(row + Expr(channel_.var)));
    Expr element = Make<Load>(rows.var, places);
    Expr value = RewriteBottomUp(stage.values[0], [&](const Expr& expr) -> Expr {
      return Equal(expr, conv_.load) ? element : expr;
    });
    if (conv_.channel_axis) value = Substitute(value, {{*conv_.channel_axis, channel_.var}});
    stage.values = {value};
    std::erase_if(stage.reduce_axes, [&](const Axis& axis) {
      return conv_.channel_axis && axis.var == *conv_.channel_axis;
    });
    stage.reduce_axes.push_back(channel_);
    bool has_more = !IsConstant(channel_.extent, conv_.channels);
    stage.predicate = has_more ? Expr(channel_.var) < Expr(conv_.channels) : True();
  }

  const TensorProgram& program_;
  const Convolution& conv_;
  Axis channel_;
  Expr width_;  // of a padded row, in columns
};

}  // namespace

std::optional<TensorProgram> MergedTapsVariant(const TensorProgram& program) {
  std::optional<Convolution> conv = FindConvolution(program);
  return conv ? std::optional(Builder(program, *conv).Build()) : std::nullopt;
}

bool MergedTapsSaveTime(const TensorProgram& program) {
  std::optional<Convolution> conv = FindConvolution(program);
  if (!conv) return false;
  bool is_last = conv->channel == conv->input.rank() - 1;
  if (is_last && conv->channels % kLanes == 0) return false;
  const auto& stage = std::get<ComputeExpr>(program.stages[conv->stage]);
  double products = 1;
  for (const std::vector<Axis>* axes : {&stage.axes, &stage.reduce_axes}) {
    for (const Axis& axis : *axes) products *= static_cast<double>(UsualExtent(axis));
  }
  return products >= kMinProducts;
}

}  // namespace tcc
