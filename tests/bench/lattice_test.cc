#include "bench/estimator/lattice.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

using namespace tcc;

namespace {

struct Row {
  std::string name;
  size_t most;
};

// Each asks for enough that the first sketch has its share.
const std::vector<Row> kRows = {{"gemm_256x256x256", 600}, {"softmax_1536x128", 150}};

Workload WorkloadNamed(const std::string& name) {
  StatusOr<std::vector<BenchKernel>> kernels = KernelsNamed(std::vector<std::string>{name});
  INFO(name << kernels.status());
  REQUIRE(kernels.ok());
  return WorkloadOf((*kernels)[0]);
}

Target LatticeTarget() {
  StatusOr<Target> target = FindTarget("x86-64-v3");
  REQUIRE(target.ok());
  return *target;
}

std::string StepsOf(const Sketch& sketch) {
  return Print(Trace{.sizes = {}, .steps = sketch.trace.steps});
}

// The sketch of the whole space that one of a lattice was made of.
size_t Origin(const TaskSpace& whole, const Sketch& sketch) {
  size_t origin = 0;
  while (origin < whole.size() && (StepsOf(whole.sketch(origin)) != StepsOf(sketch) ||
                                   whole.sketch(origin).variant != sketch.variant)) {
    ++origin;
  }
  REQUIRE(origin < whole.size());
  return origin;
}

}  // namespace

TEST_CASE("every point of a lattice is a legal one of the whole space", "[bench][search]") {
  for (const Row& row : kRows) {
    INFO(row.name);
    Workload workload = WorkloadNamed(row.name);
    TaskSpace whole(workload, LatticeTarget());
    TaskSpace lattice(workload, LatticeTarget(), LatticeOf(workload, LatticeTarget(), row.most));
    REQUIRE(lattice.size() > 0);
    std::vector<size_t> origins;
    for (size_t s = 0; s < lattice.size(); ++s) {
      origins.push_back(Origin(whole, lattice.sketch(s)));
    }
    std::set<SearchPoint> different;
    for (const SearchPoint& point : PointsOf(lattice)) {
      CHECK(different.insert(point).second);
      CHECK(lattice.Points(point.sketch)->IsLegal(point.point));
      CHECK(whole.Points(origins[point.sketch])->IsLegal(point.point));
    }
  }
}

TEST_CASE("a lattice has about as many points as were asked for", "[bench][search]") {
  for (const Row& row : kRows) {
    INFO(row.name);
    Workload workload = WorkloadNamed(row.name);
    TaskSpace lattice(workload, LatticeTarget(), LatticeOf(workload, LatticeTarget(), row.most));
    size_t points = PointsOf(lattice).size();
    CHECK(points <= row.most);
    CHECK(points >= row.most / 4);
  }
}

TEST_CASE("a lattice holds the start of each of its sketches", "[bench][search]") {
  for (const Row& row : kRows) {
    INFO(row.name);
    Workload workload = WorkloadNamed(row.name);
    TaskSpace whole(workload, LatticeTarget());
    TaskSpace lattice(workload, LatticeTarget(), LatticeOf(workload, LatticeTarget(), row.most));
    std::vector<SearchPoint> points = PointsOf(lattice);
    for (size_t s = 0; s < lattice.size(); ++s) {
      SearchPoint start = lattice.Start(s).value();
      CHECK(std::ranges::find(points, start) != points.end());
      const Decisions& expected = whole.sketch(Origin(whole, lattice.sketch(s))).start;
      CHECK(lattice.ToCandidate(start).schedule.decisions == expected);
    }
  }
}

TEST_CASE("a kernel has the same lattice every time", "[bench][search]") {
  for (const Row& row : kRows) {
    INFO(row.name);
    Workload workload = WorkloadNamed(row.name);
    CHECK(WorkloadNamed(row.name).key == workload.key);
    std::vector<Sketch> first = LatticeOf(workload, LatticeTarget(), row.most);
    std::vector<Sketch> second = LatticeOf(workload, LatticeTarget(), row.most);
    REQUIRE(first.size() == second.size());
    for (size_t s = 0; s < first.size(); ++s) {
      CHECK(Print(first[s].trace) == Print(second[s].trace));
      CHECK(first[s].start == second[s].start);
    }
    TaskSpace one(workload, LatticeTarget(), first), other(workload, LatticeTarget(), second);
    CHECK(PointsOf(one) == PointsOf(other));
  }
}
