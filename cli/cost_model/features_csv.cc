#include "cli/cost_model/features_csv.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <map>

namespace tcc {

std::string FeaturesCsv(const MeasuredFeatures& measured, FeatureKind kind) {
  std::string text =
      "record,task,workload,measured_seconds,noise,precise,constructed,ln_prior,nest";
  for (const FeatureRow& row : FeatureRows(kind)) text += fmt::format(",{}", row.name);
  std::map<size_t, std::string> lines;  // by record
  std::map<std::string, size_t> workloads;
  for (size_t t = 0; t < measured.tasks.size(); ++t) {
    const MeasuredTask& task = measured.tasks[t];
    size_t workload = workloads.try_emplace(task.key, workloads.size()).first->second;
    for (size_t p = 0; p < task.points.size(); ++p) {
      const MeasuredPoint& point = task.points[p];
      const KernelFeatures& features = measured.features[t][p];
      for (size_t n = 0; n < features.nests(); ++n) {
        lines[point.record] += fmt::format(
            "{},{},{},{},{},{:d},{:d},{},{},{}\n", point.record, t, workload, point.seconds,
            point.noise, point.precise, point.constructed, features.ln_prior, n,
            fmt::join(std::span(features.rows).subspan(n * features.width(), features.width()),
                      ","));
      }
    }
  }
  text += "\n";
  for (const auto& [record, of_record] : lines) text += of_record;
  return text;
}

}  // namespace tcc
