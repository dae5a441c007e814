#include "schedule/sketches/gpu/gpu_rules.h"

#include <catch2/catch.hpp>

#include "ir/text/printer.h"
#include "schedule/sketches/cpu/cpu_rules.h"
#include "schedule/sketches/flash_attention.h"
#include "schedule/space/limits.h"
#include "tests/programs/point_check.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/satisfies.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

Target Gpu() {
  return FindTarget("sm_86").value();
}

// The sketch that starts at the attention's first block.
Sketch SketchOf(const Function& fn) {
  std::optional<SketchState> state =
      ScheduleThreadAttention(SketchState(fn), *BlocksOf(fn.body)[0]);
  REQUIRE(state);
  CHECK(state->Next() == nullptr);
  return state->sketch();
}

const Buffer& Named(const std::vector<Buffer>& buffers, const std::string& name) {
  auto found =
      std::ranges::find_if(buffers, [&](const Buffer& buffer) { return buffer.var->name == name; });
  REQUIRE(found != buffers.end());
  return *found;
}

}  // namespace

TEST_CASE("attention on a GPU is one launch, a query a thread", "[schedule][attention]") {
  Function fn = AttentionFunction({.queries = 197, .keys = 197, .depth = 64, .width = 64});
  Sketch sketch = SketchOf(fn);
  SymbolicProgram program = Instantiate(fn, sketch.trace).value();
  for (const char* block : {"scores", "logits", "core", "out"}) {
    INFO(block);
    std::vector<Ref<For>> loops = LoopsOn(FindBlock(program.fn, block).value());
    REQUIRE(loops.size() >= 3);
    CHECK(loops[0]->for_kind == ForKind::kBlockIdxX);
    CHECK(loops[1]->for_kind == ForKind::kThreadIdxX);
    CHECK(loops[2]->for_kind == ForKind::kThreadIdxY);
  }
  std::vector<Buffer> buffers = DeclaredBuffers(program.fn);
  for (const char* own : {"m", "l", "acc", "scores", "logits", "core.tile.0", "core.tile.map0"}) {
    INFO(own);
    CHECK(Named(buffers, own).scope == Scope::kLocal);
  }
  for (const char* staged : {"scores.Q", "scores.K", "core.tile.2.V"}) {
    CHECK(Named(buffers, staged).scope == Scope::kShared);
  }
  CHECK(HasFlashAttention(fn, Gpu()));
  CHECK_FALSE(HasFlashAttention(SoftmaxFunction(3, 4), Gpu()));
  CHECK(Satisfies(WithLimits(program, Gpu()), sketch.start));
}

TEST_CASE("attention on a GPU is right for sizes that do and do not divide",
          "[schedule][attention]") {
  Random random(7);
  for (AttentionShape shape : {AttentionShape{.queries = 7, .keys = 21, .depth = 3, .width = 16},
                               AttentionShape{.queries = 40, .keys = 5, .depth = 2, .width = 3},
                               AttentionShape{.queries = 5, .keys = 17, .width = 8, .blind = 9}}) {
    for (double threshold : {-1e9, 0.5}) {
      shape.threshold = threshold;
      Function fn = AttentionFunction(shape);
      Sketch sketch = SketchOf(fn);
      SymbolicProgram program = Instantiate(fn, sketch.trace).value();
      CheckStepResult(fn, Print(sketch.trace), sketch.start);
      for (int point = 0; point < 4; ++point) {
        Decisions decisions = RandomDecisions(sketch.trace, random);
        for (auto& [name, value] : decisions) value = std::min<int64_t>(value, 32);
        if (!Satisfies(WithLimits(program, Gpu()), decisions)) continue;
        CHECK(CheckPoint(fn, program, decisions, random).message == "");
      }
    }
  }
}

TEST_CASE("logits that somebody else reads keep their launch", "[schedule][attention]") {
  Function fn = AttentionFunction({.queries = 6, .keys = 16, .depth = 2, .width = 16});
  std::string text = Print(fn);
  Function read = FunctionOf(
      text.substr(0, text.rfind('}')) +
      "for i in 0..6 @more/i { block more(i: spatial 6 = i) { B[i, 0] = logits[i, 0] } } }");
  CHECK_FALSE(HasFlashAttention(read, Gpu()));
}
