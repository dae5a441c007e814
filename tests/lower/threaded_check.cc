#include "tests/lower/threaded_check.h"

#include <catch2/catch.hpp>

#include "ir/expr/visitor.h"
#include "ir/text/printer.h"
#include "lower/pipeline.h"
#include "schedule/space/trace.h"

namespace tcc {

Function ScheduledBy(const Function& fn, const std::string& steps) {
  StatusOr<Trace> trace = ParseTrace(steps);
  INFO(trace.status());
  REQUIRE(trace.ok());
  StatusOr<Function> scheduled = Replay(fn, *trace);
  INFO(scheduled.status());
  REQUIRE(scheduled.ok());
  return *scheduled;
}

bool IsCaught(const Function& fn, const std::vector<Tensor>& arguments,
              const std::vector<Tensor>& want, std::string* why) {
  InterpretOptions options;
  options.detect_races = true;
  for (ThreadOrder order :
       {ThreadOrder::kForward, ThreadOrder::kBackward, ThreadOrder::kShuffled}) {
    options.order = order;
    StatusOr<std::vector<Tensor>> got = RunInterpreter(fn, arguments, options);
    std::string difference = got.ok() ? FirstDifference(*got, want) : Message(got.status());
    if (difference.empty()) continue;
    if (why) *why = difference;
    return true;
  }
  return false;
}

Function CheckThreaded(const Function& original, const Function& scheduled) {
  PipelineOptions options;
  options.verify = true;
  StatusOr<Function> lowered = RunPipeline(scheduled, options);
  INFO(Print(scheduled) << lowered.status());
  REQUIRE(lowered.ok());
  Random random(11);
  std::vector<Tensor> arguments = RandomArguments(original, random);
  std::vector<Tensor> want = RunInterpreter(original, arguments).value();
  std::string why;
  bool caught = IsCaught(*lowered, arguments, want, &why);
  INFO(Print(*lowered) << why);
  CHECK_FALSE(caught);
  return *lowered;
}

Function WithoutStatement(const Function& fn, StmtKind kind, int skip) {
  auto remove = [&](const Stmt& s) -> Stmt {
    if (s.kind() == kind && skip-- == 0) return Nothing();
    if (const auto* seq = s.as<Seq>()) return SeqOf(seq->stmts);
    return s;
  };
  Function result = fn;
  result.body = RewriteBottomUp(fn.body, remove, [](const Expr& expr) { return expr; });
  return result;
}

}  // namespace tcc
