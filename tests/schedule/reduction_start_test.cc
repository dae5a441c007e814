#include <catch2/catch.hpp>

#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/parts/sketch.h"
#include "tests/programs/spike_programs.h"

using namespace tcc;

namespace {

// Returns the terms that a step of the reduction takes where the search starts: the product of the
// sizes of the window's rows, its columns and the channels.
int64_t TermsOfStep(const ConvShape& shape) {
  Target target = FindTarget("sm_86").value();
  Function fn = ConvFunction(shape);
  Sketch sketch = FirstSketch(fn, target);
  std::vector<std::string> axes;
  const Block& block = *BlocksOf(fn.body).front();
  for (const IterVar& iter : block.iters) {
    if (iter.kind == IterKind::kReduce) axes.push_back(iter.var->name);
  }
  int64_t terms = 1;
  for (const std::string& axis : axes) {
    for (const char* level : {"1", "2"}) {
      for (const auto& [name, size] : sketch.start) {
        if (name == block.name + "." + axis + "." + level) terms *= size;
      }
    }
  }
  return terms;
}

}  // namespace

TEST_CASE("a step of a convolution of few channels takes a row of its window",
          "[schedule][tiles]") {
  ConvShape stem{
      .height = 256, .width = 256, .channels = 3, .filters = 128, .kernel_h = 7, .kernel_w = 7};
  CHECK(TermsOfStep(stem) == 7 * 3);
  stem.channels = 1;
  CHECK(TermsOfStep(stem) == 7 * 7);
  stem.channels = 64;
  CHECK(TermsOfStep(stem) >= kReductionStep);
  CHECK(TermsOfStep(stem) <= kLongestStep);
}
