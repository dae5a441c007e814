#include "schedule/steps/blockize.h"

#include <catch2/catch.hpp>

#include "ir/expr/function.h"
#include "ir/simplify/simplify.h"
#include "schedule/space/limits.h"
#include "schedule/space/space.h"
#include "tests/programs/satisfies.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

// Tiles of 4 x 2 of C, 3 steps of the reduction at a time.
const std::string kTiles = R"(
split mm/i [4]
split mm/j [2]
split mm/k [3]
reorder [mm/i.0, mm/j.0, mm/k.0, mm/i.1, mm/j.1, mm/k.1]
)";
const std::string kBlock = kTiles + "blockize mm/i.1 mm_o\n";

Function Mm() {
  return MatmulFunction(7, 5, 8);
}

}  // namespace

TEST_CASE("a nest becomes a block with a variable for each loop that it depends on",
          "[schedule][blockize]") {
  CheckSteps(MatmulFunction(8, 2, 6),
             "split mm/i [4]\nreorder [mm/i.0, mm/k, mm/i.1, mm/j]\nblockize mm/i.1 mm_o", R"(
      fn mm(A: f32[8, 6], B: f32[6, 2], C: f32[8, 2]) scheduled {
        for i0 in 0..2 @mm/i.0 { for k in 0..6 @mm/k {
          block mm_o(i0: spatial 2 = i0, k: reduce 6 = k) {
            for i1 in 0..4 @mm/i.1 { for j in 0..2 @mm/j {
              block mm(i: spatial 8 = i0 * 4 + i1, j: spatial 2 = j, k: reduce 6 = k)
                  guard (i0 * 4 + i1 < 8) {
                reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
              }
            } }
          }
        } }
      })");
}

TEST_CASE("what has no loop round it becomes a block without variables", "[schedule][blockize]") {
  CheckSteps(MatmulFunction(2, 2, 2), "blockize mm/i whole", R"(
      fn mm(A: f32[2, 2], B: f32[2, 2], C: f32[2, 2]) scheduled {
        block whole() {
          for i in 0..2 @mm/i { for j in 0..2 @mm/j { for k in 0..2 @mm/k {
            block mm(i: spatial 2 = i, j: spatial 2 = j, k: reduce 2 = k) {
              reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
            }
          } } }
        }
      })");
}

TEST_CASE("a block of blocks is right with free sizes", "[schedule][blockize]") {
  const std::string steps = R"(tile t 1 9
tile u 1 9
split mm/i [t]
split mm/k [u]
reorder [mm/i.0, mm/k.0, mm/i.1, mm/j, mm/k.1]
blockize mm/i.1 mm_o
split mm/i.0 [2]
)";
  for (int64_t t : {1, 3, 9}) {
    for (int64_t u : {1, 2, 8, 9}) CheckStepResult(Mm(), steps, {{"t", t}, {"u", u}});
  }
}

TEST_CASE("loops outside a block of blocks change as those of any block", "[schedule][blockize]") {
  const char* const kSteps[] = {
      "split mm/i.0 [3]",
      "split mm/k.0 [2]",
      "fuse mm/i.0 mm/j.0",
      "rasterize mm/i.0 mm/j.0 2",
      "reorder [mm/j.0, mm/i.0]",
      "reorder [mm/k.0, mm/i.0]",
      "parallel mm/i.0",
      "unroll mm/j.0",
      "partition mm/i.0",
      "split mm/i.0 [3]\nfuse mm/i.0.1 mm/j.0\nunroll mm/(i.0.1*j.0)\nparallel mm/i.0.0",
  };
  for (const char* step : kSteps) {
    INFO(step);
    CheckStepResult(Mm(), kBlock + step);
  }
}

TEST_CASE("loops inside a block change among themselves", "[schedule][blockize]") {
  const char* const kSteps[] = {
      "split mm/i.1 [3]",
      "fuse mm/i.1 mm/j.1",
      "reorder [mm/k.1, mm/i.1, mm/j.1]",
      "unroll mm/k.1",
      "vectorize mm/j.1",
      "partition mm/i.1",
      "split mm/j.1 [2]\nreorder [mm/j.1.1, mm/i.1]\nunroll mm/i.1",
  };
  for (const char* step : kSteps) {
    INFO(step);
    CheckStepResult(Mm(), kBlock + step);
  }
}

TEST_CASE("operands of a block of blocks are copied and placed as those of one block",
          "[schedule][blockize]") {
  for (const char* readers : {"[]", "[mm_o]"}) {
    CheckStepResult(Mm(), kBlock + "cache_read A " + readers + " local A_s\ncompute_at A_s mm/k.0");
    CheckStepResult(Mm(), kBlock + "cache_read B " + readers +
                              " global B_s\ncompute_at B_s mm/k.0\npipeline mm/k.0 2 pipelined");
  }
  // The window is that of the tile, as it is without the block.
  auto window = [&](const std::string& steps) {
    Function fn = ProgramOf(Mm(), steps + "cache_read A [] local A_s\ncompute_at A_s mm/k.0").fn;
    std::vector<int64_t> sizes;
    for (const Expr& size : FindBuffer(fn, DeclaredBuffers(fn).back().var)->window.size) {
      sizes.push_back(AsConstant(Simplify(size)).value_or(-1));
    }
    return sizes;
  };
  CHECK(window(kBlock) == std::vector<int64_t>{4, 3});
  CHECK(window(kTiles) == std::vector<int64_t>{4, 3});
  CheckStepResult(Mm(), kTiles + R"(cache_read A [] global A_s
cache_read B [] global B_s
compute_at A_s mm/k.0
compute_at B_s mm/k.0
blockize mm/i.1 mm_o
pipeline mm/k.0 3 pipelined
transform_layout A_s [] [1, 0]
storage_align B_s 0 8 1
)");
}

TEST_CASE("an intrinsic may be the nest of a block", "[schedule][blockize]") {
  const std::string tiles = R"(
split mm/i [8]
split mm/j [16]
split mm/k [1]
reorder [mm/i.0, mm/j.0, mm/k.0, mm/i.1, mm/j.1, mm/k.1]
decompose_reduction mm mm/k.0
blockize mm/i.1 mm_o
tensorize mm/i.1 outer_product_f32_8x16
)";
  Function mm = MatmulFunction(16, 32, 5);
  CheckStepResult(mm, tiles);
  CheckStepResult(mm, tiles + "split mm/k.0 [2]\nunroll mm/k.0.1");
  CHECK(RefusalOf(MatmulFunction(17, 32, 5), tiles).find("cuts a tile of 8; pad the axis") !=
        std::string::npos);
}

TEST_CASE("threads run a block of blocks as they do the block in it", "[schedule][blockize]") {
  for (const char* block : {"", "blockize mm/k.1 mm_o\n"}) {
    Function mm = MatmulFunction(13, 7, 9);
    CheckStepResult(mm, std::string(R"(
split mm/i [3, 2]
split mm/j [4]
split mm/k [2]
reorder [mm/i.0, mm/j.0, mm/i.1, mm/j.1, mm/k.0, mm/k.1, mm/i.2]
bind mm/i.0 blockIdx.y
bind mm/j.0 blockIdx.x
bind mm/i.1 threadIdx.y
bind mm/j.1 threadIdx.x
cache_write mm C local C_l
reverse_compute_at C_l mm/j.1
decompose_reduction mm mm/k.0
)") + block + R"(
cache_read A [] shared A_s
compute_at A_s mm/k.0
fuse A_s/ax0 A_s/ax1
split A_s/(ax0*ax1) [3, 4]
bind A_s/(ax0*ax1).1 threadIdx.y
bind A_s/(ax0*ax1).2 threadIdx.x
)");
  }
}

TEST_CASE("blocks of blocks may be bound to threads", "[schedule][blockize]") {
  Function mm = MatmulFunction(13, 7, 9);
  CheckStepResult(mm, R"(
split mm/i [4]
split mm/j [2]
reorder [mm/i.0, mm/j.0, mm/i.1, mm/j.1, mm/k]
blockize mm/i.1 mm_o
bind mm/i.0 blockIdx.x
bind mm/j.0 threadIdx.x
)");
}

TEST_CASE("blockize says which nests are no block", "[schedule][blockize]") {
  Function mm = Mm();
  CHECK(RefusalOf(mm, "blockize mm/q b") ==
        "no loop 'mm/q' in function 'mm'; it has mm/i, mm/j, mm/k");
  CHECK(RefusalOf(mm, kTiles + "decompose_reduction mm mm/k.0\nblockize mm/j.0 b") ==
        "blockize: loop 'mm/j.0' is not one chain of loops round one block");
  CHECK(RefusalOf(mm, kTiles + "unroll mm/j.1\nblockize mm/i.1 b") ==
        "blockize: loop 'mm/j.1' is unrolled; expected a serial loop");
  CHECK(RefusalOf(mm, kBlock + "blockize mm/j.1 b") ==
        "blockize: loop 'mm/j.1' is inside block 'mm_o'");
  CHECK(RefusalOf(mm, kBlock + "blockize mm/k.0 b") ==
        "blockize: block 'mm_o' at loop 'mm/k.0' holds a nest already");
  CHECK(RefusalOf(mm, kTiles + "blockize mm/i.1 mm") ==
        "blockize: the name 'mm' for a block is empty or in use");
  CHECK(RefusalOf(MatmulFunction(8, 16, 3), R"(split mm/k [1]
reorder [mm/k.0, mm/i, mm/j, mm/k.1]
decompose_reduction mm mm/k.0
tensorize mm/i outer_product_f32_8x16
blockize mm/j b)") == "blockize: loop 'mm/j' is in intrinsic 'outer_product_f32_8x16'");
}

TEST_CASE("threads that share a reduction are not outside a block", "[schedule][blockize]") {
  CHECK(RefusalOf(Mm(), "split mm/k [2, 4]\nbind mm/k.1 threadIdx.x\nblockize mm/k.2 b") ==
        "blockize: loop 'mm/k.1' of the reduction of block 'mm' is threadIdx.x; expected one in "
        "order");
}

TEST_CASE("steps do not reach into the nest of a block", "[schedule][blockize]") {
  struct Row {
    const char* step;
    const char* why;
  };
  const Row rows[] = {
      {"parallel mm/i.1", "parallel: loop 'mm/i.1' is inside block 'mm_o'"},
      {"bind mm/j.1 threadIdx.x", "bind: loop 'mm/j.1' is inside block 'mm_o'"},
      {"rasterize mm/i.1 mm/j.1 2", "rasterize: loop 'mm/i.1' is inside block 'mm_o'"},
      {"reorder [mm/i.1, mm/i.0]",
       "reorder: the loops from 'mm/i.1' to 'mm/i.0' are not one perfectly nested chain"},
      {"fuse mm/k.0 mm/i.1", "fuse: loop 'mm/i.1' is not the whole body of loop 'mm/k.0'"},
      {"cache_read A [mm] local A_s", "cache_read: block 'mm' is inside block 'mm_o'"},
      {"cache_read A [] local A_s\ncompute_at A_s mm/i.1",
       "compute_at: loop 'mm/i.1' is inside block 'mm_o'"},
      {"cache_write mm C local C_l", "cache_write: block 'mm' is inside block 'mm_o'"},
      {"cache_write mm_o C local C_l",
       "cache_write: block 'mm_o' holds a nest; expected a block that stores by itself"},
      {"decompose_reduction mm mm/k.0", "decompose_reduction: block 'mm' is inside block 'mm_o'"},
      {"rfactor mm_o mm/k.0 0 local P",
       "rfactor: block 'mm_o' holds a nest; expected a block that stores by itself"},
      {"cache_read A [] local A_s\ncompute_inline A_s",
       "compute_inline: buffer 'A_s' is used in the nest of block 'mm_o'; do it before"},
      {"cache_read A [] global A_s\nprepack A_s",
       "prepack: buffer 'A_s' is used in the nest of block 'mm_o'; do it before"},
  };
  for (const Row& row : rows) {
    INFO(row.step);
    CHECK(RefusalOf(Mm(), kBlock + row.step) == row.why);
  }
}

TEST_CASE("what a block of blocks writes is not copied", "[schedule][blockize]") {
  Function two = FunctionOf(R"(
    fn f(A: f32[8], C: f32[8]) tensor {
      alloc B: f32[8]
      for i in 0..8 @b/i { block b(i: spatial 8 = i) { B[i] = A[i] * 2.0 } }
      for i in 0..8 @c/i { block c(i: spatial 8 = i) { C[i] = B[i] + 1.0 } }
    })");
  const std::string steps = "split b/i [4]\nblockize b/i.1 b_o\n";
  CheckStepResult(two, steps);
  CHECK(RefusalOf(two, steps + "cache_read B [c] local B_s") ==
        "cache_read: buffer 'B' is used in the nest of block 'b_o'; do it before");
  CHECK(RefusalOf(two, steps + "reverse_compute_at c b/i.0") ==
        "reverse_compute_at: buffer 'B' is used in the nest of block 'b_o'; do it before");
  CheckStepResult(two,
                  "split b/i [4]\nreverse_compute_at c b/i.0\nblockize b/i.1 b_o\n"
                  "blockize c/i c_o\nset_scope B local");
}

TEST_CASE("loops of an axis that some outputs lack do not run apart round a block",
          "[schedule][blockize]") {
  Function attention = AttentionFunction({});
  std::string plain = RefusalOf(attention, "parallel core/d");
  REQUIRE_FALSE(plain.empty());
  CHECK(RefusalOf(attention, "split core/t [4]\nblockize core/t.1 o\nparallel core/d") == plain);
}

TEST_CASE("a block that holds a nest has the limits that the nest has", "[schedule][blockize]") {
  auto legal = [](const std::string& steps, const char* target) {
    Trace trace = ParseTrace("tile t 1 16\n" + steps).value();
    SymbolicProgram program = Instantiate(MatmulFunction(8, 24, 8), trace).value();
    program = WithLimits(std::move(program), FindTarget(target).value());
    CHECK(SearchSpace::Create(program).status() == OkStatus());
    std::vector<int64_t> sizes;
    for (int64_t t = 1; t <= 16; ++t) {
      if (Satisfies(program, {{"t", t}})) sizes.push_back(t);
    }
    return sizes;
  };
  const std::string copy = "cache_write mm C local C_out\nsplit C_out/ax1 [t]\n";
  const std::string lanes = "vectorize C_out/ax1.1\n";
  std::vector<int64_t> plain = legal(copy + lanes, "sm_80");
  CHECK(plain.size() < 16);
  CHECK(legal(copy + "blockize C_out/ax1.0 o\n" + lanes, "sm_80") == plain);
  const std::string tile = "split mm/i [t]\nreorder [mm/i.0, mm/k, mm/i.1, mm/j]\n";
  CHECK(legal(tile + "blockize mm/i.1 o\n", "x86-64-v3") == legal(tile, "x86-64-v3"));
}
