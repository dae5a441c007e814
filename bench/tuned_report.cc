#include "bench/tuned_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/median.h"

namespace tcc {
namespace {

// The results that a summary is about.
struct SummaryGroup {
  std::string suite;  // "all suites"
  int threads = 1;
  std::string peer;
  std::vector<double> tuned = {}, start = {};  // ratios to the peer
};

void AddTo(std::vector<SummaryGroup>& groups, const std::string& suite, const TunedResult& result) {
  for (const auto& [peer, microseconds] : result.peers) {
    auto group = std::ranges::find_if(groups, [&](const SummaryGroup& known) {
      return known.suite == suite && known.threads == result.threads && known.peer == peer;
    });
    if (group == groups.end()) {
      groups.push_back({.suite = suite, .threads = result.threads, .peer = peer});
      group = std::prev(groups.end());
    }
    group->tuned.push_back(result.tuned / microseconds);
    group->start.push_back(result.start / microseconds);
  }
}

std::string LineOf(const SummaryGroup& group, const char* ours, const std::vector<double>& ratios) {
  RatioSummary summary = SummaryOf(ratios);
  return fmt::format(
      "{}, {} threads, {}/{}: median {:.2f}, geometric mean {:.2f}, {} of {} kernels at least "
      "level\n",
      group.suite, group.threads, ours, group.peer, summary.median, summary.geometric_mean,
      summary.level, summary.kernels);
}

}  // namespace

RatioSummary SummaryOf(const std::vector<double>& ratios) {
  double logs = 0;
  for (double ratio : ratios) logs += std::log(ratio);
  return {.kernels = ratios.size(),
          .median = MedianOf(ratios),
          .geometric_mean = std::exp(logs / static_cast<double>(ratios.size())),
          .level = static_cast<size_t>(
              std::ranges::count_if(ratios, [](double ratio) { return ratio <= 1; }))};
}

std::string TunedHeader() {
  return fmt::format("{:<22} {:>2} {:>10} {:>10} {:>6} {:>9} {:>7}  {}\n", "kernel", "T",
                     "start us", "tuned us", "gain", "GFLOP/s", "% peak",
                     "peers: us, tuned/peer, start/peer; the tuned schedule");
}

std::string TunedRow(const TunedResult& result) {
  std::string row =
      fmt::format("{:<22} {:>2} {:>10.1f} {:>10.1f} {:>5.2f}x", result.kernel, result.threads,
                  result.start, result.tuned, result.start / result.tuned);
  if (result.flops > 0) {
    double gflops = result.flops / result.tuned / 1e3;
    row += fmt::format(" {:>9.1f} {:>7.1f} ", gflops, gflops / result.peak_gflops * 100);
  } else {
    row += fmt::format(" {:>9} {:>7} ", "-", "-");
  }
  for (const auto& [peer, microseconds] : result.peers) {
    row += fmt::format(" {} {:.1f}, {:.2f}, {:.2f};", peer, microseconds,
                       result.tuned / microseconds, result.start / microseconds);
  }
  if (result.rules.empty()) return row + " start\n";
  return row + fmt::format(" {} of variant {}\n", result.rules, result.variant);
}

std::string TunedSummary(const std::vector<TunedResult>& results) {
  std::vector<SummaryGroup> groups;
  bool several = false;
  for (const TunedResult& result : results) {
    AddTo(groups, result.suite, result);
    several |= result.suite != results[0].suite;
  }
  if (several) {
    for (const TunedResult& result : results) AddTo(groups, "all suites", result);
  }
  std::string text;
  for (const SummaryGroup& group : groups) {
    text += LineOf(group, "tuned", group.tuned) + LineOf(group, "start", group.start);
  }
  return text;
}

std::string TunedJson(const std::vector<TunedResult>& results) {
  nlohmann::json list = nlohmann::json::array();
  for (const TunedResult& result : results) {
    nlohmann::json entry = {{"name", result.kernel},
                            {"suite", result.suite},
                            {"threads", result.threads},
                            {"flops", result.flops},
                            {"peak_gflops", result.peak_gflops},
                            {"start_us", result.start},
                            {"ours_us", result.tuned},
                            {"rules", nullptr},
                            {"variant", nullptr},
                            {"peer", nullptr},
                            {"peer_us", nullptr},
                            {"ratio", nullptr},
                            {"start_ratio", nullptr}};
    if (!result.rules.empty()) {
      entry["rules"] = result.rules;
      entry["variant"] = result.variant;
    }
    if (result.peers.empty()) list.push_back(entry);
    for (const auto& [peer, microseconds] : result.peers) {
      entry["peer"] = peer;
      entry["peer_us"] = microseconds;
      entry["ratio"] = result.tuned / microseconds;
      entry["start_ratio"] = result.start / microseconds;
      list.push_back(entry);
    }
  }
  return list.dump(2) + "\n";
}

}  // namespace tcc
