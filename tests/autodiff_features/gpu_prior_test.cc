#include "autodiff_features/gpu/gpu_prior.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "autodiff_features/counts/real_formulas.h"
#include "autodiff_features/features/sketch_formulas.h"
#include "ir/expr/evaluate.h"
#include "schedule/sketches/parts/sketch.h"
#include "tests/programs/product_function.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

constexpr size_t kPoints = 60;
constexpr RunSettings kCold = {.cold_weights = true, .cold_activations = true};

Target Gpu() {
  return *FindTarget("sm_86");
}

// A sketch, its program, and legal points of it.
struct Sampled {
  Function fn;
  Sketch sketch;
  SymbolicProgram program;
  std::vector<Point> points;

  std::vector<double> LnSeconds(const GpuProfile& gpu, const RunSettings& settings = kCold) const {
    return SketchFormulas::Create(program, Gpu(), gpu, settings)->LnSecondsAt(points);
  }
};

Sampled SampledOf(const Function& fn, const Sketch& sketch) {
  SymbolicProgram program = ProgramOf(fn, Gpu(), sketch);
  SearchSpace space = SearchSpace::Create(program).value();
  Random random(17);
  std::vector<Point> points = space.Sample(kPoints, random);
  points.push_back(space.ToPoint(sketch.start));
  return {fn, sketch, program, points};
}

void ForEachSketch(const std::function<void(const Sampled&)>& f) {
  std::vector<Function> functions = {
      MatmulFunction(64, 96, 80),
      MatmulFunction(8, 16, 2048),
      ProductFunction({.rows = 37, .columns = 200, .depth = 64, .type = "f32", .constant = true}),
      ProductFunction({.rows = 128, .columns = 128, .depth = 64, .type = "f16"}),
      ConvFunction({.height = 20, .width = 22, .channels = 16, .filters = 40, .stride = 1}),
      SoftmaxByBlocks(60, 300),
  };
  for (const Function& fn : functions) {
    for (const Sketch& sketch : GenerateSketches(fn, Gpu())) {
      INFO("sketch " << sketch.name);
      f(SampledOf(fn, sketch));
    }
  }
}

// Rounding aside.
void CheckNeverSlower(const std::vector<double>& before, const std::vector<double>& after) {
  REQUIRE(before.size() == after.size());
  REQUIRE_FALSE(before.empty());
  for (size_t p = 0; p < before.size(); ++p) CHECK(after[p] <= before[p] + 1e-9);
}

Function SquareMatmul(int64_t extent) {
  return MatmulFunction(extent, extent, extent);
}

// ln seconds of the tile sketch of a product of matrices at the given sizes, all others 1.
double LnSecondsAt(const Function& fn, const Decisions& sizes,
                   const GpuProfile& gpu = GpuProfileOf(Gpu().sm)) {
  for (const Sketch& sketch : GenerateSketches(fn, Gpu())) {
    if (sketch.name != "tile") continue;
    SymbolicProgram program = ProgramOf(fn, Gpu(), sketch);
    SearchSpace space = SearchSpace::Create(program).value();
    Decisions all = sketch.start;
    for (auto& [name, value] : all) value = 1;
    for (const auto& [name, value] : sizes) {
      INFO(name);
      REQUIRE(all.contains(name));
      all[name] = value;
    }
    std::vector<Point> points = {space.ToPoint(all)};
    CHECK(space.AreLegal(points)[0]);
    return SketchFormulas::Create(program, Gpu(), gpu, kCold)->LnSecondsAt(points)[0];
  }
  FAIL("no sketch 'tile'");
  return 0;
}

}  // namespace

TEST_CASE("Every prediction for a GPU is finite at legal points, and no shorter than a launch",
          "[autodiff_features]") {
  ForEachSketch([](const Sampled& sampled) {
    for (const char* name : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a"}) {
      INFO(name);
      GpuProfile gpu = GpuProfileOf(FindTarget(name)->sm);
      for (double ln_seconds : sampled.LnSeconds(gpu)) {
        CHECK(std::isfinite(ln_seconds));
        CHECK(ln_seconds >= std::log(gpu.launch_seconds));
        CHECK(ln_seconds < 0);
      }
    }
  });
}

TEST_CASE("Accesses of a GPU's sketches have boxes", "[autodiff_features]") {
  ForEachSketch([](const Sampled& sampled) {
    StatusOr<SketchFormulas> formulas =
        SketchFormulas::Create(sampled.program, Gpu(), DeviceProfileOf(Gpu()), kCold);
    REQUIRE(formulas.ok());
    CHECK(formulas->counts().accesses > 0);
    CHECK(formulas->counts().without_box.empty());
    for (const std::string& access : formulas->counts().without_box) UNSCOPED_INFO(access);
  });
}

TEST_CASE("More multiprocessors never make a kernel slower", "[autodiff_features]") {
  ForEachSketch([](const Sampled& sampled) {
    GpuProfile gpu = GpuProfileOf(Gpu().sm);
    gpu.multiprocessors = 1;
    std::vector<double> before = sampled.LnSeconds(gpu);
    for (int64_t count : {2, 4, 16, 128, 1024}) {
      gpu.multiprocessors = count;
      std::vector<double> after = sampled.LnSeconds(gpu);
      CheckNeverSlower(before, after);
      before = after;
    }
  });
}

TEST_CASE("Higher rates of a GPU never make a kernel slower, longer latencies never faster",
          "[autodiff_features]") {
  ForEachSketch([](const Sampled& sampled) {
    GpuProfile gpu = GpuProfileOf(Gpu().sm);
    std::vector<double> before = sampled.LnSeconds(gpu);
    for (double GpuProfile::* rate :
         {&GpuProfile::hertz, &GpuProfile::issued_per_cycle, &GpuProfile::fma_per_cycle,
          &GpuProfile::special_per_cycle, &GpuProfile::mma_per_cycle, &GpuProfile::passes_per_cycle,
          &GpuProfile::l2_bytes, &GpuProfile::l2_rate, &GpuProfile::l2_port,
          &GpuProfile::memory_rate, &GpuProfile::cached_instructions}) {
      GpuProfile other = gpu;
      other.*rate *= 1.5;
      CheckNeverSlower(before, sampled.LnSeconds(other));
    }
    for (double GpuProfile::* latency :
         {&GpuProfile::memory_latency, &GpuProfile::shared_latency, &GpuProfile::barrier_cycles,
          &GpuProfile::exchange_cycles, &GpuProfile::fetch_cycles, &GpuProfile::launch_seconds}) {
      GpuProfile other = gpu;
      other.*latency *= 1.5;
      CheckNeverSlower(sampled.LnSeconds(other), before);
    }
  });
}

TEST_CASE("What one block in several runs counts as a share of each", "[autodiff_features]") {
  // Five parts of each of two tiles, by 4 warps each; the last block's 4 sum them up.
  Function fn = Replay(MatmulFunction(32, 8, 20), ParseTrace(R"(
split mm/k [4]
rfactor mm mm/k.0 0 global part
split part/i [16]
reorder [part/i.0, part/k.0, part/i.1, part/j, part/k.1]
fuse part/i.1 part/j
bind part/i.0 blockIdx.x
bind part/k.0 blockIdx.y
bind part/(i.1*j) threadIdx.x
decompose_reduction part part/k.1
reverse_compute_at mm part/i.0
fuse mm/i mm/j
bind mm/(i*j) threadIdx.x
decompose_reduction mm mm/p
)")
                                                      .value())
                    .value();
  std::vector<LaunchWork> launches = LaunchesOf(fn, Gpu());
  REQUIRE(launches.size() == 1);
  CHECK(EvaluateInt(launches[0].blocks, {}) == 10);
  for (const WarpSite& site : launches[0].sites) {
    INFO(site.site.block->name);
    const bool of_part = site.site.block->name.starts_with("part");
    CHECK(Evaluate(site.warps, {})->real == (of_part ? 4 : 0.8));
  }
}

TEST_CASE("Twice the extent is never faster at the same sizes", "[autodiff_features]") {
  struct Extents {
    int64_t rows, columns, depth;
  };
  Extents small = {192, 256, 320};
  for (const Extents& large :
       {Extents{384, 256, 320}, Extents{192, 512, 320}, Extents{192, 256, 640}}) {
    Function fn = MatmulFunction(small.rows, small.columns, small.depth);
    for (const Sketch& sketch : GenerateSketches(fn, Gpu())) {
      // The number of steps of a part is written into a trace that splits the reduction.
      if (sketch.name.find("split_k") != std::string::npos) continue;
      Sampled sampled = SampledOf(fn, sketch);
      Sampled doubled = sampled;
      doubled.fn = MatmulFunction(large.rows, large.columns, large.depth);
      doubled.program = Instantiate(doubled.fn, sketch.trace).value();
      GpuProfile gpu = GpuProfileOf(Gpu().sm);
      CheckNeverSlower(doubled.LnSeconds(gpu), sampled.LnSeconds(gpu));
    }
  }
}

TEST_CASE("Staged tiles rank before a result per thread", "[autodiff_features]") {
  Function fn = SquareMatmul(1024);
  Decisions tiled = {{"mm.i.2", 16},       {"mm.i.4", 8},     {"mm.j.2", 16},
                     {"mm.j.4", 8},        {"mm.k.1", 2},     {"mm.k.2", 4},
                     {"mm.k.0.stages", 3}, {"mm.B.ax1.1", 4}, {"mm.A.ax1.1", 4}};
  Decisions single = tiled;
  single["mm.i.4"] = single["mm.j.4"] = 1;
  Decisions medium = tiled;
  medium["mm.i.4"] = medium["mm.j.4"] = 4;
  double large = LnSecondsAt(fn, tiled), middle = LnSecondsAt(fn, medium),
         small = LnSecondsAt(fn, single);
  CHECK(large < middle);
  CHECK(middle < small);
  CHECK(large < small - std::log(3.0));
  // Between the peak and a tenth of it.
  double least = 2.0 * 1024 * 1024 * 1024 / 31.5e12;
  CHECK(std::exp(large) > least);
  CHECK(std::exp(large) < 10 * least);
}

TEST_CASE("One block is slower than as many as there are multiprocessors", "[autodiff_features]") {
  Function fn = MatmulFunction(128, 128, 1024);
  Decisions one = {{"mm.i.2", 16}, {"mm.i.4", 8}, {"mm.j.2", 16},
                   {"mm.j.4", 8},  {"mm.k.2", 8}, {"mm.k.0.stages", 3}};
  Decisions many = one;
  many["mm.i.4"] = many["mm.j.4"] = 1;
  CHECK(LnSecondsAt(fn, many) < LnSecondsAt(fn, one));
}

TEST_CASE("A loop that its instruction cache cannot hold is slower", "[autodiff_features]") {
  Function fn = SquareMatmul(1024);
  GpuProfile boundless = GpuProfileOf(Gpu().sm);
  boundless.cached_instructions = 1e9;
  Decisions small = {{"mm.i.2", 16}, {"mm.i.4", 4}, {"mm.j.2", 16},
                     {"mm.j.4", 4},  {"mm.k.2", 4}, {"mm.k.0.stages", 3}};
  Decisions large = small;
  large["mm.i.4"] = large["mm.j.4"] = large["mm.k.2"] = 8;  // 512 multiply-adds
  CHECK(LnSecondsAt(fn, large) == Approx(LnSecondsAt(fn, large, boundless)));
  GpuProfile narrow = boundless;
  narrow.cached_instructions = 256;
  CHECK(LnSecondsAt(fn, small, narrow) == Approx(LnSecondsAt(fn, small, boundless)));
  CHECK(LnSecondsAt(fn, large, narrow) > LnSecondsAt(fn, large, boundless) + std::log(1.1));
}

TEST_CASE("More steps under way never make a kernel's copies slower", "[autodiff_features]") {
  Function fn = MatmulFunction(128, 128, 1024);
  double before = 1;
  for (int64_t stages : {1, 2, 3}) {
    double after = LnSecondsAt(fn, {{"mm.i.2", 8},
                                    {"mm.i.4", 2},
                                    {"mm.j.2", 8},
                                    {"mm.j.4", 2},
                                    {"mm.k.2", 8},
                                    {"mm.k.0.stages", stages}});
    if (stages > 1) CHECK(after < before);
    before = after;
  }
}

}  // namespace tcc
