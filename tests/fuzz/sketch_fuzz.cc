#include "schedule/sketch.h"

#include "ir/evaluate.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/sketch_point.h"
#include "tests/fuzz/task_functions.h"
#include "tests/programs/point_check.h"
#include "tests/programs/random_trace.h"

namespace tcc {
namespace {

constexpr int64_t kMaxInstances = 200'000;
constexpr int kDraws = 20;

struct SketchOfTask {
  const TaskFunction* task;
  Sketch sketch;
};

// Every sketch of every operator of the built-in networks.
const std::vector<SketchOfTask>& ZooSketches(const Target& target) {
  static auto* made = new std::map<std::string, std::vector<SketchOfTask>>;
  auto [found, fresh] = made->try_emplace(target.name);
  if (!fresh) return found->second;
  for (const TaskFunction& task : ZooTaskFunctions()) {
    for (Sketch& sketch : GenerateSketches(task.fn, target)) {
      found->second.push_back({&task, std::move(sketch)});
    }
  }
  return found->second;
}

void CountTiles(const Sketch& sketch, const Decisions& decisions, Histogram& histogram) {
  for (const FreeSize& size : sketch.trace.sizes) {
    int64_t value = decisions.at(size.var->name);
    ++histogram[size.var->high % value == 0 ? "tile divides the largest" : "tile does not divide"];
  }
}

// How many times leaves are met, guarded ones too.
Expr IssuedInstances(const Stmt& stmt) {
  if (const auto* loop = stmt.as<For>()) return loop->extent * IssuedInstances(loop->body);
  if (const auto* allocate = stmt.as<Allocate>()) return IssuedInstances(allocate->body);
  Expr sum = Expr(stmt.as<Block>() ? 1 : 0);
  if (const auto* seq = stmt.as<Seq>()) {
    for (const Stmt& child : seq->stmts) sum = sum + IssuedInstances(child);
  }
  return sum;
}

int64_t At(const Expr& formula, const Function& fn, const Decisions& decisions) {
  Assignment values;
  for (const Var& var : fn.vars) values[var] = decisions.at(var->name);
  return EvaluateInt(formula, values).value_or(kMaxInstances + 1);
}

// A random point at which no more leaves are met than the interpreter can wait for: sizes shrink
// until that holds, or all are the least.
Decisions SmallDecisions(const SymbolicProgram& program, const Expr& issued, Random& random) {
  Decisions decisions = RandomDecisions(program.trace, random);
  std::vector<FreeSize> sizes = program.trace.sizes;
  while (!sizes.empty() && At(issued, program.fn, decisions) > kMaxInstances) {
    size_t i = random.Below(sizes.size());
    int64_t& value = decisions[sizes[i].var->name];
    int64_t least = ValuesOf(sizes[i]).front();
    if (value == least) {
      sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      value = least;
    }
  }
  return decisions;
}

// False where no draw was legal and small enough.
StatusOr<bool> CheckSketch(const TaskFunction& task, const Sketch& sketch,
                           const RunLowered& run_lowered, Random& random, Histogram& histogram) {
  StatusOr<SymbolicProgram> program = Instantiate(task.fn, sketch.trace);
  if (!program.ok()) return Annotate(program.status(), task.nodes + ": " + sketch.name);
  StatusOr<Trace> parsed = ParseTrace(Print(sketch.trace));
  if (!parsed.ok() || Print(*parsed) != Print(sketch.trace)) {
    return absl::InternalError("the trace's text does not parse back:\n" + Print(sketch.trace));
  }
  Expr issued = IssuedInstances(program->fn.body);
  PointCheckOptions options;
  options.max_instances = kMaxInstances;
  options.run_lowered = run_lowered;
  for (int draw = 0; draw < kDraws; ++draw) {
    bool start = draw == 0 && random.OneIn(8);
    Decisions decisions = start ? sketch.start : SmallDecisions(*program, issued, random);
    if (At(issued, program->fn, decisions) > kMaxInstances) {
      ++histogram["redrawn: too many instances"];
      continue;
    }
    if (!Satisfies(*program, decisions)) {
      ++histogram["redrawn: a constraint says no"];
      continue;
    }
    PointReport report = CheckPoint(task.fn, *program, decisions, random, options);
    if (report.outcome == PointOutcome::kTooLarge) {
      ++histogram["redrawn: too many instances"];
      continue;
    }
    if (report.outcome == PointOutcome::kUndefined) {
      ++histogram["redrawn: an index of the random arguments leaves its tensor"];
      continue;
    }
    CountTiles(sketch, decisions, histogram);
    if (report.outcome == PointOutcome::kRight) return true;
    std::string sizes;
    for (const auto& [name, value] : decisions) sizes += fmt::format(" {}={}", name, value);
    return absl::InternalError(fmt::format("{}, sketch {}: {}\nsizes:{}\ntrace:\n{}", task.nodes,
                                           sketch.name, report.message, sizes,
                                           Print(sketch.trace)));
  }
  ++histogram["given up: no draw was small enough"];
  return false;
}

}  // namespace

Status CheckSketchPoint(uint64_t seed, const Target& target, const RunLowered& run_lowered,
                        Histogram& histogram) {
  Random random(seed);
  if (seed % 2 == 0) {
    const std::vector<SketchOfTask>& sketches = ZooSketches(target);
    const SketchOfTask& row = sketches[seed / 2 % sketches.size()];
    ++histogram["built-in networks: " + row.sketch.name];
    return CheckSketch(*row.task, row.sketch, run_lowered, random, histogram).status();
  }
  for (;;) {
    TCC_ASSIGN_OR_RETURN(std::vector<TaskFunction> tasks, RandomTaskFunctions(random));
    if (tasks.empty()) continue;
    const TaskFunction& task = tasks[random.Below(tasks.size())];
    std::vector<Sketch> sketches = GenerateSketches(task.fn, target);
    const Sketch& sketch = sketches[random.Below(sketches.size())];
    ++histogram["random models: " + sketch.name];
    TCC_ASSIGN_OR_RETURN(bool checked, CheckSketch(task, sketch, run_lowered, random, histogram));
    if (checked) return OkStatus();
  }
}

FuzzResult FuzzGpuSchedule(const FuzzOptions& options) {
  Target target{.name = "sm_86", .kind = TargetKind::kCuda, .sm = 86};
  FuzzResult result = RunPoints("gpu-schedule", options, [&](uint64_t seed, Histogram& histogram) {
    return CheckSketchPoint(seed, target, nullptr, histogram);
  });
  result.histogram["sketches of the built-in networks"] =
      static_cast<int64_t>(ZooSketches(target).size());
  return result;
}

}  // namespace tcc
