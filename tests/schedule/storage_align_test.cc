#include "schedule/steps/storage_align.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "lower/pipeline.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

const std::string kCopy = "cache_read A [p] global A_s\n";

Function Copied() {
  return FunctionOf(R"(
    fn f(A: f32[6, 10], B: f32[6, 10]) tensor {
      for i in 0..6 @p/i { for j in 0..10 @p/j {
        block p(i: spatial 6 = i, j: spatial 10 = j) { B[i, j] = A[i, j] + 1.0 } } }
    })");
}

}  // namespace

TEST_CASE("rows begin a number of cells past a multiple", "[schedule][layout]") {
  CheckSteps(Copied(), kCopy + "storage_align A_s 0 8 4", R"(
    fn f(A: f32[6, 10], B: f32[6, 10]) scheduled {
      alloc A_s: f32[6, 10] strides [12, 1]
      for a in 0..6 @A_s/ax0 { for b in 0..10 @A_s/ax1 {
        block A_s(a: spatial 6 = a, b: spatial 10 = b) { A_s[a, b] = A[a, b] } } }
      for i in 0..6 @p/i { for j in 0..10 @p/j {
        block p(i: spatial 6 = i, j: spatial 10 = j) { B[i, j] = A_s[i, j] + 1.0 } } }
    })");
}

TEST_CASE("any stride is aligned, whatever it was", "[schedule][layout]") {
  for (const char* step :
       {"storage_align A_s 0 8 0", "storage_align A_s 0 32 4", "storage_align A_s 1 4 3",
        "storage_align A_s 0 5 0", "storage_align A_s 0 7 3", "storage_align A_s 0 1 0"}) {
    CheckStepResult(Copied(), kCopy + step);
  }
  const std::string free = "tile t 1 9\ntile u 1 16\ntile v 1 15\nsplit p/j [t]\n" + kCopy +
                           "compute_at A_s p/j.0\nstorage_align A_s 0 u v";
  for (auto [t, u, v] : {std::tuple(1, 2, 1), {4, 8, 4}, {9, 3, 2}, {5, 16, 15}}) {
    CheckStepResult(Copied(), free, {{"t", t}, {"u", u}, {"v", v}});
  }
}

TEST_CASE("a swizzle moves chunks within their group", "[schedule][layout]") {
  CheckSteps(Copied(), kCopy + "swizzle A_s 2 1 3", R"(
    fn f(A: f32[6, 10], B: f32[6, 10]) scheduled {
      alloc A_s: f32[6, 10] swizzle(2, 1, 3)
      for a in 0..6 @A_s/ax0 { for b in 0..10 @A_s/ax1 {
        block A_s(a: spatial 6 = a, b: spatial 10 = b) { A_s[a, b] = A[a, b] } } }
      for i in 0..6 @p/i { for j in 0..10 @p/j {
        block p(i: spatial 6 = i, j: spatial 10 = j) { B[i, j] = A_s[i, j] + 1.0 } } }
    })");
  for (const char* step : {"swizzle A_s 1 0 1", "swizzle A_s 3 0 1", "swizzle A_s 3 2 3",
                           "swizzle A_s 2 2 5", "storage_align A_s 0 16 0\nswizzle A_s 2 2 2",
                           "transform_layout A_s [1 by 4] [1, 0, 2]\nswizzle A_s 2 2 2"}) {
    CheckStepResult(Copied(), kCopy + step);
  }
}

TEST_CASE("vectors within a chunk stay whole", "[schedule][layout]") {
  Function fn = ProgramOf(MatmulFunction(16, 64, 32),
                          "cache_read B [mm] shared B_s\nswizzle B_s 3 2 4\nsplit mm/j [4]\n"
                          "vectorize mm/j.1\nsplit B_s/ax1 [4]\nvectorize B_s/ax1.1")
                    .fn;
  StatusOr<Function> lowered = RunPipeline(Simplify(fn));
  REQUIRE(lowered.ok());
  INFO(Print(*lowered));
  int vectors = 0;
  auto check = [&](const Var& buffer, const Expr& index) {
    if (buffer->name != "B_s") return;
    const auto* ramp = index.as<Ramp>();
    REQUIRE(ramp != nullptr);
    CHECK(IsConstant(ramp->stride, 1));
    ++vectors;
  };
  PreOrder(lowered->body, [&](const Stmt& stmt) {
    if (const auto* store = stmt.as<Store>()) check(store->buffer, store->indices[0]);
  });
  PreOrderExprs(lowered->body, [&](const Expr& expr) {
    if (const auto* load = expr.as<Load>()) check(load->buffer, load->indices[0]);
  });
  CHECK(vectors == 2);
}

TEST_CASE("columns of a swizzled tile lie in different banks", "[schedule][layout]") {
  // 16-byte chunks of rows of 128 bytes: the same chunk of 8 rows would lie in the same 4 banks.
  Function fn = ProgramOf(FunctionOf(R"(
    fn f(A: f32[8, 32], B: f32[8, 32]) tensor {
      for i in 0..8 @p/i { for j in 0..32 @p/j {
        block p(i: spatial 8 = i, j: spatial 32 = j) { B[i, j] = A[i, j] } } } })"),
                          "cache_read A [p] shared A_s\nswizzle A_s 3 2 3\nunroll p/i\nunroll p/j")
                    .fn;
  StatusOr<Function> lowered = RunPipeline(Simplify(fn));
  REQUIRE(lowered.ok());
  std::set<int64_t> cells;
  std::vector<std::set<int64_t>> banks_of_chunk(8);
  PreOrder(lowered->body, [&](const Stmt& stmt) {
    const auto* store = stmt.as<Store>();
    const auto* load = store ? store->value.as<Load>() : nullptr;
    if (!load || load->buffer->name != "A_s") return;
    int64_t place = AsConstant(load->indices[0]).value();
    int64_t cell = AsConstant(store->indices[0]).value();
    cells.insert(place);
    banks_of_chunk[static_cast<size_t>(cell % 32 / 4)].insert(place % 32 / 4);
  });
  CHECK(cells.size() == 256);
  CHECK(std::ranges::all_of(banks_of_chunk, [](const auto& banks) { return banks.size() == 8; }));
}

TEST_CASE("storage_align says what has no such strides", "[schedule][layout]") {
  CHECK(RefusalOf(Copied(), "storage_align Q 0 8 4") ==
        "no buffer 'Q' in function 'f'; it has A, B");
  CHECK(RefusalOf(Copied(), "storage_align A 0 8 4") ==
        "storage_align: buffer 'A' is a parameter; copy it first");
  CHECK(RefusalOf(Copied(), kCopy + "storage_align A_s 2 8 4") ==
        "storage_align: buffer 'A_s' has 2 dimensions, so none is 2");
  CHECK(RefusalOf(Copied(), kCopy + "storage_align A_s 0 0 0") ==
        "storage_align: buffer 'A_s': it does not hold that the factor is at least 1");
  CHECK(RefusalOf(Copied(), kCopy + "storage_align A_s 0 8 8") ==
        "storage_align: buffer 'A_s': it does not hold that the offset is below the factor");
  CHECK(RefusalOf(Copied(), kCopy + "storage_align A_s 0 8 4\nstorage_align A_s 0 8 4") ==
        "storage_align: buffer 'A_s' has a layout already");
  CHECK(RefusalOf(Copied(), kCopy + "storage_align A_s 0 8 4\ncompute_at A_s p/i") ==
        "compute_at: buffer 'A_s' has a layout already; place it before");
}

TEST_CASE("swizzle says what it cannot permute", "[schedule][layout]") {
  CHECK(RefusalOf(Copied(), "swizzle A 3 2 3") ==
        "swizzle: buffer 'A' is a parameter; copy it first");
  CHECK(RefusalOf(Copied(), kCopy + "swizzle A_s 3 2 3\nswizzle A_s 3 2 3") ==
        "swizzle: buffer 'A_s' is swizzled already");
  CHECK(RefusalOf(Copied(), kCopy + "swizzle A_s 0 2 3") ==
        "swizzle: 0 bits from bit 2, shifted by 3; expected 1 bit or more, a shift of 1 or more, "
        "and at most 20 in all");
  CHECK(RefusalOf(Copied(), kCopy + "swizzle A_s 3 2 16") ==
        "swizzle: 3 bits from bit 2, shifted by 16; expected 1 bit or more, a shift of 1 or more, "
        "and at most 20 in all");
}
