#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/print_json.h"
#include "codegen_cuda/emulator/host_compiler.h"
#include "codegen_cuda/nvrtc/nvrtc.h"
#include "codegen_llvm/toolchain.h"
#include "compiler/devices/foreign_cpu_device.h"
#include "runtime/artefact/artefact.h"
#include "runtime/cpu/cpu_features.h"
#include "runtime/cuda/cuda_driver.h"
#include "runtime/executor/usable_cpus.h"
#include "runtime/opencl/opencl_driver.h"
#include "support/environment.h"
#include "support/status.h"
#include "support/target.h"
#include "support/target_api.h"
#include "support/temporary_folder.h"
#include "support/version.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

// A thing that tcc finds on this machine, or misses.
struct DoctorCheck {
  std::string name;
  bool found = false;
  bool needed = false;  // without it compiling or running for the CPU fails
  std::string detail;   // what was found; or where it was sought and what to do
};

constexpr char kDoctorKernel[] = "extern \"C\" __global__ void k(float* x) { x[0] = 1.0f; }\n";

DoctorCheck CheckVersions() {
  return {"tcc", true, true, fmt::format("{}, artefact version {}", kVersion, kArtefactVersion)};
}

DoctorCheck CheckCodeGenerator() {
  if (!HasLlvm()) {
    return {"code generator", false, false, "this build has no LLVM: no code for CPUs"};
  }
  return {"code generator", true, true,
          fmt::format("LLVM {}, LLD {}", LlvmVersion(), LldVersion())};
}

// Checks that "native" is at least x86-64-v3. The better the level, the more targets run here.
DoctorCheck CheckCpu() {
  std::vector<std::string> runnable;
  for (const Target& target : AllTargets()) {
    if (target.kind != TargetKind::kCpu || target.IsHostCpu()) continue;
    if (CheckCpuFeatures(RequiredCpuFeatures(target)).ok()) runnable.push_back(target.name);
  }
  Target native = *FindTarget("native");
  if (runnable.empty()) {
    return {"CPU", false, true,
            HostCpuName() + ": lacks features of x86-64-v3 (AVX2, FMA, F16C, BMI2)"};
  }
  return {"CPU", true, true,
          fmt::format("{}: target native has vectors of {} bytes; {} run here too; {}",
                      HostCpuName(), native.vector_bytes, fmt::join(runnable, " and "),
                      fmt::join(RequiredCpuFeatures(native), " "))};
}

DoctorCheck CheckThreads() {
  return {"threads", true, true,
          fmt::format("{} CPUs may be used of {}", UsableCpus(), sysconf(_SC_NPROCESSORS_ONLN))};
}

// Returns why no file can be made in the folder, "" if it can. Makes a file and removes it.
std::string WriteProblem(const fs::path& folder) {
  std::string pattern = (folder / "tcc-doctor-XXXXXX").string();
  int file = mkstemp(pattern.data());
  if (file < 0) return std::strerror(errno);
  close(file);
  unlink(pattern.c_str());
  return "";
}

std::string SpaceText(const fs::path& folder) {
  std::error_code error;
  fs::space_info space = fs::space(folder, error);
  if (error) return "unknown space";
  return fmt::format("{:.1f} GB free", static_cast<double>(space.available) * 1e-9);
}

DoctorCheck CheckTemporaryFolder() {
  std::string folder = TemporaryFolderParent();
  std::string problem = WriteProblem(folder);
  if (problem.empty()) return {"temporary folder", true, true, folder + ", " + SpaceText(folder)};
  return {"temporary folder", false, true,
          fmt::format("cannot write to {}: {}; set TMPDIR", folder, problem)};
}

// Checks the cache folder. A missing one is made when something is cached.
DoctorCheck CheckCacheFolder() {
  std::string folder = CacheFolder();
  if (folder.empty()) {
    return {"cache folder", false, false, "set TCC_CACHE_DIR, XDG_CACHE_HOME or HOME"};
  }
  fs::path existing = folder;
  std::error_code ignored;
  while (!fs::exists(existing, ignored) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  bool writable = access(existing.c_str(), W_OK) == 0;
  if (!writable) {
    return {"cache folder", false, false,
            fmt::format("{}: cannot write to {}; set TCC_CACHE_DIR", folder, existing.string())};
  }
  return {"cache folder", true, false,
          fmt::format("{}{}, {}", folder, existing == folder ? "" : " (not there yet)",
                      SpaceText(existing))};
}

// Checks that an anonymous file can be executed: kernels are loaded from one, and hardened systems
// may forbid that.
DoctorCheck CheckLoading() {
  int file = memfd_create("tcc-doctor", MFD_CLOEXEC);
  bool runnable = false;
  if (file >= 0 && ftruncate(file, 4096) == 0) {
    void* memory = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    runnable = memory != MAP_FAILED;
    if (runnable) munmap(memory, 4096);
  }
  std::string problem = runnable ? "" : std::strerror(errno);
  if (file >= 0) close(file);
  if (runnable) return {"loading of kernels", true, true, "anonymous files may be executed"};
  return {"loading of kernels", false, true, "cannot execute an anonymous file: " + problem};
}

// Checks the driver and lists its devices.
DoctorCheck CheckDriver() {
  StatusOr<CudaDriver> driver = OpenCudaDriver();
  if (!driver.ok()) return {"NVIDIA driver", false, false, Message(driver.status())};
  StatusOr<int> version = CudaVersionOf(*driver);
  if (!version.ok()) return {"NVIDIA driver", false, false, Message(version.status())};
  StatusOr<std::vector<CudaDeviceInfo>> devices = ListCudaDevices(*driver);
  if (!devices.ok()) return {"NVIDIA driver", false, false, Message(devices.status())};
  std::vector<std::string> names;
  names.reserve(devices->size());
  for (const CudaDeviceInfo& device : *devices) names.push_back(Describe(device));
  return {"NVIDIA driver", true, false,
          fmt::format("supports CUDA {}; {}", CudaVersionText(*version), fmt::join(names, ", "))};
}

// Checks the OpenCL driver and lists its devices, each with the version of what compiles for it.
DoctorCheck CheckOpenCl() {
  StatusOr<OpenClDriver> driver = OpenOpenClDriver();
  if (!driver.ok()) return {"OpenCL driver", false, false, Message(driver.status())};
  StatusOr<std::vector<OpenClDeviceInfo>> devices = ListOpenClDevices(*driver);
  if (!devices.ok()) return {"OpenCL driver", false, false, Message(devices.status())};
  if (devices->empty()) {
    return {"OpenCL driver", false, false,
            "the loader knows no device; install a driver (on Debian, for a CPU: pocl-opencl-icd)"};
  }
  std::vector<std::string> names;
  names.reserve(devices->size());
  for (const OpenClDeviceInfo& device : *devices) {
    names.push_back(
        fmt::format("{} of {} {}", Describe(device), device.platform_name, device.driver_version));
  }
  return {"OpenCL driver", true, false, fmt::format("{}", fmt::join(names, ", "))};
}

// Checks the compiler that --emulate uses for CUDA text.
DoctorCheck CheckHostCompiler() {
  StatusOr<std::string> compiler = emulator::FindHostCompiler();
  if (!compiler.ok()) return {"host compiler", false, false, Message(compiler.status())};
  return {"host compiler", true, false, *compiler};
}

// Checks the worker that --emulate runs kernels for aarch64 in.
DoctorCheck CheckArmWorker() {
  StatusOr<std::string> worker = FindForeignWorker(CpuArch::kArm64);
  if (!worker.ok()) return {"aarch64 worker", false, false, Message(worker.status())};
  return {"aarch64 worker", true, false, *worker};
}

// Checks that NVRTC compiles: it is several files, so that it may open and still not compile.
DoctorCheck CheckNvrtc() {
  StatusOr<Nvrtc> nvrtc = Nvrtc::Open();
  if (!nvrtc.ok()) return {"NVRTC", false, false, Message(nvrtc.status())};
  std::vector<std::string> compiled;
  Status failure = OkStatus();
  for (const Target& target : AllTargets()) {
    if (!IsCuda(target)) continue;
    Status status = nvrtc->Compile(kDoctorKernel, target.sm).status();
    if (status.ok()) {
      compiled.push_back(target.name);
    } else if (failure.ok() || nvrtc->ExpectArch(target.sm).ok()) {
      failure = status;  // a target that it should compile tells more than an unknown one
    }
  }
  if (compiled.empty()) return {"NVRTC", false, false, Message(failure)};
  return {"NVRTC", true, false,
          fmt::format("{}, {}, compiles for {}{}{}", nvrtc->version(), nvrtc->path(),
                      fmt::join(compiled, ", "), failure.ok() ? "" : "; ", Message(failure))};
}

std::vector<DoctorCheck> RunDoctor() {
  return {CheckVersions(),        CheckCodeGenerator(), CheckCpu(),          CheckThreads(),
          CheckTemporaryFolder(), CheckCacheFolder(),   CheckLoading(),      CheckDriver(),
          CheckNvrtc(),           CheckOpenCl(),        CheckHostCompiler(), CheckArmWorker()};
}

struct DoctorCommand {
  bool json = false;
};

nlohmann::ordered_json JsonOf(const std::vector<DoctorCheck>& checks) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const DoctorCheck& check : checks) {
    rows.push_back({{"name", check.name},
                    {"status", check.found ? "ok" : "missing"},
                    {"needed", check.needed},
                    {"detail", check.detail}});
  }
  return rows;
}

Status RunDoctorCommand(const DoctorCommand& command) {
  std::vector<DoctorCheck> checks = RunDoctor();
  std::string missing;
  for (const DoctorCheck& check : checks) {
    if (check.needed && !check.found) missing += (missing.empty() ? "" : ", ") + check.name;
  }
  if (command.json) {
    PrintJson(JsonOf(checks));
  } else {
    for (const DoctorCheck& check : checks) {
      fmt::print("{:<8} {:<19} {}\n", check.found ? "ok" : "missing", check.name, check.detail);
    }
  }
  if (missing.empty()) return OkStatus();
  return Missing("compiling or running for this CPU will fail without: {}", missing);
}

}  // namespace

Action DeclareDoctor(CommandLine& line) {
  auto command = std::make_shared<DoctorCommand>();
  line.AddFlag("--json", command->json, "Print JSON");
  return [command] { return RunDoctorCommand(*command); };
}

}  // namespace tcc
