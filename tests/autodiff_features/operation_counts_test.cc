#include "autodiff_features/counts/operation_counts.h"

#include <catch2/catch.hpp>

#include "ir/text/parser.h"
#include "schedule/space/trace.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

// Operations of B[i] = value, over A: f32[8, 8], S: f32[8], H: f16[8].
OperationCounts Of(const std::string& value) {
  StatusOr<Function> fn = ParseFunction(R"(
    fn f(A: f32[8, 8], S: f32[8], H: f16[8], B: f32[8]) tensor {
      for i in 0..8 @b/i { block b(i: spatial 8 = i) { B[i] = )" +
                                        value + " } } }");
  INFO(value);
  INFO(fn.status());
  REQUIRE(fn.ok());
  return OperationsOf(*BlocksOf(fn->body)[0], true);
}

// "fma 1, divide 2": the counts that are not 0.
std::string Print(const OperationCounts& counts) {
  std::string text;
  auto add = [&](const char* name, double count) {
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  };
  add("fma", counts.fma);
  add("add", counts.add);
  add("mul", counts.mul);
  add("divide", counts.divide);
  add("root", counts.root);
  add("special", counts.special);
  add("compare", counts.compare);
  add("convert", counts.convert);
  add("tests", counts.tests);
  return text;
}

OperationCounts AfterSteps(const Function& fn, const std::string& steps) {
  StatusOr<SymbolicProgram> program = Instantiate(fn, ParseTrace(steps).value());
  INFO(program.status());
  REQUIRE(program.ok());
  return OperationsOf(SitesOf(program->fn)[0].sites[0]);
}

}  // namespace

TEST_CASE("A sum with a product below it is one multiply-add", "[autodiff_features]") {
  CHECK(Print(Of("S[i] + A[i, 0] * A[i, 1]")) == "fma 1");
  CHECK(Print(Of("A[i, 0] * A[i, 1] + S[i]")) == "fma 1");
  CHECK(Print(Of("S[i] - A[i, 0] * A[i, 1]")) == "fma 1");
  CHECK(Print(Of("A[i, 0] * A[i, 1] - S[i]")) == "fma 1");
  CHECK(Print(Of("A[i, 0] * A[i, 1] + A[i, 2] * A[i, 3]")) == "fma 1, mul 1");
  CHECK(Print(Of("S[i] * (A[i, 0] * A[i, 1] + A[i, 2])")) == "fma 1, mul 1");
  CHECK(Print(Of("(S[i] + A[i, 0]) * A[i, 1]")) == "add 1, mul 1");
}

TEST_CASE("A reduction counts its combiner", "[autodiff_features]") {
  std::vector<Ref<Block>> blocks = BlocksOf(MatmulFunction(3, 4, 5).body);
  CHECK(Print(OperationsOf(*blocks[0], false)) == "fma 1");
  CHECK(Print(OperationsOf(*blocks[0], true)) == "fma 1, tests 1");
  std::vector<Ref<Block>> softmax = BlocksOf(SoftmaxByBlocks(3, 7).body);
  REQUIRE(softmax.size() == 4);
  CHECK(Print(OperationsOf(*softmax[0], false)) == "compare 1");
  CHECK(Print(OperationsOf(*softmax[1], false)) == "add 1, special 1");
  CHECK(Print(OperationsOf(*softmax[2], false)) == "add 1");
  CHECK(Print(OperationsOf(*softmax[3], false)) == "divide 1");
}

TEST_CASE("Equal parts count once", "[autodiff_features]") {
  CHECK(Print(Of("(S[i] - A[i, 0]) * (S[i] - A[i, 0])")) == "add 1, mul 1");
  CHECK(Print(Of("exp(S[i]) / (exp(S[i]) + 1.0)")) == "add 1, divide 1, special 1");
  CHECK(Print(Of("max(S[i] * 2.0, 0.0) + max(S[i] * 2.0, 0.0)")) == "add 1, mul 1, compare 1");
}

TEST_CASE("Roots, quotients and functions have counts of their own", "[autodiff_features]") {
  CHECK(Print(Of("S[i] / sqrt(A[i, 0])")) == "divide 1, root 1");
  CHECK(Print(Of("S[i] * rsqrt(A[i, 0])")) == "mul 1, divide 1, root 1");
  CHECK(Print(Of("exp(S[i])")) == "special 1");
  CHECK(Print(Of("exp_diff(S[i], A[i, 0])")) == "special 1");
  CHECK(Print(Of("log(S[i])")) == "special 1.5");
  CHECK(Print(Of("tanh(S[i])")) == "special 1.5");
  CHECK(Print(Of("erf(S[i])")) == "special 2.5");
  CHECK(Print(Of("pow(S[i], A[i, 0])")) == "special 4");
}

TEST_CASE("Comparisons, choices, extremes and roundings are cheap", "[autodiff_features]") {
  CHECK(Print(Of("max(S[i], 0.0)")) == "compare 1");
  CHECK(Print(Of("select(S[i] < A[i, 0], S[i], 0.0)")) == "compare 2");
  CHECK(Print(Of("abs(S[i])")) == "compare 1");
  CHECK(Print(Of("floor(S[i])")) == "compare 1");
  CHECK(Print(Of("f32(H[i])")) == "convert 1");
}

TEST_CASE("Indices are no arithmetic", "[autodiff_features]") {
  CHECK(Print(Of("S[7 - i]")).empty());
  CHECK(Print(Of("A[i, (i * 3 + 1) mod 8]")).empty());
}

TEST_CASE("Index arithmetic of a choice is not counted either", "[autodiff_features]") {
  CHECK(Print(Of("select(i * 2 + 1 < 9, S[i], 0.0)")) == "compare 2");
  CHECK(Print(Of("select(i mod 2 < 1, S[i], 0.0)")) == "compare 2");
}

TEST_CASE("Terms of a predicate are tests unless a loop round the block is partitioned",
          "[autodiff_features]") {
  Function conv = ConvFunction({});
  Ref<Block> block = BlocksOf(conv.body)[0];
  // Four bounds, and whether it is the first instance.
  CHECK(Print(OperationsOf(*block, true)) == "fma 1, tests 5");
  CHECK(Print(OperationsOf(*block, false)) == "fma 1");
  CHECK(Print(AfterSteps(conv, "unroll conv/kx")) == "fma 1, tests 5");
  CHECK(Print(AfterSteps(conv, "partition conv/y")) == "fma 1");
}

}  // namespace tcc
