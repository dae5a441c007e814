#include "cli/cost_model/records_target.h"

#include <fmt/ranges.h>

#include <set>

#include "compiler/measured_device.h"
#include "compiler/tune_graph.h"

namespace tcc {
namespace {

constexpr const char* kNative = "native";

StatusOr<Target> FindDevice(const std::string& name) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(name));
  if (target.kind != TargetKind::kReference) return target;
  return InvalidInput("--target {}: expected a CPU or a GPU", name);
}

bool IsOfGpu(const MeasuredTask& task) {
  StatusOr<Target> target = FindTarget(task.target);
  return target.ok() && target->kind != TargetKind::kCpu;
}

// The places that the records of CPUs name as those of their measurements.
struct Origins {
  std::set<std::string> targets;
  std::set<std::string> native_devices;
  size_t points = 0;
  size_t unplaced_points = 0;  // without a target, or for "native" without a device
};

Origins OriginsOf(std::span<const MeasuredTask> tasks) {
  Origins origins;
  for (const MeasuredTask& task : tasks) {
    if (IsOfGpu(task)) continue;
    origins.points += task.points.size();
    bool native = task.target.empty() || task.target == kNative;
    origins.targets.insert(native ? kNative : task.target);
    if (native && !task.device.empty()) origins.native_devices.insert(task.device);
    if (native && task.device.empty()) origins.unplaced_points += task.points.size();
  }
  return origins;
}

}  // namespace

StatusOr<Target> TargetOfRecords(std::span<const MeasuredTask> tasks, const std::string& given,
                                 const std::function<void(const std::string& message)>& warn) {
  if (!given.empty()) return FindDevice(given);
  Origins origins = OriginsOf(tasks);
  if (origins.targets.empty()) return FindTarget(kNative);
  if (origins.targets.size() > 1) {
    return UsageError("the records are of the targets {}; expected --target",
                      fmt::join(origins.targets, ", "));
  }
  const std::string& name = *origins.targets.begin();
  StatusOr<Target> target = FindTarget(name);
  if (!target.ok()) {
    return UsageError("the records are of target '{}', which is not known; expected --target",
                      name);
  }
  std::string here = LocalEnvironment(*target, 1).device;
  for (const std::string& device : origins.native_devices) {
    if (device == here) continue;
    return UsageError(
        "the records were measured on '{}', and this CPU is '{}'; expected --target, with a target "
        "that is most like the former, or native for this one",
        device, here);
  }
  if (origins.unplaced_points > 0 && warn) {
    warn(fmt::format(
        "{} of {} records do not say which CPU they were measured on; taken for this one, unless "
        "--target names another",
        origins.unplaced_points, origins.points));
  }
  return target;
}

}  // namespace tcc
