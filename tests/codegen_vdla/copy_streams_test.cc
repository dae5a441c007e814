#include "codegen_vdla/copy_streams.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/vdla/vdla_facts.h"
#include "support/random.h"

namespace tcc {
namespace {

// Returns the vectors of copies, in order.
std::vector<CopiedVector> VectorsOfCopies(const std::vector<VdlaCopy>& copies) {
  std::vector<CopiedVector> vectors;
  for (const VdlaCopy& copy : copies) {
    ForEachVector(copy, [&](int64_t vector, int64_t element) {
      vectors.push_back({copy.on_chip, vector, copy.buffer, element});
    });
  }
  return vectors;
}

VdlaCopy RandomBox(Random& random) {
  const auto below = [&](uint64_t limit) { return static_cast<uint32_t>(random.Below(limit)); };
  VdlaCopy copy = {.on_chip_at = below(100), .buffer = 3, .memory_at = below(1000)};
  copy.size = {1 + below(4), 1 + below(5), 1 + below(4)};
  copy.stride[0] = copy.size[0] * kVdlaBlock + below(100);
  copy.stride[1] = copy.stride[0] * copy.size[1] + below(1000);
  for (uint16_t& pad : copy.pad) pad = random.OneIn(2) ? below(4) : 0;
  return copy;
}

}  // namespace

TEST_CASE("the vectors of a box fold into one copy, in any order", "[codegen_vdla][copies]") {
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    const VdlaCopy box = RandomBox(random);
    std::vector<CopiedVector> vectors = VectorsOfCopies({box});
    const std::vector<CopiedVector> before = vectors;
    if (random.OneIn(2)) std::ranges::reverse(vectors);
    const std::vector<VdlaCopy> copies = FoldCopies(vectors);
    CAPTURE(i, box.size, box.stride, box.pad);
    CHECK(copies.size() == 1);
    CHECK(VectorsOfCopies(copies) == before);
  }
}

TEST_CASE("any vectors fold into copies that mean the same", "[codegen_vdla][copies]") {
  Random random(2);
  for (int i = 0; i < 500; ++i) {
    std::vector<CopiedVector> vectors;
    for (int64_t vector = 0; vector < 40; ++vector) {
      if (random.OneIn(10)) continue;
      const auto element = static_cast<int64_t>(16 * random.Below(3)) + 16 * vector;
      vectors.push_back(
          {.on_chip = random.OneIn(20) ? VdlaMemory::kWeights : VdlaMemory::kActivations,
           .vector = vector,
           .buffer = 1,
           .element = random.OneIn(3) ? kPadding : element});
    }
    std::vector<CopiedVector> sorted = vectors;
    std::ranges::stable_sort(sorted, {}, &CopiedVector::on_chip);
    CHECK(VectorsOfCopies(FoldCopies(vectors)) == sorted);
  }
}

TEST_CASE("the last copy into a vector remains", "[codegen_vdla][copies]") {
  const std::vector<VdlaCopy> copies = FoldCopies({{.vector = 5, .buffer = 1, .element = 0},
                                                   {.vector = 4, .buffer = 1, .element = 16},
                                                   {.vector = 5, .buffer = 1, .element = 32}});
  CHECK(copies ==
        std::vector{VdlaCopy{.on_chip_at = 4, .buffer = 1, .memory_at = 16, .size = {2, 1, 1}}});
}

TEST_CASE("results that meet in memory keep their order", "[codegen_vdla][copies]") {
  const std::vector<VdlaCopy> copies =
      FoldCopies({{.on_chip = VdlaMemory::kSums, .vector = 1, .buffer = 2, .element = 8},
                  {.on_chip = VdlaMemory::kSums, .vector = 0, .buffer = 2, .element = 0}});
  REQUIRE(copies.size() == 2);
  CHECK(copies[0].on_chip_at == 1);
  CHECK(copies[1].on_chip_at == 0);
}

TEST_CASE("copies of zeros alone are padding", "[codegen_vdla][copies]") {
  const std::vector<VdlaCopy> copies =
      FoldCopies({{.vector = 0, .buffer = 1, .element = kPadding},
                  {.vector = 1, .buffer = 1, .element = kPadding}});
  REQUIRE(copies.size() == 1);
  CHECK(OnChipVectors(copies[0]) == 2);
  CHECK(MemoryBytes({}, copies[0]) == 0);
  CHECK(copies[0].buffer == 1);
}

}  // namespace tcc
