#include "schedule/sketches/gpu/gpu_rules.h"

#include <catch2/catch.hpp>

#include "ir/text/printer.h"
#include "schedule/sketches/cpu/cpu_rules.h"
#include "schedule/sketches/flash_attention.h"
#include "schedule/sketches/gpu/attention_tile.h"
#include "schedule/space/limits.h"
#include "support/integer_division.h"
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
      ScheduleTiledAttention(SketchState(fn), *BlocksOf(fn.body)[0], Gpu());
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

TEST_CASE("attention on a GPU is one launch, a tile of queries a thread block",
          "[schedule][attention]") {
  Function fn = AttentionFunction({.queries = 197, .keys = 197, .depth = 64, .width = 64});
  Sketch sketch = SketchOf(fn);
  SymbolicProgram program = Instantiate(fn, sketch.trace).value();
  for (const char* block : {"scores", "logits", "core", "core.tile.2", "out"}) {
    INFO(block);
    std::vector<Ref<For>> loops = LoopsOn(FindBlock(program.fn, block).value());
    REQUIRE(loops.size() >= 3);
    CHECK(loops[0]->for_kind == ForKind::kBlockIdxX);
    CHECK(loops[1]->for_kind == ForKind::kThreadIdxY);
    CHECK(loops[2]->for_kind == ForKind::kThreadIdxX);
  }
  std::vector<Buffer> buffers = DeclaredBuffers(program.fn);
  // The sums of a tile and the context are dealt alike: no cell of them is shared.
  for (const char* own :
       {"m", "l", "acc", "scores", "core.tile.0", "core.tile.1", "core.tile.2", "core.old0"}) {
    INFO(own);
    CHECK(Named(buffers, own).scope == Scope::kLocal);
  }
  for (const char* staged : {"scores.Q", "scores.K", "core.tile.2.V", "logits", "core.tile.map0"}) {
    INFO(staged);
    CHECK(Named(buffers, staged).scope == Scope::kShared);
  }
  CHECK(HasFlashAttention(fn, Gpu()));
  CHECK_FALSE(HasFlashAttention(SoftmaxFunction(3, 4), Gpu()));
  CHECK(Satisfies(WithLimits(program, Gpu()), sketch.start));
}

TEST_CASE("tiles of attention fill a GPU, its shared memory holds them, and little is padding",
          "[schedule][attention]") {
  struct Case {
    AttentionExtents extents;
    const char* target;
    int64_t least_blocks;
    double padding;  // of queries and keys together, idle warps left out
  };
  const Case cases[] = {
      {{.heads = 12, .queries = 197, .keys = 197, .depth = 64, .width = 64}, "sm_90a", 132, 1.1},
      {{.heads = 192, .queries = 197, .keys = 197, .depth = 64, .width = 64}, "sm_90a", 132, 1.1},
      {{.heads = 12, .queries = 128, .keys = 128, .depth = 64, .width = 64}, "sm_86", 82, 1.0},
      {{.heads = 32, .queries = 1, .keys = 512, .depth = 128, .width = 128}, "sm_90a", 32, 1.1},
      {{.heads = 8, .queries = 512, .keys = 512, .depth = 128, .width = 128}, "sm_75", 40, 1.0},
      {{.heads = 8, .queries = 512, .keys = 512, .depth = 256, .width = 256}, "sm_75", 40, 1.0},
      {{.heads = 3, .queries = 50, .keys = 33, .depth = 7, .width = 5}, "sm_75", 3, 2.1},
  };
  for (const Case& c : cases) {
    INFO(c.target << ": " << c.extents.heads << " x " << c.extents.queries << " x "
                  << c.extents.keys << " x " << c.extents.depth);
    const Target target = FindTarget(c.target).value();
    AttentionTile tile = ChooseAttentionTile(c.extents, target);
    INFO(tile.lanes << " x " << tile.groups << " threads, " << tile.rows << " rows, " << tile.keys
                    << " keys, " << tile.columns << " columns, " << tile.stages << " stages");
    auto padded = [](int64_t extent, int64_t part) {
      return static_cast<double>(RoundUp(extent, part)) / static_cast<double>(extent);
    };
    const int64_t queries = tile.groups * tile.rows, keys = tile.lanes * tile.keys;
    CHECK(c.extents.heads * CeilDivision(c.extents.queries, queries) >= c.least_blocks);
    const int64_t of_warp = Target::kWarp / tile.lanes * tile.rows;
    CHECK(padded(c.extents.queries, of_warp) * padded(c.extents.keys, keys) <= c.padding);
    const int64_t staged = keys * (c.extents.depth + tile.lanes * tile.columns);
    const int64_t own = queries * (c.extents.depth + 2 * keys);
    CHECK(4 * (tile.stages * staged + own) <= (target.sm >= 80 ? target.shared_bytes : 48 * 1024));
  }
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
