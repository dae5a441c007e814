#include "schedule/sketches/parts/sketch.h"

#include <set>

#include "ir/analysis/cross_thread.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/random/task_functions.h"
#include "tests/fuzz/schedule_point.h"
#include "tests/fuzz/sketch_point.h"

namespace tcc {
namespace {

// Where every point of a sketch has more, and each is to be seen.
constexpr int64_t kMaxInstances = 20'000'000;

struct SketchOfTask {
  TaskFunction task;
  Sketch sketch;
};

TaskFunction Noted(TaskFunction task, const Target& target) {
  NoteWarps(task.fn, target);
  return task;
}

// Every sketch of every operator of the built-in networks.
const std::vector<SketchOfTask>& ZooSketches(const Target& target) {
  static auto* made = new std::map<std::string, std::vector<SketchOfTask>>;
  auto [found, fresh] = made->try_emplace(target.name);
  if (!fresh) return found->second;
  for (const TaskFunction& of_any : ZooTaskFunctions()) {
    const TaskFunction task = Noted(of_any, target);
    for (Sketch& sketch : GenerateSketches(task.fn, target)) {
      found->second.push_back({task, std::move(sketch)});
    }
  }
  return found->second;
}

// False where no draw was legal and small enough.
StatusOr<bool> CheckSketch(const TaskFunction& task, const Sketch& sketch,
                           const PointCheckOptions& options, const PointLimits& limits,
                           Random& random, Histogram& histogram) {
  ScheduledFunction scheduled{task.nodes + ", sketch " + sketch.name, task.fn, sketch.trace};
  if (random.OneIn(8)) scheduled.start = sketch.start;
  TCC_ASSIGN_OR_RETURN(std::optional<Decisions> decisions,
                       CheckAtRandomPoint(scheduled, options, limits, random, histogram));
  return decisions.has_value();
}

}  // namespace

Status CheckSketchPoint(uint64_t seed, const Target& target, const PointCheckOptions& options,
                        const PointLimits& limits, Histogram& histogram) {
  Random random(seed);
  if (seed % 2 == 0) {
    const std::vector<SketchOfTask>& sketches = ZooSketches(target);
    const SketchOfTask& row = sketches[seed / 2 % sketches.size()];
    ++histogram["built-in networks: " + row.sketch.name];
    return CheckSketch(row.task, row.sketch, options, limits, random, histogram).status();
  }
  for (;;) {
    TCC_ASSIGN_OR_RETURN(std::vector<TaskFunction> tasks, RandomTaskFunctions(random));
    if (tasks.empty()) continue;
    const TaskFunction task = Noted(tasks[random.Below(tasks.size())], target);
    std::vector<Sketch> sketches = GenerateSketches(task.fn, target);
    const Sketch& sketch = sketches[random.Below(sketches.size())];
    ++histogram["random models: " + sketch.name];
    TCC_ASSIGN_OR_RETURN(bool checked,
                         CheckSketch(task, sketch, options, limits, random, histogram));
    if (checked) return OkStatus();
  }
}

namespace {

// Points of all sketches of the built-in networks in turn. Where none of a sketch's points is small
// enough for the interpreter, larger ones are waited for.
FuzzResult FuzzEverySketch(FuzzOptions options, const Target& target) {
  const std::vector<SketchOfTask>& sketches = ZooSketches(target);
  int64_t each = options.points_per_sketch;
  int64_t all = each * static_cast<int64_t>(sketches.size());
  options.points = std::min(options.points, all + 1 - static_cast<int64_t>(options.seed));
  std::vector<int64_t> most(sketches.size(), PointLimits().instances);
  std::set<size_t> seen;
  std::string command = fmt::format("gpu-schedule --points-per-sketch {}", each);
  FuzzResult result = RunPoints(command, options, [&](uint64_t seed, Histogram& histogram) {
    size_t s = (seed - 1) / static_cast<uint64_t>(each);
    const SketchOfTask& row = sketches[s];
    seen.insert(s);
    Random random(seed);
    for (; most[s] <= kMaxInstances; most[s] *= 2) {
      StatusOr<bool> checked = CheckSketch(row.task, row.sketch, {}, {most[s]}, random, histogram);
      if (!checked.ok()) return checked.status();
      if (*checked) {
        ++histogram["points of sketch: " + row.sketch.name];
        return OkStatus();
      }
    }
    return absl::InternalError(row.task.nodes + ", sketch " + row.sketch.name +
                               ": no point could be checked");
  });
  result.histogram["sketches seen"] = static_cast<int64_t>(seen.size());
  return result;
}

}  // namespace

FuzzResult FuzzGpuSchedule(const FuzzOptions& options) {
  Target target = FindTarget("sm_86").value();
  if (options.points_per_sketch > 0) return FuzzEverySketch(options, target);
  FuzzResult result = RunPoints("gpu-schedule", options, [&](uint64_t seed, Histogram& histogram) {
    return CheckSketchPoint(seed, target, {}, {}, histogram);
  });
  result.histogram["sketches of the built-in networks"] =
      static_cast<int64_t>(ZooSketches(target).size());
  return result;
}

}  // namespace tcc
