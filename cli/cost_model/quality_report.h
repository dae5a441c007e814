#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "autodiff_features/measured_features.h"
#include "autodiff_features/rank_quality.h"

namespace tcc {

// A report that compares ways of predicting the same tasks, each with its name. At the end come the
// draw at random, and the regret of what is compiled without a search where the tasks have its
// time.
class QualityReport {
 public:
  explicit QualityReport(const std::vector<MeasuredTask>& tasks);
  void Add(const std::string& name, const TaskPredictions& predictions);

  // Returns {tasks, points, pairs, pair_accuracy: {name: ..}, regret_first: .., regret_16: ..,
  // spearman: ..}; null for a figure without pairs or tasks.
  nlohmann::json ToJson() const;
  // Returns a line per way, for people, with "-" in place of null.
  std::string ToText() const;

 private:
  const std::vector<MeasuredTask>& tasks_;
  std::vector<std::pair<std::string, RankQuality>> rows_;
  RankQuality random_;
  std::optional<double> start_;  // regret of what is compiled without a search
};

}  // namespace tcc
