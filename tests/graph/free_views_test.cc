#include <absl/strings/str_replace.h>

#include <catch2/catch.hpp>

#include "graph/passes/infer_shapes.h"
#include "tests/graph/free_graph.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

// A node over free dimensions, and the shapes of its results.
struct FreeView {
  const char* items;
  const char* shapes;
};

constexpr const char* kDims = "dim N in 1..5 dim S in 1..6 dim P in 0..4\n";

constexpr FreeView kViews[] = {
    // Reshape: equal factors cancel, 0 copies, -1 takes the rest.
    {"input x: f32[N, S, 12] sizes s: i64[4] = [N, S, 3, 4] y = Reshape(x, s) : f32[1]", "NxSx3x4"},
    {"input x: f32[N, S, 12] sizes s: i64[4] = [0, 0, -1, 4] y = Reshape(x, s) : f32[1]",
     "NxSx3x4"},
    {"input x: f32[N, S, 12] sizes s: i64[2] = [-1, 12] y = Reshape(x, s) : f32[1]", "(N * S)x12"},
    {"input x: f32[N, S, 12] sizes s: i64[2] = [-1, 6] y = Reshape(x, s) : f32[1]",
     "(N * S * 2)x6"},
    {"input x: f32[N, S, 12] sizes s: i64[2] = [S, -1] y = Reshape(x, s) : f32[1]", "Sx(N * 12)"},
    {"input x: f32[N * S, 6] sizes s: i64[4] = [N, S, 2, -1] y = Reshape(x, s) : f32[1]",
     "NxSx2x3"},
    {"input x: f32[N, P + S, 4] sizes s: i64[2] = [-1, 4] y = Reshape(x, s) : f32[1]",
     "(N * P + N * S)x4"},
    {"input x: f32[N * P + N * S, 4] sizes s: i64[3] = [N, -1, 4] y = Reshape(x, s) : f32[1]",
     "Nx(P + S)x4"},
    {"input x: f32[P, 6] sizes s: i64[3] = [P, -1, 2] y = Reshape(x, s) : f32[1]", "Px3x2"},
    {"input x: f32[S, N, 2] sizes s: i64[3] = [N, S, 2] y = Reshape(x, s) : f32[1]", "NxSx2"},
    {"input x: f32[4 * N] sizes s: i64[3] = [1, N, 4] y = Reshape(x, s) : f32[1]", "1xNx4"},
    {"input x: f32[1, N, 1, 4] sizes s: i64[1] = [N * 4] y = Reshape(x, s) : f32[1]", "(N * 4)"},
    {"input x: f32[N, 6] sizes s: i64[2] = [-1, 4] y = Reshape(x, s) : f32[1]", "(N + N div 2)x4"},
    {"input x: f32[N, S] sizes s: i64[2] = [6, -1] y = Reshape(x, s) : f32[1]", "6x(N * S div 6)"},
    {"input x: f32[N, S] sizes s: i64[2] = [P, -1] y = Reshape(x, s) : f32[1]",
     "Px(N * S div max(P, 1))"},
    {"input x: f32[12] sizes s: i64[2] = [N, -1] y = Reshape(x, s) : f32[1]", "Nx(12 div N)"},
    {"input x: f32[N, 2] sizes s: i64[2] = [S - 2, 2] y = Reshape(x, s) : f32[1]", "(S - 2)x2"},
    {"input x: f32[P, N] sizes s: i64[2] = [0, N] y = Reshape(x, s) {allowzero: 1} : f32[1]",
     "0xN"},
    // Other views.
    {"input x: f32[N, S, 12] y = Flatten(x) {axis: 2} : f32[1]", "(N * S)x12"},
    {"input x: f32[N, S, 12] y = Flatten(x) {axis: -2} : f32[1]", "Nx(S * 12)"},
    {"input x: f32[N, S] y = Flatten(x) {axis: 0} : f32[1]", "1x(N * S)"},
    {"input x: f32[N, 1, S] sizes a: i64[1] = [1] y = Squeeze(x, a) : f32[1]", "NxS"},
    {"input x: f32[N, 1, S] sizes a: i64[1] = [0] y = Squeeze(x, a) : f32[1]", "1xS"},
    {"input x: f32[N, 1, S, 3] y = Squeeze(x) : f32[1]", "NxSx3"},
    {"input x: f32[N, P] sizes a: i64[2] = [0, -1] y = Unsqueeze(x, a) : f32[1]", "1xNxPx1"},
};

constexpr FreeView kSlices[] = {
    {"input x: f32[N, S] sizes b: i64[1] = [0] sizes e: i64[1] = [S] sizes a: i64[1] = [1] "
     "y = Slice(x, b, e, a) : f32[1]",
     "NxS"},
    {"input x: f32[16] sizes b: i64[1] = [0] sizes e: i64[1] = [S] y = Slice(x, b, e) : f32[1]",
     "S"},
    {"input x: f32[5] sizes b: i64[1] = [0] sizes e: i64[1] = [S] y = Slice(x, b, e) : f32[1]",
     "(min(S, 5))"},
    {"input x: f32[P + S] sizes b: i64[1] = [P] sizes e: i64[1] = [P + S] "
     "y = Slice(x, b, e) : f32[1]",
     "S"},
    {"input x: f32[P + S] sizes b: i64[1] = [P] sizes e: i64[1] = [9223372036854775807] "
     "y = Slice(x, b, e) : f32[1]",
     "S"},
    {"input x: f32[32] sizes b: i64[1] = [P] sizes e: i64[1] = [P + S] "
     "y = Slice(x, b, e) : f32[1]",
     "S"},
    {"input x: f32[8] sizes b: i64[1] = [P] sizes e: i64[1] = [P + S] "
     "y = Slice(x, b, e) : f32[1]",
     "(min(S, 8 - P))"},
    {"input x: f32[S] sizes b: i64[1] = [-1] sizes e: i64[1] = [9223372036854775807] "
     "y = Slice(x, b, e) : f32[1]",
     "1"},
    {"input x: f32[S] sizes b: i64[1] = [0] sizes e: i64[1] = [-1] y = Slice(x, b, e) : f32[1]",
     "(S - 1)"},
    {"input x: f32[S] sizes b: i64[1] = [1] sizes e: i64[1] = [2147483647] "
     "y = Slice(x, b, e) : f32[1]",
     "(S - 1)"},
    {"input x: f32[S] sizes b: i64[1] = [-3] sizes e: i64[1] = [2147483647] "
     "y = Slice(x, b, e) : f32[1]",
     "(min(S, 3))"},
    {"input x: f32[S] sizes b: i64[1] = [2] sizes e: i64[1] = [-2] y = Slice(x, b, e) : f32[1]",
     "(max(S - 4, 0))"},
    {"input x: f32[S] sizes b: i64[1] = [P] sizes e: i64[1] = [N] y = Slice(x, b, e) : f32[1]",
     nullptr},
    {"input x: f32[S] sizes b: i64[1] = [P - 2] sizes e: i64[1] = [N - 3] "
     "y = Slice(x, b, e) : f32[1]",
     nullptr},
    {"input x: f32[P] sizes b: i64[1] = [-2] sizes e: i64[1] = [N - 3] "
     "y = Slice(x, b, e) : f32[1]",
     nullptr},
    {"input x: f32[S] sizes b: i64[1] = [0] sizes e: i64[1] = [S] sizes a: i64[1] = [0] "
     "sizes t: i64[1] = [2] y = Slice(x, b, e, a, t) : f32[1]",
     "(ceildiv(S, 2))"},
    {"input x: f32[S] sizes b: i64[1] = [0] sizes e: i64[1] = [S] sizes a: i64[1] = [0] "
     "sizes t: i64[1] = [9223372036854775807] y = Slice(x, b, e, a, t) : f32[1]",
     nullptr},
    {"input x: f32[S] sizes b: i64[1] = [-1] sizes e: i64[1] = [-9223372036854775807] "
     "sizes a: i64[1] = [0] sizes t: i64[1] = [-1] y = Slice(x, b, e, a, t) : f32[1]",
     "S"},
    {"input x: f32[P] sizes b: i64[1] = [-1] sizes e: i64[1] = [-9223372036854775807] "
     "sizes a: i64[1] = [0] sizes t: i64[1] = [-1] y = Slice(x, b, e, a, t) : f32[1]",
     "P"},
    {"input x: f32[P] sizes b: i64[1] = [N - 3] sizes e: i64[1] = [S - 4] "
     "sizes a: i64[1] = [0] sizes t: i64[1] = [-2] y = Slice(x, b, e, a, t) : f32[1]",
     nullptr},
    {"input x: f32[S, 4] sizes b: i64[2] = [3, 3] sizes e: i64[2] = [0, 0] "
     "sizes a: i64[2] = [0, 1] sizes t: i64[2] = [-1, -2] y = Slice(x, b, e, a, t) : f32[1]",
     "(min(S - 1, 3))x2"},
};

constexpr FreeView kParts[] = {
    {"input a: f32[N, S] input b: f32[N, P] input c: f32[N, 2] "
     "y = Concat(a, b, c) {axis: 1} : f32[1]",
     "Nx(S + P + 2)"},
    {"input a: f32[N, 1] input b: f32[3, S] y = Concat(a, b) {axis: 1} : f32[1]", "3x(S + 1)"},
    {"input a: f32[N, 1] input b: f32[S, P] y = Concat(a, b) {axis: -1} : f32[1]", "Nx(P + 1)"},
    {"input x: f32[N, P + S] sizes p: i64[2] = [P, S] y, z = Split(x, p) {axis: 1} "
     ": f32[1], f32[1]",
     "NxP, NxS"},
    {"input x: f32[N, S] sizes p: i64[2] = [2, S - 2] y, z = Split(x, p) {axis: 1} "
     ": f32[1], f32[1]",
     "Nx2, Nx(S - 2)"},
    {"input x: f32[N, S] sizes p: i64[2] = [2, 2] y, z = Split(x, p) {axis: 1} : f32[1], f32[1]",
     "Nx2, Nx2"},
    {"input x: f32[S * 6] y, z, w = Split(x) : f32[1], f32[1], f32[1]",
     "(S * 2), (S * 2), (S * 2)"},
    {"input x: f32[S] y, z = Split(x) : f32[1], f32[1]", "(S div 2), (S div 2)"},
    {"input x: f32[P] y, _, w = Split(x) {num_outputs: 3} : f32[1], _, f32[1]", nullptr},
    {"input x: f32[S * 6] y, z = Split(x) {num_outputs: 2} : f32[1], f32[1]", "(S * 3), (S * 3)"},
    {"input x: f32[S] y, z = Split(x) {num_outputs: 2} : f32[1], f32[1]",
     "(ceildiv(S, 2)), (S - ceildiv(S, 2))"},
};

constexpr FreeView kRepeats[] = {
    {"input x: f32[1, S, 1] sizes s: i64[4] = [N, P, 1, 3] y = Expand(x, s) : f32[1]", nullptr},
    {"input x: f32[1, 4] sizes s: i64[2] = [N, 1] y = Expand(x, s) : f32[1]", "Nx4"},
    {"input x: f32[N, 1] sizes s: i64[3] = [S, 1, 4] y = Expand(x, s) : f32[1]", "SxNx4"},
    {"input x: f32[1] sizes s: i64[1] = [S - 2] y = Expand(x, s) : f32[1]", "(S - 2)"},
    {"input x: f32[N, 3] sizes r: i64[2] = [2, S] y = Tile(x, r) : f32[1]", "(N * 2)x(S * 3)"},
    {"input x: f32[1, S] sizes r: i64[2] = [N, 1] y = Tile(x, r) : f32[1]", "NxS"},
    {"input x: f32[N, S] sizes r: i64[2] = [P, S - 1] y = Tile(x, r) : f32[1]", nullptr},
    {"sizes a: i64[] = [0] sizes b: i64[] = [S] sizes d: i64[] = [1] "
     "y = Range(a, b, d) : i64[1]",
     "S"},
    {"sizes a: i64[] = [P] sizes b: i64[] = [P + S] sizes d: i64[] = [1] "
     "y = Range(a, b, d) : i64[1]",
     "S"},
    {"sizes a: i32[] = [S] sizes b: i32[] = [N - 3] sizes d: i32[] = [-2] "
     "y = Range(a, b, d) : i32[1]",
     "(ceildiv(max(S - N + 3, 0), 2))"},
    {"sizes a: i64[] = [N] sizes b: i64[] = [S] sizes d: i64[] = [3] "
     "y = Range(a, b, d) : i64[1]",
     nullptr},
    {"sizes s: i64[3] = [N, 2, P] y = ConstantOfShape(s) {value: i64[1](7)} : i64[1]", "Nx2xP"},
    {"sizes s: i64[1] = [N - S] y = ConstantOfShape(s) : f32[1]", "(N - S)"},
    {"input i: i64[N] sizes d: i64[] = [S] input v: f32[2] y = OneHot(i, d, v) : f32[1]", "NxS"},
    {"input i: i64[N] sizes d: i64[1] = [S - 2] input v: f32[2] "
     "y = OneHot(i, d, v) {axis: 0} : f32[1]",
     "(S - 2)xN"},
    {"input x: f32[N, S] sizes k: i64[] = [P - 1] y = Trilu(x, k) {upper: 0} : f32[1]", "NxS"},
    {"input x: f32[N, S, N] y = Trilu(x) : f32[1]", "NxSxN"},
    {"input x: f32[N, S] y = EyeLike(x) {k: 1} : f32[1]", "NxS"},
    {"input x: f32[N, P + S, 4] y = Shape(x) {start: 1} : i64[1]", "2"},
    {"input x: f32[N, P + S, 4] y = Size(x) : i64[1]", "scalar"},
};

constexpr FreeView kPicks[] = {
    {"input x: f32[N, S] input i: i64[P, 2] y = Gather(x, i) {axis: 1} : f32[1]", "NxPx2"},
    {"input x: f32[N, S, 3] sizes i: i64[] = [-1] y = Gather(x, i) {axis: 1} : f32[1]", "Nx3"},
    {"input x: f32[N, S, 3] sizes i: i64[] = [S - 1] y = Gather(x, i) {axis: 1} : f32[1]", "Nx3"},
    {"input x: f32[N, S] sizes i: i64[1] = [P - 2] y = Gather(x, i) {axis: 1} : f32[1]", "Nx1"},
    {"input x: f32[N, S] sizes i: i64[2] = [2, -3] y = Gather(x, i) {axis: 1} : f32[1]", "Nx2"},
    {"input x: f32[N, S] input i: i64[N, 2] y = GatherElements(x, i) {axis: 1} : f32[1]", "Nx2"},
    {"input x: f32[N, S] input i: i64[P, 2] y = GatherElements(x, i) {axis: 1} : f32[1]", "Px2"},
    {"input x: f32[N, S, 2] input i: i64[3, 2] y = GatherND(x, i) : f32[1]", "3x2"},
    {"input x: f32[N, S, 2] input i: i64[N, 1] y = GatherND(x, i) {batch_dims: 1} : f32[1]", "Nx2"},
};

constexpr FreeView kReductions[] = {
    {"input x: f32[N, S, 4] sizes a: i64[1] = [1] y = ReduceMean(x, a) {keepdims: 1} : f32[1]",
     "Nx1x4"},
    {"input x: f32[N, P, 4] sizes a: i64[2] = [0, 1] y = ReduceSum(x, a) {keepdims: 0} : f32[1]",
     "4"},
    {"input x: f32[N, P + S] y = ReduceMax(x) {keepdims: 0} : f32[1]", "scalar"},
    {"input x: f32[N, S] y = ArgMax(x) {axis: 1, keepdims: 0} : i64[1]", "N"},
    {"input x: f32[N, S] y = Hardmax(x) {axis: 1} : f32[1]", "NxS"},
};

template <typename List>
std::string AnyOf(const List& list, Random& random) {
  return list[random.Below(std::size(list))];
}

// Returns a shape whose dimensions are the products of random runs of factors.
std::string Grouped(const std::vector<std::string>& factors, Random& random) {
  std::string dims;
  for (const std::string& factor : factors) {
    if (dims.empty()) {
      dims = factor;
    } else {
      dims += (random.OneIn(2) ? " * " : ", ") + factor;
    }
  }
  return dims;
}

// Checks the rows' shapes and laws; a row without shapes has formulas that read like none. Returns
// how many sizes were checked.
int CheckRows(std::span<const FreeView> rows, int rounds) {
  Random random(11);
  int same = 0;
  for (const FreeView& row : rows) {
    std::string items = kDims + std::string(row.items);
    if (row.shapes) CHECK(FreeShapes(items) == row.shapes);
    LawCounts counts = CheckLaw(items, rounds, random);
    INFO(items);
    CHECK(counts.same > 0);
    same += counts.same;
  }
  return same;
}

// The input and the lists of sizes of tests that infer whole graphs.
std::string Inferred() {
  return std::string(kDims) +
         "input y0: f32[N, P + S, 4] sizes zero: i64[1] = [0] sizes one: i64[1] = [1] sizes rest: "
         "i64[1] = [-1] sizes rows: i64[2] = [0, -1] sizes pairs: i64[2] = [-1, 2] sizes two: "
         "i64[1] = [2] sizes last: i64[1] = [-1] sizes number: i64[] = [1] sizes step: i64[] = [3] "
         "sizes many: i64[] = [90] sizes least: i64[] = [-30]\n";
}

}  // namespace

TEST_CASE("views of free dimensions give what they give of numbers", "[graph][ops][free]") {
  CHECK(CheckRows(kViews, 16) > 200);
}

TEST_CASE("slices of free dimensions clamp as those of numbers do", "[graph][ops][free]") {
  CHECK(CheckRows(kSlices, 24) == 24 * static_cast<int>(std::size(kSlices)));
}

TEST_CASE("any grouping of the same factors is a reshape", "[graph][ops][free]") {
  constexpr const char* kFactors[] = {"N", "S", "P", "2", "3", "1", "(P + S)"};
  Random random(12);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::string> factors(random.Between(1, 5));
    for (std::string& factor : factors) factor = AnyOf(kFactors, random);
    std::string in = Grouped(factors, random);
    if (random.OneIn(3)) std::swap(factors.front(), factors.back());
    std::string out = Grouped(factors, random);
    auto rank = std::ranges::count(out, ',') + 1;
    std::string items = fmt::format(
        "{} input x: f32[{}] sizes s: i64[{}] = [{}] y = Reshape(x, s) {{allowzero: 1}} : f32[1]",
        kDims, in, rank, out);
    CHECK(AgreementsOf(items).empty());
    CHECK(CheckLaw(items, 2, random).same == 2);
  }
}

TEST_CASE("any slice of formulas clamps as numbers do", "[graph][ops][free]") {
  constexpr const char* kExtents[] = {"N", "S", "P", "P + S", "7", "S * 2"};
  constexpr const char* kPlaces[] = {
      "0", "2", "-1",    "-3",    "P",     "S",     "S * 2", "9223372036854775807",
      "N", "0", "S - 1", "P - S", "N - 3", "P + S", "0 - P", "-9223372036854775807"};
  constexpr const char* kSteps[] = {"1", "1", "2", "-1", "-3", "9223372036854775807"};
  Random random(13);
  for (int i = 0; i < 250; ++i) {
    std::string items = fmt::format(
        "{} input x: f32[{}] sizes b: i64[1] = [{}] sizes e: i64[1] = [{}] sizes a: "
        "i64[1] = [0] sizes t: i64[1] = [{}] y = Slice(x, b, e, a, t) : f32[1]",
        kDims, AnyOf(kExtents, random), AnyOf(kPlaces, random), AnyOf(kPlaces, random),
        AnyOf(kSteps, random));
    CHECK(CheckLaw(items, 3, random).same == 3);
  }
}

TEST_CASE("parts of free dimensions meet where those of numbers do", "[graph][ops][free]") {
  CHECK(CheckRows(kParts, 24) > 100);
}

TEST_CASE("repeats and counts of free dimensions are those of numbers", "[graph][ops][free]") {
  CHECK(CheckRows(kRepeats, 16) > 150);
}

TEST_CASE("picks from free dimensions are those from numbers", "[graph][ops][free]") {
  CHECK(CheckRows(kPicks, 16) > 60);
}

TEST_CASE("reductions of free dimensions are those of numbers", "[graph][ops][free]") {
  CHECK(CheckRows(kReductions, 16) > 60);
}

TEST_CASE("shapes of free dimensions, inferred, are those inferred at numbers",
          "[graph][ops][free]") {
  // `@` is the value before, and `#` the number of the step.
  constexpr const char* kSteps[] = {
      "y# = Flatten(@) : f32[1]",
      "y# = Unsqueeze(@, zero) : f32[1]",
      "y# = Reshape(@, rest) : f32[1]",
      "y# = Reshape(@, rows) : f32[1]",
      "y# = Reshape(@, pairs) : f32[1]",
      "d# = Shape(@) : i64[1] e# = Concat(two, d#) {axis: 0} : i64[1] y# = Expand(@, e#) : f32[1]",
      "d# = Size(@) : i64[] y# = Range(number, d#, step) : i64[1]",
      "d# = Shape(@) {start: 0, end: 1} : i64[1] y# = Slice(@, one, d#, zero) : f32[1]",
      "y# = Slice(@, one, last, zero) : f32[1]",
      "y# = Concat(@, @) {axis: 0} : f32[1]",
      "y#, _ = Split(@) {num_outputs: 2} : f32[1], _",
      "y# = Transpose(@) : f32[1]",
      "y# = Gather(@, one) : f32[1]",
      "y# = ReduceSum(@, zero) {keepdims: 1} : f32[1]",
  };
  Random random(14);
  int same = 0;
  for (int i = 0; i < 250; ++i) {
    std::string items = Inferred();
    for (int step = 1; step <= 4; ++step) {
      std::string before = fmt::format("y{}", step - 1);
      items +=
          absl::StrReplaceAll(AnyOf(kSteps, random), {{"@", before}, {"#", std::to_string(step)}}) +
          "\n";
    }
    same += CheckInference(items, 4, random);
  }
  CHECK(same > 500);
}

TEST_CASE("quotients and remainders of negative sizes are those of numbers", "[graph][ops][free]") {
  Random random(15);
  for (const char* divided : {"Div(s, step)", "Mod(s, step)", "Mod(s, step) {fmod: 1}"}) {
    CHECK(CheckInference(Inferred() + "d = Size(y0) : i64[] s = Sub(d, many) : i64[] q = " +
                             divided + " : i64[] y = Range(least, q, number) : i64[1]",
                         20, random) > 0);
  }
}

TEST_CASE("a divisor of sizes need not be provably positive", "[graph][ops][free]") {
  // The windows of 4 in a padded image; padding leaves at least one.
  Random random(18);
  CHECK(CheckInference(Inferred() +
                           "sizes four: i64[1] = [4] e = Shape(y0) {start: 1, end: 2} : i64[1] "
                           "n = Neg(e) : i64[1] m = Mod(n, four) : i64[1] p = Add(e, m) : i64[1] "
                           "w = Div(p, four) : i64[1] a = Mul(w, four) : i64[1] q = Div(a, w) : "
                           "i64[1] y = ConstantOfShape(q) : f32[1]",
                       20, random) == 20);
}

TEST_CASE("sizes computed in floats are those of numbers", "[graph][ops][free]") {
  auto items = [](const char* factor, const char* scaled, const char* rounded) {
    return Inferred() + "d = Size(y0) : i64[] f = Cast(d) {to: \"f32\"} : f32[] c = Constant() " +
           "{value: f32[](" + factor + ")} : f32[] m = " + scaled + " : f32[] r = " + rounded +
           " : f32[] q = Cast(r) {to: \"i64\"} : i64[] y = Range(number, q, number) : i64[1]";
  };
  Random random(16);
  for (const char* factor : {"0.5", "2", "0.7", "0.33333334", "3.75"}) {
    CHECK(CheckInference(items(factor, "Mul(f, c)", "Floor(m)"), 20, random) == 20);
    CHECK(CheckInference(items(factor, "Mul(c, f)", "Identity(m)"), 20, random) == 20);
  }
  for (const char* whole : {"3", "7"}) {
    CHECK(CheckInference(items(whole, "Div(f, c)", "Floor(m)"), 20, random) == 20);
    CHECK(CheckInference(items(whole, "Div(f, c)", "Ceil(m)"), 20, random) == 20);
  }
  CHECK(CheckInference(items("0.25", "Mul(f, c)", "Ceil(m)"), 20, random) == 20);
}

TEST_CASE("pads that exporters compute in floats are those of numbers", "[graph][ops][free]") {
  // max(0, (ceil(d / 2) - 1) * 2 + 5 - d), halved; then the pairs of pads in ONNX's order.
  std::string pads =
      "d = Size(y0) : i64[] f = Cast(d) {to: \"f32\"} : f32[] "
      "two_f = Constant() {value: f32[](2)} : f32[] one_f = Constant() {value: f32[](1)} : f32[] "
      "five = Constant() {value: f32[](5)} : f32[] none = Constant() {value: f32[](0)} : f32[] "
      "h = Div(f, two_f) : f32[] c = Ceil(h) : f32[] l = Sub(c, one_f) : f32[] "
      "m = Mul(l, two_f) : f32[] e = Add(m, five) : f32[] p = Sub(e, f) : f32[] "
      "q = Clip(p, none) : f32[] r = Div(q, two_f) : f32[] i = Cast(r) {to: \"i64\"} : i64[] "
      "b = Cast(i) {to: \"f32\"} : f32[] a = Sub(q, b) : f32[] bv = Unsqueeze(b, zero) : f32[1] "
      "av = Unsqueeze(a, zero) : f32[1] ends = Concat(bv, av, av, bv) {axis: 0} : f32[4] "
      "whole = Cast(ends) {to: \"i64\"} : i64[4] rows2 = Reshape(whole, pairs) : i64[2, 2] "
      "turned = Slice(rows2, last, far, zero, last) : i64[2, 2] t = Transpose(turned) {perm: [1, "
      "0]} : i64[2, 2] flat = Reshape(t, rest) : i64[4] ";
  Random random(17);
  CHECK(CheckInference(Inferred() + "sizes far: i64[1] = [-100] " + pads +
                           "y = ConstantOfShape(flat) : f32[1]",
                       40, random) == 40);
}

TEST_CASE("sizes that floats round at will are no formulas", "[graph][ops][free]") {
  auto error = [](const char* factor, const char* rounded) {
    Graph graph = FreeGraph(
        Inferred() + "d = Size(y0) : i64[] f = Cast(d) {to: \"f32\"} : f32[] c = Constant() " +
        "{value: f32[](" + factor + ")} : f32[] m = Mul(f, c) : f32[] r = " + rounded +
        " : f32[] q = Cast(r) {to: \"i64\"} : i64[] y = Range(number, q, number) : i64[1]");
    return Message(InferShapes(graph));
  };
  CHECK(error("0.7", "Floor(m)").empty());
  CHECK_THAT(error("1.3", "Floor(m)"), Catch::Contains("limit is computed at run time"));
  CHECK_THAT(error("0.7", "Ceil(m)"), Catch::Contains("limit is computed at run time"));
}

TEST_CASE("what a view takes for granted of free dimensions is noted", "[graph][ops][free]") {
  auto agreements = [](const char* items) { return AgreementsOf(kDims + std::string(items)); };
  using Texts = std::vector<std::string>;
  CHECK(agreements("input x: f32[N, S, 12] sizes s: i64[2] = [-1, 6] y = Reshape(x, s) : f32[1]")
            .empty());
  CHECK(agreements("input x: f32[N, 6] sizes s: i64[2] = [-1, 4] y = Reshape(x, s) : f32[1]") ==
        Texts{"N * 6 == N * 4 + N div 2 * 4"});
  CHECK(agreements("input x: f32[N] sizes s: i64[1] = [S - 2] y = Reshape(x, s) : f32[1]") ==
        Texts{"S - 2 == max(S - 2, 0)", "N == S - 2"});
  CHECK(agreements("input x: f32[N, S] sizes a: i64[1] = [1] y = Squeeze(x, a) : f32[1]") ==
        Texts{"S == 1"});
  CHECK(agreements("input x: f32[1, S] y = Squeeze(x) : f32[1]") ==
        Texts{"S == select(S == 1, 2, S)"});
  CHECK(agreements("input a: f32[N, 1] input b: f32[S, 2] y = Concat(a, b) {axis: 1} : f32[1]") ==
        Texts{"N == S"});
  CHECK(agreements("input x: f32[S] y, z = Split(x) : f32[1], f32[1]") ==
        Texts{"S == S div 2 * 2"});
  CHECK(agreements("input x: f32[S] y, z = Split(x) {num_outputs: 2} : f32[1], f32[1]").empty());
  CHECK(
      agreements("input x: f32[S] sizes p: i64[2] = [P, N] y, z = Split(x, p) : f32[1], f32[1]") ==
      Texts{"P + N == S"});
  CHECK(agreements("input x: f32[S] sizes i: i64[2] = [-3, 1] y = Gather(x, i) : f32[1]") ==
        Texts{"S == max(S, 3)"});
  CHECK(agreements("input x: f32[N, S] input i: i64[2, P] "
                   "y = GatherElements(x, i) {axis: 1} : f32[1]") == Texts{"2 == min(N, 2)"});
}

TEST_CASE("formulas that no size makes right are refused like numbers", "[graph][ops][free]") {
  auto error = [](const char* items) { return FreeShapes(kDims + std::string(items)); };
  CHECK(error("input x: f32[N, 6] sizes s: i64[2] = [N, 7] y = Reshape(x, s) : f32[1]") ==
        "node 'y' (Reshape): input 0 ('x', shape Nx6) cannot take the shape Nx7");
  CHECK(error("input x: f32[N, 6] sizes s: i64[2] = [0, -2] y = Reshape(x, s) : f32[1]") ==
        "node 'y' (Reshape): shape 0x-2 has dimension -2; expected one -1 at most");
  CHECK(error("input x: f32[N] input s: i64[2] y = Reshape(x, s) : f32[1]") ==
        "node 'y' (Reshape): shape is computed from 's' at run time; expected a constant");
  CHECK(error("input x: f32[N, P + 2] sizes a: i64[1] = [1] y = Squeeze(x, a) : f32[1]") ==
        "node 'y' (Squeeze): axis 1 of input 0 ('x', shape Nx(P + 2)) is (P + 2); expected 1");
  CHECK(error("input a: f32[N, 2] input b: f32[N + 1, 2] y = Concat(a, b) {axis: 1} : f32[1]") ==
        "node 'y' (Concat): input 1 has shape (N + 1)x2; expected that of input 0, Nx2, but for "
        "axis 1");
  CHECK(error("input x: f32[N] sizes p: i64[2] = [N, 2] y, z = Split(x, p) : f32[1], f32[1]") ==
        "node 'y' (Split): parts Nx2 of a dimension of N for 2 outputs");
  CHECK(error("input x: f32[N] sizes s: i64[2] = [N, -3] y = Expand(x, s) : f32[1]") ==
        "node 'y' (Expand): shape is Nx-3; expected dimensions of at least 0");
  CHECK(error("sizes s: i64[1] = [P - 9] y = ConstantOfShape(s) : f32[1]") ==
        "node 'y' (ConstantOfShape): dimension 0 of shape and the nearest extent are (P - 9) and "
        "0");
  CHECK(error("sizes a: i64[] = [0] sizes b: i64[] = [S] sizes d: i64[] = [0] "
              "y = Range(a, b, d) : i64[1]") == "node 'y' (Range): there is no end to this range");
  CHECK(error("sizes a: i64[] = [0] sizes b: i64[] = [S] sizes d: i64[] = [N] "
              "y = Range(a, b, d) : i64[1]") ==
        "node 'y' (Range): delta is computed at run time; expected a constant");
  CHECK(error("input x: f32[S] sizes i: i64[1] = [6] y = Gather(x, i) : f32[1]") ==
        "node 'y' (Gather): an axis and the least for its indices are S and 7");
}
