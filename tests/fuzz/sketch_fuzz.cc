#include "schedule/sketch.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/schedule_point.h"
#include "tests/fuzz/sketch_point.h"
#include "tests/fuzz/task_functions.h"

namespace tcc {
namespace {

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

// False where no draw was legal and small enough.
StatusOr<bool> CheckSketch(const TaskFunction& task, const Sketch& sketch,
                           const RunLowered& run_lowered, Random& random, Histogram& histogram) {
  ScheduledFunction scheduled{task.nodes + ", sketch " + sketch.name, task.fn, sketch.trace};
  if (random.OneIn(8)) scheduled.start = sketch.start;
  PointCheckOptions options;
  options.run_lowered = run_lowered;
  TCC_ASSIGN_OR_RETURN(std::optional<Decisions> decisions,
                       CheckAtRandomPoint(scheduled, options, {}, random, histogram));
  return decisions.has_value();
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
