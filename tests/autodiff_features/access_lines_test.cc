#include "autodiff_features/counts/access_lines.h"

#include <catch2/catch.hpp>

#include "ir/expr/evaluate.h"
#include "ir/text/parser.h"
#include "schedule/analysis/registers.h"
#include "schedule/space/trace.h"
#include "tests/programs/counted_runs.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

Function Parsed(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  INFO(text);
  INFO(fn.status());
  REQUIRE(fn.ok());
  return *fn;
}

Function Scheduled(const Function& fn, const std::string& steps) {
  StatusOr<SymbolicProgram> program = Instantiate(fn, ParseTrace(steps).value());
  INFO(steps);
  INFO(program.status());
  REQUIRE(program.ok());
  return program->fn;
}

double ValueOf(const Expr& formula) {
  return Evaluate(formula, {}).value().real;
}

// An access of a block, found by the name of its buffer.
struct NamedAccess {
  Site site;
  Access access;
  Buffer buffer;
};

NamedAccess Find(const Function& fn, const std::string& block, const std::string& buffer) {
  for (const NestSites& nest : SitesOf(fn)) {
    for (const Site& site : nest.sites) {
      if (site.block->name != block) continue;
      for (const Access& access : AccessesOf(*site.block)) {
        if (access.buffer->name == buffer) return {site, access, *FindBuffer(fn, access.buffer)};
      }
    }
  }
  FAIL(block << " does not access " << buffer);
  return {};
}

AccessLines LinesOf(const NamedAccess& found, size_t first) {
  return LinesOf(found.site, found.access, found.buffer, first);
}
LaneStride StrideOf(const Function& fn, const std::string& buffer) {
  NamedAccess found = Find(fn, BlocksOf(fn.body)[0]->name, buffer);
  return LaneStrideOf(found.site, found.access, found.buffer);
}

// Cells and lines of every access of a whole run are those that the loops touch.
void CheckWholeRun(const Function& fn, int64_t expected_accesses) {
  auto truth = CountCells(fn, 200'000);
  REQUIRE(truth);
  int64_t compared = 0;
  for (const NestSites& nest : SitesOf(fn)) {
    for (const Site& site : nest.sites) {
      std::vector<Access> accesses = AccessesOf(*site.block);
      for (size_t a = 0; a < accesses.size(); ++a) {
        INFO(site.block->name << " of " << accesses[a].buffer->name);
        const CountedCells& touched = truth->at(site.block->name)[a];
        AccessLines lines = LinesOf(site, accesses[a], *FindBuffer(fn, accesses[a].buffer), 0);
        CHECK(lines.exact);
        CHECK(ValueOf(lines.cells) == static_cast<double>(touched.cells));
        CHECK(ValueOf(lines.lines) == static_cast<double>(touched.lines));
        ++compared;
      }
    }
  }
  CHECK(compared == expected_accesses);
}

// B[j, i] = A[i, j].
Function Transposition(int64_t rows, int64_t columns) {
  return Parsed(fmt::format(R"(
    fn t(A: f32[{0}, {1}], B: f32[{1}, {0}]) tensor {{
      for i in 0..{0} @t/i {{ for j in 0..{1} @t/j {{
        block t(i: spatial {0} = i, j: spatial {1} = j) {{ B[j, i] = A[i, j] + 1.0 }} }} }}
    }})",
                            rows, columns));
}

}  // namespace

TEST_CASE("Whole operands are touched once, whatever the tiles", "[autodiff_features]") {
  CheckWholeRun(MatmulFunction(7, 11, 5), 3);
  Function fn = MatmulFunction(7, 11, 5);
  CheckWholeRun(Scheduled(fn,
                          "split mm/i [4]\nsplit mm/j [8]\nsplit mm/k [2]\n"
                          "reorder [mm/j.0, mm/i.0, mm/k.0, mm/k.1, mm/i.1, mm/j.1]"),
                3);
  CheckWholeRun(Scheduled(fn, "split mm/j [3]\nfuse mm/i mm/j.0"), 3);
  CheckWholeRun(Transposition(6, 35), 2);
}

TEST_CASE("Windows of copies share their place", "[autodiff_features]") {
  for (const char* scope : {"global", "local"}) {
    CheckWholeRun(Scheduled(MatmulFunction(7, 11, 5),
                            std::string("split mm/i [4]\ncache_read A [mm] ") + scope +
                                " A_s\ncompute_at A_s mm/i.0\ncache_write mm C local C_l\n"
                                "reverse_compute_at C_l mm/i.0"),
                  3 + 2 + 2);
  }
}

TEST_CASE("Panels are touched from front to back", "[autodiff_features]") {
  for (int64_t columns : {32, 40}) {
    Function fn = Scheduled(MatmulFunction(3, columns, 5),
                            "cache_read B [mm] global B_p\n"
                            "transform_layout B_p [1 by 16] [1, 0, 2]");
    NamedAccess found = Find(fn, "mm", "B_p");
    AccessLines lines = LinesOf(found, 0);
    CHECK(lines.exact);
    CHECK(ValueOf(lines.cells) == static_cast<double>(5 * columns));
    // 40 columns: the last panel has 8 in each of its 5 lines.
    CHECK(ValueOf(lines.lines) == static_cast<double>((columns + 15) / 16 * 5));
    CheckWholeRun(fn, 3 + 2);
  }
}

TEST_CASE("One panel is one run of lines", "[autodiff_features]") {
  Function fn = Scheduled(MatmulFunction(3, 64, 20),
                          "cache_read B [mm] global B_p\n"
                          "transform_layout B_p [1 by 16] [1, 0, 2]\n"
                          "split mm/j [16]\nreorder [mm/j.0, mm/i, mm/k, mm/j.1]");
  NamedAccess packed = Find(fn, "mm", "B_p"), rows = Find(fn, "B_p", "B");
  CHECK(ValueOf(LinesOf(packed, 1).lines) == 20);
  CHECK(ValueOf(LinesOf(packed, 3).lines) == 1);
  CHECK(ValueOf(LinesOf(packed, 0).lines) == 80);
  CHECK(ValueOf(LinesOf(rows, 1).lines) == 4);
}

TEST_CASE("Rows that begin at lines are as many lines as their cells fill", "[autodiff_features]") {
  Function fn = Parsed(R"(
    fn f(A: f32[8, 48], B: f32[8, 20]) tensor {
      for i in 0..8 @b/i { for j in 0..20 @b/j {
        block b(i: spatial 8 = i, j: spatial 20 = j) { B[i, j] = A[i, j] } } }
    })");
  CheckWholeRun(fn, 2);
  CHECK(ValueOf(LinesOf(Find(fn, "b", "A"), 0).lines) == 16);
}

TEST_CASE("Rows that begin inside a line touch at most one line more each", "[autodiff_features]") {
  for (int shift = 0; shift < 16; ++shift) {
    Function fn = Parsed(fmt::format(R"(
      fn f(A: f32[9, 61], B: f32[9, 20]) tensor {{
        for i in 0..9 @b/i {{ for j in 0..20 @b/j {{
          block b(i: spatial 9 = i, j: spatial 20 = j) {{ B[i, j] = A[i, j + {}] }} }} }}
      }})",
                                     shift));
    AccessLines lines = LinesOf(Find(fn, "b", "A"), 0);
    auto truth = static_cast<double>(CountCells(fn, 1000)->at("b")[0].lines);
    CHECK(ValueOf(lines.cells) == 180);
    CHECK(ValueOf(lines.lines) == 18);
    CHECK(truth >= 18);
    CHECK(truth <= 18 + 9);
  }
}

TEST_CASE("Rows with a step touch no row between them", "[autodiff_features]") {
  Function fn = Parsed(R"(
    fn f(A: f32[16, 16], B: f32[8, 16]) tensor {
      for i in 0..8 @b/i { for j in 0..16 @b/j {
        block b(i: spatial 8 = i, j: spatial 16 = j) { B[i, j] = A[i * 2, j] } } }
    })");
  AccessLines lines = LinesOf(Find(fn, "b", "A"), 0);
  CHECK(ValueOf(lines.cells) == 8 * 16);
  CHECK(ValueOf(lines.lines) == 8);
}

TEST_CASE("Cells that memory names are estimated", "[autodiff_features]") {
  Function fn = Parsed(R"(
    fn f(I: i64[6], A: f32[50, 32], B: f32[6, 32]) tensor {
      for i in 0..6 @b/i { for j in 0..32 @b/j {
        block b(i: spatial 6 = i, j: spatial 32 = j) { B[i, j] = A[max(min(I[i], 49), 0), j] } } }
    })");
  AccessLines rows = LinesOf(Find(fn, "b", "A"), 0);
  CHECK_FALSE(rows.exact);
  CHECK(ValueOf(rows.cells) <= 50 * 32);
  CHECK(ValueOf(rows.lines) >= 1);
  CHECK(LinesOf(Find(fn, "b", "B"), 0).exact);
}

TEST_CASE("Lanes lie in one cell, side by side or apart", "[autodiff_features]") {
  Function mm = MatmulFunction(8, 16, 5);
  CHECK(StrideOf(mm, "A") == LaneStride::kNone);
  Function columns = Scheduled(mm, "reorder [mm/k, mm/j]\nvectorize mm/j");
  CHECK(StrideOf(columns, "A") == LaneStride::kSame);
  CHECK(StrideOf(columns, "B") == LaneStride::kNeighbours);
  CHECK(StrideOf(columns, "C") == LaneStride::kNeighbours);
  Function rows = Scheduled(mm, "reorder [mm/j, mm/k, mm/i]\nvectorize mm/i");
  CHECK(StrideOf(rows, "A") == LaneStride::kApart);
  CHECK(StrideOf(rows, "B") == LaneStride::kSame);
  CHECK(StrideOf(rows, "C") == LaneStride::kApart);
  Function steps = Scheduled(Parsed(R"(
    fn f(A: f32[32], B: f32[16]) tensor {
      for i in 0..16 @b/i { block b(i: spatial 16 = i) { B[i] = A[i * 2] } } })"),
                             "vectorize b/i");
  CHECK(StrideOf(steps, "A") == LaneStride::kApart);
  CHECK(StrideOf(steps, "B") == LaneStride::kNeighbours);
}

TEST_CASE("Lanes along a panel are neighbours, lanes along its rows are not",
          "[autodiff_features]") {
  const std::string packed =
      "cache_read B [mm] global B_p\ntransform_layout B_p [1 by 16] [1, 0, 2]\n"
      "split mm/j [16]\n";
  auto stride = [](const Function& fn) {
    NamedAccess found = Find(fn, "mm", "B_p");
    return LaneStrideOf(found.site, found.access, found.buffer);
  };
  Function mm = MatmulFunction(8, 64, 5);
  CHECK(stride(Scheduled(mm, packed + "reorder [mm/j.0, mm/i, mm/k, mm/j.1]\nvectorize mm/j.1")) ==
        LaneStride::kNeighbours);
  CHECK(stride(Scheduled(mm, packed + "reorder [mm/j.1, mm/i, mm/k, mm/j.0]\nvectorize mm/j.0")) ==
        LaneStride::kApart);
}

TEST_CASE("A tile of registers loads each cell once", "[autodiff_features]") {
  Function fn = Scheduled(MatmulFunction(6, 16, 5),
                          "reorder [mm/k, mm/i, mm/j]\nunroll mm/i\nvectorize mm/j");
  Target target = FindTarget("x86-64-v3").value();
  REQUIRE(target.vector_bytes == 32);
  auto check = [&](const char* buffer, double vectors, double broadcasts, double elements) {
    INFO(buffer);
    NamedAccess found = Find(fn, "mm", buffer);
    AccessInstructions moved = InstructionsOf(found.site, found.access, found.buffer, target);
    CHECK(ValueOf(moved.vectors) == vectors);
    CHECK(ValueOf(moved.broadcasts) == broadcasts);
    CHECK(ValueOf(moved.elements) == elements);
  };
  check("A", 0, 6, 0);
  check("B", 2, 0, 0);
  check("C", 12, 0, 0);
}

TEST_CASE("Lanes apart are moved one by one, loops without lanes cell by cell",
          "[autodiff_features]") {
  Target target = FindTarget("x86-64-v3").value();
  auto check = [&](const Function& fn, const char* buffer, double broadcasts, double elements) {
    INFO(buffer);
    NamedAccess found = Find(fn, "mm", buffer);
    AccessInstructions moved = InstructionsOf(found.site, found.access, found.buffer, target);
    CHECK(ValueOf(moved.vectors) == 0);
    CHECK(ValueOf(moved.broadcasts) == broadcasts);
    CHECK(ValueOf(moved.elements) == elements);
  };
  Function mm = MatmulFunction(8, 4, 5);
  Function rows = Scheduled(mm, "reorder [mm/k, mm/j, mm/i]\nunroll mm/j\nvectorize mm/i");
  check(rows, "A", 0, 8);
  check(rows, "B", 4, 0);
  check(rows, "C", 0, 32);
  Function plain = Scheduled(mm, "reorder [mm/k, mm/j, mm/i]\nunroll mm/j\nunroll mm/i");
  check(plain, "A", 8, 0);
  check(plain, "B", 4, 0);
  check(plain, "C", 32, 0);
}

}  // namespace tcc
