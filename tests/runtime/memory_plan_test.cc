#include "runtime/artefact/memory_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <span>

#include "support/random.h"

using namespace tcc;

namespace {

// How many pairs of buffers are in use at once and share bytes, by definition.
int Collisions(const std::vector<LiveBuffer>& buffers, const MemoryPlan& plan) {
  int collisions = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      bool together = false;
      for (int64_t t = buffers[i].first; t <= buffers[i].last; ++t) {
        together = together || (buffers[j].first <= t && t <= buffers[j].last);
      }
      int64_t begin = std::max(plan.offsets[i], plan.offsets[j]);
      int64_t end =
          std::min(plan.offsets[i] + buffers[i].bytes, plan.offsets[j] + buffers[j].bytes);
      if (together && begin < end) ++collisions;
    }
  }
  return collisions;
}

// A lower bound for every plan: the most bytes in use at once, each buffer rounded up.
int64_t ArenaLowerBound(std::span<const LiveBuffer> buffers) {
  std::map<int64_t, int64_t> change;  // of the bytes in use, by instruction
  for (const LiveBuffer& buffer : buffers) {
    int64_t bytes = (buffer.bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    change[buffer.first] += bytes;
    change[buffer.last + 1] -= bytes;
  }
  int64_t in_use = 0, most = 0;
  for (const auto& [instruction, bytes] : change) most = std::max(most, in_use += bytes);
  return most;
}

std::vector<LiveBuffer> RandomBuffers(Random& random) {
  std::vector<LiveBuffer> buffers(random.Below(40) + 1);
  for (LiveBuffer& buffer : buffers) {
    buffer.bytes = random.OneIn(10) ? 0 : random.Between(1, 5000);
    buffer.first = random.Between(0, 30);
    buffer.last = buffer.first + random.Between(0, 8);
  }
  return buffers;
}

}  // namespace

TEST_CASE("buffers in use together never overlap and the arena holds them all",
          "[runtime][memory]") {
  Random random(5);
  double worst = 1, sum = 0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<LiveBuffer> buffers = RandomBuffers(random);
    MemoryPlan plan = PlanMemory(buffers);
    REQUIRE(plan.offsets.size() == buffers.size());
    CHECK(Collisions(buffers, plan) == 0);
    for (size_t i = 0; i < buffers.size(); ++i) {
      CHECK(plan.offsets[i] % kArenaAlignment == 0);
      CHECK(plan.offsets[i] + buffers[i].bytes <= plan.arena_bytes);
    }
    int64_t bound = ArenaLowerBound(buffers);
    CHECK(plan.arena_bytes >= bound);
    double ratio = bound == 0 ? 1 : static_cast<double>(plan.arena_bytes) / bound;
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  INFO("worst " << worst << ", mean " << sum / kRounds);
  CHECK(worst < 1.5);
  CHECK(sum / kRounds < 1.05);
}

TEST_CASE("buffers begin at multiples of their alignments", "[runtime][memory]") {
  Random random(6);
  for (int round = 0; round < 500; ++round) {
    std::vector<LiveBuffer> buffers = RandomBuffers(random);
    for (LiveBuffer& buffer : buffers) buffer.alignment = kArenaAlignment << random.Below(5);
    MemoryPlan plan = PlanMemory(buffers);
    CHECK(Collisions(buffers, plan) == 0);
    for (size_t i = 0; i < buffers.size(); ++i) {
      CHECK(plan.offsets[i] % buffers[i].alignment == 0);
      CHECK(plan.offsets[i] + buffers[i].bytes <= plan.arena_bytes);
    }
  }
}

TEST_CASE("a chain of layers needs two neighbours at once", "[runtime][memory]") {
  std::vector<LiveBuffer> chain;
  for (int i = 0; i < 50; ++i) chain.push_back({1000 * (1 + i % 7), i, i + 1});
  CHECK(PlanMemory(chain).arena_bytes == ArenaLowerBound(chain));
}

TEST_CASE("a residual connection keeps its place beside the chain", "[runtime][memory]") {
  const std::vector<LiveBuffer> buffers = {{6400, 0, 3}, {640, 0, 1}, {640, 1, 2}, {6400, 2, 3}};
  MemoryPlan plan = PlanMemory(buffers);
  CHECK(Collisions(buffers, plan) == 0);
  CHECK(plan.arena_bytes == ArenaLowerBound(buffers));
}

TEST_CASE("no buffers need no arena", "[runtime][memory]") {
  CHECK(PlanMemory({}).arena_bytes == 0);
  const LiveBuffer empty[] = {{0, 0, 5}};
  CHECK(PlanMemory(empty).arena_bytes == 0);
}
