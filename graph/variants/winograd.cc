#include "graph/variants/winograd.h"

#include <algorithm>

#include "graph/variants/stage_parts.h"
#include "ir/analysis/affine.h"
#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

constexpr int64_t kTile = 2;    // outputs a side
constexpr int64_t kWindow = 4;  // inputs a side

// A stage that sums x[n, .., row + tap, .., column + tap, c] * w[tap, tap, c, o].
struct Convolution {
  size_t stage = 0;
  Ref<Load> input, weight;
  Axis batch, row, column, filter;
  Axis row_tap, column_tap, channel;
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

bool IsAmong(const std::vector<Buffer>& buffers, const Var& var) {
  return std::any_of(buffers.begin(), buffers.end(),
                     [&](const Buffer& buffer) { return buffer.var == var; });
}

const Buffer* FindIn(const TensorProgram& program, const Var& var) {
  for (const auto* list : {&program.inputs, &program.outputs, &program.intermediates}) {
    for (const Buffer& buffer : *list) {
      if (buffer.var == var) return &buffer;
    }
  }
  return nullptr;
}

// Whether the predicate says no more than that the input's indices are inside it.
bool OnlyKeepsInside(const Expr& predicate, const Load& input, const Buffer& buffer) {
  if (const auto* both = predicate.as<And>()) {
    return OnlyKeepsInside(both->a, input, buffer) && OnlyKeepsInside(both->b, input, buffer);
  }
  if (IsConstant(predicate, 1)) return true;
  for (size_t d = 0; d < buffer.rank(); ++d) {
    const Expr& index = input.indices[d];
    if (Equal(predicate, index >= Expr(0)) || Equal(predicate, index < buffer.shape[d]))
      return true;
  }
  return false;
}

// The taps and the axes, or false where the stage is no such convolution.
bool MatchInput(const ComputeExpr& stage, Convolution& conv) {
  bool has_row = false, has_column = false, has_batch = false, has_channel = false;
  for (const Expr& index : conv.input->indices) {
    if (const Axis* axis = AxisOf(stage.axes, index); axis && !has_batch) {
      conv.batch = *axis;
      has_batch = true;
    } else if (const Axis* channel = AxisOf(stage.reduce_axes, index); channel && !has_channel) {
      conv.channel = *channel;
      has_channel = true;
    } else if (std::optional<Sliding> sliding = SlidingOf(stage, index); sliding && !has_column) {
      (has_row ? conv.column : conv.row) = *sliding->axis;
      (has_row ? conv.column_tap : conv.row_tap) = *sliding->tap;
      has_column = has_row;
      has_row = true;
    } else {
      return false;
    }
  }
  return has_column && has_batch && has_channel && AsConstant(conv.row_tap.extent) == 3 &&
         AsConstant(conv.column_tap.extent) == 3 && !(conv.row_tap.var == conv.column_tap.var) &&
         !(conv.row.var == conv.column.var);
}

bool MatchWeight(const ComputeExpr& stage, Convolution& conv) {
  std::vector<Var> missing = {conv.row_tap.var, conv.column_tap.var, conv.channel.var};
  bool has_filter = false;
  for (const Expr& index : conv.weight->indices) {
    if (const Axis* axis = AxisOf(stage.axes, index); axis && !has_filter) {
      conv.filter = *axis;
      has_filter = true;
      continue;
    }
    auto found = std::find_if(missing.begin(), missing.end(),
                              [&](const Var& var) { return index.same_as(var); });
    if (found == missing.end()) return false;
    missing.erase(found);
  }
  std::vector<Var> others = {conv.batch.var, conv.row.var, conv.column.var};
  return has_filter && missing.empty() &&
         std::find(others.begin(), others.end(), conv.filter.var) == others.end();
}

std::optional<Convolution> MatchStage(const TensorProgram& program, const ComputeExpr& stage) {
  if (!stage.combiner || stage.combiner.get() != SumCombiner(kFloat32).get() ||
      stage.axes.size() != 4 || stage.reduce_axes.size() != 3 || !HasKnownExtents(stage)) {
    return std::nullopt;
  }
  const auto* product = stage.values[0].as<Mul>();
  if (!product || !product->a.as<Load>() || !product->b.as<Load>()) return std::nullopt;
  for (bool swapped : {false, true}) {
    Convolution conv;
    conv.input = Ref<Load>((swapped ? product->b : product->a).as<Load>());
    conv.weight = Ref<Load>((swapped ? product->a : product->b).as<Load>());
    const Buffer* weight = FindIn(program, conv.weight->buffer);
    const Buffer* input = FindIn(program, conv.input->buffer);
    bool constant =
        IsAmong(program.inputs, conv.weight->buffer) && weight && weight->scope == Scope::kConstant;
    if (constant && input && MatchInput(stage, conv) && MatchWeight(stage, conv) &&
        OnlyKeepsInside(stage.predicate, *conv.input, *input)) {
      return conv;
    }
  }
  return std::nullopt;
}

Expr Number(double value) {
  return Const(kFloat32, value);
}

// G, row a: (1, 0, 0), (1/2, 1/2, 1/2), (1/2, -1/2, 1/2), (0, 0, 1).
Expr KernelCoefficient(const Expr& a, const Expr& tap) {
  Expr first = SelectOf(Make<Eq>(tap, Expr(0)), Number(1), Number(0));
  Expr last = SelectOf(Make<Eq>(tap, Expr(2)), Number(1), Number(0));
  Expr middle =
      SelectOf(BothOf(Make<Eq>(a, Expr(2)), Make<Eq>(tap, Expr(1))), Number(-0.5), Number(0.5));
  return SelectOf(Make<Eq>(a, Expr(0)), first, SelectOf(Make<Eq>(a, Expr(3)), last, middle));
}

// Row a of B^T has two entries: B^T = (1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1).
struct InputTerm {
  Expr place;
  Expr sign;
};
std::vector<InputTerm> InputTerms(const Expr& a) {
  Expr ends = Make<Or>(Make<Eq>(a, Expr(0)), Make<Eq>(a, Expr(3)));
  return {{MinOf(a, Expr(1)), SelectOf(Make<Eq>(a, Expr(2)), Number(-1), Number(1))},
          {MaxOf(a, Expr(2)), SelectOf(ends, Number(-1), Number(1))}};
}

// Row `d` of A^T, from its first entry on: A^T = (1, 1, 1, 0), (0, 1, -1, -1).
std::vector<InputTerm> OutputTerms(const Expr& d) {
  std::vector<InputTerm> terms;
  for (int64_t t = 0; t < 3; ++t) {
    Expr sign = t == 0 ? Number(1) : SelectOf(Make<Eq>(d, Expr(1)), Number(-1), Number(1));
    terms.push_back({d + Expr(t), sign});
  }
  return terms;
}

// Builds the four stages that take the place of one.
class Builder {
 public:
  Builder(const TensorProgram& program, const Convolution& conv)
      : program_(program),
        stage_(std::get<ComputeExpr>(program.stages[conv.stage])),
        conv_(conv),
        rows_(CeilDivision(*AsConstant(conv.row.extent), kTile)),
        columns_(CeilDivision(*AsConstant(conv.column.extent), kTile)) {}

  TensorProgram Build() {
    TensorProgram result = program_;
    Expr filters = conv_.filter.extent, channels = conv_.channel.extent;
    Expr tiles(*AsConstant(conv_.batch.extent) * rows_ * columns_);
    Buffer kernel = AddIntermediate(result, stage_.name + "_u", kFloat32,
                                    {kWindow, kWindow, channels, filters});
    Buffer input =
        AddIntermediate(result, stage_.name + "_v", kFloat32, {kWindow, kWindow, tiles, channels});
    Buffer product =
        AddIntermediate(result, stage_.name + "_m", kFloat32, {kWindow, kWindow, tiles, filters});
    std::vector<TensorExpr> stages = {KernelStage(kernel), InputStage(input),
                                      ProductStage(product, input, kernel), OutputStage(product)};
    auto at = result.stages.begin() + static_cast<std::ptrdiff_t>(conv_.stage);
    at = result.stages.erase(at);
    result.stages.insert(at, stages.begin(), stages.end());
    return result;
  }

 private:
  ComputeExpr KernelStage(const Buffer& kernel) const {
    ComputeExpr stage = StageOver(kernel, {"a", "b", "c", "o"});
    const std::vector<Axis>& axes = stage.axes;
    stage.reduce_axes = {{IterationVar("kh"), 3}, {IterationVar("kw"), 3}};
    stage.combiner = SumCombiner(kFloat32);
    const Expr& kh = stage.reduce_axes[0].var;
    const Expr& kw = stage.reduce_axes[1].var;
    Substitution at = {{conv_.row_tap.var, kh},
                       {conv_.column_tap.var, kw},
                       {conv_.channel.var, axes[2].var},
                       {conv_.filter.var, axes[3].var}};
    Expr weight = Substitute(Expr(conv_.weight.get()), at);
    stage.values = {KernelCoefficient(axes[0].var, kh) * KernelCoefficient(axes[1].var, kw) *
                    weight};
    return stage;
  }

  // The input at a place of tile p's window.
  Expr InputAt(const Expr& p, const Expr& c, const Expr& i, const Expr& j) const {
    Substitution at = {
        {conv_.batch.var, FloorDivide(p, Expr(rows_ * columns_))},
        {conv_.row.var, FloorModulo(FloorDivide(p, Expr(columns_)), Expr(rows_)) * Expr(kTile)},
        {conv_.column.var, FloorModulo(p, Expr(columns_)) * Expr(kTile)},
        {conv_.row_tap.var, i},
        {conv_.column_tap.var, j},
        {conv_.channel.var, c}};
    Expr load = Substitute(Expr(conv_.input.get()), at);
    const Buffer& buffer = *FindIn(program_, conv_.input->buffer);
    Expr inside = True();
    for (size_t d = 0; d < buffer.rank(); ++d) {
      if (!UsesVar(conv_.input->indices[d], conv_.row_tap.var) &&
          !UsesVar(conv_.input->indices[d], conv_.column_tap.var)) {
        continue;
      }
      const Expr& index = load.as<Load>()->indices[d];
      Expr within = BothOf(index >= Expr(0), index < buffer.shape[d]);
      inside = IsConstant(inside, 1) ? within : BothOf(inside, within);
    }
    return SelectOf(inside, load, Number(0));
  }

  ComputeExpr InputStage(const Buffer& input) const {
    ComputeExpr stage = StageOver(input, {"a", "b", "p", "c"});
    const std::vector<Axis>& axes = stage.axes;
    Expr value;
    for (const InputTerm& i : InputTerms(axes[0].var)) {
      Expr row;
      for (const InputTerm& j : InputTerms(axes[1].var)) {
        Expr term = j.sign * InputAt(axes[2].var, axes[3].var, i.place, j.place);
        row = row ? row + term : term;
      }
      value = value ? value + i.sign * row : i.sign * row;
    }
    stage.values = {value};
    return stage;
  }

  static ComputeExpr ProductStage(const Buffer& product, const Buffer& input,
                                  const Buffer& kernel) {
    ComputeExpr stage = StageOver(product, {"a", "b", "p", "o"});
    const std::vector<Axis>& axes = stage.axes;
    Axis c{IterationVar("c"), kernel.shape[2]};
    stage.reduce_axes = {c};
    stage.combiner = SumCombiner(kFloat32);
    const Expr& a = axes[0].var;
    const Expr& b = axes[1].var;
    stage.values = {Make<Load>(input.var, std::vector<Expr>{a, b, axes[2].var, c.var}) *
                    Make<Load>(kernel.var, std::vector<Expr>{a, b, c.var, axes[3].var})};
    return stage;
  }

  ComputeExpr OutputStage(const Buffer& product) const {
    ComputeExpr stage = stage_;
    stage.reduce_axes.clear();
    stage.combiner = Combiner();
    stage.predicate = True();
    const Expr &n = conv_.batch.var, &h = conv_.row.var, &w = conv_.column.var;
    Expr p = (n * Expr(rows_) + FloorDivide(h, Expr(kTile))) * Expr(columns_) +
             FloorDivide(w, Expr(kTile));
    Expr value;
    for (const InputTerm& i : OutputTerms(FloorModulo(h, Expr(kTile)))) {
      Expr row;
      for (const InputTerm& j : OutputTerms(FloorModulo(w, Expr(kTile)))) {
        Expr load =
            Make<Load>(product.var, std::vector<Expr>{i.place, j.place, p, conv_.filter.var});
        row = row ? row + j.sign * load : load;
      }
      value = value ? value + i.sign * row : row;
    }
    stage.values = {value};
    return stage;
  }

  const TensorProgram& program_;
  const ComputeExpr& stage_;
  const Convolution& conv_;
  int64_t rows_, columns_;  // of tiles
};

}  // namespace

std::optional<TensorProgram> WinogradVariant(const TensorProgram& program) {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const auto* stage = std::get_if<ComputeExpr>(&program.stages[s]);
    if (!stage) continue;
    std::optional<Convolution> conv = MatchStage(program, *stage);
    if (!conv) continue;
    conv->stage = s;
    return Builder(program, *conv).Build();
  }
  return std::nullopt;
}

}  // namespace tcc
