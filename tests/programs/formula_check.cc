#include "tests/programs/formula_check.h"

#include <algorithm>

#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/simplify.h"
#include "ir/support/check.h"
#include "lower/pipeline.h"

namespace tcc {

int64_t FormulaAt(const Expr& formula, const Function& symbolic, const Decisions& decisions) {
  Assignment values;
  for (const Var& var : symbolic.vars) values[var] = decisions.at(var->name);
  std::optional<int64_t> value = EvaluateInt(formula, values);
  TCC_CHECK(value.has_value()) << Print(formula);
  return *value;
}

StatusOr<LoweredPoint> LowerAt(const SymbolicProgram& program, const Decisions& decisions,
                               LoweringDepth depth) {
  Function known = Simplify(Substitute(program.fn, ToSubstitution(program.fn, decisions)));
  LoweredPoint point;
  std::span<const Pass> passes = Pipeline();
  auto marked = std::find_if(passes.begin(), passes.end(),
                             [](const Pass& pass) { return pass.name == "lowered"; });
  auto place = static_cast<int>(marked - passes.begin()) + 1;
  PipelineOptions options;
  if (depth == LoweringDepth::kMarked) options.last_pass = place;
  options.verify = depth == LoweringDepth::kWhole;
  options.after_pass = [&](int number, std::string_view, const Function& fn) {
    if (number != place) return;
    point.statements = StatementsToUnroll(fn);
    point.aligned = VectorsAreAligned(fn);
  };
  TCC_ASSIGN_OR_RETURN(point.lowered, RunPipeline(known, options));
  point.facts = FactsOf(point.lowered);
  return point;
}

std::string FirstWrongFormula(const std::vector<NestResources>& formulas, const Function& symbolic,
                              const Decisions& decisions, const LoweredPoint& point) {
  std::string wrong;
  if (point.facts.size() != formulas.size() || point.statements.size() != formulas.size()) {
    return fmt::format("{} nests are lowered, {} have formulas", point.facts.size(),
                       formulas.size());
  }
  auto compare = [&](const std::string& what, const Expr& formula, int64_t fact, bool at_most) {
    int64_t value = FormulaAt(formula, symbolic, decisions);
    if (!wrong.empty() || value == fact || (at_most && fact < value)) return;
    wrong = fmt::format("{} is {} in the lowered function, {} by formula {}", what, fact, value,
                        Print(Simplify(formula)));
  };
  for (size_t n = 0; n < formulas.size(); ++n) {
    const NestResources& nest = formulas[n];
    const NestFacts& facts = point.facts[n];
    auto name = [&](const std::string& what) { return what + " of nest '" + nest.name + "'"; };
    for (int axis = 0; axis < 3; ++axis) {
      compare(name("a grid extent"), nest.grid[axis], facts.grid[axis], false);
      compare(name("a thread extent"), nest.threads_by_axis[axis], facts.threads_by_axis[axis],
              false);
    }
    compare(name("threads"), nest.threads, facts.threads(), false);
    compare(name("shared bytes"), nest.shared_bytes, facts.shared_bytes, false);
    compare(name("local bytes"), nest.local_bytes, facts.local_bytes, false);
    compare(name("statements"), nest.statements, point.statements[n], false);
    compare(name("vector lanes"), nest.lanes, facts.lanes, true);
    compare(name("vector bytes"), nest.vector_bytes, facts.vector_bytes, true);
  }
  return wrong;
}

bool HasAllVectors(const std::vector<NestResources>& formulas, const Function& symbolic,
                   const Decisions& decisions, const LoweredPoint& point) {
  for (size_t n = 0; n < formulas.size(); ++n) {
    if (FormulaAt(formulas[n].lanes, symbolic, decisions) != point.facts[n].lanes) return false;
    int64_t statements = FormulaAt(formulas[n].statements, symbolic, decisions);
    if (statements != point.facts[n].statements) return false;
  }
  return true;
}

}  // namespace tcc
