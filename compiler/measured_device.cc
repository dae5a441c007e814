#include "compiler/measured_device.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "codegen_llvm/toolchain.h"
#include "compiler/make_backend.h"
#include "runtime/artefact/artefact_device.h"
#include "runtime/cpu/cpu_features.h"
#include "runtime/measure/worker_device.h"
#include "support/check.h"
#include "support/core_rates.h"
#include "support/sha256.h"
#include "support/version.h"

namespace tcc {
namespace {

// The share of a GPU's L2 cache that a network's data may take and stay there from run to run.
constexpr double kUsableL2 = 0.8;

// Describes the properties of this CPU that determine which kernel is fastest.
std::string DescribeHost() {
  StatusOr<Target> native = FindTarget("native");
  TCC_CHECK(native.ok());
  std::string features;
  for (const std::string& feature : RequiredCpuFeatures(*native)) features += feature + " ";
  return fmt::format("{}, {} KiB of L1, {} KiB of L2, features {}", HostCpuName(),
                     native->l1_bytes / 1024, native->l2_bytes / 1024,
                     ToHex(Sha256(features)).substr(0, 8));
}

MeasurePolicy PolicyFor(const GpuFacts& gpu, const NetworkBytes& bytes) {
  const double room = kUsableL2 * static_cast<double>(gpu.l2_bytes);
  if (static_cast<double>(bytes.weights + bytes.arena) <= room) return MeasurePolicy::kWarm;
  return static_cast<double>(bytes.arena) <= room ? MeasurePolicy::kRotateWeightsL2
                                                  : MeasurePolicy::kRotateL2;
}

Status ExpectPolicy(MeasurePolicy policy, const Target& target) {
  const std::string device = ArtefactDevice(target);
  if (IsPolicyOf(policy, device)) return OkStatus();
  std::vector<std::string_view> names = PolicyNames();
  std::erase_if(
      names, [&](std::string_view name) { return !IsPolicyOf(*FindMeasurePolicy(name), device); });
  return UsageError("--policy {}: target '{}' has auto, {}", NameOf(policy), target.name,
                    fmt::join(names, ", "));
}

// An emulated device's times mean nothing.
GpuTimingLimits TimingOf(GpuCode code) {
  if (code == GpuCode::kCubin) return {};
  return {.graph_seconds = 0, .replays = 1, .blocks = 2, .max_runs = 2, .max_sets = 2};
}

StatusOr<MeasuredDevice> CpuElsewhere(const Target& target, const ReadyMessage& ready, int threads,
                                      std::optional<MeasurePolicy> policy) {
  const MeasurePolicy chosen = policy.value_or(MeasurePolicy::kRotate64M);
  if (chosen == MeasurePolicy::kInPlace) {
    return UsageError("--policy {}: a worker elsewhere does not run networks", NameOf(chosen));
  }
  if (ready.device.empty()) return Missing("the worker elsewhere does not know its CPU's name");
  MeasuredDevice device{.environment = LocalEnvironment(target, threads, chosen), .policy = chosen};
  device.environment.device = ready.device;
  const CoreRates* core = FindCore(target.name);
  if (ready.device == kCountedDevice && core != nullptr) {
    device.environment.device = fmt::format("{}:{}", kCountedDevice, core->name);
  }
  return device;
}

}  // namespace

NetworkBytes BytesOf(const Artefact& skeleton) {
  return {.weights = std::ssize(skeleton.weights.bytes),
          .arena = skeleton.plan.arena_bytes.AsConstant().value_or(0)};
}

StatusOr<MeasuredDevice> DeviceFor(const Target& target, const ReadyMessage& ready, int threads,
                                   std::optional<MeasurePolicy> policy, const NetworkBytes& bytes,
                                   bool elsewhere) {
  if (policy) TCC_RETURN_IF_ERROR(ExpectPolicy(*policy, target));
  if (!ready.gpu) {
    if (elsewhere) return CpuElsewhere(target, ready, threads, policy);
    // A network's time on the clock is not the time of an accelerator that is simulated.
    const bool is_simulated = target.accelerator != Accelerator::kNone;
    MeasurePolicy chosen =
        policy.value_or(is_simulated ? MeasurePolicy::kRotate64M : MeasurePolicy::kInPlace);
    return MeasuredDevice{.environment = LocalEnvironment(target, threads, chosen),
                          .policy = chosen};
  }
  TCC_RETURN_IF_ERROR(ExpectRuns(target, ready));
  MeasuredDevice device{.environment = {},
                        .policy = policy ? *policy : PolicyFor(*ready.gpu, bytes),
                        .code = ready.gpu->takes_text ? GpuCode::kCudaText : GpuCode::kCubin,
                        .is_apart = !ready.gpu->on_host};
  device.timing = TimingOf(device.code);
  TCC_ASSIGN_OR_RETURN(std::string compilers, CompilersOf(target, device.code));
  device.environment = {.tcc = std::string(kVersion),
                        .target = target.name,
                        .device = DescribeGpu(ready),
                        .measurer = "local",
                        .policy = std::string(NameOf(device.policy)),
                        .compilers = std::move(compilers),
                        .threads = 1};
  return device;
}

StatusOr<Environment> RecordedEnvironment(const Database& database, const Target& target,
                                          int threads, const std::string& device,
                                          const std::function<void(const std::string&)>& warn) {
  const bool is_cpu = target.kind != TargetKind::kGpu;
  if (is_cpu && device.empty()) return LocalEnvironment(target, threads);
  Environment environment;
  environment.tcc = kVersion;
  environment.target = target.name;
  environment.measurer = "local";
  environment.threads = is_cpu ? threads : 1;
  TCC_ASSIGN_OR_RETURN(std::vector<RecordedDevice> known, database.DevicesOf(target.name));
  std::vector<std::string> texts;
  for (const RecordedDevice& row : known) texts.push_back("'" + row.device + "'");
  auto chosen = std::ranges::find_if(known, [&](const RecordedDevice& row) {
    return row.device.find(device) != std::string::npos;
  });
  if (chosen == known.end()) {
    if (device.empty()) return environment;
    return UsageError("--device {}: the database has {} for target '{}'", device,
                      known.empty() ? "no records" : fmt::format("{}", fmt::join(texts, ", ")),
                      target.name);
  }
  environment.device = chosen->device;
  if (known.size() > 1 && device.empty() && warn) {
    warn(fmt::format("records of '{}' are taken; --device names another of {}", chosen->device,
                     fmt::join(texts, ", ")));
  }
  return environment;
}

Environment LocalEnvironment(const Target& target, int threads, MeasurePolicy policy) {
  return {.tcc = std::string(kVersion),
          .target = target.name,
          .device = DescribeHost(),
          .measurer = "local",
          .policy = std::string(NameOf(policy)),
          .compilers = "LLVM " + LlvmVersion(),
          .threads = threads};
}

}  // namespace tcc
