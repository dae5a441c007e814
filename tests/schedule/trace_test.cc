#include "schedule/space/trace.h"

#include <catch2/catch.hpp>

#include <set>

#include "ir/expr/compare.h"
#include "ir/simplify/simplify.h"
#include "tests/programs/satisfies.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

constexpr const char* kEveryStep = R"(tile t 1 9
tile u 2 4
split mm/i [t, u * 2]
fuse mm/i.1 mm/i.2
rasterize mm/i mm/j u
reorder [mm/k, mm/j]
parallel mm/i.0
vectorize mm/j
unroll mm/k
partition mm/i.0
bind mm/(i.1*i.2) threadIdx.x
cache_read A [] shared A_s
cache_read B [mm, nn] global B_s
cache_write mm C local C_l
reindex mm A global A_r
pad mm k (u * 4)
set_scope T warp
compute_at A_s mm/k
reverse_compute_at C_l mm/j
compute_inline A_s
decompose_reduction mm mm/k
transform_layout B_s [1 by 32, 0 by u * t] [1, 0, 2, 3]
storage_align A_s 0 32 u
swizzle A_s 3 2 4
prepack B_s
rfactor mm mm/k -1 local mm_p
rfactor_tile core core/t.0 direct shared core_p
rolling_buffer T 1
prefetch mm A mm/i mm/k 2
pipeline mm/k u pipelined_async
tensorize mm/j outer_product
)";

std::string TraceError(const std::string& text) {
  return Message(ParseTrace(text).status());
}

}  // namespace

TEST_CASE("a trace with every step is read and printed as it was", "[schedule][trace]") {
  StatusOr<Trace> trace = ParseTrace(kEveryStep);
  INFO(trace.status());
  REQUIRE(trace.ok());
  std::set<StepKind> kinds;
  for (const Step& step : trace->steps) kinds.insert(step.kind());
#define TCC_STEP_ONE(step, name, scope) +1
  CHECK(kinds.size() == TCC_STEPS(TCC_STEP_ONE));
#undef TCC_STEP_ONE
  CHECK(Print(*trace) == kEveryStep);
  CHECK(trace->sizes[1].var->low == 2);
  CHECK(trace->sizes[1].var->high == 4);
}

TEST_CASE("white space, blank lines and comments do not matter", "[schedule][trace]") {
  StatusOr<Trace> trace =
      ParseTrace("# tiles\ntile t 1 9\n\n  split   mm/i   [ t ,max(t, 2) ]  \n# end\n");
  INFO(trace.status());
  REQUIRE(trace.ok());
  CHECK(Print(*trace) == "tile t 1 9\nsplit mm/i [t, max(t, 2)]\n");
  StatusOr<Trace> order = ParseTrace("reorder [mm/k , mm/j ]");
  REQUIRE(order.ok());
  CHECK(Print(*order) == "reorder [mm/k, mm/j]\n");
}

TEST_CASE("every spike's trace survives being printed", "[schedule][trace]") {
  for (size_t index = 0; index < SpikeCount(); ++index) {
    Random random(index);
    SpikeProgram spike = BuildSpike(index, random);
    std::string text = Print(spike.trace);
    StatusOr<Trace> again = ParseTrace(text);
    INFO(text);
    REQUIRE(again.ok());
    CHECK(Print(*again) == text);
  }
}

TEST_CASE("a malformed trace is a message with its line", "[schedule][trace]") {
  std::string list_of_steps;
#define TCC_ADD_STEP(step, name, scope) \
  list_of_steps += (list_of_steps.empty() ? "" : ", ") + std::string(name);
  TCC_STEPS(TCC_ADD_STEP)
#undef TCC_ADD_STEP
  struct Row {
    std::string text;
    std::string message;
  };
  const Row rows[] = {
      {"\nslit mm/i [2]", "line 2: unknown step 'slit'; expected one of " + list_of_steps},
      {"split mm/i", "line 1: step 'split mm/i': expected '['"},
      {"split mm/i [2", "line 1: step 'split mm/i [2': expected ']'"},
      {"split mm/i [2] x", "line 1: step 'split mm/i [2] x': unexpected 'x'"},
      {"split mm/i [t]", "line 1: step 'split mm/i [t]': line 1, column 1: 't' is not defined"},
      {"split mm/i [1.5]", "line 1: step 'split mm/i [1.5]': '1.5' is no i64"},
      {"split mm/i [2, , 3]",
       "line 1: step 'split mm/i [2, , 3]': expected an item between '[' or "
       "',' and ',' or ']'"},
      {"reorder [mm/i,]",
       "line 1: step 'reorder [mm/i,]': expected an item between '[' or ',' and ',' or ']'"},
      {"fuse mm/i", "line 1: step 'fuse mm/i': expected a name"},
      {"bind mm/i threadIdx.w",
       "line 1: step 'bind mm/i threadIdx.w': 'threadIdx.w' is no kind of loop"},
      {"set_scope T attic", "line 1: step 'set_scope T attic': 'attic' is no scope"},
      {"tile t 0 9",
       "line 1: 'tile t 0 9'; expected 'tile NAME LOW HIGH [DOMAIN]' with 1 <= LOW <= HIGH"},
      {"tile t 4 3",
       "line 1: 'tile t 4 3'; expected 'tile NAME LOW HIGH [DOMAIN]' with 1 <= LOW <= HIGH"},
      {"tile t 4",
       "line 1: 'tile t 4'; expected 'tile NAME LOW HIGH [DOMAIN]' with 1 <= LOW <= HIGH"},
      {"tile t 1 9\ntile t 1 9", "line 2: tile 't' is declared twice"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(TraceError(row.text) == row.message);
  }
}

TEST_CASE("the first illegal step is named by number and text", "[schedule][trace]") {
  StatusOr<Trace> trace = ParseTrace("tile t 1 9\nsplit mm/i [t]\nfuse mm/i.0 mm/j\nsplit x/y [1]");
  REQUIRE(trace.ok());
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(Message(Instantiate(mm, *trace).status()) ==
        "step 2 (fuse mm/i.0 mm/j): fuse: loop 'mm/j' is not the whole body of loop 'mm/i.0'");
}

TEST_CASE("decisions must be in range and for variables of the trace", "[schedule][trace]") {
  StatusOr<Trace> trace = ParseTrace("tile t 2 9\ntile u 1 3\nsplit mm/i [t, u]");
  REQUIRE(trace.ok());
  Function mm = MatmulFunction(4, 5, 6);
  auto error = [&](const Decisions& decisions) {
    return Message(Replay(mm, *trace, decisions).status());
  };
  CHECK(error({{"t", 2}, {"u", 3}}).empty());
  CHECK(error({{"t", 1}, {"u", 3}}) == "tile 't' is 1; expected a value of 'tile t 2 9'");
  CHECK(error({{"t", 2}, {"u", 4}}) == "tile 'u' is 4; expected a value of 'tile u 1 3'");
  CHECK(error({{"t", 2}}) == "tile 'u' has no value; expected one by 'set u VALUE'");
  CHECK(error({{"t", 2}, {"u", 1}, {"w", 1}}) ==
        "tile 'w' is set to 1, but the trace does not have it");
}

TEST_CASE("a variable without a decision stays free", "[schedule][trace]") {
  StatusOr<Trace> trace = ParseTrace("tile t 1 9\ntile u 1 3\nsplit mm/i [t, u]");
  REQUIRE(trace.ok());
  Function mm = MatmulFunction(4, 5, 6);
  StatusOr<SymbolicProgram> half = Instantiate(mm, *trace, {{"t", 3}});
  REQUIRE(half.ok());
  REQUIRE(half->fn.vars.size() == 1);
  CHECK(half->fn.vars[0]->name == "u");
  Function whole = Simplify(Substitute(half->fn, ToSubstitution(half->fn, {{"u", 2}})));
  StatusOr<Function> replayed = Replay(mm, *trace, {{"t", 3}, {"u", 2}});
  REQUIRE(replayed.ok());
  CHECK(AlphaEqual(whole, Simplify(*replayed)));
}

TEST_CASE("a point without a value for a size in a constraint does not satisfy it",
          "[schedule][trace]") {
  SymbolicProgram program =
      ProgramOf(MatmulFunction(4, 5, 6), "tile t 1 9\nsplit mm/i [t - 1]\nsplit mm/j [2]");
  CHECK_FALSE(Satisfies(program, {}));
  CHECK(Satisfies(program, {{"t", 2}}));
  CHECK(Satisfies({MatmulFunction(4, 5, 6), {}, {}}, {}));
}

// Doubles the first `columns` columns of nine matrices.
Function DoublesColumns(const std::string& shapes, const std::string& columns) {
  return FunctionOf(fmt::format(R"(
    fn f{}(A: f32[9, 3, 9], B: f32[9, 3, 9]) tensor {{
      for h in 0..9 @b/h {{ for i in 0..3 @b/i {{ for j in 0..{} @b/j {{
        block b(h: spatial 9 = h, i: spatial 3 = i, j: spatial 9 = j) {{
          B[h, i, j] = A[h, i, j] * 2.0
        }}
      }} }} }}
    }})",
                                shapes, columns));
}

TEST_CASE("replay refuses a step whose constraint may fail for some shape", "[schedule][trace]") {
  Trace trace = ParseTrace("fuse b/i b/j").value();
  Function fn = DoublesColumns("<shape N in 0..=9>", "N");
  CHECK(Instantiate(fn, trace).ok());
  CHECK(Message(Replay(fn, trace).status()) ==
        "step 1 (fuse b/i b/j): 1 - N may be above 0; expected at most 0, since a fused inner loop "
        "has an iteration");
  CHECK(Replay(DoublesColumns("<shape N in 1..=9>", "N"), trace).ok());
}

TEST_CASE("replay proves a constraint by the values of the loops around it", "[schedule][trace]") {
  Trace trace = ParseTrace("fuse b/i b/j").value();
  CHECK(Instantiate(DoublesColumns("", "h"), trace)->constraints.size() == 1);
  CHECK(Message(Replay(DoublesColumns("", "h"), trace).status()) ==
        "step 1 (fuse b/i b/j): 1 - h may be above 0; expected at most 0, since a fused inner loop "
        "has an iteration");
  CHECK(Replay(DoublesColumns("", "(h + 1)"), trace).ok());
}
