#include "schedule/sketches/cpu/cpu_rules.h"

#include <catch2/catch.hpp>

#include "ir/analysis/verifier.h"
#include "ir/text/printer.h"
#include "schedule/space/limits.h"
#include "tests/schedule/sketch_points.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

Target TargetNamed(const char* name) {
  return FindTarget(name).value();
}

// Sums that run along the second of three axes.
Function RunningSums(int64_t batches, int64_t rows, int64_t columns) {
  return FunctionOf(fmt::format(R"(
    fn sums(X: f32[{b}, {n}, {c}], S: f32[{b}, {n}, {c}]) tensor {{
      for b in 0..{b} @s/b {{ for i in 0..{n} @s/i {{ for j in 0..{c} @s/j {{
        block s(b: spatial {b} = b, i: reduce {n} = i, j: spatial {c} = j) {{
          S[b, i, j] = X[b, i, j] + select(i < 1, 0.0, S[b, i - 1, j])
        }}
      }} }} }}
    }})",
                                fmt::arg("b", batches), fmt::arg("n", rows),
                                fmt::arg("c", columns)));
}

// Images that are added to others, which an operand names.
Function ScatteredImages(int64_t updates, int64_t rows, int64_t columns) {
  return FunctionOf(fmt::format(R"(
    fn scatter(I: i64[{n}], U: f32[{n}, {r}, {c}], Y: f32[5, {r}, {c}]) tensor {{
      for q in 0..5 @z/q {{ for a in 0..{r} @z/a {{ for b in 0..{c} @z/b {{
        block z(q: spatial 5 = q, a: spatial {r} = a, b: spatial {c} = b) {{ Y[q, a, b] = 0.5 }}
      }} }} }}
      for i in 0..{n} @y/i {{ for a in 0..{r} @y/a {{ for b in 0..{c} @y/b {{
        block y(i: reduce {n} = i, a: spatial {r} = a, b: spatial {c} = b) {{
          Y[max(min(I[i], 4), 0), a, b] = Y[max(min(I[i], 4), 0), a, b] + U[i, a, b]
        }}
      }} }} }}
    }})",
                                fmt::arg("n", updates), fmt::arg("r", rows),
                                fmt::arg("c", columns)));
}

// Elements of columns, each where an operand says within its column.
Function ScatteredElements(int64_t rows, int64_t columns) {
  return FunctionOf(fmt::format(R"(
    fn scatter(I: i64[{n}, {c}], U: f32[{n}, {c}], Y: f32[5, {c}]) tensor {{
      for q in 0..5 @z/q {{ for j in 0..{c} @z/j {{
        block z(q: spatial 5 = q, j: spatial {c} = j) {{ Y[q, j] = 0.5 }}
      }} }}
      for i in 0..{n} @y/i {{ for j in 0..{c} @y/j {{
        block y(i: reduce {n} = i, j: spatial {c} = j) {{
          Y[max(min(I[i, j], 4), 0), j] = U[i, j]
        }}
      }} }}
    }})",
                                fmt::arg("n", rows), fmt::arg("c", columns)));
}

// The largest of each column, and where it stands.
Function ColumnMaxima(int64_t batches, int64_t rows, int64_t columns) {
  return FunctionOf(fmt::format(R"(
    fn arg(X: f32[{b}, {n}, {c}], Y: i64[{b}, {c}]) tensor {{
      alloc B: f32[{b}, {c}]
      for b in 0..{b} @y/b {{ for j in 0..{c} @y/j {{ for r in 0..{n} @y/r {{
        block y(b: spatial {b} = b, j: spatial {c} = j, r: reduce {n} = r) {{
          reduce argmax_first_f32 init (B[b, j], Y[b, j]) with (X[b, r, j], r) }}
      }} }} }}
    }})",
                                fmt::arg("b", batches), fmt::arg("n", rows),
                                fmt::arg("c", columns)));
}

// The loops round a block in the first sketch: "s/b parallel, s/i".
std::string LoopsOf(const Function& fn, const char* target, const std::string& block) {
  Sketch sketch = FirstSketch(fn, TargetNamed(target));
  Function scheduled = Replay(fn, sketch.trace, sketch.start).value();
  std::string loops;
  for (const Ref<For>& loop : LoopsOn(FindBlock(scheduled, block).value())) {
    if (!loops.empty()) loops += ", ";
    loops += loop->key;
    if (loop->for_kind != ForKind::kSerial) loops += fmt::format(" {}", ToString(loop->for_kind));
  }
  return loops;
}

// All sketches at their starts and at random points.
void CheckPoints(const Function& fn, const Target& target) {
  for (const Sketch& sketch : GenerateSketches(fn, target)) {
    INFO(target.name);
    test::CheckSketchAtPoints(fn, sketch, 7);
  }
}

}  // namespace

TEST_CASE("axes behind a reduction with an order are in parallel and in vectors on a CPU",
          "[schedule][panels]") {
  CHECK(LoopsOf(RunningSums(1, 64, 1024), "x86-64-v3", "s") ==
        "s/(b*j.0) parallel, s/i, s/j.1, s/j.2 vectorized");
  CHECK(LoopsOf(ScatteredImages(64, 32, 64), "x86-64-v3", "y") ==
        "y/(a.0*b.0) parallel, y/i, y/a.1, y/b.1, y/b.2 vectorized");
}

TEST_CASE("axes behind a reduction with an order are threads on a GPU", "[schedule][panels]") {
  CHECK(LoopsOf(RunningSums(3, 64, 100), "sm_86", "s") ==
        "s/(b*j).0 blockIdx.x, s/(b*j).1 threadIdx.x, s/i");
  CHECK(LoopsOf(ScatteredImages(64, 32, 64), "sm_86", "y") ==
        "y/(a*b).0 blockIdx.x, y/(a*b).1 threadIdx.x, y/i");
}

TEST_CASE("where data says what columns write, they are in parallel and in no vectors",
          "[schedule][panels]") {
  CHECK(LoopsOf(ScatteredElements(64, 1024), "x86-64-v3", "y") == "y/j.0 parallel, y/i, y/j.1");
}

TEST_CASE("a reduction with an order that has no other axis stays as it is", "[schedule][panels]") {
  Function fn = FunctionOf(R"(
    fn sums(X: f32[64], S: f32[64]) tensor {
      for i in 0..64 @s/i { block s(i: reduce 64 = i) {
        S[i] = X[i] + select(i < 1, 0.0, S[i - 1])
      } }
    })");
  for (const char* target : {"x86-64-v3", "sm_86"}) CHECK(LoopsOf(fn, target, "s") == "s/i");
}

TEST_CASE("columns of a reduction with an order are right at all sizes", "[schedule][panels]") {
  for (const char* name : {"x86-64-v3", "x86-64-v4", "sm_86"}) {
    Target target = TargetNamed(name);
    for (int64_t columns : {1, 3, 16, 37, 300}) {
      CheckPoints(RunningSums(2, 5, columns), target);
      CheckPoints(ScatteredImages(6, 3, columns), target);
      CheckPoints(ScatteredElements(6, columns), target);
      CheckPoints(ColumnMaxima(2, 5, columns), target);
    }
  }
}
