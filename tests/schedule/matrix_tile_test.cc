// Sums of dots of words in whole tiles, which AMX or ARM's smmla multiplies.

#include <catch2/catch.hpp>

#include "ir/text/printer.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/limits.h"
#include "tests/programs/point_check.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/satisfies.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

Target CpuWithAmx() {
  Target target = *FindTarget("x86-64-v4");
  target.amx = true;
  return target;
}

Function Product(int64_t rows, int64_t columns, int64_t words, const char* dot = "dot_u8i8x4") {
  return FunctionOf(fmt::format(R"(
    fn f(A: i32[{m}, {k}], B: i32[{k}, {n}] constant, C: i32[{m}, {n}]) tensor {{
      for i in 0..{m} @mm/i {{ for j in 0..{n} @mm/j {{ for k in 0..{k} @mm/k {{
        block mm(i: spatial {m} = i, j: spatial {n} = j, k: reduce {k} = k) {{
          reduce sum_i32 init (C[i, j]) with ({dot}(A[i, k], B[k, j]))
      }} }} }} }}
    }})",
                                fmt::arg("m", rows), fmt::arg("n", columns), fmt::arg("k", words),
                                fmt::arg("dot", dot)));
}

// Rows two apart in an image, under three taps.
Function Convolution() {
  return FunctionOf(R"(
    fn f(A: i32[3, 35, 16], B: i32[3, 16, 48] constant, C: f32[3, 16, 48]) tensor {
      for y in 0..3 @cv/y { for x in 0..16 @cv/x { for o in 0..48 @cv/o {
        for t in 0..3 @cv/t { for c in 0..16 @cv/c {
          block cv(y: spatial 3 = y, x: spatial 16 = x, o: spatial 48 = o, t: reduce 3 = t,
                   c: reduce 16 = c) {
            reduce sum_f32 init (C[y, x, o]) with (dot_bf16x2(A[y, x * 2 + t, c], B[t, c, o]))
      } } } } } }
    })");
}

// Rows that are neighbours in an image, and are no parameter.
Function PaddedConvolution() {
  return FunctionOf(R"(
    fn f(X: i32[3, 16, 4], B: i32[3, 4, 12] constant, C: i32[3, 14, 12]) tensor {
      alloc A: i32[3, 16, 4]
      for y in 0..3 @pad/y { for x in 0..16 @pad/x { for c in 0..4 @pad/c {
        block pad(y: spatial 3 = y, x: spatial 16 = x, c: spatial 4 = c) {
          A[y, x, c] = X[y, x, c] * 3 } } } }
      for y in 0..3 @cv/y { for x in 0..14 @cv/x { for o in 0..12 @cv/o {
        for t in 0..3 @cv/t { for c in 0..4 @cv/c {
          block cv(y: spatial 3 = y, x: spatial 14 = x, o: spatial 12 = o, t: reduce 3 = t,
                   c: reduce 4 = c) {
            reduce sum_i32 init (C[y, x, o]) with (dot_i8i8x4(A[y, x + t, c], B[t, c, o]))
      } } } } } }
    })");
}

std::vector<Sketch> MatrixSketches(const Function& fn, const Target& target) {
  std::vector<Sketch> sketches = GenerateSketches(fn, target);
  std::erase_if(sketches, [](const Sketch& sketch) {
    return Print(sketch.trace).find("tensorize") == std::string::npos;
  });
  return sketches;
}

// Checks both sketches at the start and at random points.
void CheckPoints(const Function& fn, const Target& target, Random& random) {
  std::vector<Sketch> sketches = MatrixSketches(fn, target);
  REQUIRE(sketches.size() == 2);
  for (const Sketch& sketch : sketches) {
    INFO(Print(sketch.trace));
    SymbolicProgram program = WithLimits(Instantiate(fn, sketch.trace).value(), target);
    CHECK(Satisfies(program, sketch.start));
    CHECK(CheckPoint(fn, program, sketch.start, random).message == "");
    for (int point = 0; point < 4; ++point) {
      Decisions decisions = RandomDecisions(sketch.trace, random);
      if (!Satisfies(program, decisions)) continue;
      CHECK(CheckPoint(fn, program, decisions, random).message == "");
    }
  }
}

}  // namespace

TEST_CASE("tiles of words are right wherever pieces end", "[schedule][sketch]") {
  Random random(5);
  for (const Function& fn : {Product(48, 80, 32), Product(16, 16, 16), Convolution()}) {
    CheckPoints(fn, CpuWithAmx(), random);
  }
}

TEST_CASE("tiles of pairs are right wherever pieces end", "[schedule][sketch]") {
  const Target target = *FindTarget("aarch64-v8.6");
  Random random(6);
  for (const Function& fn : {Product(26, 20, 6), Product(2, 2, 2), Product(46, 14, 4, "dot_i8i8x4"),
                             PaddedConvolution()}) {
    CheckPoints(fn, target, random);
  }
  CHECK(MatrixSketches(Product(26, 20, 6), *FindTarget("aarch64-v8.2")).empty());
  CHECK(MatrixSketches(Product(25, 20, 6), target).empty());
  CHECK(MatrixSketches(Product(26, 20, 5), target).empty());
  CHECK(MatrixSketches(Convolution(), target).empty());
}

TEST_CASE("only sums in whole tiles, and on a CPU with AMX, go by tiles", "[schedule][sketch]") {
  CHECK(MatrixSketches(Product(48, 80, 32), *FindTarget("x86-64-v4")).empty());
  CHECK(MatrixSketches(Product(47, 80, 32), CpuWithAmx()).empty());
  CHECK(MatrixSketches(Product(48, 81, 32), CpuWithAmx()).empty());
  CHECK(MatrixSketches(Product(48, 80, 33), CpuWithAmx()).empty());
}
