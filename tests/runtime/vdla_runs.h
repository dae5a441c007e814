#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/vdla/vdla_machine.h"

namespace tcc {

using Bytes = std::vector<uint8_t>;

// Runs without delays, then under five seeds of them, all of which must give the same bytes.
// Returns the counts of the first run; `buffers` hold its results.
inline StatusOr<VdlaCounts> RunAlways(const VdlaProgram& program, const VdlaConfig& config,
                                      std::vector<Bytes>& buffers) {
  const std::vector<Bytes> before = buffers;
  const auto run = [&](std::vector<Bytes>& on, std::optional<uint64_t> seed) {
    std::vector<std::span<uint8_t>> operands(on.begin(), on.end());
    return RunVdla(program, config, operands, seed);
  };
  StatusOr<VdlaCounts> counts = run(buffers, std::nullopt);
  for (uint64_t seed = 1; seed <= 5 && counts.ok(); ++seed) {
    std::vector<Bytes> delayed = before;
    const StatusOr<VdlaCounts> later = run(delayed, seed);
    if (!later.ok()) return later;
    if (delayed != buffers) return WrongResult("other bytes under seed {}", seed);
    CHECK(later->cycles >= counts->cycles);
  }
  return counts;
}

}  // namespace tcc
