#include "ir/analysis/batch_evaluator.h"

#include <algorithm>
#include <memory>

#include "support/check.h"

namespace tcc {
namespace {

// The number of points that pass through the instructions together: the values of a thousand
// instructions stay in the second-level cache.
constexpr size_t kBlock = 64;

}  // namespace

StatusOr<BatchEvaluator> BatchEvaluator::Compile(std::span<const Expr> exprs,
                                                 std::span<const Var> vars, const Bounds& bounds) {
  StatusOr<FormulaProgram> program = CompileFormulas(exprs, vars, bounds);
  if (!program.ok()) return program.status();
  return BatchEvaluator(*std::move(program));
}

void BatchEvaluator::EvaluateBlock(const PointTable& points, size_t first, size_t count,
                                   std::span<double> values, PointTable& results) const {
  size_t width = std::min(kBlock, points.points());
  auto slot = [&](size_t id) { return &values[id * width]; };
  for (size_t v = 0; v < program_.vars; ++v) {
    std::copy_n(&points.column(v)[first], count, slot(v));
  }
  size_t out = program_.vars + program_.constants.size();
  for (const FormulaProgram::Instruction& step : program_.instructions) {
    ApplyExactly(step, slot(step.a), slot(step.b), slot(step.c), slot(out++), count);
  }
  for (size_t r = 0; r < program_.results.size(); ++r) {
    std::copy_n(slot(program_.results[r]), count, &results.column(r)[first]);
  }
}

PointTable BatchEvaluator::Evaluate(const PointTable& points) const {
  size_t vars = program_.vars;
  TCC_CHECK(points.columns() == vars) << points.columns() << " columns for " << vars;
  PointTable results(program_.results.size(), points.points());
  if (points.points() == 0) return results;
  size_t width = std::min(kBlock, points.points());
  size_t cells = program_.values() * width;
  auto room = std::make_unique_for_overwrite<double[]>(cells);
  std::span<double> values(room.get(), cells);
  for (size_t i = 0; i < program_.constants.size(); ++i) {
    std::fill_n(&values[(vars + i) * width], width, program_.constants[i]);
  }
  for (size_t first = 0; first < points.points(); first += kBlock) {
    EvaluateBlock(points, first, std::min(kBlock, points.points() - first), values, results);
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
