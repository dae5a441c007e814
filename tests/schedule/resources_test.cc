#include "schedule/space/resources.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "schedule/analysis/footprint.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/limits.h"
#include "tests/programs/formula_check.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/satisfies.h"
#include "tests/programs/spike_programs.h"
#include "tests/programs/touched_cells.h"
#include "tests/schedule/tensor_functions.h"

using namespace tcc;

namespace {

struct Tally {
  int64_t points = 0;
  int64_t plain = 0;  // of them, those where no pass writes statements again
  int64_t exact = 0;  // of these, those where every vector became one
};

// Beyond, unrolling takes longer than a test can wait.
constexpr int64_t kMaxUnrolled = 3000;

// The largest nest's statements, each virtual thread a copy.
int64_t Unrolled(const std::vector<NestResources>& formulas, const Function& symbolic,
                 const Decisions& decisions) {
  int64_t most = 0;
  for (const NestResources& nest : formulas) {
    most = std::max(most, FormulaAt(nest.statements * nest.vthreads, symbolic, decisions));
  }
  return most;
}

void CheckProgram(const Function& fn, const Trace& trace, const Target& target, int points,
                  Random& random, Tally& tally) {
  StatusOr<SymbolicProgram> program = Instantiate(fn, trace);
  REQUIRE(program.status() == OkStatus());
  INFO(Print(trace));
  std::vector<NestResources> formulas = ResourcesOf(program->fn, target);
  for (int i = 0; i < points; ++i) {
    Decisions decisions = RandomDecisions(trace, random);
    if (!Satisfies(*program, decisions)) continue;
    bool whole = Unrolled(formulas, program->fn, decisions) <= kMaxUnrolled;
    LoweringDepth depth = whole ? LoweringDepth::kWhole : LoweringDepth::kMarked;
    StatusOr<LoweredPoint> point = LowerAt(*program, decisions, depth);
    REQUIRE(point.status() == OkStatus());
    std::string wrong = FirstWrongFormula(formulas, program->fn, decisions, *point);
    if (!wrong.empty()) UNSCOPED_INFO(Print(point->lowered));
    CHECK(wrong == "");
    ++tally.points;
    if (!whole || point->pipelined || point->repeated) continue;
    ++tally.plain;
    tally.exact += HasAllVectors(formulas, program->fn, decisions, *point);
  }
}

Target TargetNamed(const std::string& name) {
  return FindTarget(name).value();
}

}  // namespace

TEST_CASE("formulas of the written schedules equal what is lowered", "[schedule][resources]") {
  Random random(11);
  for (size_t spike = 0; spike < SpikeCount(); ++spike) {
    Tally tally;
    SpikeProgram program = BuildSpike(spike, random);
    INFO(program.name);
    CheckProgram(program.fn, program.trace, TargetNamed("x86-64-v3"), 20, random, tally);
    CHECK(tally.points > 0);
  }
}

TEST_CASE("formulas of random traces equal what is lowered", "[schedule][resources]") {
  Random random(12);
  Tally tally;
  for (int i = 0; i < 60; ++i) {
    SpikeProgram program = BuildSpike(random.Below(SpikeCount()), random);
    Trace trace =
        RandomTrace(program.fn, {.steps = static_cast<int>(random.Between(2, 12))}, random);
    CheckProgram(program.fn, trace, TargetNamed("x86-64-v3"), 5, random, tally);
  }
  CHECK(tally.plain > 100);
  CHECK(tally.exact * 4 > tally.plain * 3);
}

TEST_CASE("formulas of sketches equal what is lowered", "[schedule][resources]") {
  Random random(13);
  ConvShape conv;
  for (const char* name : {"sm_86", "x86-64-v3", "x86-64-v4"}) {
    Target target = TargetNamed(name);
    for (const Function& fn : {MatmulFunction(7, 11, 5), ConvFunction(conv), SoftmaxFunction(5, 13),
                               TwoReadersFunction(9)}) {
      for (const Sketch& sketch : GenerateSketches(fn, target)) {
        if (sketch.trace.sizes.empty()) continue;
        Tally tally;
        CheckProgram(fn, sketch.trace, target, 20, random, tally);
        CHECK(tally.points > 0);
      }
    }
  }
}

TEST_CASE("a sum over nothing is counted once it is padded, computed in parts or copied",
          "[schedule][resources]") {
  Random random(14);
  for (const char* steps : {"tile t 1 7\ncache_read A [] local c0\npad total k t",
                            "tile t 1 7\nsplit total/k [t]\nrfactor total total/k.0 1 local p",
                            "tile t 1 7\ncache_read A [] global c1\ncache_read A [] local c2\n"
                            "unroll c1/ax1\ncompute_at c2 c1/ax1\ncache_read c1 [] local c4\n"
                            "cache_read c4 [] global c5\n"
                            "transform_layout c1 [1 by t] [0, 1, 2]"}) {
    StatusOr<Trace> trace = ParseTrace(steps);
    REQUIRE(trace.status() == OkStatus());
    Tally tally;
    CheckProgram(EmptyReductionFunction(4), *trace, TargetNamed("x86-64-v3"), 5, random, tally);
    CHECK(tally.points > 0);
  }
}

// Two share a byte, and of odd rows the last stands alone.
TEST_CASE("formulas of nibbles equal what is lowered and touched", "[schedule][resources]") {
  StatusOr<Function> fn = ParseFunction(R"(
fn f(X: i4[7, 9], Y: i4[7, 9]) scheduled {
  for i in 0..7 @y/i {
    for j in 0..9 @y/j {
      block y(i: spatial 7 = i, j: spatial 9 = j) { Y[i, j] = i4(i32(X[i, j]) + 1) }
    }
  }
})");
  INFO(fn.status());
  REQUIRE(fn.ok());
  StatusOr<Trace> trace = ParseTrace(R"(
tile j1 1 9
split y/j [j1]
cache_read X [y] local X_l
compute_at X_l y/i
vectorize y/j.1
)");
  REQUIRE(trace.ok());
  Random random(14);
  for (const char* target : {"x86-64-v3", "sm_86"}) {
    Tally tally;
    CheckProgram(*fn, *trace, TargetNamed(target), 20, random, tally);
    CHECK(tally.points > 0);
  }
  SymbolicProgram program = Instantiate(*fn, *trace).value();
  Decisions decisions = {{"j1", 2}};
  NestResources nest = ResourcesOf(program.fn, TargetNamed("sm_86")).at(0);
  CHECK(FormulaAt(nest.local_bytes, program.fn, decisions) == 5);
  CHECK(FormulaAt(nest.vector_bytes, program.fn, decisions) == 1);
  CHECK(FormulaAt(FootprintInside(*fn, "y/i").value(), *fn, {}) == 5 + 5);
  CHECK(BytesTouchedInside(*fn, "y/i", 100) == 5 + 5);
}

TEST_CASE("accumulators that a placed block stores are registers", "[schedule][resources]") {
  // The epilogue's loops over axes that its place fixes run once, and moved no accumulator.
  Target target = *FindTarget("x86-64-v3");
  Function fn = ParseFunction(MatmulText(64, 64, 32, "max(x, 0.0)")).value();
  Sketch sketch = FirstSketch(fn, target);
  SymbolicProgram program = Instantiate(fn, sketch.trace).value();
  std::vector<NestResources> nests = ResourcesOf(program.fn, target);
  auto registers_at = [&](const Decisions& decisions) {
    int64_t most = 0;
    for (const NestResources& nest : nests) {
      most = std::max(most, FormulaAt(nest.registers, program.fn, decisions));
    }
    return most;
  };
  // Twice the rows of a tile need as many more registers as the tile had accumulators.
  auto rows = std::ranges::find_if(
      sketch.trace.sizes, [](const FreeSize& size) { return size.var->name.ends_with(".i.2"); });
  REQUIRE(rows != sketch.trace.sizes.end());
  Decisions two = sketch.start, four = sketch.start;
  two[rows->var->name] = 2;
  four[rows->var->name] = 4;
  CHECK(registers_at(two) >= 3);
  CHECK(registers_at(four) >= registers_at(two) + 2);
}

TEST_CASE("a tiled matmul takes what its tiles say", "[schedule][resources]") {
  Function fn = MatmulFunction(256, 256, 256);
  StatusOr<Trace> trace = ParseTrace(R"(
tile i1 1 256
tile i2 1 256
tile j1 1 256
tile j2 1 256
tile k1 1 256
split mm/i [i1, i2]
split mm/j [j1, j2]
split mm/k [k1]
reorder [mm/i.0, mm/j.0, mm/i.1, mm/j.1, mm/k.0, mm/k.1, mm/i.2, mm/j.2]
bind mm/i.0 blockIdx.y
bind mm/j.0 blockIdx.x
bind mm/i.1 threadIdx.y
bind mm/j.1 threadIdx.x
cache_write mm C local C_l
reverse_compute_at C_l mm/j.1
cache_read A [mm] shared A_s
cache_read B [mm] shared B_s
compute_at A_s mm/k.0
compute_at B_s mm/k.0
decompose_reduction mm mm/k.0
unroll mm/i.2
unroll mm/j.2
unroll mm.init/i.2
unroll mm.init/j.2
unroll C_l/ax0
vectorize C_l/ax1
)");
  REQUIRE(trace.ok());
  StatusOr<SymbolicProgram> program = Instantiate(fn, *trace);
  REQUIRE(program.status() == OkStatus());
  std::vector<NestResources> nests = ResourcesOf(program->fn, TargetNamed("sm_80"));
  REQUIRE(nests.size() == 1);
  Decisions decisions = {{"i1", 16}, {"i2", 8}, {"j1", 8}, {"j2", 4}, {"k1", 8}};
  auto at = [&](const Expr& formula) { return FormulaAt(formula, program->fn, decisions); };
  const NestResources& nest = nests[0];
  CHECK(at(nest.grid[1]) == 2);  // 256 / (16 * 8)
  CHECK(at(nest.grid[0]) == 8);  // 256 / (8 * 4)
  CHECK(at(nest.threads) == 128);
  CHECK(at(nest.shared_bytes) == (16 * 8 * 8 + 8 * 8 * 4) * 4);
  CHECK(at(nest.local_bytes) == 8 * 4 * 4);
  CHECK(at(nest.register_bytes) == 8 * 4 * 4);
  CHECK(at(nest.registers) == 8 * 4 + 8 + 4 + kBookkeepingRegisters);
  CHECK(at(nest.lanes) == 4);
  CHECK(at(nest.vector_bytes) == 16);
  CHECK(at(nest.statements) == 8 * 4 + 8 * 4 + 8 * 4 + 2);  // init, update, write-back, two copies
  // One step of k.0 reads a panel of each operand (through its copy too) and keeps the results.
  int64_t panels = 16 * 8 * 8 + 8 * 8 * 4;
  CHECK(at(FootprintInside(program->fn, "mm/k.0").value()) == (2 * panels + 8 * 4) * 4);
}

// They were counted once; a launch has no barrier between the last use of one and the first of the
// other, and gives each a place.
TEST_CASE("shared buffers of statements that follow each other are counted together",
          "[schedule][resources]") {
  auto turn = [](const std::string& buffer, const std::string& from, const std::string& to) {
    return fmt::format(R"(
      alloc {0}: f32[4, 64] window [i, 0] size [1, 64] shared in {{
        for j in 0..64 threadIdx.x @{0}/j {{
          block {0}(i: spatial 4 = i, j: spatial 64 = j) {{ {0}[i, j] = {1}[i, j] }}
        }}
        for j in 0..64 threadIdx.x @{2}/j {{
          block {2}(i: spatial 4 = i, j: spatial 64 = j) {{ {2}[i, j] = {0}[i, 63 - j] }}
        }}
      }})",
                       buffer, from, to);
  };
  const std::string head = R"(
fn f(A: f32[4, 64], B: f32[4, 64], C: f32[4, 64]) scheduled {
  for i in 0..4 blockIdx.x @i {)";
  for (const std::string loop : {"", "for k in 0..3 @k {"}) {
    std::string text = head + loop + turn("S", "A", "B") + turn("T", "B", "C") + "} }";
    if (!loop.empty()) text += " }";
    StatusOr<Function> fn = ParseFunction(text);
    INFO(text << fn.status());
    REQUIRE(fn.ok());
    NestResources nest = ResourcesOf(*fn, TargetNamed("sm_86")).at(0);
    CHECK(FormulaAt(nest.shared_bytes, *fn, {}) == 2 * 64 * 4);
  }
}

// Spills in code that the formula took for small: all steps' cells of B, the kernel of W.
TEST_CASE("operands that unrolled copies read again later count as alive in between",
          "[schedule][resources]") {
  auto registers = [](const Function& fn, const std::string& trace) {
    StatusOr<SymbolicProgram> program = Instantiate(fn, ParseTrace(trace).value());
    INFO(Message(program.status()));
    REQUIRE(program.ok());
    NestResources nest = ResourcesOf(program->fn, TargetNamed("sm_86")).at(0);
    return FormulaAt(nest.registers, program->fn, {}) - kBookkeepingRegisters;
  };
  auto product = [&](const std::string& order) {
    return registers(MatmulFunction(64, 64, 64), R"(
cache_write mm C local C_l
split mm/i [2, 4]
split mm/j [4]
split mm/k [4]
reorder [mm/i.0, mm/j.0, mm/k.0, )" + order + R"(]
bind mm/i.0 blockIdx.x
bind mm/j.0 threadIdx.x
reverse_compute_at C_l mm/j.0
unroll mm/i.1
unroll mm/i.2
unroll mm/j.1
unroll mm/k.1
unroll C_l/ax0
unroll C_l/ax1)");
  };
  // Results, eight cells of A, four of B.
  CHECK(product("mm/k.1, mm/i.1, mm/i.2, mm/j.1") == 2 * 4 * 4 + 2 * 4 + 4);
  // The second iteration of i.1 reads all of B again.
  CHECK(product("mm/i.1, mm/k.1, mm/i.2, mm/j.1") == 2 * 4 * 4 + 2 * 4 + 4 * 4);

  ConvShape shape;
  shape.height = shape.width = 18;
  shape.kernel_h = shape.kernel_w = 3;
  shape.channels = shape.filters = 8;
  // Windows of neighbouring rows share two rows of three.
  CHECK(registers(ConvFunction(shape), R"(
cache_write conv Y local Y_l
split conv/y [4]
split conv/o [2]
reorder [conv/y.0, conv/x, conv/o.0, conv/c, conv/y.1, conv/ky, conv/kx, conv/o.1]
bind conv/y.0 blockIdx.x
bind conv/x threadIdx.x
reverse_compute_at Y_l conv/o.0
unroll conv/y.1
unroll conv/ky
unroll conv/kx
unroll conv/o.1
unroll Y_l/ax0
unroll Y_l/ax1
unroll Y_l/ax2)") == 4 * 2 + 3 * 3 + 3 * 3 * 2);
}

// Two rows of two vectors of results, two vectors of B and a cell of A in all lanes.
TEST_CASE("a register tile takes as many registers as are alive in its loop",
          "[schedule][resources]") {
  Trace trace = ParseTrace(R"(
cache_write mm C local C_l
split mm/i [2]
split mm/j [2, 16]
reorder [mm/i.0, mm/j.0, mm/k, mm/i.1, mm/j.1, mm/j.2]
reverse_compute_at C_l mm/j.0
split C_l/ax1 [16]
decompose_reduction mm mm/k
unroll mm.init/i.1
unroll mm.init/j.1
vectorize mm.init/j.2
unroll mm/i.1
unroll mm/j.1
vectorize mm/j.2
unroll C_l/ax0
unroll C_l/ax1.0
vectorize C_l/ax1.1)")
                    .value();
  SymbolicProgram program = Instantiate(MatmulFunction(4, 64, 9), trace).value();
  Target target = TargetNamed("x86-64-v4");
  NestResources nest = ResourcesOf(program.fn, target).at(0);
  CHECK(FormulaAt(nest.registers, program.fn, {}) == 4 + 2 + 1);
  LoweredPoint point = LowerAt(program, {}, LoweringDepth::kWhole).value();
  CHECK(VectorsAlive(point.lowered, target) == 4 + 2 + 1);
  CHECK(VectorsAlive(point.lowered, TargetNamed("x86-64-v3")) == 8 + 4 + 1);
}

TEST_CASE("a point at which a launch is too large is refused by formula", "[schedule][limits]") {
  Function fn = MatmulFunction(256, 256, 256);
  StatusOr<Trace> trace = ParseTrace(R"(
tile i1 1 256
tile j1 1 256
split mm/i [i1]
split mm/j [j1]
reorder [mm/i.0, mm/j.0, mm/i.1, mm/j.1]
bind mm/i.0 blockIdx.x
bind mm/i.1 threadIdx.y
bind mm/j.1 threadIdx.x
)");
  REQUIRE(trace.ok());
  SymbolicProgram program = WithLimits(Instantiate(fn, *trace).value(), TargetNamed("sm_80"));
  auto legal = [&](int64_t i1, int64_t j1) { return Satisfies(program, {{"i1", i1}, {"j1", j1}}); };
  CHECK(legal(32, 32));
  CHECK(legal(1, 5));          // less than a warp
  CHECK_FALSE(legal(33, 32));  // 1056 threads
  CHECK_FALSE(legal(7, 5));    // a warp and three threads
  for (const Constraint& constraint : program.constraints) {
    CHECK(constraint.why.starts_with("launch 'mm': "));
  }
}

TEST_CASE("the reference target and known sizes have no limits to check", "[schedule][limits]") {
  Function fn = MatmulFunction(8, 8, 8);
  fn.level = Level::kScheduled;
  CHECK(LimitsOf(fn, TargetNamed("reference")).empty());
  CHECK(LimitsOf(fn, TargetNamed("x86-64-v3")).empty());
}

TEST_CASE("vectors start at whole vectors: rows that are none refuse them, a single row does not",
          "[schedule][limits]") {
  auto legal_lanes = [](int64_t rows, int64_t columns) {
    StatusOr<Function> fn = ParseFunction(fmt::format(R"(
fn copy(A: f32[{0}, {1}], B: f32[{0}, {1}]) tensor {{
  for i in 0..{0} @copy/i {{ for j in 0..{1} @copy/j {{
    block copy(i: spatial {0} = i, j: spatial {1} = j) {{ B[i, j] = A[i, j] }}
  }} }}
}})",
                                                      rows, columns));
    REQUIRE(fn.status() == OkStatus());
    StatusOr<Trace> trace = ParseTrace(R"(
tile v 1 8
split copy/j [v]
bind copy/i blockIdx.x
bind copy/j.0 threadIdx.x
vectorize copy/j.1
)");
    REQUIRE(trace.status() == OkStatus());
    SymbolicProgram program = WithLimits(Instantiate(*fn, *trace).value(), TargetNamed("sm_80"));
    std::vector<int64_t> lanes;
    for (int64_t v = 1; v <= 8; ++v) {
      if (Satisfies(program, {{"v", v}})) lanes.push_back(v);
    }
    return lanes;
  };
  // Of f32, at most 16 bytes at once.
  CHECK(legal_lanes(3, 12) == std::vector<int64_t>{1, 2, 4});
  CHECK(legal_lanes(3, 6) == std::vector<int64_t>{1, 2});
  CHECK(legal_lanes(3, 7) == std::vector<int64_t>{1});
  CHECK(legal_lanes(1, 7) == std::vector<int64_t>{1, 2, 4});
}

TEST_CASE("a legal 3x3 convolution over one pixel copies vectors that are not aligned",
          "[schedule][limits]") {
  Function fn = ConvFunction({.height = 1,
                              .width = 1,
                              .channels = 64,
                              .filters = 3,
                              .kernel_h = 3,
                              .kernel_w = 3,
                              .stride = 1,
                              .dilation = 1,
                              .pad = 1});
  Target target = TargetNamed("sm_86");
  std::vector<Sketch> sketches = GenerateSketches(fn, target);
  auto tile =
      std::ranges::find_if(sketches, [](const Sketch& sketch) { return sketch.name == "tile"; });
  REQUIRE(tile != sketches.end());
  SymbolicProgram program = ProgramOf(fn, target, *tile);
  // The pixel is in the second of 3 rows of a window. Each version of a window of one row begins at
  // a whole vector, however many channels it has.
  struct Case {
    int64_t rows, channels, unrolled_channels;
    bool legal;
  };
  for (const Case& c :
       {Case{3, 16, 4, true}, Case{3, 13, 5, false}, Case{1, 16, 4, true}, Case{1, 13, 5, true}}) {
    Decisions point = tile->start;
    for (const auto& [size, value] : {std::pair("conv.ky.1", c.rows),
                                      {"conv.c.1", c.channels},
                                      {"conv.c.2", c.unrolled_channels},
                                      {"conv.X.ax2.1", int64_t{4}}}) {
      REQUIRE(point.contains(size));
      point[size] = value;
    }
    INFO(c.rows << " rows of " << c.channels << " * " << c.unrolled_channels << " channels");
    CHECK(Satisfies(program, point) == c.legal);
    StatusOr<LoweredPoint> lowered = LowerAt(program, point, LoweringDepth::kWhole);
    REQUIRE(lowered.status() == OkStatus());
    CHECK(lowered->pipelined);
    CHECK(lowered->aligned == c.legal);
  }
}

TEST_CASE("copies of code have shared buffers of their own", "[schedule][resources]") {
  Function fn = MatmulFunction(16, 64, 16);
  auto shared_bytes = [&](const std::string& kind) {
    Trace trace = ParseTrace(R"(
tile u 1 8
split mm/k [u, 4]
reorder [mm/i, mm/k.0, mm/k.1, mm/j, mm/k.2]
bind mm/i blockIdx.x
bind mm/j threadIdx.x
cache_read B [mm] shared B_s
compute_at B_s mm/k.1
bind B_s/ax1 threadIdx.x
)" + kind)
                      .value();
    SymbolicProgram program = Instantiate(fn, trace).value();
    NestResources nest = ResourcesOf(program.fn, TargetNamed("sm_80")).at(0);
    return FormulaAt(nest.shared_bytes, program.fn, {{"u", 5}});
  };
  constexpr int64_t kOne = 4 * 64 * 4;
  CHECK(shared_bytes("") == kOne);
  CHECK(shared_bytes("unroll mm/k.1") == 5 * kOne);
  CHECK(shared_bytes("partition mm/k.1") == 3 * kOne);
}

// The index of a row of one is 0 once sizes are known, no thread's number any more; such a buffer
// was counted as one cell and lowered to one for every thread.
TEST_CASE("a thread's own cell of a single row is counted as it is lowered",
          "[schedule][resources]") {
  StatusOr<Trace> trace = ParseTrace(R"(
tile i1 1 15
tile s 1 6
tile w 2 33
set_scope m local
set_scope l local
split out/i [i1]
compute_at stat out/i.0
bind stat/i threadIdx.y
split stat/j [w, s]
bind stat/j.1 threadIdx.x
vectorize stat/j.2
bind out/i.1 threadIdx.y
split out/j [w]
bind out/j.1 threadIdx.x
bind out/i.0 blockIdx.x
)");
  REQUIRE(trace.ok());
  Decisions decisions = {{"i1", 4}, {"s", 4}, {"w", 2}};
  for (int64_t rows : {1, 2, 4, 7}) {
    SymbolicProgram program = Instantiate(SoftmaxFunction(rows, 13), *trace).value();
    std::vector<NestResources> formulas = ResourcesOf(program.fn, TargetNamed("sm_86"));
    LoweredPoint point = LowerAt(program, decisions, LoweringDepth::kWhole).value();
    CHECK(FirstWrongFormula(formulas, program.fn, decisions, point) == "");
    // Two cells of the thread's own; of two elements each four lanes, their total, another's.
    CHECK(FormulaAt(formulas.at(0).local_bytes, program.fn, decisions) == (2 + 2 * 6) * 4);
  }
}

// Of 471 sketches for a CPU seven started beyond a cap of ours, where no search could begin.
TEST_CASE("a start beyond a cap of ours is a point of its own space", "[schedule][limits]") {
  Target target = TargetNamed("x86-64-v3");
  Function fn = ConvFunction(
      {.height = 7, .width = 7, .channels = 512, .filters = 512, .kernel_w = 3, .stride = 1});
  size_t beyond = 0;
  for (const Sketch& sketch : GenerateSketches(fn, target)) {
    SymbolicProgram program = Instantiate(fn, sketch.trace).value();
    beyond += !Satisfies(WithLimits(program, target), sketch.start);
    SymbolicProgram own = ProgramOf(fn, target, sketch);
    CHECK(Satisfies(own, sketch.start));
    CHECK(own.constraints.size() == WithLimits(program, target).constraints.size());
  }
  CHECK(beyond > 0);
}
