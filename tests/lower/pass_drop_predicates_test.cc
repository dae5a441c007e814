#include <catch2/catch.hpp>

#include "support/status.h"

#include "ir/text/printer.h"
#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"
#include "tests/programs/equal_up_to_names.h"

using namespace tcc;

namespace {

// One block over i0, i1 with a guard; the result of the pass has `kept` instead.
void CheckGuard(int64_t domain, int64_t outer, int64_t inner, const std::string& binding,
                const std::string& guard, const std::string& kept) {
  auto text = [&](const std::string& guards) {
    return fmt::format(R"(
      fn f(A: f32[{0}], B: f32[{0}]) scheduled {{
        for i0 in 0..{1} @b/i.0 {{ for i1 in 0..{2} @b/i.1 {{
          block b(i: spatial {0} = {3}) {4} {{ B[i] = A[i] + 1.0 }}
        }} }}
      }})",
                       domain, outer, inner, binding, guards);
  };
  CheckPass(DropPredicates, text("guard (" + guard + ")"),
            text(kept.empty() ? "" : "guard (" + kept + ")"));
}

}  // namespace

TEST_CASE("a guard that the loops' extents prove is dropped", "[lower][passes]") {
  CheckGuard(8, 2, 4, "i0 * 4 + i1", "i0 * 4 + i1 < 8", "");
}

TEST_CASE("a guard that says what the domain says is dropped", "[lower][passes]") {
  CheckGuard(7, 2, 4, "i0 * 4 + i1", "i0 * 4 + i1 < 7", "");
}

TEST_CASE("a guard on the outer part that the domain implies is dropped", "[lower][passes]") {
  CheckGuard(12, 5, 4, "i0 * 4 + i1", "i0 < 3", "");
}

TEST_CASE("a guard on an overlapping inner split stays", "[lower][passes]") {
  CheckPass(DropPredicates, R"(
    fn f(A: f32[7], C: f32[1]) scheduled {
      for k0 in 0..2 @b/k.0 { for k1 in 0..2 @b/k.1 { for k2 in 0..3 @b/k.2 {
        block b(k: reduce 7 = k0 * 4 + (k1 * 3 + k2))
            guard (k1 * 3 + k2 < 4, k0 * 4 + (k1 * 3 + k2) < 7) {
          reduce sum_f32 init (C[0]) with (A[k])
        }
      } } }
    })",
            R"(
    fn f(A: f32[7], C: f32[1]) scheduled {
      for k0 in 0..2 @b/k.0 { for k1 in 0..2 @b/k.1 { for k2 in 0..3 @b/k.2 {
        block b(k: reduce 7 = k0 * 4 + (k1 * 3 + k2)) guard (k1 * 3 + k2 < 4) {
          reduce sum_f32 init (C[0]) with (A[k])
        }
      } } }
    })");
}

TEST_CASE("a guard one short of the domain stays", "[lower][passes]") {
  CheckGuard(12, 5, 4, "i0 * 4 + i1", "i0 < 2", "i0 < 2");
  CheckGuard(7, 2, 4, "i0 * 4 + i1", "i0 * 4 + i1 < 6", "i0 * 4 + i1 < 6");
}

TEST_CASE("of two equal guards one stays", "[lower][passes]") {
  CheckGuard(12, 5, 4, "i0 * 4 + i1", "i0 < 2, i0 < 2", "i0 < 2");
}

TEST_CASE("with a free size only what holds for every value is dropped", "[lower][passes]") {
  auto text = [](const std::string& guards) {
    return R"(
      fn f<tile t in 1..=9>(A: f32[7], B: f32[7]) scheduled {
        for i0 in 0..ceildiv(7, t) @b/i.0 { for i1 in 0..t @b/i.1 {
          block b(i: spatial 7 = i0 * t + i1) guard ()" +
           guards + R"() {
            B[i] = A[i] + 1.0
          }
        } }
      })";
  };
  Function got = DropPredicates(ParsedFunction(text("i0 * t + i1 < 7, i1 < t - 1")));
  CHECK(EqualUpToNames(got, ParsedFunction(text("i1 < t - 1"))));
}

TEST_CASE("a guard that a free domain or extent implies is dropped, others stay",
          "[lower][passes]") {
  auto text = [](const std::string& guards) {
    return R"(
      fn f<shape n in 1..=4096 usual 8>(A: f32[n], B: f32[n]) scheduled {
        for i00 in 0..ceildiv(ceildiv(n, 4), 3) @b/i.0.0 { for i01 in 0..3 @b/i.0.1 {
          for i1 in 0..4 @b/i.1 {
            block b(i: spatial n = (i00 * 3 + i01) * 4 + i1)
                guard ()" +
           guards + R"() { B[i] = A[i] + 1.0 }
        } } }
      })";
  };
  auto kept = [&](const std::string& guards) {
    return Print(DropPredicates(ParsedFunction(text(guards))));
  };
  auto as_it_is = [&](const std::string& guards) { return Print(ParsedFunction(text(guards))); };
  const std::string sure = "i00 < ceildiv(ceildiv(n, 4), 3), ";
  const std::string implied = "i00 * 3 + i01 < ceildiv(n, 4), (i00 * 3 + i01) * 4 + i1 < n, ";
  CHECK(kept(sure + implied + "i1 < n - 1") == as_it_is("i1 < n - 1"));
  CHECK(kept(sure + implied + "i01 < 2") == as_it_is("i01 < 2"));
  CHECK(kept("(i00 * 3 + i01) * 4 + i1 < n - 1") == as_it_is("(i00 * 3 + i01) * 4 + i1 < n - 1"));
  CHECK(kept("i00 * 3 + i01 < n div 4") == as_it_is("i00 * 3 + i01 < n div 4"));
}

TEST_CASE("a thread variable is bounded by the innermost loop of its axis round a leaf",
          "[lower][passes]") {
  // Inside the loop over u there are 8 threads, so t runs to 7 and its guard must stay.
  CheckPass(DropPredicates, R"(
    fn f(A: f32[8], B: f32[8]) scheduled {
      for t in 0..4 threadIdx.x @b/t { for u in 0..8 threadIdx.x @b/u {
        block b(i: spatial 8 = u) guard (t < 4, u < 8) { B[i] = A[i] }
      } }
      for t in 0..4 threadIdx.x @c/t { for u in 0..1 @c/u {
        block c(i: spatial 8 = t) guard (t < 4) { B[i] = A[i] + 1.0 }
      } }
    })",
            R"(
    fn f(A: f32[8], B: f32[8]) scheduled {
      for t in 0..4 threadIdx.x @b/t { for u in 0..8 threadIdx.x @b/u {
        block b(i: spatial 8 = u) guard (t < 4) { B[i] = A[i] }
      } }
      for t in 0..4 threadIdx.x @c/t { for u in 0..1 @c/u {
        block c(i: spatial 8 = t) { B[i] = A[i] + 1.0 }
      } }
    })");
}

TEST_CASE("guards of threads on tiles of a free extent are dropped where all tiles are whole",
          "[lower][passes]") {
  auto text = [](const std::string& guards) {
    return R"(
      fn f<shape n in 1..=4096 usual 8>(A: f32[n, 3], B: f32[ceildiv(n, 32) * 32, 3]) scheduled {
        for i0j in 0..ceildiv(n, 32) * 3 blockIdx.x @b/ij { for i1 in 0..4 threadIdx.y @b/i.1 {
          for i2 in 0..8 threadIdx.x @b/i.2 {
            block b(i: spatial ceildiv(n, 32) * 32 = i0j div 3 * 32 + i1 * 8 + i2,
                    j: spatial 3 = i0j mod 3) )" +
           guards + R"( { B[i, j] = select(i < n, A[i, j], 0.0) }
        } } }
      })";
  };
  auto kept = [&](const std::string& guard) {
    return Print(DropPredicates(ParsedFunction(text(guard))));
  };
  auto as_it_is = [&](const std::string& guard) { return Print(ParsedFunction(text(guard))); };
  CHECK(kept("guard (i0j div 3 * 32 + i1 * 8 + i2 < ceildiv(n, 32) * 32)") == as_it_is(""));
  const std::string one_less = "guard (i0j div 3 * 32 + i1 * 8 + i2 < ceildiv(n, 32) * 32 - 1)";
  CHECK(kept(one_less) == as_it_is(one_less));
}
