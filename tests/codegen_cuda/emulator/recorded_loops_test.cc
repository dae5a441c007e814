#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "codegen_cuda/emulator/driver.h"
#include "tests/codegen_cuda/emulator/cuda_artefacts.h"

// Loops of plans as parts of CUDA graphs.
namespace tcc::test {
namespace {

using Values = std::vector<double>;

// Returns how often the driver was called since RecordDriverCalls.
int64_t Calls(std::string_view name) {
  return std::ranges::count(emulator::RecordedDriverCalls(), name);
}

// Runs LoopArtefact with another loop.
Executor WithLoop(const std::function<void(PlanLoop& loop)>& change) {
  Artefact artefact = LoopArtefact();
  artefact.plan.counters = 2;
  change(std::get<PlanLoop>(artefact.plan.body[2].op));
  return Made(std::move(artefact));
}

// Returns whether the third of three equal runs launches one graph and nothing else. Each run gives
// `want` from 1.
bool IsOneGraph(Executor& executor, double want) {
  Tensor m = MakeZeroTensor(kInt64, {}), go = MakeZeroTensor(kBool, {});
  SetElementInt(m, 0, 12);
  SetElementInt(go, 0, true);
  for (int run = 0; run < 3; ++run) {
    emulator::RecordDriverCalls();
    INFO("run " << run);
    CHECK(*RunOne(executor, {Floats({1}, {1}), m, go}) == Values{want});
  }
  return Calls("cuGraphLaunch") == 1 && Calls("cuLaunchKernel") == 0;
}

double StateAfter(int trips) {
  double state = 1;
  for (int i = 0; i < trips; ++i) state = 2 * state + i;
  return state;
}

}  // namespace

TEST_CASE("a loop whose trips shapes decide is part of the graph, one that values end is not",
          "[codegen_cuda][cuda_device]") {
  auto fix = [](PlanLoop& loop) {
    loop.trip_count.reset();
    loop.condition.reset();
  };
  // An odd number of swaps leaves the state in the other buffer.
  for (int trips : {0, 1, 11, 12}) {
    Executor executor = WithLoop([&](PlanLoop& loop) {
      fix(loop);
      loop.extent = trips;
    });
    INFO(trips << " trips");
    CHECK(IsOneGraph(executor, StateAfter(trips)));
    Tensor m = MakeZeroTensor(kInt64, {}), go = MakeZeroTensor(kBool, {});
    CHECK(*RunOne(executor, {Floats({1}, {3}), m, go}) ==
          Values{StateAfter(trips) + 2 * std::exp2(trips)});
  }
  Executor nested = WithLoop([&](PlanLoop& loop) {
    fix(loop);
    PlanLoop inner = loop;
    inner.counter = 1;
    inner.extent = loop.extent = 2;
    loop.swaps = {};
    std::get<PlanCall>(inner.body[0].op).shape_args = {3};
    loop.body = {Instruction{inner}};
  });
  CHECK(IsOneGraph(nested, 16 + 3 * 15));
  Executor counted = WithLoop([](PlanLoop& loop) { loop.condition.reset(); });
  CHECK_FALSE(IsOneGraph(counted, StateAfter(12)));
  Executor conditional = WithLoop([](PlanLoop& loop) { loop.trip_count.reset(); });
  CHECK_FALSE(IsOneGraph(conditional, StateAfter(9)));
}

TEST_CASE("a loop of more steps than a recording may have is launched step by step",
          "[codegen_cuda][cuda_device]") {
  for (int64_t trips : {4093, 4094}) {
    Executor executor = WithLoop([&](PlanLoop& loop) {
      loop.trip_count.reset();
      loop.condition.reset();
      loop.extent = trips;
      std::get<PlanCall>(loop.body[0].op).shape_args = {0};
      loop.body[0].op = PlanCopy{3, 4};
    });
    INFO(trips << " trips and 3 copies");
    CHECK(IsOneGraph(executor, 1) == (trips == 4093));
  }
}

}  // namespace tcc::test
