#include "cli/cost_model/quality_report.h"

#include <fmt/core.h>

namespace tcc {
namespace {

// A mean over the tasks of `quality`; nullopt without tasks.
std::optional<double> MeanOf(const RankQuality& quality, double value) {
  return quality.tasks > 0 ? std::optional(value) : std::nullopt;
}

std::string ShareText(std::optional<double> share) {
  return share ? fmt::format("{:.3f}", *share) : "-";
}
std::string PercentText(std::optional<double> share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}
nlohmann::json JsonOf(std::optional<double> figure) {
  return figure ? nlohmann::json(*figure) : nlohmann::json();
}

std::string LineOf(const std::string& name, const RankQuality& quality) {
  return fmt::format("{:<16} {:>6} {:>8} {:>9} {:>9} {:>12} {:>11} {:>9}\n", name, quality.tasks,
                     quality.points, quality.pairs.pairs, ShareText(quality.PairAccuracy()),
                     PercentText(MeanOf(quality, quality.regret_first)),
                     PercentText(MeanOf(quality, quality.regret_16)),
                     ShareText(MeanOf(quality, quality.spearman)));
}

}  // namespace

QualityReport::QualityReport(const std::vector<MeasuredTask>& tasks)
    : tasks_(tasks), random_(RandomQuality(tasks)), start_(MeanStartRegret(tasks)) {}

void QualityReport::Add(const std::string& name, const TaskPredictions& predictions) {
  rows_.emplace_back(name, QualityOf(tasks_, predictions));
}

nlohmann::json QualityReport::ToJson() const {
  nlohmann::json json = {
      {"tasks", random_.tasks}, {"points", random_.points}, {"pairs", random_.pairs.pairs}};
  auto add = [&](const std::string& name, const RankQuality& quality) {
    json["pair_accuracy"][name] = JsonOf(quality.PairAccuracy());
    json["regret_first"][name] = JsonOf(MeanOf(quality, quality.regret_first));
    json["regret_16"][name] = JsonOf(MeanOf(quality, quality.regret_16));
    json["spearman"][name] = JsonOf(MeanOf(quality, quality.spearman));
  };
  for (const auto& [name, quality] : rows_) add(name, quality);
  add("random", random_);
  if (start_) json["regret_first"]["start"] = *start_;
  return json;
}

std::string QualityReport::ToText() const {
  std::string text =
      fmt::format("{:<16} {:>6} {:>8} {:>9} {:>9} {:>12} {:>11} {:>9}\n", "", "tasks", "points",
                  "pairs", "in order", "first pick", "best of 16", "Spearman");
  for (const auto& [name, quality] : rows_) text += LineOf(name, quality);
  text += LineOf("random", random_);
  if (start_) text += fmt::format("{:<16} {:>46.1f} %\n", "start", 100 * *start_);
  return text;
}

}  // namespace tcc
