#include "ir/expr/warp_instruction.h"

#include <array>
#include <catch2/catch.hpp>
#include <set>

using namespace tcc;

TEST_CASE("every cell of a tile has a place of its own in its fragment", "[ir]") {
  int fragments = 0;
  for (const WarpInstruction& instruction : WarpInstructions()) {
    for (const WarpInstruction::Operand& operand : instruction.operands) {
      INFO(instruction.intrinsic << " " << operand.name);
      int64_t rows = TileExtent(operand.fragment, 0), columns = TileExtent(operand.fragment, 1);
      std::set<int64_t> places;
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < columns; ++column) {
          places.insert(PlaceOf(operand.fragment, std::array{row, column}));
        }
      }
      CHECK(places.size() == static_cast<size_t>(rows * columns));
      CHECK(*places.begin() == 0);
      CHECK(*places.rbegin() == rows * columns - 1);
      ++fragments;
    }
  }
  CHECK(fragments >= 12);
}

// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type": groupID = lane >> 2 and
// threadID_in_group = lane % 4 say which cells the elements a0.., b0.., c0.. are.
TEST_CASE("the fragments of m16n8k16 are those of the PTX manual", "[ir]") {
  const WarpInstruction* mma = FindWarpInstruction("mma_m16n8k16_f16_f32");
  REQUIRE(mma);
  for (int64_t lane = 0; lane < 32; ++lane) {
    int64_t group = lane / 4, in_group = lane % 4;
    for (int64_t e = 0; e < 8; ++e) {
      bool upper = e < 2 || (e >= 4 && e < 6);
      int64_t row = upper ? group : group + 8;
      int64_t column = in_group * 2 + (e & 1) + (e < 4 ? 0 : 8);
      CHECK(PlaceOf(mma->operands[0].fragment, std::array{row, column}) == e * 32 + lane);
    }
    for (int64_t e = 0; e < 4; ++e) {
      int64_t row = in_group * 2 + (e & 1) + (e < 2 ? 0 : 8);
      CHECK(PlaceOf(mma->operands[1].fragment, std::array{row, group}) == e * 32 + lane);
      int64_t sum_row = e < 2 ? group : group + 8;
      int64_t sum_column = in_group * 2 + (e & 1);
      CHECK(PlaceOf(mma->operands[2].fragment, std::array{sum_row, sum_column}) == e * 32 + lane);
    }
  }
}

// PTX ISA, "Matrix Fragments for mma.m16n8k256": elements of a word are 32 neighbours along k.
TEST_CASE("the fragments of m16n8k256 are words where the PTX manual has 32 bits", "[ir]") {
  const WarpInstruction* mma = FindWarpInstruction("mma_m16n8k256_b1");
  REQUIRE(mma);
  for (int64_t lane = 0; lane < 32; ++lane) {
    const int64_t group = lane / 4, in_group = lane % 4;
    for (int64_t i = 0; i < 128; i += 32) {
      const bool upper = i < 32 || (i >= 64 && i < 96);
      const int64_t row = upper ? group : group + 8;
      const int64_t bit = in_group * 32 + (i < 64 ? 0 : 128);
      CHECK(PlaceOf(mma->operands[0].fragment, std::array{row, bit / 32}) == i / 32 * 32 + lane);
    }
    for (int64_t i = 0; i < 64; i += 32) {
      const int64_t bit = in_group * 32 + (i < 32 ? 0 : 128);
      CHECK(PlaceOf(mma->operands[1].fragment, std::array{bit / 32, group}) == i / 32 * 32 + lane);
    }
  }
}
