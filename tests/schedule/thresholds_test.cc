#include <algorithm>
#include <catch2/catch.hpp>
#include <string_view>

#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/parts/cpu_thresholds.h"

using namespace tcc;

namespace {

struct Row {
  std::string_view name, unit, source;
};

#define TCC_ROW(name, value, unit, source) {#name, unit, source},
constexpr Row kRows[] = {TCC_CPU_THRESHOLDS(TCC_ROW) TCC_GPU_THRESHOLDS(TCC_ROW)};
#undef TCC_ROW

// Lower it when a guess has become a measurement.
constexpr int64_t kMaxGuesses = 51;

bool IsGuess(const Row& row) {
  return row.source == "guess" || row.source.starts_with("guess: ");
}

}  // namespace

TEST_CASE("every threshold of a sketch rule has a unit and says where it comes from",
          "[schedule][sketch]") {
  for (const Row& row : kRows) {
    INFO(row.name);
    CHECK_FALSE(row.unit.empty());
    bool is_known = IsGuess(row);
    for (std::string_view kind : {"measured: ", "derived: ", "peer: ", "instruction: "}) {
      is_known = is_known || (row.source.starts_with(kind) && row.source.size() > kind.size());
    }
    CHECK(is_known);
  }
}

TEST_CASE("thresholds of sketch rules that are guesses do not become more", "[schedule][sketch]") {
  CHECK(std::ranges::count_if(kRows, IsGuess) <= kMaxGuesses);
}
