#include "graph/variants/implicit_gemm.h"

#include <algorithm>

#include "graph/variants/flat_index.h"
#include "graph/variants/free_name.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

bool UsesAny(const Expr& expr, const std::vector<Axis>& axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const Axis& axis) { return UsesVar(expr, axis.var); });
}

// Returns the factor before the product widened it.
Expr WithoutWidening(const Expr& factor) {
  const auto* cast = factor.as<Cast>();
  bool widens = cast && cast->dtype.is_float() && cast->value.dtype().is_float() &&
                cast->value.dtype().bits() < cast->dtype.bits();
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
  bool found = false;
  PreOrder(expr, [&](const Expr& node) {
    const auto* load = node.as<Load>();
    if (!load) return;
    for (const Expr& index : load->indices) {
      found = found || (UsesAny(index, stage.axes) && UsesAny(index, stage.reduce_axes));
    }
  });
  return found;
}

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
      !HasKnownExtents(stage)) {
    return std::nullopt;
  }
  const auto* product = stage.values[0].as<Mul>();
  bool sums = product && stage.combiner.get() == SumCombiner(stage.outputs[0].dtype()).get();
  if (!sums) return std::nullopt;
  std::optional<Convolution> conv = Separate(stage, product->a, product->b);
  return conv ? conv : Separate(stage, product->b, product->a);
}

// Builds the four stages that replace one.
class Builder {
 public:
  Builder(const TensorProgram& program, const Convolution& conv)
      : program_(program),
        stage_(std::get<ComputeExpr>(program.stages[conv.stage])),
        conv_(conv),
        p_(conv.rows),
        k_(stage_.reduce_axes),
        o_(conv.columns) {}

  TensorProgram Build() const {
    TensorProgram result = program_;
    Buffer columns = Intermediate(result, "_columns", {p_.extent(), k_.extent()}, conv_.window);
    Buffer matrix = Intermediate(result, "_matrix", {k_.extent(), o_.extent()}, conv_.weight);
    Buffer product = Intermediate(result, "_product", {p_.extent(), o_.extent()}, stage_.values[0]);
    std::vector<TensorExpr> stages = {ColumnsStage(columns), MatrixStage(matrix),
                                      ProductStage(product, columns, matrix), OutputStage(product)};
    auto at = result.stages.begin() + static_cast<std::ptrdiff_t>(conv_.stage);
    at = result.stages.erase(at);
    result.stages.insert(at, stages.begin(), stages.end());
    // They have one reader, but must not be recomputed for each of its instances.
    result.kept.insert(result.kept.end(), {columns.var, matrix.var});
    return result;
  }

 private:
  Buffer Intermediate(TensorProgram& program, const char* suffix, const std::vector<int64_t>& shape,
                      const Expr& value) const {
    Buffer buffer;
    buffer.var = BufferVar(FreeName(program, stage_.name + suffix), value.dtype());
    for (int64_t extent : shape) buffer.shape.emplace_back(extent);
    program.intermediates.push_back(buffer);
    return buffer;
  }

  // Returns a stage over the buffer's dimensions.
  static ComputeExpr Over(const Buffer& buffer, std::vector<const char*> names) {
    ComputeExpr stage;
    stage.name = buffer.var->name;
    stage.outputs = {buffer};
    stage.indices.emplace_back();
    for (size_t d = 0; d < buffer.rank(); ++d) {
      stage.axes.push_back({IterationVar(names[d]), buffer.shape[d]});
      stage.indices[0].emplace_back(stage.axes[d].var);
    }
    return stage;
  }

  ComputeExpr ColumnsStage(const Buffer& columns) const {
    ComputeExpr stage = Over(columns, {"p", "k"});
    Substitution at;
    p_.AddPlaces(stage.axes[0].var, at);
    k_.AddPlaces(stage.axes[1].var, at);
    Expr value = Substitute(conv_.window, at);
    Expr inside = Substitute(stage_.predicate, at);
    bool everywhere = IsConstant(inside, 1);
    stage.values = {everywhere ? value : SelectOf(inside, value, Const(value.dtype(), 0))};
    return stage;
  }

  ComputeExpr MatrixStage(const Buffer& matrix) const {
    ComputeExpr stage = Over(matrix, {"k", "o"});
    Substitution at;
    k_.AddPlaces(stage.axes[0].var, at);
    o_.AddPlaces(stage.axes[1].var, at);
    stage.values = {Substitute(conv_.weight, at)};
    return stage;
  }

  ComputeExpr ProductStage(const Buffer& product, const Buffer& columns,
                           const Buffer& matrix) const {
    ComputeExpr stage = Over(product, {"p", "o"});
    Axis k{IterationVar("k"), Expr(k_.extent())};
    stage.reduce_axes = {k};
    stage.combiner = stage_.combiner;
    const Expr& p = stage.axes[0].var;
    const Expr& o = stage.axes[1].var;
    DType type = stage_.values[0].dtype();
    stage.values = {CastTo(type, Make<Load>(columns.var, std::vector<Expr>{p, k.var})) *
                    CastTo(type, Make<Load>(matrix.var, std::vector<Expr>{k.var, o}))};
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

  const TensorProgram& program_;
  const ComputeExpr& stage_;
  const Convolution& conv_;
  FlatIndex p_, k_, o_;
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
