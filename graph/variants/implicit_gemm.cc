#include "graph/variants/variants.h"

#include <algorithm>
#include <span>

#include "graph/variants/stage_parts.h"
#include "ir/expr/substitute.h"
#include "ir/expr/tensor_expr.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/size_arithmetic.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

bool UsesAny(const Expr& expr, const std::vector<Axis>& axes) {
  return std::ranges::any_of(axes, [&](const Axis& axis) { return UsesVar(expr, axis.var); });
}

// Returns the factor before the product widened it.
Expr WithoutWidening(const Expr& factor) {
  const auto* cast = factor.as<Cast>();
  bool widens = cast && cast->dtype.is_float() && cast->value.dtype().is_float() &&
                Epsilon(cast->value.dtype()) > Epsilon(cast->dtype);
  return widens ? cast->value : factor;
}

// A stage whose value is `window` * `weight`, each widened to the stage's type if it is narrower.
struct Convolution {
  size_t stage = 0;
  Expr window, weight;
  std::vector<Axis> rows;     // the result axes that the window has
  std::vector<Axis> columns;  // the result axes that the weight has
};

// Returns whether some index of a load slides: it has an axis of the result and one of the
// reduction.
bool HasSlidingIndex(const Expr& expr, const ComputeExpr& stage) {
  return Contains(expr, [&](const Expr& node) {
    const auto* load = node.as<Load>();
    return load && std::ranges::any_of(load->indices, [&](const Expr& index) {
             return UsesAny(index, stage.axes) && UsesAny(index, stage.reduce_axes);
           });
  });
}

// The channels that fill steps of 64 bytes of f16.
constexpr int64_t kTapChannels = 32;

// Separates the factors, if each result axis belongs to one of them; axes in the predicate belong
// to the window.
std::optional<Convolution> Separate(const ComputeExpr& stage, const Expr& window,
                                    const Expr& weight) {
  if (!HasSlidingIndex(window, stage) || HasSlidingIndex(weight, stage)) return std::nullopt;
  Convolution conv{0, WithoutWidening(window), WithoutWidening(weight), {}, {}};
  for (const Axis& axis : stage.axes) {
    bool in_weight = UsesVar(weight, axis.var);
    bool in_window = UsesVar(window, axis.var) || UsesVar(stage.predicate, axis.var);
    if (in_weight && in_window) return std::nullopt;
    (in_weight ? conv.columns : conv.rows).push_back(axis);
  }
  bool product = !conv.rows.empty() && !conv.columns.empty();
  return product ? std::optional<Convolution>(conv) : std::nullopt;
}

std::optional<Convolution> Match(const ComputeExpr& stage) {
  if (!stage.combiner || stage.values.size() != 1 || stage.reduce_axes.empty() ||
      !IsNeverEmpty(stage)) {
    return std::nullopt;
  }
  const auto* product = stage.values[0].as<Mul>();
  bool sums = product && stage.combiner.get() == SumCombiner(stage.outputs[0].dtype()).get();
  if (!sums) return std::nullopt;
  std::optional<Convolution> conv = Separate(stage, product->a, product->b);
  return conv ? conv : Separate(stage, product->b, product->a);
}

// A numbering of the points of several axes, the last one varying fastest.
class FlatIndex {
 public:
  explicit FlatIndex(std::vector<Axis> axes);

  // Returns the number of points.
  const Expr& extent() const { return extent_; }
  // Returns the name of the axis that varies fastest.
  const std::string& name() const { return axes_.back().var->name; }
  // Returns the number of the point at the axes' own variables.
  Expr NumberOf() const;
  // Adds the position of point `number` on each axis, as a substitution for the axis's variable.
  void AddPlaces(const Expr& number, Substitution& places) const;

 private:
  std::vector<Axis> axes_;
  std::vector<Expr> strides_;
  Expr extent_ = 1;
};

FlatIndex::FlatIndex(std::vector<Axis> axes) : axes_(std::move(axes)), strides_(axes_.size()) {
  for (size_t a = axes_.size(); a-- > 0;) {
    strides_[a] = extent_;
    extent_ = ProductOf(extent_, axes_[a].extent);
  }
}

Expr FlatIndex::NumberOf() const {
  Expr number;
  for (size_t a = 0; a < axes_.size(); ++a) {
    if (IsConstant(axes_[a].extent, 1)) continue;
    const Expr& var = axes_[a].var;
    Expr term = IsConstant(strides_[a], 1) ? var : var * strides_[a];
    number = number ? number + term : term;
  }
  return number ? number : Expr(0);
}

void FlatIndex::AddPlaces(const Expr& number, Substitution& places) const {
  bool is_slowest = true;
  for (size_t a = 0; a < axes_.size(); ++a) {
    if (IsConstant(axes_[a].extent, 1)) {
      places.emplace(axes_[a].var, Expr(0));
      continue;
    }
    Expr place = IsConstant(strides_[a], 1) ? number : FloorDivide(number, strides_[a]);
    // The slowest axis that varies is not wrapped round.
    if (!is_slowest) place = FloorModulo(place, axes_[a].extent);
    places.emplace(axes_[a].var, place);
    is_slowest = false;
  }
}

// Returns the numberings of the reduction's points, one an axis of the product: each axis has its
// own if steps of the last, the channels, never reach into the next tap, so that indices stay
// affine and a tap has one condition; else one has them all. Axes of one point join the next.
std::vector<FlatIndex> Numberings(const std::vector<Axis>& axes) {
  bool apart = AsConstant(axes.back().extent).value_or(1) % kTapChannels == 0;
  std::vector<FlatIndex> result;
  std::vector<Axis> together;
  for (const Axis& axis : axes) {
    together.push_back(axis);
    bool ends = &axis == &axes.back() || (apart && !IsConstant(axis.extent, 1));
    if (ends) result.emplace_back(std::exchange(together, {}));
  }
  return result;
}

// Builds the four stages that replace one.
class Builder {
 public:
  Builder(const TensorProgram& program, const Convolution& conv)
      : program_(program),
        stage_(std::get<ComputeExpr>(program.stages[conv.stage])),
        conv_(conv),
        p_(conv.rows),
        k_(Numberings(stage_.reduce_axes)),
        o_(conv.columns) {}

  TensorProgram Build() const {
    TensorProgram result = program_;
    const Expr &p = p_.extent(), &o = o_.extent();
    std::vector<Expr> gathered = {p}, weights;
    for (const FlatIndex& k : k_) weights.push_back(k.extent());
    gathered.insert(gathered.end(), weights.begin(), weights.end());
    weights.push_back(o);
    const std::string& name = stage_.name;
    Buffer columns = AddIntermediate(result, name + "_columns", conv_.window.dtype(), gathered);
    Buffer matrix = AddIntermediate(result, name + "_matrix", conv_.weight.dtype(), weights);
    Buffer product = AddIntermediate(result, name + "_product", stage_.values[0].dtype(), {p, o});
    std::vector<TensorExpr> stages = {ColumnsStage(columns), MatrixStage(matrix),
                                      ProductStage(product, columns, matrix), OutputStage(product)};
    auto at = result.stages.begin() + static_cast<std::ptrdiff_t>(conv_.stage);
    at = result.stages.erase(at);
    result.stages.insert(at, stages.begin(), stages.end());
    // They have one reader, but must not be recomputed for each of its instances.
    result.kept.insert(result.kept.end(), {columns.var, matrix.var});
    if (!RowsLead()) return result;
    return WithMergedAxes(std::move(result), conv_.stage + stages.size() - 1, conv_.rows);
  }

 private:
  // Returns whether the axes of the rows are the first ones of the result, in order.
  bool RowsLead() const {
    auto same = [](const Axis& a, const Axis& b) { return a.var == b.var; };
    return std::ranges::equal(conv_.rows, std::span(stage_.axes).first(conv_.rows.size()), same);
  }

  ComputeExpr ColumnsStage(const Buffer& columns) const {
    std::vector<const char*> names = {"p"};
    for (const FlatIndex& k : k_) names.push_back(NameOf(k));
    ComputeExpr stage = StageOver(columns, names);
    Substitution at;
    p_.AddPlaces(stage.axes[0].var, at);
    for (size_t i = 0; i < k_.size(); ++i) k_[i].AddPlaces(stage.axes[i + 1].var, at);
    Expr value = Substitute(conv_.window, at);
    Expr inside = Substitute(stage_.predicate, at);
    bool everywhere = IsConstant(inside, 1);
    stage.values = {everywhere ? value : SelectOf(inside, value, Const(value.dtype(), 0))};
    return stage;
  }

  ComputeExpr MatrixStage(const Buffer& matrix) const {
    std::vector<const char*> names;
    for (const FlatIndex& k : k_) names.push_back(NameOf(k));
    names.push_back("o");
    ComputeExpr stage = StageOver(matrix, names);
    Substitution at;
    for (size_t i = 0; i < k_.size(); ++i) k_[i].AddPlaces(stage.axes[i].var, at);
    o_.AddPlaces(stage.axes.back().var, at);
    stage.values = {Substitute(conv_.weight, at)};
    return stage;
  }

  ComputeExpr ProductStage(const Buffer& product, const Buffer& columns,
                           const Buffer& matrix) const {
    ComputeExpr stage = StageOver(product, {"p", "o"});
    stage.combiner = stage_.combiner;
    std::vector<Expr> gathered = {stage.axes[0].var}, weights;
    for (const FlatIndex& k : k_) {
      stage.reduce_axes.push_back({IterationVar(NameOf(k)), k.extent()});
      for (std::vector<Expr>* indices : {&gathered, &weights}) {
        indices->push_back(stage.reduce_axes.back().var);
      }
    }
    weights.push_back(stage.axes[1].var);
    DType type = stage_.values[0].dtype();
    stage.values = {CastTo(type, Make<Load>(columns.var, gathered)) *
                    CastTo(type, Make<Load>(matrix.var, weights))};
    return stage;
  }

  ComputeExpr OutputStage(const Buffer& product) const {
    ComputeExpr stage = stage_;
    stage.reduce_axes.clear();
    stage.combiner = Combiner();
    stage.predicate = True();
    stage.values = {Make<Load>(product.var, std::vector<Expr>{p_.NumberOf(), o_.NumberOf()})};
    return stage;
  }

  // Returns the name of the product's axis: k if it has one, else that of the reduction's axis.
  const char* NameOf(const FlatIndex& k) const { return k_.size() == 1 ? "k" : k.name().c_str(); }

  const TensorProgram& program_;
  const ComputeExpr& stage_;
  const Convolution& conv_;
  FlatIndex p_;
  std::vector<FlatIndex> k_;
  FlatIndex o_;
};

}  // namespace

std::optional<TensorProgram> ImplicitGemmVariant(const TensorProgram& program) {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const auto* stage = std::get_if<ComputeExpr>(&program.stages[s]);
    if (!stage) continue;
    std::optional<Convolution> conv = Match(*stage);
    if (!conv) continue;
    conv->stage = s;
    return Builder(program, *conv).Build();
  }
  return std::nullopt;
}

}  // namespace tcc
