#include "autodiff_features/gpu/warp_access.h"

#include <catch2/catch.hpp>
#include <set>

#include "ir/analysis/accesses.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/layout.h"
#include "ir/expr/substitute.h"
#include "ir/text/parser.h"
#include "schedule/analysis/registers.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/space.h"
#include "support/device_profile.h"
#include "tests/programs/product_function.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

Target Gpu() {
  return *FindTarget("sm_86");
}

// The sectors that the first warp of the first block touches in the first run of the straight-line
// code, instance by instance.
class SectorCounter {
 public:
  SectorCounter(const Site& site, const Access& access, const Buffer& buffer)
      : site_(site), access_(access), buffer_(buffer) {}

  int64_t Count() {
    for (const Ref<For>& loop : site_.loops) at_[loop->var] = 0;
    for (int64_t lane = 0; lane < Target::kWarp; ++lane) {
      if (PlaceLane(lane)) RunFrom(site_.FirstSpreadLoop());
    }
    return static_cast<int64_t>(sectors_.size());
  }
  bool all_exist() const { return all_exist_; }

 private:
  int64_t ValueOf(const Expr& expr) const { return EvaluateInt(expr, at_).value(); }

  bool PlaceLane(int64_t lane) {
    for (size_t l : ThreadLoopsOf(site_)) {
      const Ref<For>& loop = site_.loops[l];
      int64_t extent = ValueOf(loop->extent);
      at_[loop->var] = lane % extent;
      lane /= extent;
    }
    return lane == 0;
  }

  void RunFrom(size_t loop) {
    if (loop == site_.loops.size()) return Touch();
    int64_t extent = ValueOf(site_.loops[loop]->extent);
    for (int64_t i = 0; i < extent; ++i) {
      at_[site_.loops[loop]->var] = i;
      RunFrom(loop + 1);
    }
    at_[site_.loops[loop]->var] = 0;
  }

  void Touch() {
    Substitution values;
    for (const IterVar& iter : site_.block->iters) {
      values.emplace(iter.var, iter.binding);
      int64_t value = ValueOf(iter.binding);
      bool exists = value >= 0 && value < ValueOf(iter.domain);
      all_exist_ = all_exist_ && exists;
      if (!exists) return;
    }
    std::vector<Expr> strides = StoredStrides(buffer_);
    int64_t offset = 0;
    for (size_t d = 0; d < access_.indices.size(); ++d) {
      offset += ValueOf(Substitute(access_.indices[d], values)) * ValueOf(strides[d]);
    }
    // Padding lies before the buffer.
    constexpr int64_t kAhead = 1 << 20;
    sectors_.insert((offset * buffer_.dtype().bits() / 8 + kAhead) / kSectorBytes);
  }

  const Site& site_;
  const Access& access_;
  const Buffer& buffer_;
  Assignment at_;
  std::set<int64_t> sectors_;
  bool all_exist_ = true;
};

struct Totals {
  int compared = 0, equal = 0;
};

void Compare(const Function& fn, const Site& site, const Access& access, Totals& totals) {
  const Buffer& buffer = *FindBuffer(fn, access.buffer);
  if (buffer.scope != Scope::kGlobal && buffer.scope != Scope::kConstant) return;
  if (!buffer.layout.blocks.empty()) return;
  SectorCounter counter(site, access, buffer);
  auto touched = static_cast<double>(counter.Count());
  WarpMoves moves = WarpMovesOf(site, WarpPartsOf(site), access, buffer);
  double sectors = Evaluate(moves.sectors, {}).value().real;
  INFO("block " << site.block->name << " of " << buffer.var->name << ": " << touched
                << " sectors, predicted " << sectors);
  CHECK(moves.exact);
  // A run that begins inside a sector touches one more.
  CHECK(touched <= 2 * sectors);
  if (!counter.all_exist()) return;
  CHECK(sectors <= 2 * touched + 1);
  ++totals.compared;
  totals.equal += sectors == touched ? 1 : 0;
}

}  // namespace

TEST_CASE("Sectors of a warp are those that its threads touch one by one", "[autodiff_features]") {
  std::vector<Function> functions = {
      MatmulFunction(64, 96, 80),
      MatmulFunction(31, 40, 100),
      ProductFunction({.rows = 37, .columns = 200, .depth = 64, .type = "f32", .constant = true}),
      ConvFunction({.height = 20, .width = 22, .channels = 16, .filters = 40, .stride = 1}),
      ConvFunction({.height = 20, .width = 22, .channels = 8, .filters = 40, .stride = 2}),
      SoftmaxByBlocks(60, 300),
  };
  Totals totals;
  for (const Function& fn : functions) {
    for (const Sketch& sketch : GenerateSketches(fn, Gpu())) {
      SymbolicProgram program = ProgramOf(fn, Gpu(), sketch);
      SearchSpace space = SearchSpace::Create(program).value();
      Random random(5);
      std::vector<Point> points = space.Sample(20, random);
      points.push_back(space.ToPoint(sketch.start));
      for (const Point& point : points) {
        INFO("sketch " << sketch.name);
        Function concrete = Instantiate(fn, sketch.trace, space.ToDecisions(point)).value().fn;
        for (const NestSites& nest : SitesOf(concrete)) {
          for (const Site& site : nest.sites) {
            for (const Access& access : AccessesOf(*site.block)) {
              Compare(concrete, site, access, totals);
            }
          }
        }
      }
    }
  }
  CHECK(totals.compared > 300);
  CHECK(5 * totals.equal > 3 * totals.compared);
}

// Windows of a fused axis of places: rows x div 14 and x mod 14 are no box of the image.
TEST_CASE("cells along the last index share sectors where other indices have no box",
          "[autodiff_features]") {
  Function fn = ParseFunction(R"(
    fn f(A: f32[56, 56, 64], B: f32[196, 64]) tensor {
      for x in 0..196 @b/x { for c in 0..64 @b/c {
        block b(x: spatial 196 = x, c: spatial 64 = c) {
          B[x, c] = A[(x div 14) * 4, (x mod 14) * 4, c] } } }
    })")
                    .value();
  Trace trace = ParseTrace(
                    "split b/c [4]\nvectorize b/c.1\nfuse b/x b/c.0\nsplit b/(x*c.0) [128]\n"
                    "bind b/(x*c.0).0 blockIdx.x\nbind b/(x*c.0).1 threadIdx.x\n")
                    .value();
  Function scheduled = Replay(fn, trace).value();
  const NestSites nest = SitesOf(scheduled).at(0);
  const Site& site = nest.sites.at(0);
  const Access read = ReadsOf(*site.block).at(0);
  const Buffer& buffer = *FindBuffer(scheduled, read.buffer);
  WarpMoves moves = WarpMovesOf(site, WarpPartsOf(site), read, buffer);
  CHECK_FALSE(moves.exact);
  // 16 threads read 64 cells of a place.
  CHECK(SectorCounter(site, read, buffer).Count() == 16);
  CHECK(Evaluate(moves.sectors, {}).value().real == 16);
}

}  // namespace tcc
