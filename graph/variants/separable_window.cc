#include "graph/variants/variants.h"

#include <algorithm>

#include "graph/variants/stage_parts.h"
#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

// Returns the steps of a stage at the usual sizes.
double WorkOf(const ComputeExpr& stage) {
  double work = 1;
  for (const std::vector<Axis>* axes : {&stage.axes, &stage.reduce_axes}) {
    for (const Axis& axis : *axes) work *= static_cast<double>(UsualExtent(axis));
  }
  return work;
}

// The positions of the axes that the expression uses.
std::vector<size_t> UsedOf(const std::vector<Axis>& axes, const Expr& expr) {
  std::vector<size_t> used;
  for (size_t a = 0; a < axes.size(); ++a) {
    if (UsesVar(expr, axes[a].var)) used.push_back(a);
  }
  return used;
}

// A reduction of f(element of one buffer), whose first reduce axis goes through dimension `dim` of
// the buffer and no other axis but `axis`, if any, does.
struct Window {
  Expr load;
  Buffer input;
  size_t dim = 0;
  std::optional<size_t> axis;
  const std::vector<Expr>& indices() const { return load.as<Load>()->indices; }
};

// The one element that `value` reads, if it depends on the axes by that alone.
Expr OnlyElement(const ComputeExpr& stage, const Expr& value) {
  Expr load;
  int reads = 0;
  PreOrder(value, [&](const Expr& e) {
    if (!e.as<Load>()) return;
    load = e;
    ++reads;
  });
  if (reads != 1) return {};
  Expr rest = RewriteBottomUp(
      value, [&](const Expr& e) { return Equal(e, load) ? Const(load.dtype(), 0) : e; });
  bool alone = UsedOf(stage.axes, rest).empty() && UsedOf(stage.reduce_axes, rest).empty();
  return alone ? load : Expr();
}

// Whether a condition is about the window's dimension; nullopt where it is about others as well.
std::optional<bool> IsAlong(const Window& window, const ComputeExpr& stage, const Expr& term) {
  bool along = false, other = false;
  for (size_t a : UsedOf(stage.axes, term)) (a == window.axis ? along : other) = true;
  for (size_t r : UsedOf(stage.reduce_axes, term)) (r == 0 ? along : other) = true;
  return along && other ? std::nullopt : std::optional(along);
}

// Whether each index has an axis to itself, a reduce axis of its own and at most one other, or
// none.
bool IsSeparable(const Window& window, const ComputeExpr& stage) {
  std::vector<int> uses(stage.axes.size()), reduce_uses(stage.reduce_axes.size());
  for (const Expr& index : window.indices()) {
    std::vector<size_t> spatial = UsedOf(stage.axes, index);
    std::vector<size_t> reduce = UsedOf(stage.reduce_axes, index);
    if (spatial.size() > 1 || reduce.size() > 1) return false;
    for (size_t a : spatial) ++uses[a];
    for (size_t r : reduce) ++reduce_uses[r];
    bool plain =
        spatial.empty() ? AsConstant(index).has_value() : index.same_as(stage.axes[spatial[0]].var);
    if (reduce.empty() && !plain) return false;
  }
  return std::ranges::all_of(uses, [](int n) { return n <= 1; }) &&
         std::ranges::all_of(reduce_uses, [](int n) { return n == 1; });
}

std::optional<Window> Match(const TensorProgram& program, const ComputeExpr& stage) {
  bool reduces = stage.combiner && stage.values.size() == 1 && stage.reduce_axes.size() > 1;
  Expr load = reduces && IsNeverEmpty(stage) ? OnlyElement(stage, stage.values[0]) : Expr();
  const Buffer* input = load ? FindBuffer(program, load.as<Load>()->buffer) : nullptr;
  if (!input) return std::nullopt;
  Window window{load, *input, 0, std::nullopt};
  if (!IsSeparable(window, stage)) return std::nullopt;
  const Var& first = stage.reduce_axes[0].var;
  while (!UsesVar(window.indices()[window.dim], first)) ++window.dim;
  std::vector<size_t> along = UsedOf(stage.axes, window.indices()[window.dim]);
  if (!along.empty()) window.axis = along[0];
  for (const Expr& term : ConjunctsOf(stage.predicate)) {
    if (!IsAlong(window, stage, term)) return std::nullopt;
  }
  return window;
}

Expr ConjunctionOf(const Window& window, const ComputeExpr& stage, bool along) {
  Expr all;
  for (const Expr& term : ConjunctsOf(stage.predicate)) {
    if (IsAlong(window, stage, term) == along) all = all ? BothOf(all, term) : term;
  }
  return all ? all : True();
}

// The stage that reduces along the window's dimension alone, everywhere in the others.
ComputeExpr PartAlong(const TensorProgram& program, const Window& window,
                      const ComputeExpr& whole) {
  ComputeExpr part = whole;
  part.name = FreeName(program, whole.name + "_along");
  part.axes.clear();
  part.reduce_axes = {{IterationVar(whole.reduce_axes[0].var->name), whole.reduce_axes[0].extent}};
  Substitution at = {{whole.reduce_axes[0].var, part.reduce_axes[0].var}};
  std::vector<Expr> places = window.indices();
  for (size_t d = 0; d < places.size(); ++d) {
    std::vector<size_t> own = UsedOf(whole.axes, places[d]);
    bool is_other_window = d != window.dim && !UsedOf(whole.reduce_axes, places[d]).empty();
    if (is_other_window) {
      part.axes.push_back({IterationVar("i" + std::to_string(d)), window.input.shape[d]});
      places[d] = part.axes.back().var;
    } else if (!own.empty()) {
      const Axis& axis = whole.axes[own[0]];
      part.axes.push_back({IterationVar(axis.var->name), axis.extent});
      at.emplace(axis.var, part.axes.back().var);
    }
  }
  for (Expr& place : places) place = Substitute(place, at);
  Expr load = Make<Load>(window.input.var, places);
  part.values[0] = RewriteBottomUp(whole.values[0],
                                   [&](const Expr& e) { return Equal(e, window.load) ? load : e; });
  part.predicate = Substitute(ConjunctionOf(window, whole, true), at);

  Buffer result;
  DType dtype = whole.outputs[0].dtype();
  result.var = BufferVar(FreeName(program, whole.outputs[0].var->name + "_along"), dtype);
  part.indices = {{}};
  for (const Axis& axis : part.axes) {
    result.shape.push_back(axis.extent);
    part.indices[0].push_back(axis.var);
  }
  part.outputs = {result};
  return part;
}

// The stage that reduces what `part` has along the other dimensions.
ComputeExpr RestOf(const Window& window, const ComputeExpr& whole, const ComputeExpr& part) {
  ComputeExpr rest = whole;
  rest.reduce_axes.erase(rest.reduce_axes.begin());
  std::vector<Expr> places;
  for (size_t d = 0; d < window.indices().size(); ++d) {
    const Expr& index = window.indices()[d];
    if (d == window.dim) {
      if (window.axis) places.push_back(whole.axes[*window.axis].var);
    } else if (!AsConstant(index)) {
      places.push_back(index);
    }
  }
  rest.values = {Make<Load>(part.outputs[0].var, places)};
  rest.predicate = ConjunctionOf(window, whole, false);
  return rest;
}

// Writing an element of a part and reading it again, in steps of a reduction.
constexpr double kPartCost = 2;

// Stage `s` in stages of one reduce axis each.
std::optional<TensorProgram> Separated(const TensorProgram& program, size_t s) {
  const auto& direct = std::get<ComputeExpr>(program.stages[s]);
  if (!Match(program, direct)) return std::nullopt;
  TensorProgram result = program;
  double work = 0;
  ComputeExpr rest = direct;
  while (std::optional<Window> window = Match(result, rest)) {
    ComputeExpr part = PartAlong(result, *window, rest);
    rest = RestOf(*window, rest, part);
    double taps = static_cast<double>(UsualExtent(part.reduce_axes[0]));
    work += WorkOf(part) * (1 + kPartCost / taps);
    result.intermediates.push_back(part.outputs[0]);
    result.stages[s] = rest;
    result.stages.insert(result.stages.begin() + static_cast<std::ptrdiff_t>(s++), part);
  }
  bool pays = work > 0 && 2 * (work + WorkOf(rest)) <= WorkOf(direct);
  return pays ? std::optional(result) : std::nullopt;
}

}  // namespace

std::optional<TensorProgram> SeparableWindowVariant(const TensorProgram& program) {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    if (!std::holds_alternative<ComputeExpr>(program.stages[s])) continue;
    if (std::optional<TensorProgram> separated = Separated(program, s)) return separated;
  }
  return std::nullopt;
}

}  // namespace tcc
