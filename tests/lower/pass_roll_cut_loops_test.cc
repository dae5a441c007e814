#include <catch2/catch.hpp>
#include <set>

#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"

using namespace tcc;

namespace {

// Doubles a free number of columns, in chunks of 8 by parts of 2 and vectors of 4. `scope` is that
// of the chunk's buffer.
std::string Columns(const std::string& scope) {
  return R"(
    fn f<shape n in 1..=50>(A: f32[2, n], B: f32[2, n]) scheduled {
      for jo in 0..ceildiv(n, 8) @f/j.0 {
        alloc S: f32[2, n] )" +
         scope + R"( window [0, jo * 8] size [2, 8]
        for i in 0..2 unrolled @f/i {
          for j1 in 0..2 unrolled @f/j.1 {
            for j2 in 0..4 vectorized @f/j.2 {
              block f(i: spatial 2 = i, j: spatial n = jo * 8 + j1 * 4 + j2) {
                S[i, j] = A[i, j] + A[i, j]
              }
            }
          }
        }
        for i in 0..2 @g/i {
          for j in 0..8 unrolled @g/j {
            block g(i: spatial 2 = i, j: spatial n = jo * 8 + j) { B[i, j] = S[i, j] }
          }
        }
      }
    })";
}

std::set<std::string> UnrolledLoops(const Function& fn) {
  std::set<std::string> keys;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (loop && loop->for_kind == ForKind::kUnrolled) keys.insert(loop->key);
  });
  return keys;
}

Function At(const Function& fn, int64_t size) {
  return Simplify(Substitute(fn, Substitution{{fn.vars[0], Expr(size)}}));
}

}  // namespace

TEST_CASE("an unrolled loop that a free extent may cut becomes serial", "[lower][passes][roll]") {
  Function before = ParsedFunction(Columns(""));
  Function after = RollCutLoops(before);
  CHECK(UnrolledLoops(before) == std::set<std::string>{"f/i", "f/j.1", "g/j"});
  // No size cuts the two rows.
  CHECK(UnrolledLoops(after) == std::set<std::string>{"f/i"});
  for (int64_t size : {1, 4, 7, 8, 19, 50}) CheckSameResult(At(after, size), At(before, size));
  CheckLowered(At(after, 13));
}

TEST_CASE("a loop that chooses among local cells stays unrolled", "[lower][passes][roll]") {
  Function after = RollCutLoops(ParsedFunction(Columns("local")));
  CHECK(UnrolledLoops(after) == std::set<std::string>{"f/i", "f/j.1", "g/j"});
}

TEST_CASE("loops of known extents stay unrolled", "[lower][passes][roll]") {
  Function fn = At(ParsedFunction(Columns("")), 13);
  fn.vars.clear();
  CHECK(UnrolledLoops(RollCutLoops(fn)) == UnrolledLoops(fn));
}
