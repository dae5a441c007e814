#include "schedule/sketches/parts/default_tiles.h"

#include <catch2/catch.hpp>

using namespace tcc;

namespace {

Target Named(const char* name) {
  return FindTarget(name).value();
}

void CheckTile(const RegisterTile& tile, int64_t rows, int64_t registers, int64_t lanes) {
  CHECK(tile.rows == rows);
  CHECK(tile.registers == registers);
  CHECK(tile.lanes == lanes);
}

}  // namespace

TEST_CASE("a register tile leaves room for a row's scalar and the columns", "[schedule][tiles]") {
  Target wide = Named("x86-64-v4"), narrow = Named("x86-64-v3");
  CheckTile(ChooseRegisterTile(56, 64, wide, kFloat32), 14, 2, 16);
  CheckTile(ChooseRegisterTile(196, 48, wide, kFloat32), 7, 3, 16);
  CheckTile(ChooseRegisterTile(56, 64, wide, kFloat64), 14, 2, 8);
  RegisterTile tile = ChooseRegisterTile(56, 64, narrow, kFloat32);
  CheckTile(tile, 6, 2, 8);
  CHECK(tile.rows * tile.registers + tile.registers + 1 <= narrow.vector_registers);
}

TEST_CASE("columns that full vectors do not divide are masked", "[schedule][tiles]") {
  // 24 channels in three vectors of 8 lanes took half of the peak, in two of 16 two thirds.
  CheckTile(ChooseRegisterTile(56, 24, Named("x86-64-v4"), kFloat32), 14, 2, 16);
  CheckTile(ChooseRegisterTile(56, 72, Named("x86-64-v4"), kFloat32), 4, 5, 16);
  CheckTile(ChooseRegisterTile(56, 24, Named("x86-64-v3"), kFloat32), 4, 3, 8);
  // A narrow extent is one vector of its own length.
  CHECK(ChooseRegisterTile(56, 10, Named("x86-64-v4"), kFloat32).lanes == 10);
  CHECK(ChooseRegisterTile(56, 12, Named("x86-64-v4"), kFloat32).lanes == 12);
  CHECK(ChooseRegisterTile(56, 6, Named("x86-64-v3"), kFloat32).lanes == 6);
  CheckTile(ChooseRegisterTile(56, 12, Named("x86-64-v3"), kFloat32), 6, 2, 8);
}

TEST_CASE("many columns that 8 does not divide are no vectors of 2 lanes", "[schedule][tiles]") {
  for (int64_t columns : {33278, 1001, 100}) {
    INFO(columns << " columns");
    CHECK(ChooseRegisterTile(35, columns, Named("x86-64-v3"), kFloat32).lanes == 8);
  }
}

TEST_CASE("rows leave the tail that costs least", "[schedule][tiles]") {
  // Tiles of less than twelve vectors wait for their own results; 4 divides 56 and takes longer.
  for (int64_t rows : {28, 56, 784}) {
    CHECK(ChooseRegisterTile(rows, 64, Named("x86-64-v3"), kFloat32).rows == 6);
  }
  CHECK(ChooseRegisterTile(7, 64, Named("x86-64-v3"), kFloat32).rows == 4);
  // 17 tiles of 11 and one of 10.
  CHECK(ChooseRegisterTile(197, 64, Named("x86-64-v4"), kFloat32).rows == 11);
  CHECK(ChooseRegisterTile(49, 64, Named("x86-64-v4"), kFloat32).rows == 7);
  // 10 * 2 sums, 10 vectors of terms, 2 of columns.
  Target arm = Named("aarch64-v8.2");
  CheckTile(ChooseRegisterTile(100, 64, arm, kFloat32, RowTerms::kInVectors), 10, 2, 4);
  CheckTile(ChooseRegisterTile(104, 64, arm, kFloat32, RowTerms::kOneByOne), 13, 2, 4);
}

TEST_CASE("a window's tile is one vector wide, or two where registers hold both filters",
          "[schedule][tiles]") {
  CheckTile(ChooseWindowTile(9, 56, 144, Named("x86-64-v4"), kFloat32), 14, 1, 16);
  CheckTile(ChooseWindowTile(9, 7, 960, Named("x86-64-v4"), kFloat32), 7, 2, 16);
  CheckTile(ChooseWindowTile(9, 112, 32, Named("x86-64-v4"), kFloat32), 7, 2, 16);
  CheckTile(ChooseWindowTile(25, 14, 672, Named("x86-64-v4"), kFloat32), 14, 1, 16);
  CheckTile(ChooseWindowTile(9, 112, 32, Named("x86-64-v3"), kFloat32), 14, 1, 8);
  CheckTile(ChooseWindowTile(9, 15, 24, Named("x86-64-v3"), kFloat32), 8, 1, 8);
  CheckTile(ChooseWindowTile(9, 29, 24, Named("x86-64-v4"), kFloat32), 10, 1, 16);
}
