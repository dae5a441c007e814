#include "compiler/devices/foreign_cpu_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "runtime/measure/launch_messages.h"
#include "runtime/supervise/worker_process.h"
#include "support/check.h"
#include "support/environment.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

// Emulated kernels are slow, and nothing says how long one may take.
constexpr double kPatience = 1e6;

// A way to run programs of an architecture.
struct Emulation {
  CpuArch arch;
  const char* variable;   // names a command
  const char* program;    // of qemu-user
  const char* libraries;  // the C library for it, where Debian's cross packages have it
  const char* preset;     // its build folder is beside this program's
};

constexpr Emulation kEmulations[] = {
    {CpuArch::kArm64, "TCC_WORKER_AARCH64", "qemu-aarch64", "/usr/aarch64-linux-gnu", "arm64"},
};

// Returns the folder that this program is in.
fs::path OwnFolder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

StatusOr<std::string> FindCountPlugin() {
  const fs::path path = (OwnFolder() / "../lib/libtcc_qemu_counts.so").lexically_normal();
  if (::access(path.c_str(), R_OK) == 0) return path.string();
  return Missing("{}, by which qemu counts instructions, is not there", path.string());
}

// The kernels of an artefact, in a worker.
class ForeignKernels {
 public:
  ForeignKernels(std::unique_ptr<WorkerProcess> worker, SharedBytes weights)
      : worker_(std::move(worker)), weights_(std::move(weights)) {}

  std::optional<InstructionCounts> last_counts() const {
    std::lock_guard lock(mutex_);
    return last_counts_;
  }

  Status Load(const Artefact& artefact) const {
    std::lock_guard lock(mutex_);
    TCC_ASSIGN_OR_RETURN(MeasureFrame answer, Ask(FrameKind::kLoad, ArtefactBytes(artefact)));
    return answer.kind == FrameKind::kDone ? OkStatus() : Unexpected(answer);
  }

  Status Launch(size_t kernel, const LaunchArguments& arguments) const {
    LaunchMessage message;
    message.kernel = static_cast<uint32_t>(kernel);
    std::vector<std::span<uint8_t>> regions = RegionsOf(arguments);
    for (std::span<uint8_t> region : regions) {
      const auto address = reinterpret_cast<uintptr_t>(region.data());
      message.regions.push_back({.misalignment = static_cast<uint32_t>(address % kLaunchAlignment),
                                 .bytes = {region.begin(), region.end()}});
    }
    for (size_t b = 0; b < arguments.buffers.size(); ++b) {
      message.buffers.push_back(PlaceOf(BytesOf(arguments, b), regions));
    }
    message.shape_args.assign(arguments.shape_args.begin(), arguments.shape_args.end());
    std::lock_guard lock(mutex_);
    TCC_ASSIGN_OR_RETURN(MeasureFrame answer, Ask(FrameKind::kLaunch, Encode(message)));
    if (answer.kind != FrameKind::kLaunched) return Unexpected(answer);
    TCC_ASSIGN_OR_RETURN(LaunchedMessage launched, DecodeLaunched(answer.payload));
    last_counts_ = launched.counts;
    return TakeBack(launched, regions);
  }

 private:
  static std::span<uint8_t> BytesOf(const LaunchArguments& arguments, size_t buffer) {
    return {static_cast<uint8_t*>(arguments.buffers[buffer]),
            static_cast<size_t>(arguments.bytes[buffer])};
  }

  bool IsOfWeights(std::span<const uint8_t> bytes) const {
    const std::span<const uint8_t> weights = weights_.bytes;
    return std::less_equal<>()(weights.data(), bytes.data()) &&
           std::less_equal<>()(bytes.data() + bytes.size(), weights.data() + weights.size());
  }

  // Returns the memory of all buffers but weights, in pieces that do not overlap.
  std::vector<std::span<uint8_t>> RegionsOf(const LaunchArguments& arguments) const {
    std::vector<std::span<uint8_t>> pieces, regions;
    for (size_t b = 0; b < arguments.buffers.size(); ++b) {
      std::span<uint8_t> bytes = BytesOf(arguments, b);
      if (!bytes.empty() && !IsOfWeights(bytes)) pieces.push_back(bytes);
    }
    std::ranges::sort(pieces, std::less<>(), [](std::span<uint8_t> piece) { return piece.data(); });
    for (std::span<uint8_t> piece : pieces) {
      uint8_t* end = piece.data() + piece.size();
      if (regions.empty() || regions.back().data() + regions.back().size() <= piece.data()) {
        regions.push_back(piece);
      } else if (uint8_t* before = regions.back().data(); end > before + regions.back().size()) {
        regions.back() = {before, end};
      }
    }
    return regions;
  }

  LaunchBuffer PlaceOf(std::span<uint8_t> bytes,
                       std::span<const std::span<uint8_t>> regions) const {
    if (bytes.empty()) return {.region = LaunchBuffer::kWeights, .offset = 0, .bytes = 0};
    if (IsOfWeights(bytes)) {
      return {.region = LaunchBuffer::kWeights,
              .offset = static_cast<uint64_t>(bytes.data() - weights_.bytes.data()),
              .bytes = bytes.size()};
    }
    size_t region = regions.size() - 1;
    while (regions[region].data() > bytes.data()) --region;
    return {.region = static_cast<uint32_t>(region),
            .offset = static_cast<uint64_t>(bytes.data() - regions[region].data()),
            .bytes = bytes.size()};
  }

  // Copies back what changed: memory that is only read may be write-protected.
  static Status TakeBack(const LaunchedMessage& launched,
                         std::span<const std::span<uint8_t>> regions) {
    for (size_t r = 0; r < regions.size(); ++r) {
      if (r >= launched.regions.size() || launched.regions[r].size() != regions[r].size()) {
        return InvalidInput("a worker's launch gave back other memory than it got");
      }
      const std::vector<uint8_t>& now = launched.regions[r];
      if (std::memcmp(regions[r].data(), now.data(), now.size()) == 0) continue;
      std::memcpy(regions[r].data(), now.data(), now.size());
    }
    return OkStatus();
  }

  StatusOr<MeasureFrame> Ask(FrameKind kind, std::span<const uint8_t> payload) const {
    const Status sent = worker_->Send(kind, payload, kPatience);
    StatusOr<MeasureFrame> answer =
        sent.ok() ? worker_->Receive(kPatience) : StatusOr<MeasureFrame>(sent);
    if (!absl::IsUnavailable(answer.status())) return answer;
    return Missing("the worker for another CPU {}", worker_->End(kCrashSeconds));
  }

  static Status Unexpected(const MeasureFrame& answer) {
    if (answer.kind != FrameKind::kFailed) {
      return InvalidInput("a worker answered with a frame of kind {}",
                          static_cast<uint32_t>(answer.kind));
    }
    TCC_ASSIGN_OR_RETURN(FailedMessage failed, DecodeFailed(answer.payload));
    return Missing("the worker for another CPU: {}", failed.message);
  }

  mutable std::mutex mutex_;  // one question at a time
  std::unique_ptr<WorkerProcess> worker_;
  SharedBytes weights_;
  mutable std::optional<InstructionCounts> last_counts_;
};

class ForeignCpuDevice : public Device {
 public:
  ForeignCpuDevice(std::shared_ptr<ThreadPool> pool, ForeignCpuOptions options)
      : pool_(std::move(pool)), options_(std::move(options)) {}

  StatusOr<LoadedKernels> LoadKernels(const Artefact& artefact) const override {
    if (artefact.metadata.kernels.empty()) return LoadedKernels{};
    TCC_CHECK(!options_.counts || pool_->threads() == 1) << "several threads are not counted";
    TCC_ASSIGN_OR_RETURN(std::string command, CommandFor(artefact));
    WorkerOptions options;
    options.command = command + " --stdio";
    options.hello.threads = static_cast<uint32_t>(pool_->threads());
    TCC_ASSIGN_OR_RETURN(std::unique_ptr<WorkerProcess> worker, WorkerProcess::Start(options));
    auto kernels = std::make_shared<const ForeignKernels>(std::move(worker), artefact.weights);
    TCC_RETURN_IF_ERROR(kernels->Load(artefact));
    LoadedKernels loaded;
    loaded.entries.assign(artefact.metadata.kernels.size(), kernels.get());
    loaded.module = std::move(kernels);
    return loaded;
  }

  int64_t TensorAlignment(DType dtype) const override {
    return std::max<int64_t>(dtype.bits() / 8, 1);
  }

  Status Launch(const LoadedKernels& kernels, size_t kernel,
                const LaunchArguments& arguments) const override {
    return static_cast<const ForeignKernels*>(kernels.module.get())->Launch(kernel, arguments);
  }

 private:
  StatusOr<std::string> CommandFor(const Artefact& artefact) const {
    if (!options_.command.empty()) return "exec " + options_.command;
    TCC_ASSIGN_OR_RETURN(Target target, FindTarget(artefact.target));
    return options_.counts ? FindCountingWorker(target.arch) : FindForeignWorker(target.arch);
  }

  std::shared_ptr<ThreadPool> pool_;
  ForeignCpuOptions options_;
};

}  // namespace

bool IsForeignCpu(const Target& target) {
  return target.kind == TargetKind::kCpu && target.arch != kHostArch;
}

StatusOr<const CoreRates*> CountedCore(const Target& target) {
  if (!IsForeignCpu(target)) {
    return UsageError("--emulate counts instructions of another CPU's kernels; target '{}' is none",
                      target.name);
  }
  if (const CoreRates* core = FindCore(target.name)) return core;
  std::vector<std::string_view> known;
  for (const CoreRates& core : AllCores()) known.push_back(core.target);
  return UsageError("--emulate knows no core to count for target '{}'; expected {}", target.name,
                    fmt::join(known, " or "));
}

StatusOr<std::string> FindForeignWorker(CpuArch arch) {
  const auto* emulation = std::ranges::find(kEmulations, arch, &Emulation::arch);
  if (emulation == std::end(kEmulations)) {
    return Missing("nothing here runs kernels for {}", RowOf(arch).name);
  }
  const std::string given = EnvironmentVariable(emulation->variable);
  if (!given.empty()) return "exec " + given;
  std::error_code ignored;
  const fs::path worker =
      (OwnFolder() / "../.." / emulation->preset / "bin/tcc-worker").lexically_normal();
  const std::string qemu = FindOnPath(emulation->program);
  if (qemu.empty() || !IsProgram(worker)) {
    return Missing(
        "kernels for {} run in {} by {}; one is not there: run scripts/{}_sysroot.sh, then "
        "cmake --preset {} and cmake --build --preset {}, or set {} to a command",
        RowOf(arch).name, worker.string(), emulation->program, emulation->preset, emulation->preset,
        emulation->preset, emulation->variable);
  }
  std::string command = qemu;
  if (fs::is_directory(emulation->libraries, ignored)) {
    command += fmt::format(" -L {}", emulation->libraries);
  }
  return fmt::format("exec {} '{}'", command, worker.string());
}

// The plugin makes the file of the counters, and the worker removes it.
StatusOr<std::string> FindCountingWorker(CpuArch arch) {
  TCC_ASSIGN_OR_RETURN(std::string worker, FindForeignWorker(arch));
  TCC_ASSIGN_OR_RETURN(std::string plugin, FindCountPlugin());
  return fmt::format("QEMU_PLUGIN='{}' TCC_COUNTS=$(mktemp -u) {}", plugin, worker);
}

std::shared_ptr<const Device> MakeForeignCpuDevice(std::shared_ptr<ThreadPool> pool,
                                                   ForeignCpuOptions options) {
  return std::make_shared<const ForeignCpuDevice>(std::move(pool), std::move(options));
}

std::optional<InstructionCounts> CountsOfLastLaunch(const Module& module) {
  if (dynamic_cast<const ForeignCpuDevice*>(&module.device()) == nullptr) return std::nullopt;
  const auto* kernels = static_cast<const ForeignKernels*>(module.kernels().module.get());
  return kernels != nullptr ? kernels->last_counts() : std::nullopt;
}

}  // namespace tcc
