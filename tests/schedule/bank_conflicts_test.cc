#include "schedule/space/bank_conflicts.h"
#include "ir/analysis/accesses.h"
#include "schedule/analysis/loop_tree.h"

#include <catch2/catch.hpp>

#include "ir/expr/visitor.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

// Threads of `across` neighbours read column 0 of rows of A in shared memory, `apart` rows from
// each other, after `steps`.
int64_t PassesOfColumn(int64_t across, int64_t apart, const std::string& steps) {
  Function fn = FunctionOf(fmt::format(R"(
    fn f(A: f32[{rows}, 8], B: f32[{threads}]) tensor {{
      for i in 0..{threads} @p/i {{
        block p(i: spatial {threads} = i) {{ B[i] = A[(i div {across}) * {apart}, 0] }} }}
    }})",
                                       fmt::arg("rows", 64 * apart), fmt::arg("threads", 64),
                                       fmt::arg("across", across), fmt::arg("apart", apart)));
  SymbolicProgram program =
      ProgramOf(fn, "cache_read A [p] shared A_s\nbind p/i threadIdx.x\n" + steps);
  Ref<Block> reader = BlockAt(FindBlock(program.fn, "p").value());
  return WarpPasses(program.fn, "p", ReadsOf(*reader)[0], {}).value();
}

}  // namespace

TEST_CASE("threads that read a column meet in a bank unless rows are an odd number of words apart",
          "[schedule][bank_conflicts]") {
  CHECK(PassesOfColumn(1, 1, "") == 8);   // 8 words apart: 4 banks for 32 threads
  CHECK(PassesOfColumn(1, 4, "") == 32);  // 32 words apart: one bank
  CHECK(PassesOfColumn(1, 1, "storage_align A_s 0 2 1") == 1);
  CHECK(PassesOfColumn(1, 4, "storage_align A_s 0 2 1") == 4);
  CHECK(PassesOfColumn(1, 1, "storage_align A_s 0 8 4") == 4);  // 12 words apart
}

TEST_CASE("threads that read one word share it", "[schedule][bank_conflicts]") {
  CHECK(PassesOfColumn(32, 4, "") == 1);
  CHECK(PassesOfColumn(16, 4, "") == 2);
  CHECK(PassesOfColumn(16, 4, "storage_align A_s 0 8 4") == 1);
}

TEST_CASE("places that are no sum of strides are not counted", "[schedule][bank_conflicts]") {
  Function fn = FunctionOf(R"(
    fn f(A: f32[8, 8], B: f32[8]) tensor {
      for i in 0..8 @p/i { block p(i: spatial 8 = i) { B[i] = A[i, 0] } }
    })");
  SymbolicProgram program =
      ProgramOf(fn, "cache_read A [p] shared A_s\nbind p/i threadIdx.x\nswizzle A_s 2 1 3");
  Ref<Block> reader = BlockAt(FindBlock(program.fn, "p").value());
  CHECK_FALSE(WarpPasses(program.fn, "p", ReadsOf(*reader)[0], {}).has_value());
}
