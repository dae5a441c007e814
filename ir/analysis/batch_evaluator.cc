#include "ir/analysis/batch_evaluator.h"

#include <algorithm>
#include <memory>

#include "support/check.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// The number of points that pass through the instructions together.
constexpr size_t kBlock = 64;
// Blocks are whole vectors of the widest kind, so that no instruction has single points left over.
constexpr size_t kVector = 8;

// Returns the last instruction that uses each value; SIZE_MAX for results, variables and constants.
std::vector<size_t> LastUses(const FormulaProgram& program) {
  size_t inputs = program.vars + program.constants.size();
  std::vector<size_t> last(program.values(), 0);
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const FormulaProgram::Instruction& step = program.instructions[i];
    for (uint32_t id : {step.a, step.b, step.c}) last[id] = i;
  }
  std::fill_n(last.begin(), inputs, SIZE_MAX);
  for (uint32_t id : program.results) last[id] = SIZE_MAX;
  return last;
}

}  // namespace

BatchEvaluator::BatchEvaluator(FormulaProgram program) : program_(std::move(program)) {
  size_t inputs = program_.vars + program_.constants.size();
  std::vector<size_t> last = LastUses(program_);
  for (; place_count_ < inputs; ++place_count_) places_.push_back(place_count_);
  std::vector<uint32_t> free;
  for (size_t i = 0; i < program_.instructions.size(); ++i) {
    if (free.empty()) free.push_back(place_count_++);
    places_.push_back(free.back());
    free.pop_back();
    const FormulaProgram::Instruction& step = program_.instructions[i];
    for (uint32_t id : {step.a, step.b, step.c}) {
      if (last[id] != i) continue;
      free.push_back(places_[id]);
      last[id] = SIZE_MAX;  // operands may be the same
    }
  }
}

StatusOr<BatchEvaluator> BatchEvaluator::Compile(std::span<const Expr> exprs,
                                                 std::span<const Var> vars, const Bounds& bounds) {
  StatusOr<FormulaProgram> program = CompileFormulas(exprs, vars, bounds);
  if (!program.ok()) return program.status();
  return BatchEvaluator(*std::move(program));
}

void BatchEvaluator::EvaluateBlock(const PointTable& points, size_t first, size_t count,
                                   size_t width, std::span<double> values,
                                   PointTable& results) const {
  auto at = [&](size_t id) { return &values[places_[id] * width]; };
  for (size_t v = 0; v < program_.vars; ++v) {
    double* rest = std::copy_n(&points.column(v)[first], count, at(v));
    std::fill_n(rest, width - count, points.at(v, first));
  }
  size_t out = program_.vars + program_.constants.size();
  size_t whole = RoundUp(count, kVector);
  for (const FormulaProgram::Instruction& step : program_.instructions) {
    ApplyExactly(step, at(step.a), at(step.b), at(step.c), at(out++), whole);
  }
  for (size_t r = 0; r < program_.results.size(); ++r) {
    std::copy_n(at(program_.results[r]), count, &results.column(r)[first]);
  }
}

PointTable BatchEvaluator::Evaluate(const PointTable& points) const {
  size_t vars = program_.vars;
  TCC_CHECK(points.columns() == vars) << points.columns() << " columns for " << vars;
  PointTable results(program_.results.size(), points.points());
  if (points.points() == 0) return results;
  size_t width = std::min(kBlock, RoundUp(points.points(), kVector));
  size_t cells = place_count_ * width;
  auto room = std::make_unique_for_overwrite<double[]>(cells);
  std::span<double> values(room.get(), cells);
  for (size_t i = 0; i < program_.constants.size(); ++i) {
    std::fill_n(&values[(vars + i) * width], width, program_.constants[i]);
  }
  for (size_t first = 0; first < points.points(); first += kBlock) {
    size_t count = std::min(kBlock, points.points() - first);
    EvaluateBlock(points, first, count, width, values, results);
  }
  return results;
}

std::vector<double> BatchEvaluator::EvaluateAt(std::span<const int64_t> point) const {
  PointTable points(program_.vars, 1);
  for (size_t v = 0; v < program_.vars; ++v) points.at(v, 0) = static_cast<double>(point[v]);
  PointTable results = Evaluate(points);
  std::vector<double> values;
  for (size_t r = 0; r < results.columns(); ++r) values.push_back(results.at(r, 0));
  return values;
}

}  // namespace tcc
