#include "tests/fuzz/operator_point.h"

#include <filesystem>
#include <fstream>

#include "graph/variants/interpret_graph.h"
#include "ir/analysis/accesses.h"
#include "ir/analysis/cross_thread.h"
#include "ir/interpret/interpreter.h"
#include "ir/simplify/simplify.h"
#include "lower/pipeline.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/schedule.h"
#include "schedule/space/whole_launches.h"
#include "tests/fuzz/random/operator_tasks.h"
#include "tests/fuzz/run_compiled.h"
#include "tests/fuzz/schedule_point.h"
#include "tests/fuzz/step_table.h"
#include "tests/fuzz/write_case.h"
#include "tests/programs/random_step.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

constexpr const char* kTextOps[] = {"attention", "stencil", "total"};

// Some operands are constants of the model, as weights are.
void MakeConstants(Function& fn, Random& random) {
  for (Buffer& param : fn.params) {
    bool written = false;
    for (const Ref<Block>& block : BlocksOf(fn.body)) written |= Writes(*block, param.var);
    if (!written && random.OneIn(2)) param.scope = Scope::kConstant;
  }
}

Function TextFunction(const std::string& name, Random& random) {
  for (;;) {
    SpikeProgram program = BuildSpike(random.Below(SpikeCount()), random);
    if (program.fn.name != name) continue;
    MakeConstants(program.fn, random);
    return program.fn;
  }
}

// A function to schedule; `tasks` holds what it is from, if that is a model.
struct Subject {
  std::string op;  // "" where it only puts things in place for the operator
  Function fn;
  OperatorTasks tasks;
  size_t task = 0;
};

StatusOr<Subject> AnySubject(size_t op, DTypeCode real, Random& random) {
  size_t models = OperatorRows().size();
  std::string name = OperatorNames()[op];
  if (op >= models) return Subject{name, TextFunction(name, random), {}, 0};
  Subject subject{.op = name, .fn = {}, .tasks = {}};
  TCC_ASSIGN_OR_RETURN(subject.tasks, MakeOperatorTasks(OperatorRows()[op], random, real));
  subject.task = subject.tasks.largest;
  if (random.OneIn(6)) subject.task = random.Below(subject.tasks.tasks.size());
  if (subject.task != subject.tasks.largest) subject.op.clear();
  const Task& task = subject.tasks.tasks[subject.task].task;
  subject.fn = task.variants[random.OneIn(4) ? random.Below(task.variants.size()) : 0].fn;
  return subject;
}

ScheduledFunction ScheduleFor(const Subject& subject, const OperatorPoint& point, Random& random) {
  ScheduledFunction scheduled{.name = OperatorNames()[point.op], .fn = subject.fn, .trace = {}};
  bool gpu = point.source == ScheduleSource::kGpuSketch;
  if (gpu || point.source == ScheduleSource::kCpuSketch) {
    Target target = FindTarget(gpu ? point.gpu : "native").value();
    std::vector<Sketch> sketches = GenerateSketches(subject.fn, target);
    const Sketch& sketch = sketches[random.Below(sketches.size())];
    scheduled.name += fmt::format(", sketch '{}' for {}", sketch.name, target.name);
    scheduled.trace = sketch.trace;
    if (random.OneIn(8)) scheduled.start = sketch.start;
    return scheduled;
  }
  RandomTraceOptions options{.steps = static_cast<int>(random.Between(2, 12)),
                             .hardware = point.source == ScheduleSource::kThreadedSteps,
                             .wanted = point.wanted};
  scheduled.trace = RandomTrace(subject.fn, options, random);
  return scheduled;
}

// The model's outputs with the subject's task scheduled and lowered.
StatusOr<std::vector<Tensor>> RunScheduled(const Subject& subject, const Function& lowered,
                                           bool compile) {
  size_t number = 0;
  auto run = [&](const Task& task, std::vector<Tensor>& arguments) -> Status {
    if (number++ != subject.task) return Interpret(task.variants[0].fn, arguments).status();
    std::vector<std::vector<int64_t>> shapes;
    for (Tensor& tensor : arguments) {
      shapes.push_back(tensor.shape);
      tensor = MakeTensor(tensor.dtype, {ElementCount(tensor.shape).value()}, tensor.bytes);
    }
    TCC_RETURN_IF_ERROR(compile ? RunCompiled(lowered, arguments)
                                : Interpret(lowered, arguments).status());
    for (size_t i = 0; i < arguments.size(); ++i) arguments[i].shape = shapes[i];
    return OkStatus();
  };
  return InterpretGraph(subject.tasks.graph, subject.tasks.model.inputs, {.run_task = run});
}

Status Emit(const std::string& folder, const Subject& subject, const Trace& trace,
            const Decisions& decisions, bool compile) {
  TCC_ASSIGN_OR_RETURN(Function replayed, Replay(subject.fn, trace, decisions));
  TCC_ASSIGN_OR_RETURN(Function lowered, RunPipeline(Simplify(replayed)));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, RunScheduled(subject, lowered, compile));
  TCC_RETURN_IF_ERROR(WriteCase(folder, subject.tasks.model, outputs));
  std::ofstream(folder + "/schedule.txt") << Print(Schedule{trace, decisions});
  return OkStatus();
}

bool IsOfSteps(const OperatorPoint& point) {
  return point.source == ScheduleSource::kSteps || point.source == ScheduleSource::kThreadedSteps;
}

ScheduleSource SketchesInsteadOf(ScheduleSource steps) {
  return steps == ScheduleSource::kSteps ? ScheduleSource::kCpuSketch : ScheduleSource::kGpuSketch;
}

// Whether the schedule is one that was asked for.
bool HoldsWanted(const OperatorPoint& point, const Trace& trace) {
  bool never = !WhyNever(OperatorNames()[point.op], StepNames()[point.wanted]).empty();
  return never || !IsOfSteps(point) || Contains(trace, point.wanted);
}

// Whether the point was checked.
StatusOr<bool> CheckSubject(const OperatorPoint& point, const Subject& subject,
                            const ScheduledFunction& scheduled, Random& random,
                            Histogram& histogram) {
  StatusOr<SymbolicProgram> program = Instantiate(scheduled.fn, scheduled.trace);
  Status whole = program.ok() ? ExpectWholeLaunches(program->fn) : OkStatus();
  if (!whole.ok() && point.source == ScheduleSource::kGpuSketch) {
    return Annotate(whole, scheduled.name);
  }
  if (!whole.ok()) {
    ++histogram["another draw: threads' own memory lives round their loops"];
    return false;
  }
  bool compile =
      !point.run_scheduled && program.ok() && !HasThreads(program->fn) && !random.OneIn(3);
  PointCheckOptions options;
  if (compile) options.run_lowered = RunCompiled;
  if (point.run_scheduled) options.run_scheduled = point.run_scheduled;
  bool is_model = !subject.tasks.tasks.empty();
  if (is_model) options.arguments = subject.tasks.tasks[subject.task].arguments;
  TCC_ASSIGN_OR_RETURN(std::optional<Decisions> decisions,
                       CheckAtRandomPoint(scheduled, options, point.limits, random, histogram));
  if (!decisions) return false;
  bool other_way = options.run_lowered || options.run_scheduled;
  ++histogram[other_way ? "compiled as well as interpreted" : "interpreted alone"];
  if (!subject.op.empty()) CountSteps(subject.op, scheduled.trace, histogram);
  if (point.emit.empty() || !is_model) return true;
  TCC_RETURN_IF_ERROR(Emit(point.emit, subject, scheduled.trace, *decisions, compile));
  return true;
}

}  // namespace

std::vector<std::string> OperatorNames() {
  std::vector<std::string> names;
  for (const OperatorRow& row : OperatorRows()) names.emplace_back(row.name);
  names.insert(names.end(), std::begin(kTextOps), std::end(kTextOps));
  return names;
}

Status CheckOperatorPoint(const OperatorPoint& wanted, uint64_t seed, Histogram& histogram) {
  constexpr int kMaxSubjects = 40;
  constexpr int kTriesForWanted = 10;
  constexpr int kTriesOfSteps = 30;
  Random random(seed);
  OperatorPoint point = wanted;
  for (int tries = 0; tries < kMaxSubjects; ++tries) {
    if (tries == kTriesOfSteps && IsOfSteps(point)) {
      // Attention, for one, is refused under nearly all random steps with threads.
      point.source = SketchesInsteadOf(point.source);
      ++histogram["sketches where random steps were refused"];
    }
    TCC_ASSIGN_OR_RETURN(Subject subject, AnySubject(point.op, point.real, random));
    NoteWarps(subject.fn, FindTarget(point.gpu).value());
    ScheduledFunction scheduled = ScheduleFor(subject, point, random);
    if (tries < kTriesForWanted && !HoldsWanted(point, scheduled.trace)) continue;
    TCC_ASSIGN_OR_RETURN(bool checked, CheckSubject(point, subject, scheduled, random, histogram));
    if (checked) return OkStatus();
  }
  return absl::InternalError(fmt::format("no {} of {} had a legal point of acceptable size",
                                         OperatorNames()[point.op], kMaxSubjects));
}

}  // namespace tcc
