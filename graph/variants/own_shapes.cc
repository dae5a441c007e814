#include "graph/variants/own_shapes.h"

#include <algorithm>
#include <set>

#include "ir/expr/evaluate.h"
#include "ir/expr/layout.h"
#include "ir/expr/operators.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "support/check.h"

namespace tcc {
namespace {

// Each size that may be 0 doubles the number of cases that a call tells apart.
constexpr size_t kMostZeros = 2;

// Visits the buffers of a program, those that its stages write included.
template <typename Program, typename Visit>
void ForEachBuffer(Program& program, const Visit& visit) {
  for (auto* buffers : {&program.inputs, &program.outputs, &program.intermediates}) {
    for (auto& buffer : *buffers) visit(buffer);
  }
  for (auto& stage : program.stages) {
    if (auto* compute = std::get_if<ComputeExpr>(&stage)) {
      for (auto& buffer : compute->outputs) visit(buffer);
    } else if (auto* ordered = std::get_if<OrderedExpr>(&stage)) {
      visit(ordered->output);
    }
  }
}

template <typename Program, typename Visit>
void ForEachExtent(Program& program, const Visit& visit) {
  ForEachBuffer(program, [&](auto& buffer) {
    for (auto& extent : buffer.shape) visit(extent);
  });
  for (auto& stage : program.stages) {
    std::visit(
        [&](auto& expr) {
          for (auto& axis : expr.axes) visit(axis.extent);
        },
        stage);
    if (auto* compute = std::get_if<ComputeExpr>(&stage)) {
      for (auto& axis : compute->reduce_axes) visit(axis.extent);
    }
  }
}

template <typename Program, typename Visit>
void ForEachStride(Program& program, const Visit& visit) {
  ForEachBuffer(program, [&](auto& buffer) {
    for (auto& stride : buffer.layout.strides) visit(stride);
    if (buffer.layout.offset) visit(buffer.layout.offset);
  });
}

// Visits the values, predicates and indices of a program.
template <typename Program, typename Visit>
void ForEachScalar(Program& program, const Visit& visit) {
  for (auto& stage : program.stages) {
    ForEachExpr(stage, visit);
    if (auto* compute = std::get_if<ComputeExpr>(&stage)) {
      for (auto& indices : compute->indices) {
        for (auto& index : indices) visit(index);
      }
    }
  }
}

bool IsShapeVar(const Expr& expr) {
  const auto* var = expr.as<VarNode>();
  return var && var->role == VarRole::kShape;
}

bool IsFree(const Expr& expr) {
  return Contains(expr, IsShapeVar);
}

// A formula over the graph's Shape variables that gets a variable, or is a product of others.
struct Formula {
  Expr whole;
  bool is_extent = false;
  int64_t at_probe = 0;  // the value at the probe, 0: it has none there
  // The formula is factor times the product of the formulas `of`; none: it is a variable.
  int64_t factor = 1;
  std::vector<size_t> of = {};
};

// The formulas of a computation. Their values at one point, the probe, tell nearly all of them
// apart.
class Formulas {
 public:
  size_t size() const { return formulas_.size(); }
  const Formula& operator[](size_t i) const { return formulas_[i]; }

  // Returns the formula that is always equal to `expr`; nullopt if there is none.
  std::optional<size_t> Find(const Expr& expr) {
    if (expr.dtype() != kInt64 || AsConstant(expr)) return std::nullopt;
    std::optional<int64_t> value = AtProbe(expr);
    for (size_t i = 0; value && i < formulas_.size(); ++i) {
      if (formulas_[i].at_probe == *value && EqualUpToAlgebra(formulas_[i].whole, expr)) return i;
    }
    return std::nullopt;
  }

  void Add(const Expr& expr, bool is_extent) {
    if (!IsFree(expr) || Find(expr)) return;
    formulas_.push_back({Simplify(expr), is_extent, AtProbe(expr).value_or(0)});
  }

  // Finds the products among the formulas.
  void Factor() {
    for (size_t i = 0; i < formulas_.size(); ++i) {
      if (formulas_[i].at_probe > 0) FindProduct(i, {}, 1);
    }
  }

 private:
  static constexpr size_t kMostFactors = 3;

  // Looks for the formula among the products of `of`, whose value at the probe is `value`, and of
  // others that come after the last one of them.
  bool FindProduct(size_t i, const std::vector<size_t>& of, int64_t value) {
    Formula& formula = formulas_[i];
    int64_t factor = formula.at_probe / value;
    if (!of.empty() && formula.at_probe % value == 0 && (of.size() > 1 || factor > 1)) {
      Expr product = factor;
      for (size_t f : of) product = product * formulas_[f].whole;
      if (EqualUpToAlgebra(formula.whole, product)) {
        formula.factor = factor;
        formula.of = of;
        return true;
      }
    }
    if (of.size() == kMostFactors) return false;
    for (size_t next = of.empty() ? 0 : of.back(); next < formulas_.size(); ++next) {
      int64_t more = formulas_[next].at_probe;
      if (next == i || more <= 0 || formula.at_probe / value % more != 0) continue;
      std::vector<size_t> longer = of;
      longer.push_back(next);
      if (FindProduct(i, longer, value * more)) return true;
    }
    return false;
  }

  // Returns the value where the k-th variable that was met is the k-th prime above 1000, or as near
  // to that as its range allows.
  std::optional<int64_t> AtProbe(const Expr& expr) {
    static constexpr int64_t kPrimes[] = {1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049};
    for (const Var& var : VarsOf(expr)) {
      if (!IsShapeVar(var)) return std::nullopt;
      int64_t prime = kPrimes[probe_.size() % std::size(kPrimes)];
      probe_.emplace(var, std::clamp(prime, var->low, var->high));
    }
    return EvaluateInt(expr, probe_);
  }

  std::vector<Formula> formulas_;
  Assignment probe_;
};

// Replaces copies of formulas, the largest first, and notes the variables of the graph that are
// left.
class FormulaReplacer : public Mutator {
 public:
  FormulaReplacer(Formulas& formulas, const std::vector<Expr>& replacements)
      : formulas_(formulas), replacements_(replacements) {}

  const std::vector<Expr>& left() const { return left_; }

 protected:
  using Mutator::Rewrite;
#define TCC_REPLACE_FORMULA(node) \
  Expr Rewrite(const node& expr) override { return Replaced(expr); }
  TCC_EXPR_KINDS(TCC_REPLACE_FORMULA)
#undef TCC_REPLACE_FORMULA

 private:
  template <typename Node>
  Expr Replaced(const Node& node) {
    Expr expr(node);
    if (std::optional<size_t> found = formulas_.Find(expr)) return replacements_[*found];
    if (IsShapeVar(expr)) left_.push_back(expr);
    return RewriteChildren(node);
  }

  Formulas& formulas_;
  const std::vector<Expr>& replacements_;
  std::vector<Expr> left_;
};

void Replace(FormulaReplacer& replacer, std::vector<TensorProgram>& forms) {
  auto replace = [&](Expr& expr) { expr = replacer.Mutate(expr); };
  for (TensorProgram& form : forms) {
    ForEachExtent(form, replace);
    ForEachStride(form, replace);
    ForEachScalar(form, replace);
  }
}

// Returns the formulas of extents, then of strides, then the variables that occur elsewhere.
Formulas FormulasOf(const std::vector<TensorProgram>& forms) {
  Formulas formulas;
  for (const TensorProgram& form : forms) {
    ForEachExtent(form, [&](const Expr& extent) { formulas.Add(extent, true); });
  }
  for (const TensorProgram& form : forms) {
    ForEachStride(form, [&](const Expr& stride) { formulas.Add(stride, false); });
  }
  std::vector<Expr> whole;
  for (size_t i = 0; i < formulas.size(); ++i) whole.push_back(formulas[i].whole);
  FormulaReplacer replacer(formulas, whole);
  std::vector<TensorProgram> same = forms;
  Replace(replacer, same);
  for (const Expr& var : replacer.left()) formulas.Add(var, false);
  formulas.Factor();
  return formulas;
}

// Returns the power of 4 from `value` on, or the value itself where that is not in [1, 2^60].
int64_t PowerOfFour(int64_t value) {
  if (value < 1) return value;
  int64_t power = 1;
  while (power < value && power <= int64_t{1} << 58) power *= 4;
  return std::max(power, value);
}

// Returns `usual`, or the next multiple of 8 that no other variable has, or any other value of the
// range.
int64_t Untaken(int64_t usual, const Interval& range, const std::set<int64_t>& taken) {
  for (int64_t value = usual; value <= range.high; value = (value / 8 + 1) * 8) {
    if (!taken.contains(value)) return value;
  }
  for (int64_t value = std::max<int64_t>(range.low, 2); value <= range.high; ++value) {
    if (!taken.contains(value)) return value;
  }
  return usual;
}

int64_t MostElements(const Buffer& buffer) {
  return BoundsOf(StoredElements(buffer), {}).high;
}

// Makes the variables of the formulas.
class OwnVars {
 public:
  explicit OwnVars(const Formulas& formulas) : formulas_(formulas), number_(formulas.size()) {
    for (size_t i = 0; i < formulas.size(); ++i) AddVarsOf(i);
    auto may_be_zero = [&](size_t i) { return formulas_[of_[i]].is_extent && RangeOf(i).low < 1; };
    for (size_t i = 0; i < of_.size(); ++i) {
      if (may_be_zero(i)) zeros_.push_back(i);
    }
    if (zeros_.size() > kMostZeros) zeros_.clear();
    exact_.resize(of_.size());
    MakeVars();
  }

  const std::vector<Var>& vars() const { return vars_; }
  const std::vector<size_t>& zeros() const { return zeros_; }
  const Expr& Argument(size_t i) const { return formulas_[of_[i]].whole; }

  // Returns what stands for each formula.
  std::vector<Expr> Replacements() const {
    std::vector<Expr> result;
    for (size_t i = 0; i < formulas_.size(); ++i) result.push_back(ReplacementOf(i));
    return result;
  }

  // Keeps the high ends of the buffer's variables as they are.
  void KeepHighOf(const Buffer& buffer) {
    for (const Var& var : VarsOf(StoredElements(buffer))) {
      auto found = std::ranges::find(vars_, var);
      if (found != vars_.end()) exact_[found - vars_.begin()] = true;
    }
  }

  void MakeVars() {
    vars_.clear();
    std::set<int64_t> taken;
    for (size_t i = 0; i < of_.size(); ++i) {
      Interval range = OwnRange(i);
      int64_t usual = std::max<int64_t>(AtUsual(Argument(i)).value_or(range.low), 2);
      usual = Untaken(std::clamp(usual, range.low, range.high), range, taken);
      taken.insert(usual);
      vars_.push_back(ShapeVar("n" + std::to_string(i), range.low, range.high, usual));
    }
  }

 private:
  // A formula with one value needs no variable.
  static std::optional<int64_t> OnlyValue(const Formula& formula) {
    Interval range = BoundsOf(formula.whole, {});
    return range.low == range.high ? std::optional(range.low) : std::nullopt;
  }

  void AddVarsOf(size_t i) {
    if (number_[i] || OnlyValue(formulas_[i])) return;
    for (size_t f : formulas_[i].of) AddVarsOf(f);
    if (!formulas_[i].of.empty()) return;
    number_[i] = of_.size();
    of_.push_back(i);
  }

  Expr ReplacementOf(size_t i) const {
    const Formula& formula = formulas_[i];
    if (std::optional<int64_t> value = OnlyValue(formula)) return *value;
    if (formula.of.empty()) return vars_[*number_[i]];
    Expr product = ReplacementOf(formula.of[0]);
    for (size_t f = 1; f < formula.of.size(); ++f) product = product * ReplacementOf(formula.of[f]);
    return Simplify(product * formula.factor);
  }

  Interval RangeOf(size_t i) const { return BoundsOf(Argument(i), {}); }

  Interval OwnRange(size_t i) const {
    Interval range = RangeOf(i);
    if (!exact_[i]) range.high = PowerOfFour(range.high);
    if (range.low >= 1) {
      range.low = std::min<int64_t>(range.low, 2);
    } else if (formulas_[of_[i]].is_extent) {
      range.low = std::ranges::find(zeros_, i) != zeros_.end() ? 1 : 0;
    }
    return range;
  }

  const Formulas& formulas_;
  std::vector<std::optional<size_t>> number_;  // by formula: of its variable
  std::vector<size_t> of_;                     // by variable: its formula
  std::vector<size_t> zeros_;
  std::vector<bool> exact_;  // by variable: whether its high end is not rounded
  std::vector<Var> vars_;
};

std::vector<TensorProgram> Replaced(const std::vector<TensorProgram>& forms, Formulas& formulas,
                                    const OwnVars& own) {
  std::vector<Expr> replacements = own.Replacements();
  FormulaReplacer replacer(formulas, replacements);
  std::vector<TensorProgram> result = forms;
  Replace(replacer, result);
  TCC_CHECK(replacer.left().empty()) << forms[0].name;
  for (TensorProgram& form : result) form.shape_vars = own.vars();
  return result;
}

// Keeps the high ends of variables as they are where rounded ones make a buffer too large for
// 32-bit indices. Returns whether there is such a buffer.
bool KeepSmall(const TensorProgram& before, const TensorProgram& after, OwnVars& own) {
  std::vector<int64_t> most;
  ForEachBuffer(before, [&](const Buffer& buffer) { most.push_back(MostElements(buffer)); });
  bool any = false;
  size_t next = 0;
  ForEachBuffer(after, [&](const Buffer& buffer) {
    if (most[next++] > INT32_MAX || MostElements(buffer) <= INT32_MAX) return;
    own.KeepHighOf(buffer);
    any = true;
  });
  return any;
}

// Replaces variables by 0. What is divided by 0 is no longer evaluated, and must not trap where its
// evaluation is hoisted.
Expr WithZeros(const Expr& expr, const Substitution& zeros) {
  auto by_one = [](const Expr& node) -> Expr {
    const BinaryOperator* op = OperatorOf(node.kind());
    if (!op || op->rule != OperandRule::kInteger) return node;
    return VisitExpr(node, [&](const auto& division) -> Expr {
      if constexpr (requires { division.b; }) {
        if (IsConstant(Simplify(division.b), 0)) return MakeBinary(node.kind(), division.a, 1);
      }
      return node;
    });
  };
  return RewriteBottomUp(Substitute(expr, zeros), by_one);
}

bool HasNoPoint(const std::vector<Axis>& axes) {
  return std::ranges::any_of(axes, [](const Axis& axis) { return IsConstant(axis.extent, 0); });
}

bool HasNoElement(const Buffer& buffer) {
  return std::ranges::any_of(buffer.shape, [](const Expr& dim) { return IsConstant(dim, 0); });
}

// Makes a map of a reduction over no point.
void StoreIdentities(ComputeExpr& stage) {
  stage.values = stage.combiner->identities;
  stage.predicate = True();
  stage.combiner = {};
  stage.reduce_axes.clear();
}

}  // namespace

std::optional<TensorProgram> AtZero(TensorProgram program, const std::vector<Var>& zeros) {
  Substitution values;
  for (const Var& var : zeros) values.emplace(var, 0);
  auto replace = [&](Expr& expr) { expr = WithZeros(expr, values); };
  ForEachExtent(program, [&](Expr& extent) { extent = Simplify(Substitute(extent, values)); });
  if (std::ranges::all_of(program.outputs, HasNoElement)) return std::nullopt;
  std::erase_if(program.stages, [](const TensorExpr& stage) {
    return std::visit([](const auto& expr) { return HasNoPoint(expr.axes); }, stage);
  });
  for (TensorExpr& stage : program.stages) {
    auto* compute = std::get_if<ComputeExpr>(&stage);
    if (compute && HasNoPoint(compute->reduce_axes)) StoreIdentities(*compute);
  }
  ForEachStride(program, replace);
  ForEachScalar(program, replace);
  std::erase_if(program.shape_vars, [&](const Var& var) { return values.contains(var); });
  return program;
}

OwnShapes WithOwnShapes(std::vector<TensorProgram> forms) {
  if (forms[0].shape_vars.empty()) return {.forms = std::move(forms), .arguments = {}};
  Formulas formulas = FormulasOf(forms);
  if (formulas.size() == 0) {
    for (TensorProgram& form : forms) form.shape_vars.clear();
    return {.forms = std::move(forms), .arguments = {}};
  }
  OwnVars own(formulas);
  OwnShapes result{.forms = Replaced(forms, formulas, own), .arguments = {}};
  bool any = false;
  for (size_t f = 0; f < forms.size(); ++f) any |= KeepSmall(forms[f], result.forms[f], own);
  if (any) {
    own.MakeVars();
    result.forms = Replaced(forms, formulas, own);
  }
  for (size_t i = 0; i < own.vars().size(); ++i) result.arguments.push_back(own.Argument(i));
  result.may_be_zero = own.zeros();
  return result;
}

}  // namespace tcc
