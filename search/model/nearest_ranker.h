#pragma once

#include <map>
#include <string>
#include <vector>

#include "search/model/ranker.h"
#include "search/space/task_history.h"

namespace tcc {

// A ranker that predicts from the nearest measured points. Alone it needs no features and no data
// beforehand: the honest baseline of a contest. Over an estimator it learns the estimator's error
// on the task.
//
//   ln t(x) = base(x) + sum of w_i r_i / sum of w_i
//   r_i = ln t_i - base(x_i),  w_i = 1 / (1/4 + d_i)
//
// The sums are over the 5 nearest trials of the variant and, with the weight of a distant trial,
// the mean of all; the latest 500 trials count. d is the sum of (log2 size - log2 size_i)^2 over
// the sizes that both sketches have, plus a penalty for another sketch. The base is 0 without an
// estimator and where the estimator knows nothing.
class NearestRanker final : public Ranker {
 public:
  // All arguments outlive the ranker. `base` may be null.
  NearestRanker(TaskSpace& space, const TaskHistory& history, Ranker* base)
      : space_(space), history_(history), base_(base) {}

  std::vector<Prediction> Rank(size_t sketch, std::span<const Point> points) override;
  // Reads all trials again: the base predicts other times now.
  void ReadAgain();
  int64_t predictions() const { return predictions_; }

 private:
  struct TimedTrial {
    size_t sketch = 0;
    std::map<std::string, double> log_sizes;
    double ln_seconds = 0;
    double ln_base = 0;  // NaN: the estimator knows nothing of it
  };
  // A trial beside the points of a sketch.
  struct Neighbour {
    std::vector<double> log_sizes;  // NaN where the trial lacks a size
    double apart = 0;               // the part of the distance that does not depend on sizes
    double residual = 0;
  };
  struct Known {
    int64_t trials = 0;
    double mean = 0;  // the mean of their residuals
    std::vector<Neighbour> neighbours;
  };

  void ReadTrials();
  // `on_base`: the residuals are the estimator's, else ln t itself.
  Known KnownOf(size_t sketch, bool on_base) const;
  static void Correct(std::span<const Point> points, const Known& known, bool on_base,
                      std::vector<Prediction>& predictions);

  TaskSpace& space_;
  const TaskHistory& history_;
  Ranker* base_;
  int64_t predictions_ = 0;
  size_t read_ = 0;  // the number of trials of the history that were read
  std::vector<TimedTrial> trials_;
};

}  // namespace tcc
