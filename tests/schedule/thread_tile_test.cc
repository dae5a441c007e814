#include "schedule/sketches/gpu/thread_tile.h"

#include <catch2/catch.hpp>

#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "support/integer_division.h"

using namespace tcc;

namespace {

int64_t ResultsOf(const std::vector<ThreadLevels>& levels) {
  int64_t made = 1;
  for (const ThreadLevels& level : levels) made *= level.vthreads * level.threads * level.inner;
  return made;
}

}  // namespace

TEST_CASE("tiles for a GPU grow where that leaves four blocks for each of its multiprocessors",
          "[schedule][tiles]") {
  for (const Target& target : AllTargets()) {
    if (target.kind != TargetKind::kGpu) continue;
    INFO(target.name);
    CHECK(target.multiprocessors > 0);
    CHECK(BusyBlocks(target) == 4 * target.multiprocessors);
    auto results = [&](int64_t rows) {
      return ResultsOf(ChooseThreadTile(std::vector<int64_t>{rows, 64}, true, target));
    };
    // 64 x 64 results a block, then twice and four times as many.
    int64_t busy = 64 * BusyBlocks(target);
    CHECK(results(busy) == kResultsOfTile);
    CHECK(results(2 * busy - 64) == kResultsOfTile);
    CHECK(results(2 * busy) == 2 * kResultsOfTile);
  }
}

TEST_CASE("rows of a prime number have several results a thread and little padding",
          "[schedule][tiles]") {
  Target target = FindTarget("sm_86").value();
  for (int64_t rows : {197, 331, 577}) {
    INFO(rows);
    std::vector<ThreadLevels> levels =
        ChooseThreadTile(std::vector<int64_t>{rows, 768}, true, target);
    CHECK(levels[0].inner * levels[1].inner >= 16);
    int64_t part = levels[0].threads * levels[0].inner;
    CHECK(100 * ((rows + part - 1) / part) * part <= 115 * rows);
    CHECK(levels[0].threads * levels[1].threads % Target::kWarp == 0);
  }
}

TEST_CASE("few channels leave threads to the rows", "[schedule][tiles]") {
  Target target = FindTarget("sm_86").value();
  std::vector<ThreadLevels> levels =
      ChooseThreadTile(std::vector<int64_t>{1, 56, 56, 24}, true, target);
  CHECK(levels[3].inner == 4);
  CHECK(levels[3].threads == 6);
  CHECK(levels[1].threads * levels[2].threads >= 32);
}

TEST_CASE("tiles shrink where larger ones leave multiprocessors without a block, except in parts",
          "[schedule][tiles]") {
  Target target = FindTarget("sm_90a").value();
  std::vector<int64_t> extents = {28, 28, 32};
  auto blocks = [&](bool in_parts) {
    std::vector<ThreadLevels> levels = ChooseThreadTile(extents, in_parts, target);
    int64_t made = 1;
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      made *= CeilDivision(extents[axis], levels[axis].threads * levels[axis].inner);
    }
    return made;
  };
  CHECK(blocks(true) < 10);
  CHECK(blocks(false) >= target.multiprocessors / 2);
}
