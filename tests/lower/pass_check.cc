#include "tests/lower/pass_check.h"

#include <catch2/catch.hpp>

#include "ir/analysis/verifier.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "lower/pipeline.h"
#include "tests/programs/compare_programs.h"
#include "tests/programs/equal_up_to_names.h"

namespace tcc {

Function ParsedFunction(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  INFO(text);
  INFO(fn.status());
  REQUIRE(fn.ok());
  Status verified = Verify(*fn);
  INFO(verified);
  REQUIRE(verified.ok());
  return *fn;
}

void CheckSameResult(const Function& got, const Function& want, const InterpretOptions& options) {
  Random random(11);
  std::vector<Tensor> arguments = RandomArguments(want, random);
  StatusOr<std::vector<Tensor>> expected = RunInterpreter(want, arguments);
  INFO(Print(want) << expected.status());
  REQUIRE(expected.ok());
  StatusOr<std::vector<Tensor>> results = RunInterpreter(got, arguments, options);
  INFO(Print(got) << results.status());
  REQUIRE(results.ok());
  CHECK(FirstDifference(*results, *expected) == "");
}

void CheckPass(PassFunction pass, const std::string& before, const std::string& after) {
  Function original = ParsedFunction(before);
  Function got = pass(original);
  Function want = ParsedFunction(after);
  INFO("got\n" << Print(Simplify(got)) << "expected\n" << Print(Simplify(want)));
  Status verified = Verify(got);
  INFO(verified);
  CHECK(verified.ok());
  CHECK(EqualUpToNames(Simplify(got), Simplify(want)));
  CheckSameResult(got, original);
}

Function CheckLowered(const Function& fn) {
  PipelineOptions options;
  options.verify = true;
  StatusOr<Function> lowered = RunPipeline(fn, options);
  INFO(Print(fn) << lowered.status());
  REQUIRE(lowered.ok());
  CheckSameResult(*lowered, fn);
  return *lowered;
}

int CountKind(const Function& fn, StmtKind kind) {
  int count = 0;
  PreOrder(fn.body, [&](const Stmt& stmt) { count += stmt.kind() == kind; });
  return count;
}

int CountKind(const Function& fn, ExprKind kind) {
  int count = 0;
  PreOrderExprs(fn.body, [&](const Expr& expr) { count += expr->kind == kind; });
  return count;
}

}  // namespace tcc
