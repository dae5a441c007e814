#include <catch2/catch.hpp>

#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/passes.h"
#include "lower/pipeline.h"
#include "tests/lower/pass_check.h"

using namespace tcc;

namespace {

// Rows of a free number in tiles of 4, summed over 3 columns in a buffer of the tile. `update` is
// the block that sums.
std::string Rows(const std::string& update) {
  return R"(
    fn f<shape n in 1..=50>(A: f32[n, 3], B: f32[n]) scheduled {
      for io in 0..ceildiv(n, 4) @f/i.0 {
        alloc S: f32[n] local window [io * 4] size [4]
        for i0 in 0..4 unrolled @z/i {
          block z(i: spatial n = io * 4 + i0) guard (io * 4 + i0 < n) { S[i] = 0.0 }
        }
        for k in 0..3 @f/k {
          for i1 in 0..4 unrolled @f/i.1 {
            )" +
         update + R"(
          }
        }
        for i2 in 0..4 unrolled @g/i {
          block g(i: spatial n = io * 4 + i2) guard (io * 4 + i2 < n) { B[i] = S[i] }
        }
      }
    })";
}

const std::string kSum =
    "block f(i: spatial n = io * 4 + i1, k: reduce 3 = k) guard (io * 4 + i1 < n) {"
    " reduce sum_f32 (S[i]) with (A[i, k])}";

Function At(const Function& fn, int64_t size) {
  return Simplify(Substitute(fn, Substitution{{fn.vars[0], Expr(size)}}));
}

// Checks that the pass and the whole pipeline keep the results of the text, at each size.
void CheckAtSizes(const std::string& text, const std::vector<int64_t>& sizes,
                  const InterpretOptions& interpret = {}) {
  Function before = ParsedFunction(text);
  Function after = VersionTiles(before);
  PipelineOptions options;
  options.verify = true;
  StatusOr<Function> lowered = RunPipeline(before, options);
  REQUIRE(lowered.status() == OkStatus());
  for (int64_t size : sizes) {
    INFO("size " << size);
    CheckSameResult(At(after, size), At(before, size), interpret);
    CheckSameResult(At(*lowered, size), At(before, size), interpret);
  }
}

// Returns the blocks of that name, and how many guards each has.
std::map<std::string, size_t> GuardsOf(const Function& fn) {
  std::map<std::string, size_t> guards;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    if (const auto* block = stmt.as<Block>()) guards[block->name] = block->guards.size();
  });
  return guards;
}

}  // namespace

TEST_CASE("tiles that a free extent ends are whole or compute what is dropped",
          "[lower][passes][versions]") {
  Function after = VersionTiles(ParsedFunction(Rows(kSum)));
  // Only what goes out of the last tile is guarded.
  CHECK(GuardsOf(after) ==
        std::map<std::string, size_t>{
            {"z", 0}, {"f", 0}, {"g", 0}, {"z.tail", 0}, {"f.tail", 0}, {"g.tail", 1}});
  CHECK(CountKind(after, StmtKind::kIf) == 2);  // whole, and begun
  CheckAtSizes(Rows(kSum), {1, 2, 3, 4, 5, 7, 8, 9, 50});
}

namespace {

// Returns the text with tiles of 9 rows.
std::string WithLongTiles(std::string text) {
  auto replace = [&](const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replace("ceildiv(n, 4)", "ceildiv(n, 9)");
  replace("io * 4", "io * 9");
  replace("size [4]", "size [9]");
  replace("0..4", "0..9");
  return text;
}

}  // namespace

TEST_CASE("the last tile of many rows computes 4 where no more are left",
          "[lower][passes][versions]") {
  const std::string text = WithLongTiles(Rows(kSum));
  Function after = VersionTiles(ParsedFunction(text));
  std::map<std::string, int64_t> rows;
  PreOrder(after.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (loop && loop->for_kind == ForKind::kUnrolled) rows[loop->key] = *AsConstant(loop->extent);
  });
  CHECK(rows == std::map<std::string, int64_t>{{"z/i", 9},
                                               {"f/i.1", 9},
                                               {"g/i", 9},
                                               {"z/i.tail", 9},
                                               {"f/i.1.tail", 9},
                                               {"g/i.tail", 9},
                                               {"z/i.short", 4},
                                               {"f/i.1.short", 4},
                                               {"g/i.short", 4}});
  CheckAtSizes(text, {1, 2, 4, 5, 8, 9, 10, 13, 14, 18, 22, 50});
}

TEST_CASE("a loop with a block for every row, present or not, keeps its rows",
          "[lower][passes][versions]") {
  const std::string text =
      WithLongTiles(Rows(kSum + " block h(i: spatial n + 8 = io * 4 + i1, k: spatial 3 = k) {"
                                " S[i] = A[0, k] }"));
  CHECK_FALSE(GuardsOf(VersionTiles(ParsedFunction(text))).contains("f.short"));
  CheckAtSizes(text, {1, 4, 5, 9, 10, 50});
}

TEST_CASE("a sum over rows that may be missing keeps its guard", "[lower][passes][versions]") {
  // Each row of the tile adds to one cell: a row behind the end would be added twice.
  const std::string text = R"(
    fn f<shape n in 1..=50>(A: f32[n], B: f32[ceildiv(n, 4)]) scheduled {
      for io in 0..ceildiv(n, 4) @f/io {
        alloc S: f32[ceildiv(n, 4)] local window [io] size [1]
        block z(o: spatial ceildiv(n, 4) = io) { S[o] = 0.0 }
        for i in 0..4 unrolled @f/i {
          block f(o: spatial ceildiv(n, 4) = io, i: reduce n = io * 4 + i)
          guard (io * 4 + i < n) { reduce sum_f32 (S[o]) with (A[i])}
        }
        block g(o: spatial ceildiv(n, 4) = io) { B[o] = S[o] }
      }
    })";
  Function after = VersionTiles(ParsedFunction(text));
  CHECK(GuardsOf(after).at("f.tail") == 1);
  CheckAtSizes(text, {1, 3, 4, 5, 50});
}

TEST_CASE("a predicate is asked of the instance whose value is computed",
          "[lower][passes][versions]") {
  // A window that reaches over both ends of the rows.
  const std::string window =
      "block f(i: spatial n = io * 4 + i1, k: reduce 3 = k) guard (io * 4 + i1 < n)"
      " where 0 <= i + k - 1 && i + k - 1 < n {"
      " reduce sum_f32 (S[i]) with (A[i + k - 1, k])}";
  CheckAtSizes(Rows(window), {1, 2, 3, 4, 5, 6, 7, 8, 9, 49, 50});
}

TEST_CASE("cells that a tile does not store keep their guard", "[lower][passes][versions]") {
  std::string text = Rows(kSum);
  const std::string whole = "local window [io * 4] size [4]";
  text.replace(text.find(whole), whole.size(), "global");
  CHECK(GuardsOf(VersionTiles(ParsedFunction(text))).at("f.tail") == 1);
  CheckAtSizes(text, {1, 5, 8});
}

TEST_CASE("cells that vectors leave unwritten behind the end give values alone",
          "[lower][passes][versions]") {
  // Block f reads S, which a vector fills up to the end of the rows, for T.
  auto rows = [](const std::string& leaf) {
    return R"(
    fn f<shape n in 1..=50>(A: f32[9], B: f32[n]) scheduled {
      for io in 0..ceildiv(n, 4) @f/io {
        alloc S: i64[n] local window [io * 4] size [4]
        alloc T: f32[n] local window [io * 4] size [4]
        for i0 in 0..4 vectorized @s/i {
          block s(i: spatial n = io * 4 + i0) guard (io * 4 + i0 < n) { S[i] = i mod 8 + 1 }
        }
        for i1 in 0..4 unrolled @z/i {
          block z(i: spatial n = io * 4 + i1) guard (io * 4 + i1 < n) { T[i] = 0.0 }
        }
        for i2 in 0..4 unrolled @f/i {
          block f(i: spatial n = io * 4 + i2) guard (io * 4 + i2 < n) )" +
           leaf + R"(
        }
        for i3 in 0..4 unrolled @g/i {
          block g(i: spatial n = io * 4 + i3) guard (io * 4 + i3 < n) { B[i] = T[i] }
        }
      }
    })";
  };
  const std::vector<int64_t> sizes = {1, 3, 4, 5, 50};
  for (const char* leaf : {
           "{ T[i] = A[S[i]] }",
           "{ T[i] = f32(7 div S[i]) }",
           "where S[i] < 4 { T[i] = 1.0 }",
           "{ T[i] = select(S[i] < 4, A[i mod 9], 1.0) }",
       }) {
    INFO(leaf);
    CHECK(GuardsOf(VersionTiles(ParsedFunction(rows(leaf)))).at("f.tail") == 1);
    CheckAtSizes(rows(leaf), sizes);
  }
  for (const char* leaf : {"{ T[i] = f32(S[i] * 2) }", "{ T[i] = select(S[i] < 4, 2.0, 1.0) }"}) {
    INFO(leaf);
    CHECK(GuardsOf(VersionTiles(ParsedFunction(rows(leaf)))).at("f.tail") == 0);
    CheckAtSizes(rows(leaf), sizes, {.reads_garbage = true});
  }
}

TEST_CASE("functions of known extents have one version", "[lower][passes][versions]") {
  Function fixed = At(ParsedFunction(Rows(kSum)), 7);
  CHECK(CountKind(VersionTiles(fixed), StmtKind::kIf) == 0);
}
