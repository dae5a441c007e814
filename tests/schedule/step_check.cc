#include "tests/schedule/step_check.h"

#include <catch2/catch.hpp>

#include "ir/expr/compare.h"
#include "ir/simplify/simplify.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "tests/programs/point_check.h"

namespace tcc {
namespace {

Trace TraceOf(const std::string& text) {
  StatusOr<Trace> trace = ParseTrace(text);
  INFO(text);
  INFO(trace.status());
  REQUIRE(trace.ok());
  return *trace;
}

}  // namespace

Function FunctionOf(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  INFO(text);
  INFO(fn.status());
  REQUIRE(fn.ok());
  return *fn;
}

SymbolicProgram ProgramOf(const Function& before, const std::string& steps) {
  StatusOr<SymbolicProgram> program = Instantiate(before, TraceOf(steps));
  INFO(program.status());
  REQUIRE(program.ok());
  return *program;
}

void CheckSteps(const Function& before, const std::string& steps, const std::string& after,
                const Decisions& decisions) {
  Function got = Simplify(ProgramOf(before, steps).fn);
  Function want = Simplify(FunctionOf(after));
  INFO("got\n" << Print(got) << "expected\n" << Print(want));
  CHECK(AlphaEqual(got, want));
  CheckStepResult(before, steps, decisions);
}

void CheckStepResult(const Function& before, const std::string& steps, const Decisions& decisions) {
  Random random(7);
  SymbolicProgram program = ProgramOf(before, steps);
  PointReport report = CheckPoint(before, program, decisions, random);
  INFO(steps << report.message);
  CHECK(report.outcome == PointOutcome::kRight);
}

std::string RefusalOf(const Function& before, const std::string& steps) {
  Trace trace = TraceOf(steps);
  Step last = trace.steps.back();
  trace.steps.pop_back();
  StatusOr<SymbolicProgram> program = Instantiate(before, trace);
  INFO(steps);
  INFO(program.status());
  REQUIRE(program.ok());
  return Message(Check(program->fn, last).status());
}

}  // namespace tcc
