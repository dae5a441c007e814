#include "schedule/steps/prefetch.h"

#include <catch2/catch.hpp>
#include <set>

#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "lower/pipeline.h"
#include "tests/programs/prefetch_check.h"
#include "tests/programs/satisfies.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

// Panels of 32 columns, each read by tiles of 5 rows, k in steps of 4.
constexpr const char* kPanels = R"(
split mm/i [5]
split mm/j [2, 16]
split mm/k [4]
reorder [mm/j.0, mm/i.0, mm/k.0, mm/k.1, mm/i.1, mm/j.1, mm/j.2]
)";

Stmt FirstHint(const Function& fn) {
  Stmt hint;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    if (!hint && stmt.as<PrefetchLine>()) hint = stmt;
  });
  return hint;
}

}  // namespace

TEST_CASE("the next panel is asked for line by line while the tiles of this one run",
          "[schedule][prefetch]") {
  // 8 k x 32 columns are 16 lines of 64 bytes; 4 tiles of 2 k-steps: 2 lines each.
  Function mm = MatmulFunction(20, 64, 8);
  CheckSteps(mm, std::string(kPanels) + "prefetch mm B mm/j.0 mm/k.0 1", R"(
    fn mm(A: f32[20, 8], B: f32[8, 64], C: f32[20, 64]) scheduled {
      for j0 in 0..2 @mm/j.0 { for i0 in 0..4 @mm/i.0 { for k0 in 0..2 @mm/k.0 {
        for p in 0..2 unrolled @B.prefetch/p {
          prefetch B[i0 * 2 + k0 + 0 * p, ((j0 + 1) * 2 + p) * 16]
        }
        for k1 in 0..4 @mm/k.1 { for i1 in 0..5 @mm/i.1 {
          for j1 in 0..2 @mm/j.1 { for j2 in 0..16 @mm/j.2 {
            block mm(i: spatial 20 = i0 * 5 + i1, j: spatial 64 = j0 * 32 + (j1 * 16 + j2),
                     k: reduce 8 = k0 * 4 + k1)
                guard (i0 * 5 + i1 < 20, j0 * 32 + (j1 * 16 + j2) < 64, k0 * 4 + k1 < 8) {
              reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
            }
          } }
        } }
      } } }
    })");
}

TEST_CASE("every line of a packed panel is asked for once", "[schedule][prefetch]") {
  Function mm = MatmulFunction(20, 64, 8);
  SymbolicProgram program = ProgramOf(mm, std::string(kPanels) + "prefetch mm B mm/j.0 mm/k.0 1");
  Function lowered = RunPipeline(program.fn).value();
  // B is row-major here: line l of panel 1 begins at row l / 2, column 32 + (l % 2) * 16.
  std::set<int64_t> lines;
  int hints = 0;
  PreOrder(lowered.body, [&](const Stmt& stmt) {
    const auto* hint = stmt.as<PrefetchLine>();
    if (!hint) return;
    ++hints;
    std::vector<Var> vars = VarsOf(hint->cell.indices[0]);
    for (int64_t point = 0; point < 8; ++point) {
      Substitution at;
      for (const Var& var : vars) {
        int64_t value = var->name == "j0" ? 0 : var->name == "i0" ? point / 2 : point % 2;
        at.emplace(var, Expr(value));
      }
      lines.insert(AsConstant(Simplify(Substitute(hint->cell.indices[0], at))).value());
    }
  });
  CHECK(hints == 2);
  REQUIRE(lines.size() == 16);
  for (int64_t l = 0; l < 16; ++l) CHECK(lines.contains(l / 2 * 64 + 32 + l % 2 * 16));
}

TEST_CASE("each line of the next panel is asked for exactly once, by 1 to 30 tiles of rows",
          "[schedule][prefetch]") {
  for (int64_t tiles = 1; tiles <= 30; ++tiles) {
    // Panels of 32 columns, 11 k: 22 lines.
    Function mm = MatmulFunction(2 * tiles, 96, 11);
    Trace trace = ParseTrace(R"(
split mm/i [2]
split mm/j [2, 16]
reorder [mm/j.0, mm/i.0, mm/k, mm/i.1, mm/j.1, mm/j.2]
prefetch mm B mm/j.0 mm/k 1
)")
                      .value();
    INFO(tiles << " tiles");
    CHECK(FirstLineNotPrefetched(mm, trace, {}) == "");
  }
}

TEST_CASE("the tiles that are there ask for a whole panel, however few rows a last piece has",
          "[schedule][prefetch]") {
  // Pieces of 8 tiles of 2 rows; panels of 22 lines, as above.
  for (int64_t rows = 1; rows <= 33; ++rows) {
    Trace trace = ParseTrace(R"(
split mm/i [8, 2]
split mm/j [2, 16]
reorder [mm/i.0, mm/j.0, mm/i.1, mm/k, mm/i.2, mm/j.1, mm/j.2]
prefetch mm B mm/j.0 mm/k 1 present
)")
                      .value();
    INFO(rows << " rows");
    CHECK(FirstLineNotPrefetched(MatmulFunction(rows, 96, 11), trace, {}) == "");
  }
}

TEST_CASE("where iterations outnumber lines, every n-th asks", "[schedule][prefetch]") {
  // 8 k x 16 columns are 8 lines; 3 tiles of 8 k.
  Function mm = MatmulFunction(6, 64, 8);
  CheckSteps(mm,
             "split mm/i [2]\nsplit mm/j [16]\n"
             "reorder [mm/j.0, mm/i.0, mm/k, mm/i.1, mm/j.1]\nprefetch mm B mm/j.0 mm/k 1",
             R"(
    fn mm(A: f32[6, 8], B: f32[8, 64], C: f32[6, 64]) scheduled {
      for j0 in 0..4 @mm/j.0 { for i0 in 0..3 @mm/i.0 { for k in 0..8 @mm/k {
        if k mod 2 < 1 {
          for p in 0..1 unrolled @B.prefetch/p {
            if (i0 * 8 + k) div 2 + p < 8 {
              prefetch B[(i0 * 8 + k) div 2 + p, (j0 + 1) * 16]
            }
          }
        }
        for i1 in 0..2 @mm/i.1 { for j1 in 0..16 @mm/j.1 {
          block mm(i: spatial 6 = i0 * 2 + i1, j: spatial 64 = j0 * 16 + j1, k: reduce 8 = k)
              guard (i0 * 2 + i1 < 6, j0 * 16 + j1 < 64) {
            reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
          }
        } }
      } } }
    })");
}

TEST_CASE("with one loop given twice an iteration asks for the whole of a later one",
          "[schedule][prefetch]") {
  Function mm = MatmulFunction(4, 64, 8);
  SymbolicProgram program = ProgramOf(mm, "reorder [mm/k, mm/j]\nprefetch mm B mm/k mm/k 3");
  CHECK(Print(Simplify(program.fn)).find("for p in 0..4 unrolled @B.prefetch/p") !=
        std::string::npos);
  Stmt hint = FirstHint(Simplify(program.fn));
  REQUIRE(hint);
  CHECK(Print(hint.as<PrefetchLine>()->cell.indices[0]) == "k + 3");
  CHECK(Print(hint.as<PrefetchLine>()->cell.indices[1]) == "p * 16");
}

TEST_CASE("a prefetch changes no result at any sizes, and reaches beyond the end unharmed",
          "[schedule][prefetch]") {
  for (int64_t t : {1, 3, 5, 9}) {
    CheckStepResult(MatmulFunction(7, 9, 5),
                    "tile t 1 9\ntile u 1 9\ntile d 1 4\n"
                    "split mm/i [t]\nsplit mm/j [u]\nsplit mm/k [2]\n"
                    "reorder [mm/j.0, mm/i.0, mm/k.0, mm/k.1, mm/i.1, mm/j.1]\n"
                    "prefetch mm B mm/j.0 mm/k.0 d\nprefetch mm A mm/i.0 mm/i.0 1\n"
                    "vectorize mm/j.1\nparallel mm/j.0",
                    {{"t", t}, {"u", 4}, {"d", 3}});
  }
}

TEST_CASE("a buffer that moves loses its prefetches", "[schedule][prefetch]") {
  Function mm = MatmulFunction(8, 16, 4);
  SymbolicProgram program =
      ProgramOf(mm, "cache_read B [] global B_s\nprefetch mm B_s mm/i mm/k 1\ncompute_at B_s mm/i");
  CHECK_FALSE(FirstHint(program.fn));
  CheckStepResult(mm,
                  "cache_read B [] global B_s\nprefetch mm B_s mm/i mm/k 1\ncompute_at B_s mm/i");
}

TEST_CASE("the number of lines becomes a constraint", "[schedule][prefetch]") {
  SymbolicProgram program = ProgramOf(MatmulFunction(64, 64, 64),
                                      "tile t 1 64\nsplit mm/k [t]\nreorder [mm/k.0, mm/i]\n"
                                      "prefetch mm B mm/k.0 mm/k.0 1");
  CHECK(Satisfies(program, {{"t", 16}}));
  CHECK_FALSE(Satisfies(program, {{"t", 17}}));
}

TEST_CASE("prefetch says what is wrong with the buffer or the loops", "[schedule][prefetch]") {
  Function mm = MatmulFunction(64, 64, 64);
  CHECK(Message(ParseStep("prefetch mm B mm/i mm/k 1 past", {}).status()) ==
        "step 'prefetch mm B mm/i mm/k 1 past': 'past'; expected 'present' or nothing");
  CHECK(RefusalOf(mm, "prefetch mm C mm/i mm/k 1") ==
        "prefetch: block 'mm' does not read buffer 'C'");
  CHECK(RefusalOf(mm, "prefetch mm B mm/k mm/j 1") ==
        "prefetch: loop 'mm/j' is not inside loop 'mm/k'");
  CHECK(RefusalOf(mm, "cache_read A [] global A_s\nprefetch mm B A_s/ax0 A_s/ax0 1") ==
        "prefetch: loop 'A_s/ax0' is not round block 'mm'");
  CHECK(RefusalOf(mm, "prefetch mm B mm/i mm/k 0") ==
        "prefetch: buffer 'B' is to be 0 iterations of loop 'mm/i' ahead; expected at least 1");
  CHECK(RefusalOf(mm, "prefetch mm B mm/i mm/i 1") ==
        "prefetch: an iteration of loop 'mm/i' would ask for 256 lines; expected at most 64: place "
        "it further in");
  CHECK(RefusalOf(mm, "prefetch mm B mm/i mm/k 1\nprefetch mm B mm/i mm/k 1") ==
        "prefetch: buffer 'B' is prefetched already");
  CHECK(RefusalOf(mm,
                  "cache_read A [] global A_s\ncompute_at A_s mm/i\n"
                  "prefetch mm A_s mm/i mm/k 1") ==
        "prefetch: buffer 'A_s' lives inside loop 'mm/i', so a later iteration has another");
  CHECK(RefusalOf(mm, "reorder [mm/k, mm/j]\nvectorize mm/j\nprefetch mm B mm/i mm/j 1") ==
        "prefetch: loop 'mm/j' is vectorized; expected a place outside");
  Function gather = FunctionOf(R"(
    fn g(I: i64[8], A: f32[64], B: f32[8]) tensor { for i in 0..8 @g/i {
      block g(i: spatial 8 = i) { B[i] = A[I[i]] }
    } })");
  CHECK(RefusalOf(gather, "prefetch g A g/i g/i 1") ==
        "prefetch: block 'g' reads buffer 'A' at an index from memory");
  CHECK(RefusalOf(EmptyReductionFunction(3), "prefetch total A total/i total/k 1") ==
        "prefetch: loop 'total/k' has extent 0; expected at least 1");
}
