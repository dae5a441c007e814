#include "bench/kernel_report.h"

#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/cpu/peers.h"
#include "bench/write_text.h"

namespace tcc {
namespace {

double PeerMicroseconds(const KernelResult& row, std::string_view peer) {
  for (const auto& [name, microseconds] : row.peers) {
    if (name == peer) return microseconds;
  }
  return 0;
}

nlohmann::json ToJson(const std::vector<KernelResult>& rows) {
  nlohmann::json result = nlohmann::json::array();
  for (const KernelResult& row : rows) {
    nlohmann::json entry = {{"name", row.kernel},
                            {"threads", row.threads},
                            {"flops", row.flops},
                            {"ours_us", row.microseconds},
                            {"peak_gflops", row.peak_gflops},
                            {"percent_of_peak", nullptr},
                            {"peer", nullptr},
                            {"peer_us", nullptr},
                            {"ratio", nullptr}};
    if (std::optional<double> percent = row.PercentOfPeak()) entry["percent_of_peak"] = *percent;
    if (row.peers.empty()) result.push_back(entry);
    for (const auto& [peer, microseconds] : row.peers) {
      entry["peer"] = peer;
      entry["peer_us"] = microseconds;
      entry["ratio"] = row.microseconds / microseconds;
      result.push_back(entry);
    }
  }
  return result;
}

}  // namespace

std::optional<double> KernelResult::PercentOfPeak() const {
  if (flops == 0) return std::nullopt;
  return flops / microseconds / 1e3 / peak_gflops * 100;
}

void PrintHeader() {
  fmt::print("{:<22} {:>2} {:>10} {:>9} {:>7}", "kernel", "T", "us", "GFLOP/s", "% peak");
  for (const Peer& peer : Peers()) {
    fmt::print(" {:>12} {:>6}", std::string(peer.name) + " us", "ratio");
  }
  fmt::print("\n");
}

void PrintRow(const KernelResult& row) {
  fmt::print("{:<22} {:>2} {:>10.1f}", row.kernel, row.threads, row.microseconds);
  if (std::optional<double> percent = row.PercentOfPeak()) {
    fmt::print(" {:>9.1f} {:>7.1f}", row.flops / row.microseconds / 1e3, *percent);
  } else {
    fmt::print(" {:>9} {:>7}", "-", "-");
  }
  for (const Peer& peer : Peers()) {
    double microseconds = PeerMicroseconds(row, peer.name);
    if (microseconds > 0) {
      fmt::print(" {:>12.1f} {:>6.2f}", microseconds, row.microseconds / microseconds);
    } else {
      fmt::print(" {:>12} {:>6}", peer.is_present() ? "-" : "absent", "-");
    }
  }
  fmt::print("\n");
  std::fflush(stdout);
}

Status WriteJson(const std::vector<KernelResult>& rows, const std::string& path) {
  return WriteText(ToJson(rows).dump(2) + "\n", path);
}

}  // namespace tcc
