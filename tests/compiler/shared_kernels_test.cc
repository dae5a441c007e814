#include <catch2/catch.hpp>

#include "compiler/kernels.h"
#include "ir/text/printer.h"
#include "tests/ir/parsed_graph.h"

namespace tcc {
namespace {

KernelSet KernelsFor(const std::string& text) {
  CompileOptions options;
  options.target = *FindTarget("reference");
  options.verify = true;
  StatusOr<KernelSet> set = KernelsOf(ParsedGraph(text), options);
  INFO(set.status());
  REQUIRE(set.ok());
  return *std::move(set);
}

std::vector<std::string> TextsOf(const std::vector<Expr>& exprs) {
  std::vector<std::string> texts;
  for (const Expr& expr : exprs) texts.push_back(Print(expr));
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("layers of different formulas share a kernel and have their own sizes",
          "[compiler][kernels]") {
  KernelSet set = KernelsFor(R"(graph g {
  dim B in 1..64 usual 8
  dim S in 1..512 usual 128
  dim T in 1..500 usual 128
  input x: f32[B, S, 16]
  input y: f32[B, T, 16]
  a = Softmax(x) {axis: 2} : f32[B, S, 16]
  b = Softmax(y) {axis: 2} : f32[B, T, 16]
  return a, b
})");
  REQUIRE(set.tasks.size() == 2);
  CHECK(set.kernels.size() == 1);
  CHECK(set.kernel_of_task == std::vector<size_t>{0, 0});
  CHECK(TextsOf(set.tasks[0].shape_arguments) == Texts{"B", "S"});
  CHECK(TextsOf(set.tasks[1].shape_arguments) == Texts{"B", "T"});
  for (const Function& variant : set.kernels[0].variants) CHECK(variant.vars.size() == 2);
}

TEST_CASE("a kernel whose size may be 0 has another one for that", "[compiler][kernels]") {
  KernelSet set = KernelsFor(R"(graph g {
  dim P in 0..512 usual 128
  dim S in 1..512 usual 128
  input past: f32[P, 4]
  input x: f32[S, 4]
  joined = Concat(past, x) {axis: 0} : f32[P + S, 4]
  old = Softmax(past) {axis: 1} : f32[P, 4]
  return joined, old
})");
  REQUIRE(set.tasks.size() == 2);
  REQUIRE(set.kernels_of_zero_cases.size() == 2);
  REQUIRE(set.kernels_of_zero_cases[0].size() == 1);
  std::optional<size_t> left = set.kernels_of_zero_cases[0][0];
  REQUIRE(left);
  CHECK(set.kernels[*left].symbol == "joined_empty");
  CHECK(set.kernels[*left].variants[0].vars.size() == 2);
  // There is nothing to compute for the other.
  CHECK(set.kernels_of_zero_cases[1] == std::vector<std::optional<size_t>>{std::nullopt});
}

TEST_CASE("kernels without free sizes have no arguments", "[compiler][kernels]") {
  KernelSet set = KernelsFor(R"(graph g {
  dim B in 1..64
  input x: f32[4, 16]
  input y: f32[B, 16]
  a = Softmax(x) {axis: 1} : f32[4, 16]
  b = Softmax(y) {axis: 1} : f32[B, 16]
  return a, b
})");
  REQUIRE(set.tasks.size() == 2);
  CHECK(set.tasks[0].shape_arguments.empty());
  CHECK(set.kernels[0].variants[0].vars.empty());
  CHECK(set.kernels[1].variants[0].vars.size() == 1);
}

}  // namespace tcc
