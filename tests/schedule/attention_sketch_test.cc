#include "schedule/sketches/cpu/cpu_rules.h"

#include <catch2/catch.hpp>

#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "schedule/sketches/flash_attention.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/limits.h"
#include "schedule/space/resources.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

Target Avx512() {
  return FindTarget("x86-64-v4").value();
}

const Block& Core(const Function& fn) {
  return *BlockAt(FindBlock(fn, "core").value());
}

}  // namespace

TEST_CASE("the core of attention becomes one nest over tiles of queries", "[schedule][attention]") {
  Function fn = AttentionFunction({.queries = 17, .keys = 21, .depth = 5, .width = 32});
  std::optional<SketchState> state = ScheduleAttention(SketchState(fn), Core(fn), Avx512());
  REQUIRE(state);
  for (const char* block : {"scores", "logits", "core", "out"}) {
    INFO(block);
    CHECK(state->IsDone(block));
    CHECK(LoopsOn(FindBlock(state->fn(), block).value())[0]->key.starts_with("out/"));
  }
  CHECK(state->Next() == nullptr);
  CHECK(HasFlashAttention(fn, Avx512()));
  CHECK_FALSE(HasFlashAttention(SoftmaxFunction(3, 4), Avx512()));
}

TEST_CASE("flash attention is right for sizes that do and do not divide", "[schedule][attention]") {
  for (AttentionShape shape : {AttentionShape{.queries = 7, .keys = 21, .depth = 3, .width = 16},
                               AttentionShape{.queries = 13, .keys = 16, .depth = 2, .width = 64},
                               AttentionShape{.queries = 3, .keys = 33, .depth = 4, .width = 40},
                               AttentionShape{.queries = 5, .keys = 17, .width = 8, .blind = 9}}) {
    for (double threshold : {-1e9, 0.5}) {
      shape.threshold = threshold;
      Function fn = AttentionFunction(shape);
      Sketch sketch = FirstSketch(fn, Avx512());
      CheckStepResult(fn, Print(sketch.trace), sketch.start);
    }
  }
}

TEST_CASE("the code of attention does not grow with the width of its values",
          "[schedule][attention]") {
  for (const char* name : {"x86-64-v3", "x86-64-v4"}) {
    Target target = FindTarget(name).value();
    for (int64_t width : {64, 512, 784, 1331, 4096, 100000}) {
      INFO(name << " " << width);
      Function fn = AttentionFunction({.queries = 200, .keys = 784, .depth = 16, .width = width});
      CHECK(HasFlashAttention(fn, target));
      Sketch first = FirstSketch(fn, target);
      StatusOr<Function> scheduled = Replay(fn, first.trace, first.start);
      REQUIRE(scheduled.ok());
      for (const NestResources& nest : ResourcesOf(*scheduled, target)) {
        CHECK(AsConstant(Simplify(nest.statements)).value() <= 12 * kMaxStatements);
      }
    }
  }
}

TEST_CASE("flash attention is right for values that are too wide to unroll",
          "[schedule][attention]") {
  for (int64_t width : {752, 1331}) {
    Function fn = AttentionFunction({.queries = 14, .keys = 5, .depth = 2, .width = width});
    Sketch sketch = FirstSketch(fn, Avx512());
    CheckStepResult(fn, Print(sketch.trace), sketch.start);
  }
}

TEST_CASE("logits that somebody else reads stay where they are", "[schedule][attention]") {
  Function fn = AttentionFunction({.queries = 6, .keys = 16, .depth = 2, .width = 16});
  Function read = FunctionOf([&] {
    std::string text = Print(fn);
    size_t end = text.rfind('}');
    return text.substr(0, end) +
           "for i in 0..6 @more/i { block more(i: spatial 6 = i) { B[i, 0] = logits[i, 0] } } }";
  }());
  CHECK_FALSE(HasFlashAttention(read, Avx512()));
}
