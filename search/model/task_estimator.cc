#include "search/model/task_estimator.h"

#include <utility>

#include "autodiff_features/learned/train.h"

namespace tcc {

TaskEstimator::TaskEstimator(TaskSpace& space, const Target& target, const RunSettings& settings,
                             std::shared_ptr<const LearnedModel> model)
    : space_(space),
      target_(target),
      settings_(settings),
      profile_(model ? model->profile : DeviceProfileOf(target)),
      first_model_(std::move(model)),
      model_(first_model_),
      entries_(space.size()) {}

const SketchFormulas* TaskEstimator::Formulas(size_t sketch) {
  Entry& entry = entries_[sketch];
  const SymbolicProgram* program = space_.Program(sketch);
  if (!std::exchange(entry.made, true) && program) {
    StatusOr<SketchFormulas> formulas =
        SketchFormulas::Create(*program, target_, profile_, settings_);
    if (formulas.ok()) entry.formulas = *std::move(formulas);
  }
  return entry.formulas ? &*entry.formulas : nullptr;
}

const SketchSlopes* TaskEstimator::Slopes(size_t sketch) {
  Entry& entry = entries_[sketch];
  const SketchFormulas* formulas = Formulas(sketch);
  if (!std::exchange(entry.sloped, true) && formulas) {
    StatusOr<SketchSlopes> slopes =
        SketchSlopes::Create(*formulas, space_.Points(sketch)->constraints());
    if (slopes.ok()) entry.slopes = *std::move(slopes);
  }
  return entry.slopes ? &*entry.slopes : nullptr;
}

void TaskEstimator::Train(const TrainingTask& trials, uint64_t seed) {
  LearnedModel first = first_model_ ? *first_model_ : PriorAlone(profile_);
  model_ = std::make_shared<const LearnedModel>(TrainFurther(first, trials, {.seed = seed}));
}

std::vector<double> TaskEstimator::TileBytes(size_t sketch, std::span<const Point> points) {
  Entry& entry = entries_[sketch];
  const SketchFormulas* formulas = Formulas(sketch);
  if (!std::exchange(entry.sized, true) && formulas) {
    SizeVars sizes = VarsOf(formulas->sizes());
    std::vector<Expr> bytes = {formulas->tile_bytes_expr()};
    StatusOr<BatchEvaluator> compiled = BatchEvaluator::Compile(bytes, sizes.vars, sizes.bounds);
    if (compiled.ok()) entry.tile_bytes = *std::move(compiled);
  }
  if (!entry.tile_bytes) return {};
  PointTable values = entry.tile_bytes->Evaluate(formulas->ToTable(points));
  std::span<const double> column = values.column(0);
  return {column.begin(), column.end()};
}

std::vector<Prediction> TaskEstimator::RankBy(const LearnedModel* model, size_t sketch,
                                              std::span<const Point> points) {
  const SketchFormulas* formulas = Formulas(sketch);
  std::vector<Prediction> predictions(points.size());
  if (!formulas) return predictions;
  predicted_ += points.size();
  if (!model) {
    std::vector<double> ln_seconds = formulas->LnSecondsAt(points);
    for (size_t p = 0; p < points.size(); ++p) predictions[p].ln_seconds = ln_seconds[p];
    return predictions;
  }
  std::vector<LearnedModel::Prediction> learned = model->Predict(FeaturesAt(*formulas, points));
  for (size_t p = 0; p < points.size(); ++p) {
    predictions[p] = {learned[p].ln_seconds, learned[p].deviation};
  }
  return predictions;
}

}  // namespace tcc
