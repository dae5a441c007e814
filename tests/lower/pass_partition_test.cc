#include <catch2/catch.hpp>

#include "ir/expr/visitor.h"
#include "ir/text/printer.h"
#include "lower/passes/passes.h"
#include "lower/pipeline.h"
#include "schedule/space/trace.h"
#include "tests/lower/pass_check.h"
#include "tests/programs/equal_up_to_names.h"
#include "tests/programs/spike_programs.h"

using namespace tcc;

namespace {

Function Scheduled(const Function& fn, const std::string& steps) {
  StatusOr<Trace> trace = ParseTrace(steps);
  INFO(trace.status());
  REQUIRE(trace.ok());
  StatusOr<Function> scheduled = Replay(fn, *trace);
  INFO(scheduled.status());
  REQUIRE(scheduled.ok());
  return *scheduled;
}

// Conditional statements and masked stores in `stmt`.
int CountConditional(const Stmt& stmt) {
  int count = 0;
  PreOrder(stmt, [&](const Stmt& s) {
    const auto* store = s.as<Store>();
    count += s.as<If>() || (store && store->mask);
  });
  return count;
}

// The longest loop over `name`.
Stmt LongestLoop(const Function& fn, const std::string& name) {
  Stmt longest;
  int64_t most = 0;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (!loop || loop->var->name != name) return;
    int64_t extent = AsConstant(loop->extent).value_or(0);
    if (extent <= most) return;
    most = extent;
    longest = stmt;
  });
  return longest;
}

}  // namespace

TEST_CASE("a partitioned loop has first and last iterations of its own",
          "[lower][passes][partition]") {
  CheckPass(PartitionLoops, R"(
    fn f(A: f32[70], B: f32[70]) lowered {
      for i in 0..9 partitioned { for j in 0..8 {
        if i * 8 + j < 70 {
          B[i * 8 + j] = 0.0
          if 0 <= i * 8 + j - 2 && i * 8 + j - 2 < 70 { B[i * 8 + j] = A[i * 8 + j - 2] }
        }
      } }
    })",
            R"(
    fn f(A: f32[70], B: f32[70]) lowered {
      for j in 0..8 {
        B[j] = 0.0
        if 0 <= j - 2 { B[j] = A[j - 2] }
      }
      for i in 0..7 { for j in 0..8 {
        B[i * 8 + j + 8] = 0.0
        B[i * 8 + j + 8] = A[i * 8 + j + 6]
      } }
      for j in 0..8 {
        if j + 64 < 70 {
          B[j + 64] = 0.0
          B[j + 64] = A[j + 62]
        }
      }
    })");
}

TEST_CASE("the first iteration of a loop is split off where only it initialises",
          "[lower][passes][partition]") {
  CheckPass(PartitionLoops, R"(
    fn f(A: f32[9], B: f32[1]) lowered {
      for k in 0..9 partitioned {
        if k == 0 { B[0] = 0.0 }
        B[0] = B[0] + A[k]
      }
    })",
            R"(
    fn f(A: f32[9], B: f32[1]) lowered {
      B[0] = 0.0
      B[0] = B[0] + A[0]
      for k in 0..8 { B[0] = B[0] + A[k + 1] }
    })");
}

TEST_CASE("the interior of a 3x3 convolution's row has no condition and its edges know their pads",
          "[lower][passes][partition]") {
  for (int64_t width : {56, 28, 14, 59}) {
    INFO("width " << width);
    ConvShape shape;
    shape.height = 4;
    shape.width = width;
    shape.kernel_h = 3;
    shape.kernel_w = 3;
    shape.pad = 1;
    shape.stride = 1;
    shape.channels = 2;
    shape.filters = 16;
    Function scheduled = Scheduled(ConvFunction(shape), R"(
split conv/x [7]
split conv/o [16]
reorder [conv/o.0, conv/y, conv/x.0, conv/ky, conv/kx, conv/c, conv/x.1, conv/o.1]
cache_write conv Y local Y_l
reverse_compute_at Y_l conv/x.0
decompose_reduction conv conv/ky
unroll conv/x.1
unroll conv.init/x.1
unroll Y_l/ax1
unroll conv/kx
vectorize conv/o.1
vectorize conv.init/o.1
vectorize Y_l/ax2
partition conv/x.0
)");
    Function lowered = CheckLowered(scheduled);
    INFO(Print(lowered));
    Stmt interior = LongestLoop(lowered, "x0");
    if (width == 14) {
      // Two tiles: both are edges, so no loop is left.
      CHECK_FALSE(interior);
    } else {
      REQUIRE(interior);
      CHECK(AsConstant(interior.as<For>()->extent) == (width + 6) / 7 - 2);
      // What is left tests the row of the image: once for each ky.
      CHECK(CountConditional(interior) == 1);
    }
    // Where tiles divide the row the edges are decided as well: a test of ky in each copy.
    if (width % 7 == 0) CHECK(CountConditional(lowered.body) == (width == 14 ? 2 : 3));
  }
}

TEST_CASE("the tail of a vector loop leaves no mask in the interior",
          "[lower][passes][partition]") {
  Function row = ParsedFunction(R"(
    fn f(A: f32[100], B: f32[100]) tensor {
      for i in 0..100 @b/i { block b(i: spatial 100 = i) { B[i] = A[i] + 1.0 } }
    })");
  Function lowered =
      CheckLowered(Scheduled(row, "split b/i [16]\nvectorize b/i.1\npartition b/i.0"));
  Stmt interior = LongestLoop(lowered, "i0");
  REQUIRE(interior);
  CHECK(AsConstant(interior.as<For>()->extent) == 6);
  CHECK(CountConditional(interior) == 0);
  CHECK(CountConditional(lowered.body) == 1);
}

TEST_CASE("a loop whose copies would be too large, and one without an interior, stay one loop",
          "[lower][passes][partition]") {
  Function large = ParsedFunction(R"(
    fn f(A: f32[9000], B: f32[9000]) lowered {
      for i in 0..3 partitioned { for j in 0..3000 unrolled {
        if i * 3000 + j < 8999 { B[i * 3000 + j] = A[i * 3000 + j] }
      } }
    })");
  Function kept = PartitionLoops(large);
  CHECK(CountKind(kept, StmtKind::kStore) == 1);
  CHECK(Print(kept).find("partitioned") == std::string::npos);
  Function free = PartitionLoops(ParsedFunction(R"(
    fn f<shape N in 1..=9>(A: f32[9], B: f32[9]) lowered {
      for i in 0..3 partitioned { for j in 0..3 { if i * 3 + j < N { B[i * 3 + j] = A[j] } } }
      for i in 0..N partitioned { B[i] = A[i] }
    })"));
  CHECK(EqualUpToNames(free, ParsedFunction(R"(
    fn f<shape N in 1..=9>(A: f32[9], B: f32[9]) lowered {
      for i in 0..3 { for j in 0..3 { if i * 3 + j < N { B[i * 3 + j] = A[j] } } }
      for i in 0..N { B[i] = A[i] }
    })")));
}

TEST_CASE("loops of two axes are partitioned one in the other", "[lower][passes][partition]") {
  Function lowered = CheckLowered(Scheduled(MatmulFunction(13, 37, 5), R"(
split mm/i [4]
split mm/j [16]
reorder [mm/i.0, mm/j.0, mm/k, mm/i.1, mm/j.1]
vectorize mm/j.1
unroll mm/i.1
decompose_reduction mm mm/k
partition mm/i.0
partition mm/j.0
)"));
  Stmt rows = LongestLoop(lowered, "i0");
  REQUIRE(rows);
  Function inner = lowered;
  inner.body = rows;
  Stmt interior = LongestLoop(inner, "j0");
  REQUIRE(interior);
  CHECK(CountConditional(interior) == 0);
}
