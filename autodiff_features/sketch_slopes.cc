#include "autodiff_features/sketch_slopes.h"

#include <cmath>

#include "autodiff_features/counts/real_formulas.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

bool HasRemainder(const Expr& expr) {
  return Contains(expr, [&](const Expr& inner) { return inner.as<FloorMod>() != nullptr; });
}

// How far `expr` <= 0 is broken; in logarithms where it bounds a quantity, so that one that is ten
// times too large pulls as hard in bytes as in registers.
Expr ExcessOf(const Expr& expr) {
  const auto* difference = expr.as<Sub>();
  std::optional<int64_t> most = difference ? AsConstant(difference->b) : std::nullopt;
  if (!most || *most <= 0) return Real(expr);
  Expr amount = MaxOf(Real(difference->a), Real(1));
  return CallOf(ScalarOp::kLog, {amount}) - Real(std::log(static_cast<double>(*most)));
}

}  // namespace

StatusOr<SketchSlopes> SketchSlopes::Create(const SketchFormulas& formulas,
                                            const Constraints& constraints) {
  std::vector<Expr> exprs = formulas.feature_exprs();
  size_t features = exprs.size(), excess = 0;
  exprs.push_back(formulas.prior_expr());
  for (const Constraint& constraint : constraints) {
    if (HasRemainder(constraint.expr)) continue;
    exprs.push_back(ExcessOf(constraint.expr));
    ++excess;
  }
  SizeVars sizes = VarsOf(formulas.sizes());
  TCC_ASSIGN_OR_RETURN(FormulaProgram program, CompileFormulas(exprs, sizes.vars, sizes.bounds));
  SketchSlopes slopes{Tape(std::move(program))};
  slopes.sizes_ = sizes.vars.size();
  slopes.kind_ = formulas.kind();
  slopes.feature_columns_ = features;
  slopes.excess_columns_ = excess;
  return slopes;
}

PointTable SketchSlopes::CostSeeds(const PointTable& values, const LearnedModel* model,
                                   size_t member, std::vector<double>& ln_seconds) const {
  PointTable seeds(values.columns(), values.points());
  std::vector<KernelFeatures> kernels(values.points());
  for (size_t p = 0; p < values.points(); ++p) {
    kernels[p].kind = kind_;
    kernels[p].ln_prior = values.at(feature_columns_, p);
    ln_seconds.push_back(kernels[p].ln_prior);
    seeds.at(feature_columns_, p) = 1;
  }
  if (!model || model->members.empty()) return seeds;
  std::vector<const KernelFeatures*> pointers;
  for (size_t p = 0; p < values.points(); ++p) {
    for (size_t r = 0; r < feature_columns_; ++r) kernels[p].rows.push_back(values.at(r, p));
    pointers.push_back(&kernels[p]);
  }
  NestBatch batch = BatchOf(model->scale, pointers);
  const Mlp& network = model->members[member % model->members.size()];
  std::vector<double> corrections = network.Forward(batch);
  Mlp::Slopes slopes = network.Backward(batch, std::vector<double>(values.points(), 1.0));
  for (size_t p = 0; p < values.points(); ++p) {
    ln_seconds[p] = (model->on_prior ? ln_seconds[p] : model->ln_mean) + corrections[p];
    if (!model->on_prior) seeds.at(feature_columns_, p) = 0;
    size_t first = batch.first[p], nests = batch.first[p + 1] - first;
    size_t width = kernels[p].width();
    std::vector<double> rows = RowSlopes(
        model->scale, kernels[p], std::span(slopes.inputs).subspan(first * width, nests * width),
        std::span(slopes.shares).subspan(first, nests));
    for (size_t r = 0; r < rows.size(); ++r) seeds.at(r, p) = rows[r];
  }
  return seeds;
}

PointTable SketchSlopes::PenaltySeeds(const PointTable& values,
                                      std::vector<double>& penalty) const {
  PointTable seeds(values.columns(), values.points());
  penalty.assign(values.points(), 0.0);
  for (size_t c = feature_columns_ + 1; c < values.columns(); ++c) {
    for (size_t p = 0; p < values.points(); ++p) {
      double excess = std::max(values.at(c, p), 0.0);
      penalty[p] += excess * excess;
      seeds.at(c, p) = 2 * excess;
    }
  }
  return seeds;
}

SketchSlopes::Result SketchSlopes::At(const PointTable& ln_sizes, double width,
                                      const LearnedModel* model, size_t member) const {
  PointTable sizes(ln_sizes.columns(), ln_sizes.points());
  for (size_t s = 0; s < sizes.columns(); ++s) {
    for (size_t p = 0; p < sizes.points(); ++p) sizes.at(s, p) = std::exp(ln_sizes.at(s, p));
  }
  PointTable values = tape_.Smooth(sizes, width);
  std::vector<double> ln_seconds, penalty;
  PointTable cost = CostSeeds(values, model, member, ln_seconds);
  PointTable broken = PenaltySeeds(values, penalty);
  PointTable cost_slopes = tape_.Gradient(sizes, width, cost).gradient;
  PointTable penalty_slopes = tape_.Gradient(sizes, width, broken).gradient;
  for (size_t s = 0; s < sizes.columns(); ++s) {
    for (size_t p = 0; p < sizes.points(); ++p) {
      cost_slopes.at(s, p) *= sizes.at(s, p);
      penalty_slopes.at(s, p) *= sizes.at(s, p);
    }
  }
  return {std::move(ln_seconds), std::move(penalty), std::move(cost_slopes),
          std::move(penalty_slopes)};
}

}  // namespace tcc
