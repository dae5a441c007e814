#include "tests/fuzz/free_schedule_point.h"

#include <algorithm>
#include <set>

#include "graph/variants/own_shapes.h"
#include "ir/expr/substitute.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "lower/pipeline.h"
#include "models/onnx/import_onnx.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/free_schedule.h"
#include "tests/fuzz/random/operator_models.h"
#include "tests/fuzz/random/task_functions.h"
#include "tests/fuzz/run_compiled.h"
#include "tests/fuzz/schedule_point.h"
#include "tests/programs/random_trace.h"

namespace tcc {
namespace {

// Values of a function's Shape variables, in the order of its `vars`.
using Sizes = std::vector<int64_t>;

std::string TextOf(const Function& fn, const Sizes& sizes) {
  std::string text = "at";
  for (size_t i = 0; i < sizes.size(); ++i) {
    text += fmt::format(" {}={}", fn.vars[i]->name, sizes[i]);
  }
  return text;
}

// Makes a model of one operator, or of many.
RandomModel AnyFreeModel(Random& random) {
  if (random.OneIn(3)) return MakeFreeModel(random);
  std::span<const OperatorRow> rows = OperatorRows();
  return MakeFreeOperatorModel(rows[random.Below(rows.size())], random);
}

// A function with free sizes; nullopt where the model has none left.
StatusOr<std::optional<TaskFunction>> AnyFreeTask(Random& random) {
  constexpr int64_t kUsual[] = {1, 2, 7, 8, 13, 31, 64};
  RandomModel model = AnyFreeModel(random);
  ImportOptions import;
  for (const FreeDim& dim : model.free) {
    DimRange& range = import.ranges[dim.name];
    range.low = random.OneIn(4) ? 2 : 1;
    range.high = random.OneIn(2) ? kMaxFreeDim : 1024;
    range.usual = std::max(*range.low, kUsual[random.Below(std::size(kUsual))]);
  }
  TCC_ASSIGN_OR_RETURN(std::vector<TaskFunction> tasks, TasksOfModel(model.bytes, import));
  std::erase_if(tasks, [](const TaskFunction& task) { return !HasFreeShapes(task.fn); });
  if (tasks.empty()) return std::optional<TaskFunction>();
  return std::optional(tasks[random.Below(tasks.size())]);
}

Function At(const Function& fn, const Sizes& sizes) {
  Substitution values;
  std::vector<Var> bound;
  for (size_t i = 0; i < sizes.size(); ++i) {
    bound.push_back(ShapeVar(fn.vars[i]->name, sizes[i], sizes[i], sizes[i]));
    values.emplace(fn.vars[i], bound.back());
  }
  Function result = Substitute(fn, values);
  result.vars = bound;
  return TwinOf(result);
}

// Returns the usual sizes, the least ones, a prime, and random small ones.
std::vector<Sizes> AnySizes(const Function& fn, Random& random) {
  constexpr int64_t kMostRun = 40;
  std::vector<Sizes> all(5);
  for (const Var& var : fn.vars) {
    int64_t high = std::min(var->high, kMostRun);
    all[0].push_back(std::min(var->usual, high));
    all[1].push_back(var->low);
    all[2].push_back(std::clamp<int64_t>(13, var->low, high));
    all[3].push_back(random.Between(var->low, high));
    all[4].push_back(random.OneIn(2) ? var->low : high);
  }
  return all;
}

// A sketch or a random trace for the twin, at a point; nullopt where none is legal and small.
std::optional<Schedule> AnySchedule(const Function& twin, const Target& target, Random& random,
                                    std::string& name) {
  ScheduledFunction scheduled{.name = "", .fn = twin, .trace = {}};
  if (random.OneIn(3)) {
    name = "random steps";
    RandomTraceOptions options{.steps = static_cast<int>(random.Between(2, 10))};
    scheduled.trace = RandomTrace(twin, options, random);
  } else {
    std::vector<Sketch> sketches = GenerateSketches(twin, target);
    const Sketch& sketch = sketches[random.Below(sketches.size())];
    name = "sketch " + sketch.name;
    scheduled.trace = sketch.trace;
    if (random.OneIn(3)) return Schedule{sketch.trace, sketch.start};
  }
  std::optional<Decisions> decisions = DrawPoint(scheduled, {}, random);
  if (!decisions) return std::nullopt;
  return Schedule{scheduled.trace, *decisions};
}

// A function with free sizes, its schedule, and what that makes of it.
struct FreeProgram {
  Function fn;
  Schedule schedule;
  Function replayed;
  Function lowered;
};

// Interprets the lowered function with its sizes free. Tiles that a free extent ends compute what
// lies behind the end from cells that nobody wrote, and drop it.
Status InterpretAt(const Function& lowered, const Sizes& sizes, std::vector<Tensor>& arguments) {
  InterpretOptions options;
  options.var_values = sizes;
  options.reads_garbage = true;
  TCC_ASSIGN_OR_RETURN(arguments, RunInterpreter(lowered, arguments, options));
  return OkStatus();
}

// Holds the program at these sizes against the function with numbers in their place; then what was
// lowered with free sizes against the same.
Status CheckAt(const FreeProgram& free, const CompiledFunction* compiled, const Sizes& sizes,
               Random& random, Histogram& histogram) {
  SymbolicProgram program;
  program.fn = At(free.replayed, sizes);
  program.trace = free.schedule.trace;
  PointCheckOptions options;
  if (compiled != nullptr) {
    options.run_scheduled = [&](const Function&, std::vector<Tensor>& arguments) {
      return compiled->Run(arguments, sizes);
    };
  }
  options.run_lowered = [&](const Function&, std::vector<Tensor>& arguments) {
    return InterpretAt(free.lowered, sizes, arguments);
  };
  PointReport report =
      CheckPoint(At(free.fn, sizes), program, free.schedule.decisions, random, options);
  switch (report.outcome) {
    case PointOutcome::kRight:
      ++histogram["free: sizes that are right"];
      break;
    case PointOutcome::kTooLarge:
      ++histogram["free: too many instances"];
      break;
    case PointOutcome::kUndefined:
      ++histogram["free: an index of the random arguments leaves its tensor"];
      break;
    case PointOutcome::kRefused:
      ++histogram["free: no code: " + report.message];
      break;
    case PointOutcome::kWrong:
      return absl::InternalError(report.message);
  }
  return OkStatus();
}

// InvalidArgument: the schedule does not fit all sizes, by itself, or by a thread's own buffer
// whose size stays free once it is lowered.
StatusOr<FreeProgram> MakeProgram(const TaskFunction& task, const Schedule& of_twin,
                                  const Target& target) {
  FreeProgram free{
      .fn = task.fn, .schedule = FreeSchedule(task.fn, of_twin), .replayed = {}, .lowered = {}};
  TCC_ASSIGN_OR_RETURN(free.replayed, ReplayFree(task.fn, of_twin, target));
  PipelineOptions pipeline;
  pipeline.verify = true;
  StatusOr<Function> lowered = RunPipeline(Simplify(free.replayed), pipeline);
  if (Message(lowered.status()).find("has a size that is no constant") != std::string::npos) {
    return InvalidInput("{}", Message(lowered.status()));
  }
  TCC_ASSIGN_OR_RETURN(free.lowered, std::move(lowered));
  return free;
}

Status CheckProgram(const FreeProgram& free, Random& random, Histogram& histogram) {
  std::optional<CompiledFunction> compiled;
  if (random.OneIn(2)) {
    TCC_ASSIGN_OR_RETURN(compiled, CompiledFunction::Make(free.lowered));
  }
  ++histogram[compiled ? "free: compiled as well as interpreted" : "free: interpreted alone"];
  for (const Sizes& sizes : AnySizes(free.fn, random)) {
    Status status = CheckAt(free, compiled ? &*compiled : nullptr, sizes, random, histogram);
    TCC_RETURN_IF_ERROR(Annotate(status, TextOf(free.fn, sizes)));
  }
  return OkStatus();
}

std::string Describe(const TaskFunction& task, const std::string& name, const Schedule& schedule) {
  return fmt::format("{}, {}\n{}\n{}", task.nodes, name, Print(task.fn), Print(schedule));
}

}  // namespace

Status CheckFreeSchedulePoint(uint64_t seed, Histogram& histogram) {
  Random random(seed);
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget("native"));
  for (;;) {
    StatusOr<std::optional<TaskFunction>> drawn = AnyFreeTask(random);
    // tcc-fuzz model judges refusals.
    if (absl::IsUnimplemented(drawn.status()) || absl::IsInvalidArgument(drawn.status())) continue;
    TCC_ASSIGN_OR_RETURN(std::optional<TaskFunction> task, std::move(drawn));
    if (!task) continue;
    std::string name;
    std::optional<Schedule> schedule = AnySchedule(TwinOf(task->fn), target, random, name);
    if (!schedule) continue;
    DescribeRunningPoint(Describe(*task, name, *schedule));
    StatusOr<FreeProgram> free = MakeProgram(*task, *schedule, target);
    ++histogram[fmt::format("free: {} {}", name, free.ok() ? "fits all sizes" : "does not fit")];
    if (!free.ok() && absl::IsInvalidArgument(free.status())) continue;
    if (!free.ok()) return Annotate(free.status(), Describe(*task, name, *schedule));
    return Annotate(CheckProgram(*free, random, histogram), Describe(*task, name, *schedule));
  }
}

}  // namespace tcc
