#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "ir/expr/visitor.h"
#include "ir/text/printer.h"
#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"

namespace tcc {
namespace {

// `steps` steps whose copies take turns in `versions` places.
Function Steps(int steps, int versions, const std::string& intrinsic) {
  return ParsedFunction(fmt::format(R"(
    fn f(A: f32[{0}], B: f32[{0}]) lowered {{
      alloc S: f32[{1}]
      for r in 0..{2} {{
        async_copy S[r mod {3} * 2] from A[r * 2] count 2
        async_commit
        async_wait(0)
        intrinsic {4} {{ for i in 0..2 {{ B[r * 2 + i] = S[r mod {3} * 2 + i] }} }}
      }}
    }})",
                                    steps * 2, versions * 2, steps, versions, intrinsic));
}

}  // namespace

TEST_CASE("the versions of a long pipeline of products are constants once its steps are unrolled",
          "[lower][passes][deal_versions]") {
  for (int versions : {2, 3, 4}) {
    for (int rest : {0, 1}) {
      Function before = Steps(versions * 4 + rest, versions, "mma_m16n8k16_f16_f32");
      Function after = DealVersions(before);
      INFO(Print(after));
      CheckSameResult(after, before);
      CHECK(Print(after).find("for r in 0..4") != std::string::npos);
      CHECK(Print(after).find(fmt::format("for version in 0..{} unrolled", versions)) !=
            std::string::npos);
      CHECK(Print(after).find("async_copy S[version * 2]") != std::string::npos);
      CHECK(CountKind(after, StmtKind::kAsyncCopy) == 1 + rest);
    }
  }
}

TEST_CASE("short pipelines, those of many versions and those of other work stay as they are",
          "[lower][passes][deal_versions]") {
  for (const Function& before :
       {Steps(11, 3, "mma_m16n8k16_f16_f32"), Steps(40, 5, "mma_m16n8k16_f16_f32"),
        Steps(40, 3, "load_matrices_16x16_f16")}) {
    CHECK(Print(DealVersions(before)) == Print(before));
  }
}

}  // namespace tcc
