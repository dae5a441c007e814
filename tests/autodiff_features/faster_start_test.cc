#include "autodiff_features/faster_start.h"

#include <catch2/catch.hpp>

#include "ir/text/printer.h"
#include "schedule/sketches/schedule_choice.h"
#include "schedule/space/runnable_schedule.h"
#include "support/device_profile.h"
#include "tests/programs/product_function.h"
#include "tests/programs/spike_programs.h"

using namespace tcc;

namespace {

KernelWork WorkOf(const Function& fn) {
  KernelWork work;
  work.variants = {fn};
  return work;
}

std::vector<Function> SomeFunctions() {
  return {MatmulFunction(64, 96, 80),
          MatmulFunction(1, 1000, 2048),
          MatmulFunction(512, 512, 512),
          MatmulFunction(3136, 256, 64),
          MatmulFunction(197, 768, 768),
          MatmulFunction(49, 320, 960),
          ConvFunction({.height = 20, .width = 22, .channels = 3, .filters = 40, .stride = 2}),
          ConvFunction({.height = 14, .width = 14, .channels = 256, .filters = 64, .stride = 1})};
}

double LnSecondsAtStart(const Function& fn, const Sketch& sketch, const Target& target) {
  StatusOr<Function> scheduled =
      ReplayFor(target, fn, {.trace = sketch.trace, .decisions = sketch.start});
  REQUIRE(scheduled.ok());
  return ExpectedLnSeconds(*scheduled, target).value();
}

}  // namespace

TEST_CASE("the first start is replaced where another one is expected to be faster by the margin",
          "[autodiff_features][faster_start]") {
  Target target = FindTarget("sm_90a").value();
  const double margin = GpuProfileOf(target.sm).start_margin;
  for (const Function& fn : SomeFunctions()) {
    std::vector<Sketch> sketches = GenerateSketches(fn, target);
    double first = LnSecondsAtStart(fn, sketches[0], target), least = first;
    for (const Sketch& sketch : sketches) {
      least = std::min(least, LnSecondsAtStart(fn, sketch, target));
    }
    size_t taken = FasterStart(WorkOf(fn), sketches, target);
    INFO(Print(fn) << "\nfirst " << first << ", least " << least);
    REQUIRE((taken != 0) == (first - least > std::log(margin)));
    if (taken != 0) CHECK(LnSecondsAtStart(fn, sketches[taken], target) == least);
  }
}

TEST_CASE("the first start stays where no device confirmed the prior",
          "[autodiff_features][faster_start]") {
  for (const char* name : {"sm_75", "sm_86", "x86-64-v3", "reference"}) {
    CHECK_FALSE(TakesFasterStarts(FindTarget(name).value()));
  }
  CHECK(TakesFasterStarts(FindTarget("sm_90a").value()));
}

TEST_CASE("a faster start may be one of another variant", "[autodiff_features][faster_start]") {
  Target target = FindTarget("sm_90a").value();
  KernelWork work = WorkOf(MatmulFunction(256, 256, 1024));
  // A variant that has nothing left to sum up.
  work.variants.push_back(MatmulFunction(256, 256, 1));
  std::vector<Sketch> sketches = AllSketches(work, target, SketchRules(target));
  CHECK(sketches[FasterStart(work, sketches, target)].variant == 1);
  work.first_variant = 1;
  sketches = AllSketches(work, target, SketchRules(target));
  CHECK(sketches[0].variant == 1);
  CHECK(sketches[FasterStart(work, sketches, target)].variant == 1);
}
