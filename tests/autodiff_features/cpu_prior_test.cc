#include "autodiff_features/cpu/cpu_prior.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "autodiff_features/counts/real_formulas.h"
#include "ir/analysis/batch_evaluator.h"
#include "ir/expr/evaluate.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/space.h"
#include "tests/programs/product_function.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

// --- Register tiles ---

struct Tile {
  int64_t rows, columns;
  double measured;  // percent of peak (reference: cpu_perf, section 7)
};
constexpr Tile kTiles[] = {
    {16, 16, 94}, {28, 16, 96}, {8, 32, 100}, {12, 32, 100}, {14, 32, 100},
    {5, 64, 100}, {6, 64, 100}, {8, 48, 100}, {3, 64, 98},   {7, 32, 100},
    {4, 32, 92},  {2, 64, 70},  {1, 128, 37}, {7, 64, 92},
};
constexpr int64_t kDepth = 1024;
constexpr int64_t kTilesOfRows = 2;

// Two tiles of rows and one panel of columns: 1024 steps of k read the panel from L2, as it is
// larger than L1 beside a tile's rows, and all of it stays in L2. Results are in registers.
double PredictedPercent(const Tile& tile) {
  Function fn = MatmulFunction(kTilesOfRows * tile.rows, tile.columns, kDepth);
  std::string steps = fmt::format(
      "split mm/i [{}]\nreorder [mm/i.0, mm/k, mm/i.1, mm/j]\ncache_write mm C local C_l\n"
      "reverse_compute_at C_l mm/i.0\ndecompose_reduction mm mm/k\n"
      "unroll mm/i.1\nvectorize mm/j\nunroll mm.init/i.1\nvectorize mm.init/j\n"
      "unroll C_l/ax0\nvectorize C_l/ax1",
      tile.rows);
  StatusOr<SymbolicProgram> program = Instantiate(fn, ParseTrace(steps).value());
  INFO(program.status());
  REQUIRE(program.ok());
  Target target = FindTarget("x86-64-v4").value();
  CpuProfile profile;
  CpuConstants cpu = ConstantsOf(profile);
  std::vector<NestWork> nests = WorkOf(program->fn, target);
  REQUIRE(nests.size() == 1);
  CHECK(nests[0].sites.at(nests[0].main).in_registers);
  NestTraffic traffic = TrafficOf(nests[0], cpu, {});
  NestPrior prior = PriorOf(nests[0], traffic, target, cpu, {});
  double seconds = Evaluate(prior.seconds, {}).value().real;
  CHECK(Evaluate(traffic.l2_read, {}).value().real == 0);
  auto multiply_adds = static_cast<double>(kTilesOfRows * tile.rows * tile.columns * kDepth);
  double lanes = target.vector_bytes / 4.0;
  double least_cycles = multiply_adds / lanes / profile.fma_per_cycle;
  return 100 * least_cycles / (seconds * profile.hertz);
}

// --- Sketches ---

// Formulas at points of one sketch.
struct Sampled {
  std::vector<Var> sizes;
  PointTable points;
  std::vector<NestWork> nests;
};

constexpr size_t kPoints = 50;

void ForEachSketch(const std::function<void(const Sampled&, const Target&)>& f) {
  std::vector<Function> functions = {
      MatmulFunction(64, 96, 80),
      ProductFunction({.rows = 37, .columns = 200, .depth = 64, .type = "f32", .constant = true}),
      ConvFunction({.height = 20, .width = 22, .channels = 16, .filters = 40, .stride = 1}),
      SoftmaxByBlocks(60, 300),
  };
  Random random(17);
  for (const char* name : {"x86-64-v3", "x86-64-v4"}) {
    Target target = FindTarget(name).value();
    for (const Function& fn : functions) {
      for (const Sketch& sketch : GenerateSketches(fn, target)) {
        SymbolicProgram program = ProgramOf(fn, target, sketch);
        SearchSpace space = SearchSpace::Create(program).value();
        std::vector<Point> points = space.Sample(kPoints, random);
        points.push_back(space.ToPoint(sketch.start));
        PointTable table(program.trace.sizes.size(), points.size());
        std::vector<Var> vars;
        for (size_t s = 0; s < program.trace.sizes.size(); ++s) {
          vars.push_back(program.trace.sizes[s].var);
          for (size_t p = 0; p < points.size(); ++p) {
            table.at(s, p) = static_cast<double>(points[p][s]);
          }
        }
        INFO("sketch " << sketch.name << " for " << name);
        f({vars, table, WorkOf(program.fn, target)}, target);
      }
    }
  }
}

std::vector<NestPrior> PriorsOf(const Sampled& sampled, const Target& target,
                                const CpuConstants& cpu, const RunSettings& settings) {
  std::vector<NestPrior> priors;
  for (const NestWork& nest : sampled.nests) {
    priors.push_back(PriorOf(nest, TrafficOf(nest, cpu, settings), target, cpu, settings));
  }
  return priors;
}

PointTable ValuesOf(const Sampled& sampled, const std::vector<Expr>& formulas) {
  return BatchEvaluator::Compile(formulas, sampled.sizes).value().Evaluate(sampled.points);
}

// Seconds of all nests at each point, without those of starting threads, for any constants.
class SecondsOfWork {
 public:
  SecondsOfWork(const Sampled& sampled, const Target& target, const RunSettings& settings)
      : sampled_(sampled), evaluator_(Compile(sampled, target, settings)) {}

  std::vector<double> With(const CpuProfile& profile) const {
    size_t sizes = sampled_.sizes.size(), points = sampled_.points.points();
    const std::vector<CpuConstantRow>& rows = CpuConstantRows();
    PointTable table(sizes + rows.size(), points);
    for (size_t p = 0; p < points; ++p) {
      for (size_t s = 0; s < sizes; ++s) table.at(s, p) = sampled_.points.at(s, p);
      for (size_t r = 0; r < rows.size(); ++r) table.at(sizes + r, p) = profile.*rows[r].value;
    }
    PointTable values = evaluator_.Evaluate(table);
    return {values.column(0).begin(), values.column(0).end()};
  }

 private:
  static BatchEvaluator Compile(const Sampled& sampled, const Target& target,
                                const RunSettings& settings) {
    std::vector<Var> vars = sampled.sizes;
    CpuConstants cpu = VariableConstants(vars);
    Expr work = Real(0);
    for (const NestPrior& prior : PriorsOf(sampled, target, cpu, settings)) {
      work = RealSum(work, prior.seconds - prior.overhead);
    }
    std::vector<Expr> formulas = {work};
    return BatchEvaluator::Compile(formulas, vars).value();
  }

  const Sampled& sampled_;
  BatchEvaluator evaluator_;
};

// Rounding aside.
void CheckNeverSlower(const std::vector<double>& before, const std::vector<double>& after) {
  REQUIRE(before.size() == after.size());
  REQUIRE_FALSE(before.empty());
  for (size_t p = 0; p < before.size(); ++p) CHECK(after[p] <= before[p] * (1 + 1e-9));
}

constexpr RunSettings kSettings[] = {
    {.threads = 1},
    {.threads = 2},
    {.threads = 1, .cold_weights = true},
    {.threads = 4, .cold_weights = true, .cold_activations = true},
};

}  // namespace

TEST_CASE("Register tiles are predicted as they were measured", "[autodiff_features]") {
  std::vector<double> predicted;
  for (const Tile& tile : kTiles) {
    predicted.push_back(PredictedPercent(tile));
    INFO(tile.rows << "x" << tile.columns << ": measured " << tile.measured << ", predicted "
                   << predicted.back());
    CHECK(std::abs(predicted.back() - tile.measured) <= 10);
  }
  for (size_t a = 0; a < predicted.size(); ++a) {
    for (size_t b = 0; b < predicted.size(); ++b) {
      if (kTiles[a].measured <= kTiles[b].measured + 10) continue;
      INFO(kTiles[a].rows << "x" << kTiles[a].columns << " and " << kTiles[b].rows << "x"
                          << kTiles[b].columns);
      CHECK(predicted[a] > predicted[b]);
    }
  }
}

TEST_CASE("More threads never make work slower", "[autodiff_features]") {
  ForEachSketch([](const Sampled& sampled, const Target& target) {
    for (bool cold : {false, true}) {
      std::vector<double> before;
      for (int threads : {1, 2, 3, 4, 8, 16}) {
        INFO(threads << " threads");
        RunSettings settings = {.threads = threads, .cold_weights = cold, .cold_activations = cold};
        std::vector<double> after = SecondsOfWork(sampled, target, settings).With({});
        if (threads > 1) CheckNeverSlower(before, after);
        before = after;
      }
    }
  });
}

TEST_CASE("A larger cache never makes work slower", "[autodiff_features]") {
  ForEachSketch([](const Sampled& sampled, const Target& target) {
    for (const RunSettings& settings : kSettings) {
      SecondsOfWork seconds(sampled, target, settings);
      for (double CpuProfile::* cache :
           {&CpuProfile::l1_bytes, &CpuProfile::l2_bytes, &CpuProfile::l3_bytes}) {
        CpuProfile profile;
        profile.*cache = 256;
        std::vector<double> before = seconds.With(profile);
        for (int step = 0; step < 16; ++step) {
          profile.*cache *= 2;
          INFO("cache of " << profile.*cache);
          std::vector<double> after = seconds.With(profile);
          CheckNeverSlower(before, after);
          before = after;
        }
      }
    }
  });
}

TEST_CASE("Higher rates never make work slower", "[autodiff_features]") {
  ForEachSketch([](const Sampled& sampled, const Target& target) {
    for (const RunSettings& settings : kSettings) {
      SecondsOfWork seconds(sampled, target, settings);
      std::vector<double> before = seconds.With({});
      for (double CpuProfile::* rate :
           {&CpuProfile::l2_rate, &CpuProfile::l3_rate, &CpuProfile::l3_all_rate,
            &CpuProfile::memory_rate, &CpuProfile::memory_all_rate, &CpuProfile::hertz}) {
        CpuProfile faster;
        faster.*rate *= 1.5;
        CheckNeverSlower(before, seconds.With(faster));
      }
    }
  });
}

TEST_CASE("Starting threads takes time for each fork, and none on one thread",
          "[autodiff_features]") {
  ForEachSketch([](const Sampled& sampled, const Target& target) {
    CpuProfile profile;
    CpuConstants cpu = ConstantsOf(profile);
    for (const NestPrior& prior : PriorsOf(sampled, target, cpu, {.threads = 1})) {
      CHECK(IsReal(prior.overhead, 0));
      CHECK(IsReal(prior.busy, 1));
    }
    std::vector<NestPrior> priors = PriorsOf(sampled, target, cpu, {.threads = 4});
    for (size_t n = 0; n < priors.size(); ++n) {
      PointTable values = ValuesOf(sampled, {priors[n].overhead, sampled.nests[n].forks});
      for (size_t p = 0; p < values.points(); ++p) {
        CHECK(values.at(0, p) == Approx(values.at(1, p) * profile.fork_seconds));
      }
    }
  });
}

TEST_CASE("Every number of the prior is finite at legal points, and times are positive",
          "[autodiff_features]") {
  ForEachSketch([](const Sampled& sampled, const Target& target) {
    CpuConstants cpu = ConstantsOf(ProfileOf(target));
    for (const RunSettings& settings : kSettings) {
      std::vector<NestPrior> priors = PriorsOf(sampled, target, cpu, settings);
      CHECK_FALSE(priors.empty());
      for (const NestPrior& prior : priors) {
        PointTable values =
            ValuesOf(sampled, {prior.issue, prior.l2, prior.l3, prior.memory, prior.overhead,
                               prior.seconds, prior.imbalance, prior.busy});
        for (size_t p = 0; p < values.points(); ++p) {
          for (size_t f = 0; f < values.columns(); ++f) {
            CHECK(std::isfinite(values.at(f, p)));
            CHECK(values.at(f, p) >= 0);
          }
          // Work is done by at least one thread and at most by all.
          CHECK(values.at(7, p) >= 1 - 1e-9);
          CHECK(values.at(7, p) <= settings.threads + 1e-9);
        }
      }
      PointTable total = ValuesOf(sampled, {LnSecondsOf(priors, cpu)});
      for (double ln_seconds : total.column(0)) CHECK(std::isfinite(ln_seconds));
    }
  });
}

}  // namespace tcc
