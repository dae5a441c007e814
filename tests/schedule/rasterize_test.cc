#include <catch2/catch.hpp>

#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "schedule/steps/fuse.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

// The row and column that each of rows * columns blocks gets.
std::vector<std::pair<int64_t, int64_t>> Places(int64_t rows, int64_t columns, int64_t band) {
  Function fn = ProgramOf(FunctionOf(fmt::format(R"(
    fn f(A: f32[{0}, {1}]) tensor {{ for i in 0..{0} @a/i {{ for j in 0..{1} @a/j {{
      block a(i: spatial {0} = i, j: spatial {1} = j) {{ A[i, j] = 1.0 }}
    }} }} }})",
                                                 rows, columns)),
                          fmt::format("rasterize a/i a/j {}", band))
                    .fn;
  Ref<Block> block = BlocksOf(fn.body)[0];
  const For& loop = *fn.body.as<For>();
  std::vector<std::pair<int64_t, int64_t>> places;
  for (int64_t b = 0; b < rows * columns; ++b) {
    auto at = [&](size_t i) {
      return AsConstant(Simplify(Substitute(block->iters[i].binding, loop.var, Expr(b)))).value();
    };
    places.emplace_back(at(0), at(1));
  }
  return places;
}

}  // namespace

TEST_CASE("rasterized blocks walk down bands of rows", "[schedule][rasterize]") {
  std::vector<std::pair<int64_t, int64_t>> want = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2},
                                                   {1, 2}, {2, 0}, {3, 0}, {2, 1}, {3, 1},
                                                   {2, 2}, {3, 2}, {4, 0}, {4, 1}, {4, 2}};
  CHECK(Places(5, 3, 2) == want);
}

TEST_CASE("every pair of rows and columns occurs once for any band", "[schedule][rasterize]") {
  for (int64_t rows : {1, 2, 5, 7}) {
    for (int64_t columns : {1, 3, 4}) {
      for (int64_t band : {1, 2, 3, 5, 9}) {
        std::vector<std::pair<int64_t, int64_t>> places = Places(rows, columns, band);
        std::ranges::sort(places);
        size_t n = 0;
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < columns; ++j) {
            REQUIRE(places[n++] == std::pair(i, j));
          }
        }
      }
    }
  }
}

TEST_CASE("rasterizing above placed buffers keeps the result at any sizes",
          "[schedule][rasterize]") {
  for (int64_t t : {1, 2, 5}) {
    CheckStepResult(MatmulFunction(11, 9, 5),
                    "tile t 1 9\ntile u 1 9\ntile w 1 9\n"
                    "split mm/i [t]\nsplit mm/j [u]\nsplit mm/k [2]\n"
                    "reorder [mm/i.0, mm/j.0, mm/k.0, mm/k.1, mm/i.1, mm/j.1]\n"
                    "rasterize mm/i.0 mm/j.0 w\nbind mm/(i.0*j.0) blockIdx.x\n"
                    "cache_write mm C local C_l\nreverse_compute_at C_l mm/(i.0*j.0)\n"
                    "cache_read A [mm] global A_s\ncompute_at A_s mm/k.0",
                    {{"t", t}, {"u", 4}, {"w", 3}});
  }
}

TEST_CASE("rasterize says what is wrong with the loops or the rows", "[schedule][rasterize]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(mm, "rasterize mm/i mm/k 2") ==
        "rasterize: loop 'mm/k' is not the whole body of loop 'mm/i'");
  CHECK(RefusalOf(mm, "rasterize mm/j mm/k 2") ==
        "rasterize: loop 'mm/k' feeds a reduction; expected a loop of spatial axes");
  CHECK(RefusalOf(mm, "rasterize mm/i mm/j 0") ==
        "rasterize: loops 'mm/i' and 'mm/j' in bands of 0 rows; expected at least 1");
  CHECK(RefusalOf(mm, "parallel mm/i\nrasterize mm/i mm/j 2") ==
        "rasterize: loop 'mm/i' is parallel; expected a serial loop");
}
