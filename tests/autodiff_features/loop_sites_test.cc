#include "autodiff_features/counts/loop_sites.h"

#include <catch2/catch.hpp>

#include "autodiff_features/counts/instance_counts.h"
#include "autodiff_features/cpu/nest_work.h"
#include "ir/expr/evaluate.h"
#include "ir/text/parser.h"
#include "schedule/space/trace.h"
#include "tests/programs/counted_runs.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

Function Scheduled(const Function& fn, const std::string& steps) {
  StatusOr<SymbolicProgram> program = Instantiate(fn, ParseTrace(steps).value());
  INFO(steps);
  INFO(program.status());
  REQUIRE(program.ok());
  return program->fn;
}

Site SiteOf(const Function& fn, const std::string& block) {
  for (const NestSites& nest : SitesOf(fn)) {
    for (const Site& site : nest.sites) {
      if (site.block->name == block) return site;
    }
  }
  FAIL("no block " << block);
  return {};
}

double ValueOf(const Expr& formula) {
  return Evaluate(formula, {}).value().real;
}

std::vector<int64_t> ExtentsOf(const Site& site) {
  std::vector<int64_t> extents;
  for (const LoopPart& part : site.parts) extents.push_back(EvaluateInt(part.extent, {}).value());
  return extents;
}

std::vector<size_t> LoopsOfParts(const Site& site) {
  std::vector<size_t> loops;
  for (const LoopPart& part : site.parts) loops.push_back(part.loop);
  return loops;
}

// Names of the nests, those of link time in brackets.
std::string NestsOf(const Function& fn) {
  std::string text;
  for (const NestSites& nest : SitesOf(fn)) {
    std::string name = nest.runs_when_linked ? "(" + nest.name + ")" : nest.name;
    text += (text.empty() ? "" : " ") + name;
  }
  return text;
}

// Constants that are scaled, U, before they are added.
Function ScaledConstants() {
  return ParseFunction(R"(
    fn f(A: f32[6], W: f32[6] constant, B: f32[6]) tensor {
      alloc U: f32[6]
      for i in 0..6 @u/i { block u(i: spatial 6 = i) { U[i] = W[i] * 2.0 } }
      for i in 0..6 @b/i { block b(i: spatial 6 = i) { B[i] = A[i] + U[5 - i] } }
    })")
      .value();
}

}  // namespace

TEST_CASE("Fused loops are taken apart into the loops that they fuse", "[autodiff_features]") {
  Site site = SiteOf(Scheduled(MatmulFunction(7, 11, 5), "fuse mm/i mm/j"), "mm");
  CHECK(site.loops.size() == 2);
  CHECK(ExtentsOf(site) == std::vector<int64_t>{7, 11, 5});
  CHECK(LoopsOfParts(site) == std::vector<size_t>{0, 0, 1});
  CHECK(site.dense == std::vector<size_t>{0, 1, 2});
  CHECK(site.other_parts.empty());
  CHECK(site.exact);
}

TEST_CASE("Parts of a loop that fuses outer tiles lie beside those of the inner tiles",
          "[autodiff_features]") {
  Site site = SiteOf(Scheduled(MatmulFunction(7, 11, 5),
                               "split mm/i [3]\nreorder [mm/i.0, mm/j, mm/i.1]\n"
                               "fuse mm/i.0 mm/j\nparallel mm/(i.0*j)"),
                     "mm");
  CHECK(ExtentsOf(site) == std::vector<int64_t>{3, 11, 3, 5});
  CHECK(LoopsOfParts(site) == std::vector<size_t>{0, 0, 1, 2});
  CHECK(site.parts_of == std::vector<std::vector<size_t>>{{0, 2}, {1}, {3}});
  CHECK(site.parallel_loop == 0);
  CHECK(site.exact);
  InstanceCounts counts = CountsOf(site);
  CHECK(ValueOf(counts.pieces) == 33);
  CHECK(ValueOf(counts.piece) == 15);
  CHECK(ValueOf(counts.useful) == 7 * 11 * 5);
  CHECK(ValueOf(counts.issued) == 9 * 11 * 5);
}

TEST_CASE("The variable of partial results is decided by the one that it is a part of",
          "[autodiff_features]") {
  Function fn =
      Scheduled(MatmulFunction(3, 4, 5), "split mm/k [2]\nrfactor mm mm/k.0 0 global mm_p");
  Site site = SiteOf(fn, "mm_p");
  std::vector<std::string> dense;
  for (size_t i : site.dense) dense.push_back(site.block->iters[i].var->name);
  CHECK(dense == std::vector<std::string>{"i", "j", "k"});
  CHECK(site.block->iters.size() == 4);
  CHECK(site.other_parts.empty());
  CHECK(site.exact);
  InstanceCounts counts = CountsOf(site);
  CHECK(ValueOf(counts.issued) == 3 * 4 * 6);
  CHECK(ValueOf(counts.useful) == 3 * 4 * 5);
  CHECK(CountRuns(fn, 1000)->at("mm_p").useful == 3 * 4 * 5);
}

TEST_CASE("Copies whose windows overlap are bounded, not exact", "[autodiff_features]") {
  Function fn = Scheduled(TwoReadersFunction(23),
                          "split sum/i [4]\ncache_read A [sum] global A_s\ncompute_at A_s sum/i.0");
  Site site = SiteOf(fn, "A_s");
  CHECK(ExtentsOf(site) == std::vector<int64_t>{6, 6});
  CHECK(site.dense.empty());
  CHECK(site.other_parts == std::vector<size_t>{0, 1});
  CHECK_FALSE(site.exact);
  CHECK(SiteOf(fn, "sum").exact);
  // The last window begins at 20 and goes to 26, beyond the 25 cells of A.
  CHECK(ValueOf(CountsOf(site).useful) == 36);
  CHECK(CountRuns(fn, 1000)->at("A_s").useful == 35);
}

TEST_CASE("A split inside a tile that it does not divide is bounded, not exact",
          "[autodiff_features]") {
  Function fn = Scheduled(MatmulFunction(7, 11, 5), "split mm/i [4]\nsplit mm/i.1 [3]");
  Site site = SiteOf(fn, "mm");
  CHECK_FALSE(site.exact);
  CHECK(site.dense.size() == 2);
  CHECK(ValueOf(CountsOf(site).useful) >=
        static_cast<double>(CountRuns(fn, 10'000)->at("mm").useful));
}

TEST_CASE("Straight-line code is the unrolled and vectorized loops next to the block",
          "[autodiff_features]") {
  Site site = SiteOf(Scheduled(MatmulFunction(9, 40, 5),
                               "split mm/i [4]\nsplit mm/j [2, 8]\n"
                               "reorder [mm/i.0, mm/j.0, mm/k, mm/i.1, mm/j.1, mm/j.2]\n"
                               "parallel mm/i.0\nunroll mm/i.1\nunroll mm/j.1\nvectorize mm/j.2"),
                     "mm");
  CHECK(site.first_spread == 3);
  CHECK(site.FirstSpreadLoop() == 3);
  CHECK(site.lane_part == 5);
  CHECK(site.parallel_loop == 0);
  CHECK(site.FeedsReduction(2));
  for (size_t part : {0, 1, 3, 4, 5}) CHECK_FALSE(site.FeedsReduction(part));
  InstanceCounts counts = CountsOf(site);
  CHECK(ValueOf(counts.lanes) == 8);
  CHECK(ValueOf(counts.copies) == 8);
  CHECK(ValueOf(counts.chain) == 1);
  CHECK(counts.accumulates);
}

TEST_CASE("An unrolled loop round a serial one is no straight-line code", "[autodiff_features]") {
  Site site = SiteOf(Scheduled(MatmulFunction(3, 4, 5), "unroll mm/i"), "mm");
  CHECK(site.first_spread == 3);
  CHECK(site.FirstSpreadLoop() == 3);
  CHECK_FALSE(site.lane_part);
  CHECK_FALSE(site.parallel_loop);
}

TEST_CASE("An unrolled loop of a reduction makes a chain", "[autodiff_features]") {
  Site site = SiteOf(
      Scheduled(MatmulFunction(3, 4, 6), "split mm/k [2]\nunroll mm/k.1\nparallel mm/i"), "mm");
  InstanceCounts counts = CountsOf(site);
  CHECK(ValueOf(counts.chain) == 2);
  CHECK(ValueOf(counts.copies) == 2);
  CHECK(ValueOf(counts.trip) == 3);
  CHECK(ValueOf(counts.bodies) == 3 * 4 * 3);
  CHECK(ValueOf(counts.piece) == 4 * 3);
}

TEST_CASE("Nests that prepare constants run when the kernel is linked", "[autodiff_features]") {
  Function plain = ScaledConstants();
  CHECK(NestsOf(plain) == "u b");
  CHECK(NestsOf(Scheduled(plain, "prepack u")) == "(u) b");
  CHECK(NestsOf(Scheduled(plain, "cache_read U [b] global U_s\nprepack u\nprepack U_s")) ==
        "(u) (U_s) b");
  // A copy that only the preparation reads is part of it, though its buffer is no constant.
  CHECK(NestsOf(Scheduled(plain, "prepack u\ncache_read W [u] global W_s")) == "(W_s) (u) b");
  CHECK(NestsOf(Scheduled(plain, "cache_read W [u] global W_s")) == "W_s u b");
}

TEST_CASE("Work of a kernel leaves out nests that run when it is linked", "[autodiff_features]") {
  std::vector<NestWork> work =
      WorkOf(Scheduled(ScaledConstants(), "prepack u"), FindTarget("x86-64-v3").value());
  REQUIRE(work.size() == 1);
  CHECK(work[0].name == "b");
}

TEST_CASE("A block with an empty domain has no site", "[autodiff_features]") {
  for (const NestSites& nest : SitesOf(EmptyReductionFunction(4))) {
    CHECK_FALSE(nest.sites.empty());
    for (const Site& site : nest.sites) CHECK(site.block->name == "total.init");
  }
}

}  // namespace tcc
