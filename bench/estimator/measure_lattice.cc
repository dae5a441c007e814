// tcc-bench lattice: measures every point of small spaces, for searchers to be compared on.

#include "bench/estimator/lattice.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "bench/estimator/measured_points.h"
#include "bench/subcommand.h"
#include "runtime/executor/usable_cpus.h"
#include "runtime/supervise/measuring_lock.h"

namespace tcc {
namespace {

struct LatticeBench {
  std::vector<std::string> kernels;
  std::string db;
  size_t most = 1500;
  int threads = 0;
};

Status MeasureLattice(MeasuringBench& bench, const BenchKernel& kernel, size_t most) {
  Workload workload = WorkloadOf(kernel);
  TaskSpace space(workload, bench.target, LatticeOf(workload, bench.target, most));
  std::vector<SearchPoint> points = PointsOf(space);
  TCC_ASSIGN_OR_RETURN(MeasuredPoints measured, MeasuredPoints::Read(bench, workload, space));
  fmt::print("{}: {} sketches, {} points, {} of them measured\n", kernel.name, space.size(),
             points.size(), measured.size());
  std::fflush(stdout);
  return measured.Measure(points);
}

Status RunLattice(const LatticeBench& options) {
  TCC_ASSIGN_OR_RETURN(std::vector<BenchKernel> kernels, KernelsNamed(options.kernels));
  int threads = options.threads > 0 ? options.threads : UsableCpus();
  TCC_ASSIGN_OR_RETURN(MeasuringBench bench, MeasuringBench::Open(options.db, threads, false));
  auto say = [](const std::string& message) { fmt::print(stderr, "tcc-bench: {}\n", message); };
  TCC_ASSIGN_OR_RETURN(MeasuringLock lock, MeasuringLock::Acquire({.say = say}));
  for (const BenchKernel& kernel : kernels) {
    TCC_RETURN_IF_ERROR(MeasureLattice(bench, kernel, options.most));
  }
  return OkStatus();
}

}  // namespace

BenchAction DeclareLattice(CLI::App& app) {
  auto options = std::make_shared<LatticeBench>();
  app.add_option("--kernels", options->kernels, "Kernels of the suites, by name")
      ->delimiter(',')
      ->required();
  app.add_option("--db", options->db, "Database for the times; known points are not repeated")
      ->required();
  app.add_option("--most", options->most, "Points of a kernel, about")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--threads", options->threads,
                 "Threads that build and that kernels run on; 0: all")
      ->check(CLI::Range(0, 1024));
  return [options] { return RunLattice(*options); };
}

}  // namespace tcc
