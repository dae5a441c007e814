#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "autodiff_features/learned/learned_model.h"
#include "autodiff_features/learned/train.h"
#include "autodiff_features/sketch_slopes.h"
#include "search/model/ranker.h"

namespace tcc {

// The estimator for one task: the formulas of each sketch, built on first use.
class TaskEstimator final : public Ranker {
 public:
  // `space` outlives the estimator. A null `model` means the target's prior alone. There are no
  // formulas for a target that they do not describe, or whose kind is not the model's.
  TaskEstimator(TaskSpace& space, const Target& target, const RunSettings& settings,
                std::shared_ptr<const LearnedModel> model);

  // Returns predictions, NaN if the sketch has no formulas.
  std::vector<Prediction> Rank(size_t sketch, std::span<const Point> points) override {
    return RankBy(model_.get(), sketch, points);
  }
  // Returns the predictions of the model that the estimator was made with.
  std::vector<Prediction> RankAtFirst(size_t sketch, std::span<const Point> points) {
    return RankBy(first_model_.get(), sketch, points);
  }

  // Return nullptr if there are none.
  const SketchFormulas* Formulas(size_t sketch);
  const SketchSlopes* Slopes(size_t sketch);
  // Returns the bytes that the tiles of each point take on all levels; none without formulas.
  std::vector<double> TileBytes(size_t sketch, std::span<const Point> points);
  const LearnedModel* model() const { return model_.get(); }
  // Returns the number of points that were predicted so far.
  size_t predicted() const { return predicted_; }
  // Trains the model that the estimator was made with further; without one, from the prior alone.
  void Train(const TrainingTask& trials, uint64_t seed);

 private:
  struct Entry {
    bool made = false, sloped = false, sized = false;
    std::optional<SketchFormulas> formulas = {};
    std::optional<SketchSlopes> slopes = {};
    std::optional<BatchEvaluator> tile_bytes = {};
  };

  std::vector<Prediction> RankBy(const LearnedModel* model, size_t sketch,
                                 std::span<const Point> points);

  TaskSpace& space_;
  Target target_;
  RunSettings settings_;
  DeviceProfile profile_;
  std::shared_ptr<const LearnedModel> first_model_;
  std::shared_ptr<const LearnedModel> model_;
  std::vector<Entry> entries_;
  size_t predicted_ = 0;
};

}  // namespace tcc
