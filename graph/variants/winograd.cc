#include "graph/variants/variants.h"

#include <algorithm>

#include "graph/variants/integer_pairs.h"
#include "graph/variants/stage_parts.h"
#include "graph/variants/winograd_transforms.h"
#include "ir/analysis/affine.h"
#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/simplify/size_arithmetic.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// A stage that sums x[.., row + tap, .., column + tap, .., c] * w[.., tap, tap, c, o], or the dot
// products of two words of bytes (integer_pairs.h). The other indices of x use other axes and taps
// alone, and the weight has one index per other tap.
struct Convolution {
  size_t stage = 0;
  Ref<Load> input, weight;
  size_t row_dim = 0, column_dim = 0, channel_dim = 0;  // of the input
  Axis row, column, filter;
  Axis row_tap, column_tap, channel;
  std::vector<Axis> others, other_taps;
};

const Axis* AxisOf(const std::vector<Axis>& axes, const Expr& expr) {
  for (const Axis& axis : axes) {
    if (expr.same_as(axis.var)) return &axis;
  }
  return nullptr;
}

// Which axis and which tap make up `index`: axis + tap + a constant.
struct Sliding {
  const Axis* axis = nullptr;
  const Axis* tap = nullptr;
};
std::optional<Sliding> SlidingOf(const ComputeExpr& stage, const Expr& index) {
  Sliding sliding;
  std::vector<Var> vars;
  for (const Axis& axis : stage.axes) {
    if (!UsesVar(index, axis.var)) continue;
    if (sliding.axis) return std::nullopt;
    sliding.axis = &axis;
    vars.push_back(axis.var);
  }
  for (const Axis& axis : stage.reduce_axes) {
    if (!UsesVar(index, axis.var)) continue;
    if (sliding.tap) return std::nullopt;
    sliding.tap = &axis;
    vars.push_back(axis.var);
  }
  std::optional<AffineForm> form = ToAffine(index, vars);
  if (!sliding.axis || !sliding.tap || !form || form->vars.size() != 2) return std::nullopt;
  for (const Expr& coefficient : form->coefficients) {
    if (AsConstant(Simplify(coefficient)) != 1) return std::nullopt;
  }
  if (!AsConstant(Simplify(form->rest))) return std::nullopt;
  return sliding;
}

const Buffer* FindIn(const TensorProgram& program, const Var& var) {
  for (const auto* list : {&program.inputs, &program.outputs, &program.intermediates}) {
    for (const Buffer& buffer : *list) {
      if (buffer.var == var) return &buffer;
    }
  }
  return nullptr;
}

bool IsOneOf(const std::vector<Var>& vars, const Expr& expr) {
  return std::ranges::any_of(vars, [&](const Var& var) { return expr.same_as(var); });
}

bool UsesAny(const Expr& expr, const std::vector<Var>& vars) {
  return std::ranges::any_of(vars, [&](const Var& var) { return UsesVar(expr, var); });
}

// Finds the channel and the last two dimensions along which a window of 3 slides, on which nothing
// else depends. Returns false where the input is read in another way.
bool MatchInput(const ComputeExpr& stage, Convolution& conv) {
  bool has_channel = false;
  std::vector<std::pair<size_t, Sliding>> sliding;
  for (size_t d = 0; d < conv.input->indices.size(); ++d) {
    const Expr& index = conv.input->indices[d];
    if (const Axis* channel = AxisOf(stage.reduce_axes, index)) {
      conv.channel = *channel;
      conv.channel_dim = d;
      has_channel = true;
    } else if (std::optional<Sliding> slides = SlidingOf(stage, index)) {
      if (AsConstant(slides->tap->extent) == 3) sliding.emplace_back(d, *slides);
    }
  }
  if (!has_channel || sliding.size() < 2) return false;
  auto set = [](const std::pair<size_t, Sliding>& from, size_t& dim, Axis& axis, Axis& tap) {
    dim = from.first;
    axis = *from.second.axis;
    tap = *from.second.tap;
  };
  set(sliding[sliding.size() - 2], conv.row_dim, conv.row, conv.row_tap);
  set(sliding.back(), conv.column_dim, conv.column, conv.column_tap);
  if (conv.row.var == conv.column.var || conv.row_tap.var == conv.column_tap.var) return false;
  std::vector<Var> own = {conv.row.var, conv.column.var, conv.row_tap.var, conv.column_tap.var,
                          conv.channel.var};
  for (size_t d = 0; d < conv.input->indices.size(); ++d) {
    bool is_own = d == conv.row_dim || d == conv.column_dim || d == conv.channel_dim;
    if (!is_own && UsesAny(conv.input->indices[d], own)) return false;
  }
  return true;
}

// Finds the filter, an axis that the input lacks, and sorts the other axes. Returns false where the
// weight's indices are not the filter and each reduce axis, once.
bool MatchWeight(const ComputeExpr& stage, Convolution& conv) {
  std::vector<Var> missing;
  for (const Axis& axis : stage.reduce_axes) missing.push_back(axis.var);
  bool has_filter = false;
  for (const Expr& index : conv.weight->indices) {
    const Axis* axis = AxisOf(stage.axes, index);
    if (axis && !has_filter) {
      conv.filter = *axis;
      has_filter = true;
      continue;
    }
    if (!IsOneOf(missing, index)) return false;
    std::erase_if(missing, [&](const Var& var) { return index.same_as(var); });
  }
  if (!has_filter || !missing.empty()) return false;
  for (const Expr& index : conv.input->indices) {
    if (UsesVar(index, conv.filter.var)) return false;
  }
  std::vector<Var> own = {conv.row.var,     conv.column.var,     conv.filter.var,
                          conv.row_tap.var, conv.column_tap.var, conv.channel.var};
  auto others = [&](const std::vector<Axis>& axes) {
    std::vector<Axis> kept;
    for (const Axis& axis : axes) {
      if (!IsOneOf(own, axis.var)) kept.push_back(axis);
    }
    return kept;
  };
  conv.others = others(stage.axes);
  conv.other_taps = others(stage.reduce_axes);
  return true;
}

// Returns whether the term says no more than that the input's row or column is inside it.
bool KeepsInside(const Expr& term, const Convolution& conv, const Buffer& input) {
  for (size_t d : {conv.row_dim, conv.column_dim}) {
    const Expr& index = conv.input->indices[d];
    if (Equal(term, index >= Expr(0)) || Equal(term, index < input.shape[d])) return true;
  }
  return false;
}

// Returns the terms of the predicate that the product keeps, or nullopt if one of them depends on
// the place in a window.
std::optional<Expr> RestOfPredicate(const ComputeExpr& stage, const Convolution& conv,
                                    const Buffer& input) {
  std::vector<Var> own = {conv.row.var,        conv.column.var,  conv.row_tap.var,
                          conv.column_tap.var, conv.channel.var, conv.filter.var};
  Expr rest = True();
  for (const Expr& term : ConjunctsOf(stage.predicate)) {
    if (IsConstant(term, 1) || KeepsInside(term, conv, input)) continue;
    if (UsesAny(term, own)) return std::nullopt;
    rest = IsConstant(rest, 1) ? term : BothOf(rest, term);
  }
  return rest;
}

// Returns the number of outputs per filter at the usual sizes.
int64_t Outputs(const Convolution& conv) {
  int64_t outputs = UsualExtent(conv.row) * UsualExtent(conv.column);
  for (const Axis& axis : conv.others) outputs *= UsualExtent(axis);
  return outputs;
}

// Returns whether all extents of the weight are numbers.
bool HasKnownWeight(const Convolution& conv) {
  auto is_number = [](const Axis& axis) { return AsConstant(axis.extent).has_value(); };
  return is_number(conv.channel) && is_number(conv.filter) &&
         std::ranges::all_of(conv.other_taps, is_number);
}

std::optional<Convolution> MatchStage(const TensorProgram& program, const ComputeExpr& stage) {
  if (!stage.combiner || !IsNeverEmpty(stage)) return std::nullopt;
  DType type = stage.outputs[0].dtype();
  bool in_words = type == kInt32 && stage.values[0].as<Call>();
  bool sums = (type == kFloat32 || in_words) && stage.combiner.get() == SumCombiner(type).get();
  auto factors = sums ? FactorsOf(stage.values[0]) : std::nullopt;
  if (!factors || !factors->first.as<Load>() || !factors->second.as<Load>()) return std::nullopt;
  for (bool swapped : {false, true}) {
    Convolution conv;
    conv.input = Ref<Load>((swapped ? factors->second : factors->first).as<Load>());
    conv.weight = Ref<Load>((swapped ? factors->first : factors->second).as<Load>());
    const Buffer* input = FindIn(program, conv.input->buffer);
    if (input && IsMadeOfConstants(program, conv.weight->buffer) && MatchInput(stage, conv) &&
        MatchWeight(stage, conv) && RestOfPredicate(stage, conv, *input) && HasKnownWeight(conv)) {
      return conv;
    }
  }
  return std::nullopt;
}

// Brings a word that is the sum of its halves into halves (integer_pairs.h).
Expr InHalves(const Expr& word) {
  Expr is_low_negative = CallOf(ScalarOp::kBitAnd, {word, Const(kInt32, 0x8000)});
  return word + CallOf(ScalarOp::kShiftLeft, {is_low_negative, Const(kInt32, 1)});
}

// Builds the six stages that take the place of one. Transforms of words are sums of words, and the
// product reads halves.
class Builder {
 public:
  Builder(const TensorProgram& program, const Convolution& conv,
          const WinogradTransforms& transforms)
      : program_(program),
        stage_(std::get<ComputeExpr>(program.stages[conv.stage])),
        conv_(conv),
        transforms_(transforms),
        type_(stage_.outputs[0].dtype()),
        tile_(transforms.tile()),
        window_(transforms.window()),
        rows_(CeilQuotientOf(conv.row.extent, tile_)),
        columns_(CeilQuotientOf(conv.column.extent, tile_)) {}

  TensorProgram Build() {
    TensorProgram result = program_;
    const Expr tiles = ProductOf(rows_, columns_), &filters = conv_.filter.extent;
    const Expr& channels = conv_.channel.extent;
    std::vector<Expr> taps, outer, inputs;
    for (const Axis& axis : conv_.other_taps) taps.push_back(axis.extent);
    for (const Axis& axis : conv_.others) outer.push_back(axis.extent);
    for (size_t d : OtherDims()) inputs.push_back(Input().shape[d]);
    auto add = [&](const char* suffix, const Expr& first, const std::vector<Expr>& middle,
                   const Expr& row, const Expr& last) {
      std::vector<Expr> shape = {first, Expr(window_)};
      shape.insert(shape.end(), middle.begin(), middle.end());
      shape.insert(shape.end(), {row, last});
      return AddIntermediate(result, stage_.name + suffix, type_, std::move(shape));
    };
    Buffer kernel = add("_u", Expr(window_), taps, channels, filters);
    Buffer rows = add("_t", Expr(window_), inputs, tiles, channels);
    Buffer input = add("_v", Expr(window_), inputs, tiles, channels);
    Buffer product = add("_m", Expr(window_), outer, tiles, filters);
    Buffer sums = add("_s", Expr(tile_), outer, tiles, filters);
    // Readers would compute them again and again.
    for (const Buffer& buffer : {rows, input, sums}) result.kept.push_back(buffer.var);
    if (InWords()) result.kept.push_back(kernel.var);
    std::vector<TensorExpr> stages = {InWords() ? WordKernelStage(kernel) : KernelStage(kernel),
                                      RowsStage(rows),
                                      InputStage(input, rows),
                                      ProductStage(product, input, kernel),
                                      SumsStage(sums, product),
                                      OutputStage(sums)};
    auto at = result.stages.begin() + static_cast<std::ptrdiff_t>(conv_.stage);
    at = result.stages.erase(at);
    result.stages.insert(at, stages.begin(), stages.end());
    return result;
  }

 private:
  bool InWords() const { return type_ == kInt32; }
  const Buffer& Input() const { return *FindIn(program_, conv_.input->buffer); }

  // The dimensions of the input that the transforms leave alone.
  std::vector<size_t> OtherDims() const {
    std::vector<size_t> dims;
    for (size_t d = 0; d < Input().rank(); ++d) {
      if (d != conv_.row_dim && d != conv_.column_dim && d != conv_.channel_dim) dims.push_back(d);
    }
    return dims;
  }

  // A stage over the buffer, with `middle` dimensions between the second one and the tiles.
  static ComputeExpr StageLike(const Buffer& buffer, const char* first, const char* second,
                               size_t middle, const char* last) {
    std::vector<const char*> names = {first, second};
    static constexpr const char* kMiddle[] = {"x", "y", "z"};
    for (size_t i = 0; i < middle; ++i) names.push_back(kMiddle[std::min<size_t>(i, 2)]);
    names.insert(names.end(), {"p", last});
    return StageOver(buffer, names);
  }

  // Returns the values of `vars` that are `axes` of a stage, from `first` on.
  static void Place(const std::vector<Axis>& vars, const std::vector<Axis>& axes, size_t first,
                    Substitution& values) {
    for (size_t i = 0; i < vars.size(); ++i) {
      values.emplace(vars[i].var, axes[first + i].var);
    }
  }

  ComputeExpr KernelLike(const Buffer& kernel) const {
    std::vector<const char*> names = {"a", "b"};
    for (const Axis& tap : conv_.other_taps) names.push_back(tap.var->name.c_str());
    names.insert(names.end(), {"c", "o"});
    return StageOver(kernel, names);
  }

  // The share of a tap in the kernel, for a stage over the kernel's axes.
  Expr TransformedTap(const std::vector<Axis>& axes, const Expr& kh, const Expr& kw) const {
    Substitution at = {{conv_.row_tap.var, kh},
                       {conv_.column_tap.var, kw},
                       {conv_.channel.var, axes[axes.size() - 2].var},
                       {conv_.filter.var, axes.back().var}};
    Place(conv_.other_taps, axes, 2, at);
    Expr weight = Substitute(Expr(conv_.weight.get()), at);
    return EntryOf(transforms_.g, type_, axes[0].var, kh) *
           EntryOf(transforms_.g, type_, axes[1].var, kw) * weight;
  }

  // The kernel as sums that are written out: a reduction could not bring its results into halves.
  ComputeExpr WordKernelStage(const Buffer& kernel) const {
    ComputeExpr stage = KernelLike(kernel);
    const std::vector<Axis>& axes = stage.axes;
    Expr sum;
    for (int64_t kh = 0; kh < 3; ++kh) {
      for (int64_t kw = 0; kw < 3; ++kw) {
        Expr term = TransformedTap(axes, Expr(kh), Expr(kw));
        sum = sum ? sum + term : term;
      }
    }
    stage.values = {InHalves(sum)};
    return stage;
  }

  ComputeExpr KernelStage(const Buffer& kernel) const {
    ComputeExpr stage = KernelLike(kernel);
    const std::vector<Axis>& axes = stage.axes;
    stage.reduce_axes = {{IterationVar("kh"), 3}, {IterationVar("kw"), 3}};
    stage.combiner = SumCombiner(type_);
    const Expr& kh = stage.reduce_axes[0].var;
    const Expr& kw = stage.reduce_axes[1].var;
    stage.values = {TransformedTap(axes, kh, kw)};
    return stage;
  }

  // The input at row i and column j of a tile's window, or zero outside the input. `axes` are those
  // of a stage of the input.
  Expr InputAt(const std::vector<Axis>& axes, const Expr& i, const Expr& j) const {
    const Expr& p = axes[axes.size() - 2].var;
    Substitution place = {{conv_.row.var, FloorDivide(p, columns_) * Expr(tile_)},
                          {conv_.column.var, FloorModulo(p, columns_) * Expr(tile_)},
                          {conv_.row_tap.var, i},
                          {conv_.column_tap.var, j}};
    std::vector<Expr> indices(Input().rank());
    Expr inside;
    for (size_t d : {conv_.row_dim, conv_.column_dim}) {
      indices[d] = Substitute(conv_.input->indices[d], place);
      Expr within = BothOf(indices[d] >= Expr(0), indices[d] < Input().shape[d]);
      inside = inside ? BothOf(inside, within) : within;
    }
    indices[conv_.channel_dim] = axes.back().var;
    std::vector<size_t> others = OtherDims();
    for (size_t k = 0; k < others.size(); ++k) indices[others[k]] = axes[2 + k].var;
    return SelectOf(inside, Make<Load>(conv_.input->buffer, std::move(indices)), Const(type_, 0));
  }

  ComputeExpr RowsStage(const Buffer& rows) const {
    ComputeExpr stage = StageLike(rows, "a", "j", OtherDims().size(), "c");
    const std::vector<Axis>& axes = stage.axes;
    stage.values = {RowTimes(transforms_.b, axes[0].var,
                             [&](const Expr& i) { return InputAt(axes, i, axes[1].var); })};
    return stage;
  }

  // The load of a buffer at the stage's axes, with `first` and `second` as its first indices.
  static Expr LoadAt(const Buffer& buffer, const Expr& first, const Expr& second,
                     const std::vector<Axis>& axes) {
    std::vector<Expr> indices = {first, second};
    for (size_t d = 2; d < axes.size(); ++d) indices.emplace_back(axes[d].var);
    return Make<Load>(buffer.var, std::move(indices));
  }

  ComputeExpr InputStage(const Buffer& input, const Buffer& rows) const {
    ComputeExpr stage = StageLike(input, "a", "b", OtherDims().size(), "c");
    const std::vector<Axis>& axes = stage.axes;
    Expr value = RowTimes(transforms_.b, axes[1].var,
                          [&](const Expr& j) { return LoadAt(rows, axes[0].var, j, axes); });
    stage.values = {InWords() ? InHalves(value) : value};
    return stage;
  }

  ComputeExpr ProductStage(const Buffer& product, const Buffer& input, const Buffer& kernel) const {
    ComputeExpr stage = StageLike(product, "a", "b", conv_.others.size(), "o");
    const std::vector<Axis>& axes = stage.axes;
    stage.reduce_axes = conv_.other_taps;
    stage.reduce_axes.push_back(conv_.channel);
    stage.combiner = SumCombiner(type_);
    Substitution places;
    Place(conv_.others, axes, 2, places);
    stage.predicate = Substitute(*RestOfPredicate(stage_, conv_, Input()), places);
    std::vector<Expr> at_input = {axes[0].var, axes[1].var}, at_kernel = at_input;
    for (size_t d : OtherDims()) at_input.push_back(Substitute(conv_.input->indices[d], places));
    at_input.emplace_back(axes[axes.size() - 2].var);
    at_input.emplace_back(conv_.channel.var);
    for (const Axis& tap : conv_.other_taps) at_kernel.emplace_back(tap.var);
    at_kernel.emplace_back(conv_.channel.var);
    at_kernel.emplace_back(axes.back().var);
    Expr left = Make<Load>(input.var, std::move(at_input));
    Expr right = Make<Load>(kernel.var, std::move(at_kernel));
    stage.values = {InWords() ? CallOf(ScalarOp::kDotI16x2, {left, right}) : left * right};
    return stage;
  }

  ComputeExpr SumsStage(const Buffer& sums, const Buffer& product) const {
    ComputeExpr stage = StageLike(sums, "d", "b", conv_.others.size(), "o");
    const std::vector<Axis>& axes = stage.axes;
    stage.values = {RowTimes(transforms_.a, axes[0].var,
                             [&](const Expr& a) { return LoadAt(product, a, axes[1].var, axes); })};
    return stage;
  }

  ComputeExpr OutputStage(const Buffer& sums) const {
    ComputeExpr stage = stage_;
    stage.reduce_axes.clear();
    stage.combiner = Combiner();
    stage.predicate = True();
    const Expr &h = conv_.row.var, &w = conv_.column.var;
    const Expr tile(tile_);
    Expr p = FloorDivide(h, tile) * columns_ + FloorDivide(w, tile);
    Expr value = RowTimes(transforms_.a, FloorModulo(w, tile), [&](const Expr& b) -> Expr {
      std::vector<Expr> indices = {FloorModulo(h, tile), b};
      for (const Axis& axis : conv_.others) indices.emplace_back(axis.var);
      indices.push_back(p);
      indices.emplace_back(conv_.filter.var);
      return Make<Load>(sums.var, std::move(indices));
    });
    bool is_multiple = transforms_.divisor != 1;
    stage.values = {is_multiple ? FloorDivide(value, Const(type_, transforms_.divisor)) : value};
    return stage;
  }

  const TensorProgram& program_;
  const ComputeExpr& stage_;
  const Convolution& conv_;
  const WinogradTransforms& transforms_;
  DType type_;
  int64_t tile_, window_;
  Expr rows_, columns_;  // of tiles
};

std::optional<Convolution> FindConvolution(const TensorProgram& program) {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const auto* stage = std::get_if<ComputeExpr>(&program.stages[s]);
    if (!stage) continue;
    std::optional<Convolution> conv = MatchStage(program, *stage);
    if (!conv) continue;
    conv->stage = s;
    return conv;
  }
  return std::nullopt;
}

// Below so many channels or filters the transforms cost what they save, and below so many outputs
// per filter reading the larger weights does: 16 numbers for 9. Tiles that overhang the image must
// leave a third of the products saved.
constexpr int64_t kMinChannels = 32, kMinOutputs = 128;
constexpr int64_t kMaxWideChannels = 256;

// Reading a weight from memory takes as long as this many multiply-adds.
constexpr int64_t kProductsPerWeight = 40;

// The transforms of F(4x4) cost more for an output than those of F(2x2): a tenth of all.
constexpr double kCostOfWideTransforms = 1.1;

// A program with a convolution that Winograd's transforms can compute. One of 16-bit floats is one
// of f32, and one of bytes one of words, with half the channels.
struct Candidate {
  TensorProgram program;
  Convolution conv;
  bool in_words = false;
};

// Returns whether 32 bits hold the results times the divisor: a byte less its zero point is at most
// 255, and so are the sums of two words' halves then, 4 * 255 and 9 * 255 at most.
bool HasRoom(const Convolution& conv) {
  int64_t terms = 9 * 2 * *AsConstant(conv.channel.extent);
  for (const Axis& tap : conv.other_taps) terms *= *AsConstant(tap.extent);
  return terms <= INT32_MAX / (WholeTransformsOfTwo().divisor * 255 * 255);
}

std::optional<Candidate> FindCandidate(const TensorProgram& program) {
  if (std::optional<Convolution> conv = FindConvolution(program)) return Candidate{program, *conv};
  if (std::optional<TensorProgram> widened = WidenOperands(program)) {
    std::optional<Convolution> conv = FindConvolution(*widened);
    // The transforms read the operands as they are.
    widened->kept = program.kept;
    return conv ? std::optional(Candidate{*std::move(widened), *conv}) : std::nullopt;
  }
  std::optional<WordProgram> paired = PairBytes(program, WordForm::kSum);
  if (!paired) return std::nullopt;
  std::optional<Convolution> conv = FindConvolution(paired->program);
  if (!conv || !HasRoom(*conv)) return std::nullopt;
  // The transform of the weight reads bytes.
  std::erase(paired->program.kept, paired->weight);
  return Candidate{std::move(paired->program), *conv, true};
}

int64_t Channels(const Candidate& found) {
  return *AsConstant(found.conv.channel.extent) * (found.in_words ? 2 : 1);
}

// Returns whether there is a whole tile, and channels enough to gain something by F(4x4) but not so
// many that one chain of sums rounds too often.
bool HasWideVariant(const Candidate& found) {
  int64_t tile = TransformsOfFour().tile(), channels = Channels(found);
  return !found.in_words && channels >= kMinChannels && channels <= kMaxWideChannels &&
         UsualExtent(found.conv.row) >= tile && UsualExtent(found.conv.column) >= tile;
}

int64_t TilesOf(const Convolution& conv, const WinogradTransforms& transforms) {
  return CeilDivision(UsualExtent(conv.row), transforms.tile()) *
         CeilDivision(UsualExtent(conv.column), transforms.tile());
}

bool SavesProducts(const Convolution& conv, const WinogradTransforms& transforms) {
  int64_t places = UsualExtent(conv.row) * UsualExtent(conv.column);
  int64_t products = TilesOf(conv, transforms) * transforms.window() * transforms.window();
  return 3 * products <= 2 * 9 * places;
}

// Returns the time of a channel and a filter, in multiply-adds.
double CostOf(const Convolution& conv, const WinogradTransforms& transforms) {
  int64_t places = UsualExtent(conv.row) * UsualExtent(conv.column);
  int64_t tiles = TilesOf(conv, transforms) * (Outputs(conv) / places);
  return static_cast<double>(transforms.window() * transforms.window() *
                             (tiles + kProductsPerWeight));
}

}  // namespace

std::optional<TensorProgram> WinogradVariant(const TensorProgram& program) {
  std::optional<Candidate> found = FindCandidate(program);
  if (!found) return std::nullopt;
  const WinogradTransforms& transforms =
      found->in_words ? WholeTransformsOfTwo() : TransformsOfTwo();
  return Builder(found->program, found->conv, transforms).Build();
}

std::optional<TensorProgram> WideWinogradVariant(const TensorProgram& program) {
  std::optional<Candidate> found = FindCandidate(program);
  if (!found || !HasWideVariant(*found)) return std::nullopt;
  return Builder(found->program, found->conv, TransformsOfFour()).Build();
}

WinogradTile FastestWinogradTile(const TensorProgram& program) {
  std::optional<Candidate> found = FindCandidate(program);
  if (!found) return WinogradTile::kNone;
  const Convolution& conv = found->conv;
  if (Channels(*found) < kMinChannels || *AsConstant(conv.filter.extent) < kMinChannels ||
      Outputs(conv) < kMinOutputs) {
    return WinogradTile::kNone;
  }
  const WinogradTransforms &two = TransformsOfTwo(), &four = TransformsOfFour();
  bool saves_by_two = SavesProducts(conv, two);
  bool is_wide = HasWideVariant(*found) && SavesProducts(conv, four) &&
                 kCostOfWideTransforms * CostOf(conv, four) < CostOf(conv, two);
  if (is_wide) return WinogradTile::kFour;
  return saves_by_two ? WinogradTile::kTwo : WinogradTile::kNone;
}

}  // namespace tcc
