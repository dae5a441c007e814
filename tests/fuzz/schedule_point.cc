#include "tests/fuzz/schedule_point.h"

#include "ir/expr/evaluate.h"
#include "ir/simplify/simplify.h"
#include "schedule/space/limits.h"
#include "schedule/space/resources.h"
#include "schedule/steps/split.h"
#include "tests/programs/prefetch_check.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/satisfies.h"

namespace tcc {
namespace {

// How many times leaves are met, guarded ones too.
Expr IssuedInstances(const Stmt& stmt) {
  if (const auto* loop = stmt.as<For>()) return loop->extent * IssuedInstances(loop->body);
  if (const auto* allocate = stmt.as<Allocate>()) return IssuedInstances(allocate->body);
  if (const auto* call = stmt.as<IntrinsicCall>()) return IssuedInstances(call->body);
  Expr sum = Expr(stmt.as<Block>() ? 1 : 0);
  if (const auto* seq = stmt.as<Seq>()) {
    for (const Stmt& child : seq->stmts) sum = sum + IssuedInstances(child);
  }
  return sum;
}

// The largest nest's statements, each virtual thread a copy.
std::vector<Expr> CopiedStatements(const Function& fn) {
  std::vector<Expr> copies;
  Target target = FindTarget("sm_86").value();
  for (const NestResources& nest : ResourcesOf(fn, target)) {
    copies.push_back(nest.statements * nest.vthreads);
  }
  return copies;
}

class Size {
 public:
  Size(const SymbolicProgram& program, const PointLimits& limits)
      : program_(program),
        limits_(limits),
        issued_(IssuedInstances(program.fn.body)),
        copies_(CopiedStatements(program.fn)) {}

  bool IsSmall(const Decisions& decisions) const {
    if (At(issued_, decisions) > limits_.instances) return false;
    for (const Expr& copies : copies_) {
      if (At(copies, decisions) > limits_.statements) return false;
    }
    return true;
  }

 private:
  int64_t At(const Expr& formula, const Decisions& decisions) const {
    Assignment values;
    for (const Var& var : program_.fn.vars) values[var] = decisions.at(var->name);
    return EvaluateInt(formula, values).value_or(INT64_MAX);
  }

  const SymbolicProgram& program_;
  const PointLimits& limits_;
  Expr issued_;
  std::vector<Expr> copies_;
};

// A random point: sizes become the least they may be until it is small, or all are.
Decisions SmallDecisions(const Trace& trace, const Size& size, Random& random) {
  Decisions decisions = RandomDecisions(trace, random);
  std::vector<FreeSize> sizes = trace.sizes;
  while (!sizes.empty() && !size.IsSmall(decisions)) {
    size_t i = random.Below(sizes.size());
    decisions[sizes[i].var->name] = ValuesOf(sizes[i]).front();
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return decisions;
}

// Of every split, the tiles that its loop is cut into.
void CountTiles(const ScheduledFunction& scheduled, const Decisions& decisions,
                Histogram& histogram) {
  Substitution values;
  for (const FreeSize& size : scheduled.trace.sizes) {
    values[size.var] = Expr(decisions.at(size.var->name));
  }
  Function fn = scheduled.fn;
  fn.level = Level::kScheduled;
  for (const Step& free : scheduled.trace.steps) {
    Step step = Substitute(free, values);
    if (const auto* split = step.as<Split>()) {
      StatusOr<Path> path = FindLoop(fn, split->loop);
      std::optional<int64_t> extent;
      if (path.ok()) extent = AsConstant(Simplify(LoopAt(*path)->extent));
      int64_t tile = 1;
      for (size_t i = split->factors.size(); i-- > 0 && extent;) {
        tile *= AsConstant(Simplify(split->factors[i])).value_or(1);
        ++histogram[*extent % tile == 0 ? "tile divides its loop" : "tile does not divide"];
      }
    }
    fn = Apply(fn, step);
  }
}

std::string Describe(const ScheduledFunction& scheduled, const Decisions& decisions) {
  std::string sizes;
  for (const auto& [name, value] : decisions) sizes += fmt::format(" {}={}", name, value);
  return fmt::format("sizes:{}\ntrace:\n{}", sizes, Print(scheduled.trace));
}

// "loop of blocks is inside a loop" of "loop 'k' of blocks is inside a loop".
std::string WithoutNames(const std::string& message) {
  std::string text;
  bool quoted = false;
  for (char c : message) {
    quoted = quoted != (c == '\'');
    if (!quoted && c != '\'') text += c;
  }
  return text;
}

}  // namespace

std::optional<Decisions> DrawPoint(const ScheduledFunction& scheduled, const PointLimits& limits,
                                   Random& random) {
  StatusOr<SymbolicProgram> program = Instantiate(scheduled.fn, scheduled.trace);
  if (!program.ok()) return std::nullopt;
  Size size(*program, limits);
  for (int draw = 0; draw < limits.draws; ++draw) {
    Decisions decisions = SmallDecisions(scheduled.trace, size, random);
    if (size.IsSmall(decisions) && Satisfies(*program, decisions)) return decisions;
  }
  return std::nullopt;
}

StatusOr<std::optional<Decisions>> CheckAtRandomPoint(const ScheduledFunction& scheduled,
                                                      PointCheckOptions options,
                                                      const PointLimits& limits, Random& random,
                                                      Histogram& histogram) {
  DescribeRunningPoint(scheduled.name + ": " + Describe(scheduled, {}));
  StatusOr<SymbolicProgram> program = Instantiate(scheduled.fn, scheduled.trace);
  if (!program.ok()) return Annotate(program.status(), scheduled.name);
  if (limits.target) program = WithLimits(*std::move(program), *limits.target);
  std::string text = Print(scheduled.trace);
  StatusOr<Trace> parsed = ParseTrace(text);
  if (!parsed.ok() || Print(*parsed) != text) {
    return absl::InternalError("the trace's text does not parse back:\n" + text);
  }
  Size size(*program, limits);
  options.max_instances = limits.instances;
  for (int draw = 0; draw < limits.draws; ++draw) {
    bool start = draw == 0 && scheduled.start;
    Decisions decisions = start ? *scheduled.start : SmallDecisions(scheduled.trace, size, random);
    if (!size.IsSmall(decisions)) {
      ++histogram["redrawn: too many instances or statements"];
      continue;
    }
    if (!Satisfies(*program, decisions)) {
      ++histogram["redrawn: a constraint says no"];
      continue;
    }
    DescribeRunningPoint(scheduled.name + ": " + Describe(scheduled, decisions));
    PointReport report = CheckPoint(scheduled.fn, *program, decisions, random, options);
    switch (report.outcome) {
      case PointOutcome::kTooLarge:
        ++histogram["redrawn: too many instances or statements"];
        break;
      case PointOutcome::kRefused:
        ++histogram["redrawn: no code: " + WithoutNames(report.message)];
        break;
      case PointOutcome::kUndefined:
        ++histogram["redrawn: an index of the random arguments leaves its tensor"];
        break;
      case PointOutcome::kRight: {
        std::string missed = FirstLineNotPrefetched(scheduled.fn, scheduled.trace, decisions);
        if (!missed.empty()) {
          return absl::InternalError(
              fmt::format("{}: {}\n{}", scheduled.name, missed, Describe(scheduled, decisions)));
        }
        CountTiles(scheduled, decisions, histogram);
        return decisions;
      }
      case PointOutcome::kWrong:
        return absl::InternalError(fmt::format("{}: {}\n{}", scheduled.name, report.message,
                                               Describe(scheduled, decisions)));
    }
  }
  ++histogram["given up: no draw was legal and small enough"];
  return std::nullopt;
}

}  // namespace tcc
