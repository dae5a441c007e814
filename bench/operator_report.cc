#include "bench/operator_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace tcc {
namespace {

using Json = nlohmann::ordered_json;

Json OptionalJson(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string OptionalText(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "";
}

// Returns the rate in GFLOP/s if arithmetic limits the work, else in GB/s.
std::string RateText(const OperatorResult& result) {
  if (result.flops == 0) return "-";
  double gflops = result.flops / result.microseconds * 1e-3;
  double gbytes = result.bytes / result.microseconds * 1e-3;
  // Beyond 20 operations per byte, arithmetic is the limit of any device.
  bool computes = result.flops > 20 * result.bytes;
  return computes ? fmt::format("{:.0f} GFLOP/s", gflops) : fmt::format("{:.0f} GB/s", gbytes);
}

std::string PercentText(const OperatorResult& result) {
  std::optional<double> percent = result.PercentOfCeiling();
  return percent ? fmt::format("{:.0f} %", *percent) : "-";
}

// Returns the error as text. A network has none (NaN): its results are only checked to be written.
std::string ErrorText(double error) {
  return std::isnan(error) ? "finite" : fmt::format("{:.2f}", error);
}

}  // namespace

std::optional<double> OperatorResult::PercentOfCeiling() const {
  if (ceiling_microseconds == 0 || microseconds == 0) return std::nullopt;
  return ceiling_microseconds / microseconds * 100;
}

std::string ProgressLine(const OperatorResult& result) {
  if (!result.failure.empty()) return fmt::format("{:<32} FAILED: {}", result.name, result.failure);
  if (result.microseconds == 0) {
    return fmt::format("{:<32} {:>3} kernels compiled in {:.2f} s", result.name, result.kernels,
                       result.compile_seconds);
  }
  std::string line = fmt::format("{:<32} {:>11.2f} us {:>16} {:>6}", result.name,
                                 result.microseconds, RateText(result), PercentText(result));
  for (const PeerTime& peer : result.peers) {
    line += fmt::format("   {} {:.2f} us, ratio {:.2f}", peer.peer, peer.microseconds,
                        result.microseconds / peer.microseconds);
    if (peer.numeric != result.numeric) line += fmt::format(" ({})", peer.numeric);
  }
  return line;
}

std::string MarkdownTable(const std::vector<OperatorResult>& results) {
  std::string text =
      "| operator | numeric | us | warm us | predicted us | rate | of ceiling | ceiling | error / "
      "(eps M) | peer | us | ratio | its error | its numeric | its algorithm |\n"
      "|---|---|---:|---:|---:|---:|---:|---|---:|---|---:|---:|---:|---|---|\n";
  for (const OperatorResult& result : results) {
    if (!result.failure.empty()) {
      text += fmt::format("| {} | failed: {} |  |  |  |  |  |  |  |  |  |  |  |  |  |\n",
                          result.name, result.failure);
      continue;
    }
    std::string ours =
        fmt::format("| {} | {} | {:.2f} | {} | {} | {} | {} | {} | {} |", result.name,
                    result.numeric, result.microseconds, OptionalText(result.warm_microseconds),
                    OptionalText(result.predicted_microseconds), RateText(result),
                    PercentText(result), result.ceiling, ErrorText(result.error));
    if (result.peers.empty()) text += ours + "  |  |  |  |  |  |\n";
    for (const PeerTime& peer : result.peers) {
      text += ours + fmt::format(" {} | {:.2f} | {:.2f} | {} | {} | {} |\n", peer.peer,
                                 peer.microseconds, result.microseconds / peer.microseconds,
                                 ErrorText(peer.error), peer.numeric, peer.algorithm);
    }
  }
  return text;
}

std::string JsonText(const std::vector<OperatorResult>& results) {
  Json rows = Json::array();
  for (const OperatorResult& result : results) {
    Json row = {{"name", result.name},
                {"target", result.target},
                {"flops", result.flops},
                {"bytes", result.bytes},
                {"failure", result.failure},
                {"kernels", result.kernels},
                {"compile_s", result.compile_seconds},
                {"ours_us", result.microseconds},
                {"ours_warm_us", OptionalJson(result.warm_microseconds)},
                {"predicted_us", OptionalJson(result.predicted_microseconds)},
                {"numeric", result.numeric},
                {"error", result.error},
                {"percent_of_peak", OptionalJson(result.PercentOfCeiling())},
                {"ceiling", result.ceiling},
                {"peak_gflops", result.peak_gflops},
                {"peak_gbytes", result.peak_gbytes},
                {"peer", nullptr},
                {"peer_us", nullptr},
                {"ratio", nullptr}};
    if (!result.notes.empty()) row["notes"] = result.notes;
    if (!result.warnings.empty()) row["warnings"] = result.warnings;
    if (result.peers.empty()) rows.push_back(row);
    for (const PeerTime& peer : result.peers) {
      row["peer"] = peer.peer;
      row["peer_us"] = peer.microseconds;
      row["ratio"] = result.microseconds / peer.microseconds;
      row["peer_algorithm"] = peer.algorithm;
      row["peer_numeric"] = peer.numeric;
      row["peer_error"] = peer.error;
      rows.push_back(row);
    }
  }
  return rows.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tcc
