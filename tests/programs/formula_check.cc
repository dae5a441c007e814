#include "tests/programs/formula_check.h"

#include <algorithm>

#include "ir/expr/evaluate.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "lower/passes/passes.h"
#include "lower/pipeline.h"
#include "support/check.h"

namespace tcc {

int64_t FormulaAt(const Expr& formula, const Function& symbolic, const Decisions& decisions) {
  Assignment values;
  for (const Var& var : symbolic.vars) values[var] = decisions.at(var->name);
  std::optional<int64_t> value = EvaluateInt(formula, values);
  TCC_CHECK(value.has_value()) << Print(formula);
  return *value;
}

namespace {

NestFacts Together(const std::vector<NestFacts>& nests) {
  NestFacts all;
  for (const NestFacts& nest : nests) {
    for (int axis = 0; axis < 3; ++axis) {
      all.grid[axis] = std::max(all.grid[axis], nest.grid[axis]);
      all.threads_by_axis[axis] = std::max(all.threads_by_axis[axis], nest.threads_by_axis[axis]);
    }
    all.shared_bytes = std::max(all.shared_bytes, nest.shared_bytes);
    all.local_bytes = std::max(all.local_bytes, nest.local_bytes);
    all.lanes = std::max(all.lanes, nest.lanes);
    all.vector_bytes = std::max(all.vector_bytes, nest.vector_bytes);
    all.statements += nest.statements;
  }
  return all;
}

// Of each nest of a function with flat buffers, once virtual threads are copies of statements and
// have versions of what lives across barriers.
std::vector<std::optional<int64_t>> LocalBytesWithVthreads(const Function& flat,
                                                           const std::vector<NestFacts>& nests) {
  constexpr int64_t kMaxCopies = 64;  // more take too long
  bool few =
      std::ranges::all_of(nests, [](const NestFacts& nest) { return nest.vthreads <= kMaxCopies; });
  std::vector<std::optional<int64_t>> bytes(nests.size());
  if (!few) return bytes;
  std::vector<NestFacts> copied = FactsOf(DistributeVthreads(flat));
  for (size_t n = 0; n < nests.size(); ++n) bytes[n] = copied.at(n).local_bytes;
  return bytes;
}

}  // namespace

StatusOr<LoweredPoint> LowerAt(const SymbolicProgram& program, const Decisions& decisions,
                               LoweringDepth depth) {
  Function known = Simplify(Substitute(program.fn, ToSubstitution(program.fn, decisions)));
  LoweredPoint point;
  std::span<const Pass> passes = Pipeline();
  auto marked =
      std::ranges::find_if(passes, [](const Pass& pass) { return pass.name == "flatten_buffers"; });
  auto place = static_cast<int>(marked - passes.begin()) + 1;
  PipelineOptions options;
  if (depth == LoweringDepth::kMarked) options.last_pass = place;
  options.verify = depth == LoweringDepth::kWhole;
  options.after_pass = [&](int number, std::string_view name, const Function& fn) {
    // Versions of a buffer have places of their own from here on.
    if (name == "pipeline") point.aligned = point.aligned && VectorsAreAligned(fn);
    if (number != place) return;
    point.statements = StatementsToUnroll(fn);
    point.aligned = VectorsAreAligned(fn);
    point.marked = FactsOf(fn);
    point.local_bytes = LocalBytesWithVthreads(fn, point.marked);
    point.pipelined = HasPipeline(fn);
    point.repeated = HasRepeatedLoops(fn);
  };
  TCC_ASSIGN_OR_RETURN(point.lowered, RunPipeline(known, options));
  if (depth == LoweringDepth::kWhole) point.whole = Together(FactsOf(point.lowered));
  return point;
}

namespace {

NestFacts ByFormula(const NestResources& nest, const Function& symbolic,
                    const Decisions& decisions) {
  auto at = [&](const Expr& formula) { return FormulaAt(formula, symbolic, decisions); };
  NestFacts facts;
  for (int axis = 0; axis < 3; ++axis) {
    facts.grid[axis] = at(nest.grid[axis]);
    facts.threads_by_axis[axis] = at(nest.threads_by_axis[axis]);
  }
  facts.shared_bytes = at(nest.shared_bytes);
  facts.local_bytes = at(nest.local_bytes);
  facts.vthreads = at(nest.vthreads);
  facts.lanes = at(nest.lanes);
  facts.vector_bytes = at(nest.vector_bytes);
  facts.statements = at(nest.statements);
  return facts;
}

// The first of a few numbers that differs, "shared bytes are 64, by formula 48".
class Comparison {
 public:
  void Equal(const std::string& what, int64_t fact, int64_t formula) {
    if (fact != formula) Differ(what, fact, formula);
  }
  void AtMost(const std::string& what, int64_t fact, int64_t formula) {
    if (fact > formula) Differ(what, fact, formula);
  }
  void Launch(const std::string& of, const NestFacts& fact, const NestFacts& formula) {
    for (int axis = 0; axis < 3; ++axis) {
      Equal("grid extents" + of, fact.grid[axis], formula.grid[axis]);
      Equal("thread extents" + of, fact.threads_by_axis[axis], formula.threads_by_axis[axis]);
    }
  }
  const std::string& message() const { return message_; }

 private:
  void Differ(const std::string& what, int64_t fact, int64_t formula) {
    if (message_.empty()) message_ = fmt::format("{} are {}, by formula {}", what, fact, formula);
  }
  std::string message_;
};

}  // namespace

std::string FirstWrongFormula(const std::vector<NestResources>& formulas, const Function& symbolic,
                              const Decisions& decisions, const LoweredPoint& point) {
  std::vector<NestFacts> by_formula;
  for (const NestResources& nest : formulas) {
    by_formula.push_back(ByFormula(nest, symbolic, decisions));
  }
  Comparison comparison;
  comparison.Equal("nests", static_cast<int64_t>(point.marked.size()),
                   static_cast<int64_t>(formulas.size()));
  if (!comparison.message().empty()) return comparison.message();
  for (size_t n = 0; n < formulas.size(); ++n) {
    std::string of = " of nest '" + formulas[n].name + "'";
    comparison.Launch(of, point.marked[n], by_formula[n]);
    comparison.Equal("shared bytes" + of, point.marked[n].shared_bytes, by_formula[n].shared_bytes);
    if (point.local_bytes[n]) {
      comparison.Equal("local bytes" + of, *point.local_bytes[n], by_formula[n].local_bytes);
    }
    comparison.Equal("vthreads" + of, point.marked[n].vthreads, by_formula[n].vthreads);
    comparison.Equal("statements" + of, point.statements[n], by_formula[n].statements);
    comparison.Equal("lanes" + of, point.marked[n].lanes, by_formula[n].lanes);
    // What a vectorized loop asks for. At some sizes the index does not move with the lanes any
    // more, or the loop has one iteration and is gone: then there is no vector.
    comparison.AtMost("vector bytes" + of, point.marked[n].vector_bytes,
                      by_formula[n].vector_bytes);
  }
  if (point.whole) {
    NestFacts all = Together(by_formula);
    comparison.Launch(" once written", *point.whole, all);
    // Lanes that meet in one cell stay a loop, whose vectors are never written; and statements go
    // where a condition is known to fail. HasAllVectors tells the points without either.
    comparison.AtMost("lanes once written", point.whole->lanes, all.lanes);
    comparison.AtMost("vector bytes once written", point.whole->vector_bytes, all.vector_bytes);
    if (!point.pipelined) {
      comparison.Equal("local bytes once written", point.whole->local_bytes, all.local_bytes);
    }
    if (!point.pipelined && !point.repeated) {
      comparison.AtMost("statements once written", point.whole->statements, all.statements);
    }
  }
  return comparison.message();
}

bool HasAllVectors(const std::vector<NestResources>& formulas, const Function& symbolic,
                   const Decisions& decisions, const LoweredPoint& point) {
  std::vector<NestFacts> by_formula;
  for (const NestResources& nest : formulas) {
    by_formula.push_back(ByFormula(nest, symbolic, decisions));
  }
  NestFacts all = Together(by_formula);
  return point.whole && point.whole->lanes == all.lanes &&
         point.whole->statements == all.statements;
}

}  // namespace tcc
