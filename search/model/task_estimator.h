#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "autodiff_features/learned_model.h"
#include "autodiff_features/sketch_slopes.h"
#include "search/model/ranker.h"

namespace tcc {

// The estimator for one task: formulas of each sketch, made when they are first asked for.
class TaskEstimator final : public Ranker {
 public:
  // `space` outlives the estimator. `model` null: the target's prior alone. A target that the
  // formulas do not describe has none of them.
  TaskEstimator(TaskSpace& space, const Target& target, const RunSettings& settings,
                std::shared_ptr<const LearnedModel> model);

  // NaN where a sketch has no formulas.
  std::vector<Prediction> Rank(size_t sketch, std::span<const Point> points) override;

  // nullptr where there are none.
  const SketchFormulas* Formulas(size_t sketch);
  const SketchSlopes* Slopes(size_t sketch);
  // Bytes that the tiles of each point take, of all levels; none without formulas.
  std::vector<double> TileBytes(size_t sketch, std::span<const Point> points);
  const LearnedModel* model() const { return model_.get(); }

 private:
  struct Entry {
    bool made = false, sloped = false, sized = false;
    std::optional<SketchFormulas> formulas = {};
    std::optional<SketchSlopes> slopes = {};
    std::optional<BatchEvaluator> tile_bytes = {};
  };

  TaskSpace& space_;
  Target target_;
  RunSettings settings_;
  CpuProfile profile_;
  std::shared_ptr<const LearnedModel> model_;
  std::vector<Entry> entries_;
};

}  // namespace tcc
