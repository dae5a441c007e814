#include "codegen_cuda/nvrtc.h"

#include <dlfcn.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "ir/support/cuda_library.h"
#include "ir/target.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

using Program = void*;

// The entries of nvrtc.h that tcc uses; results are its enum, 0 is success.
struct Entries {
  int (*version)(int*, int*) = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*count_archs)(int*) = nullptr;
  int (*archs)(int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  int (*ptx_size)(Program, size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
};

bool BindAll(OpenedLibrary& library, Entries& entries) {
  return Bind(library, "nvrtcVersion", entries.version) &&
         Bind(library, "nvrtcGetErrorString", entries.error_text) &&
         Bind(library, "nvrtcGetNumSupportedArchs", entries.count_archs) &&
         Bind(library, "nvrtcGetSupportedArchs", entries.archs) &&
         Bind(library, "nvrtcCreateProgram", entries.create) &&
         Bind(library, "nvrtcDestroyProgram", entries.destroy) &&
         Bind(library, "nvrtcCompileProgram", entries.compile) &&
         Bind(library, "nvrtcGetProgramLogSize", entries.log_size) &&
         Bind(library, "nvrtcGetProgramLog", entries.log) &&
         Bind(library, "nvrtcGetCUBINSize", entries.cubin_size) &&
         Bind(library, "nvrtcGetCUBIN", entries.cubin) &&
         Bind(library, "nvrtcGetPTXSize", entries.ptx_size) &&
         Bind(library, "nvrtcGetPTX", entries.ptx);
}

// Newer ones first.
constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
constexpr const char* kWheels[] = {"cuda_nvrtc/lib"};
constexpr CudaLibrary kNvrtc = {
    .variable = "TCC_NVRTC", .names = kNames, .toolkit_folders = {}, .wheel_folders = kWheels};

std::string ArchitectureOf(int sm) {
  return sm == 90 ? "sm_90a" : fmt::format("sm_{}", sm);
}

// The number before `after` in the line; 0 where there is none.
int64_t NumberBefore(std::string_view line, std::string_view after) {
  size_t end = line.find(after);
  if (end == std::string_view::npos) return 0;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int64_t value = 0;
  std::from_chars(line.data() + begin, line.data() + end, value);
  return value;
}

// What stands between quotes after `before`; "" where there is none.
std::string_view Quoted(std::string_view line, std::string_view before) {
  size_t begin = line.find(before);
  if (begin == std::string_view::npos) return {};
  begin = line.find('\'', begin);
  size_t end = line.find('\'', begin + 1);
  if (end == std::string_view::npos) return {};
  return line.substr(begin + 1, end - begin - 1);
}

}  // namespace

struct Nvrtc::Library {
  std::string path;
  std::string version;
  size_t file_bytes = 0;
  Entries entries;
  std::vector<int> archs;
};

namespace {

// A program that is destroyed with its scope.
class ProgramOwner {
 public:
  explicit ProgramOwner(const Entries& entries) : entries_(entries) {}
  ~ProgramOwner() {
    if (program_) entries_.destroy(&program_);
  }
  ProgramOwner(const ProgramOwner&) = delete;
  ProgramOwner& operator=(const ProgramOwner&) = delete;
  Program get() const { return program_; }
  Program* address() { return &program_; }

 private:
  const Entries& entries_;
  Program program_ = nullptr;
};

// A text or image of the program, without the size's final 0 where it is text.
std::string Fetch(Program program, int (*size)(Program, size_t*), int (*get)(Program, char*)) {
  size_t bytes = 0;
  if (size(program, &bytes) != 0 || bytes == 0) return "";
  std::string result(bytes, '\0');
  if (get(program, result.data()) != 0) return "";
  return result;
}

std::string WithoutFinalZero(std::string text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

// But for the architecture. -Xptxas takes one word each.
constexpr const char* kOptions[] = {"-default-device", "--std=c++17", "-Xptxas=-v",
                                    "-Xptxas=-warn-spills"};

int64_t SpilledBytes(const KernelResources& kernel) {
  return kernel.spill_stores + kernel.spill_loads;
}

int64_t SpilledBytes(const Cubin& cubin) {
  int64_t bytes = 0;
  for (const KernelResources& kernel : cubin.kernels) bytes += SpilledBytes(kernel);
  return bytes;
}

// The text where kernels that spill although they could have more registers say that one block at a
// time on a multiprocessor is enough. ptxas, told nothing, spills a few bytes where that makes room
// for another block.
std::string AskingForOneBlock(std::string text, const Cubin& cubin) {
  for (const KernelResources& kernel : cubin.kernels) {
    if (SpilledBytes(kernel) == 0 || kernel.registers >= Target::kMaxRegisters) continue;
    size_t at = text.find("TCC_KERNEL(" + kernel.kernel + ",");
    if (at != std::string::npos) text.insert(at + std::string_view("TCC_").size(), "ONE_BLOCK_");
  }
  return text;
}

// `arch` is sm_NN for machine code, compute_NN for PTX.
Status CompileProgram(const Entries& entries, const std::string& text, const std::string& arch,
                      ProgramOwner& program, std::string& log) {
  int created = entries.create(program.address(), text.c_str(), "tcc.cu", 0, nullptr, nullptr);
  if (created != 0) return absl::InternalError(entries.error_text(created));
  std::string gpu = "--gpu-architecture=" + arch;
  std::vector<const char*> options = {gpu.c_str()};
  options.insert(options.end(), std::begin(kOptions), std::end(kOptions));
  int compiled = entries.compile(program.get(), static_cast<int>(options.size()), options.data());
  log = WithoutFinalZero(Fetch(program.get(), entries.log_size, entries.log));
  if (compiled == 0) return OkStatus();
  return absl::InternalError(
      fmt::format("NVRTC for {}: {}: {}", arch, entries.error_text(compiled), log));
}

StatusOr<Cubin> CompileOnce(const Entries& entries, const std::string& text, int sm) {
  ProgramOwner program(entries);
  Cubin cubin;
  TCC_RETURN_IF_ERROR(CompileProgram(entries, text, ArchitectureOf(sm), program, cubin.log));
  std::string image = Fetch(program.get(), entries.cubin_size, entries.cubin);
  if (image.empty()) return absl::InternalError("NVRTC gave no cubin: " + cubin.log);
  cubin.image.assign(image.begin(), image.end());
  cubin.ptx = WithoutFinalZero(Fetch(program.get(), entries.ptx_size, entries.ptx));
  cubin.kernels = ParseResources(cubin.log);
  return cubin;
}

// Of the file that a library came from; 0 where that is not known.
size_t FileBytes(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return 0;
  std::error_code error;
  uintmax_t bytes = fs::file_size(map->l_name, error);
  return error ? 0 : bytes;
}

}  // namespace

StatusOr<Nvrtc> Nvrtc::Open() {
  TCC_ASSIGN_OR_RETURN(OpenedLibrary opened, OpenCudaLibrary(kNvrtc));
  auto library = std::make_shared<Library>();
  int major = 0, minor = 0, count = 0;
  if (!BindAll(opened, library->entries)) return Lacks(opened, "NVRTC 11.2 or newer");
  if (library->entries.version(&major, &minor) != 0 || library->entries.count_archs(&count) != 0) {
    return Missing(
        "{} does not tell its version and its architectures; expected NVRTC 11.2 or newer",
        opened.path);
  }
  library->archs.resize(static_cast<size_t>(count));
  library->entries.archs(library->archs.data());
  library->path = opened.path;
  library->file_bytes = FileBytes(opened.handle);
  library->version = fmt::format("{}.{}", major, minor);
  return Nvrtc(std::move(library));
}

const std::string& Nvrtc::version() const {
  return library_->version;
}

const std::string& Nvrtc::path() const {
  return library_->path;
}

// The size of the library's file tells patch releases apart, which it does not name.
std::string Nvrtc::Identity() const {
  return fmt::format("NVRTC {} of {} bytes", version(), library_->file_bytes);
}

std::string Nvrtc::Settings(const std::string& identity, int sm) {
  return fmt::format("{}, {}, {}", identity, ArchitectureOf(sm), fmt::join(kOptions, " "));
}

StatusOr<Cubin> Nvrtc::Compile(const std::string& text, int sm) const {
  const std::vector<int>& archs = library_->archs;
  if (std::find(archs.begin(), archs.end(), sm) == archs.end()) {
    return Unsupported("NVRTC {} has no sm_{}; it has {}", version(), sm, fmt::join(archs, ", "));
  }
  TCC_ASSIGN_OR_RETURN(Cubin cubin, CompileOnce(library_->entries, text, sm));
  std::string asking = AskingForOneBlock(text, cubin);
  if (asking != text) {
    TCC_ASSIGN_OR_RETURN(Cubin other, CompileOnce(library_->entries, asking, sm));
    if (SpilledBytes(other) < SpilledBytes(cubin)) cubin = std::move(other);
  }
  cubin.settings = Settings(Identity(), sm);
  return cubin;
}

StatusOr<std::string> Nvrtc::CompileToPtx(const std::string& text, int sm) const {
  const Entries& entries = library_->entries;
  ProgramOwner program(entries);
  std::string log;
  std::string arch = "compute" + ArchitectureOf(sm).substr(2);
  TCC_RETURN_IF_ERROR(CompileProgram(entries, text, arch, program, log));
  return WithoutFinalZero(Fetch(program.get(), entries.ptx_size, entries.ptx));
}

namespace {

// Reads what one line says into the kernel that the lines before have named. What its callees spill
// is spilled by the kernel as well.
void ReadResources(std::string_view line, KernelResources& kernel) {
  if (line.find("bytes stack frame") != std::string_view::npos) {
    kernel.stack_bytes += NumberBefore(line, " bytes stack frame");
    kernel.spill_stores += NumberBefore(line, " bytes spill stores");
    kernel.spill_loads += NumberBefore(line, " bytes spill loads");
  }
  if (line.find(" registers") != std::string_view::npos) {
    kernel.registers = NumberBefore(line, " registers");
    kernel.shared_bytes = NumberBefore(line, " bytes smem");
  }
}

// A warning names its kernel; one that does not is of all of them.
void ReadWarning(std::string_view line, std::vector<KernelResources>& kernels) {
  auto named = std::find_if(kernels.begin(), kernels.end(), [&](const KernelResources& kernel) {
    return line.find("'" + kernel.kernel + "'") != std::string_view::npos;
  });
  for (auto kernel = kernels.begin(); kernel != kernels.end(); ++kernel) {
    if (named == kernels.end() || kernel == named) kernel->warning = line;
  }
}

}  // namespace

// ptxas info    : Compiling entry function 'k' for 'sm_86'
// ptxas info    : Function properties for k
// ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// ptxas info    : Used 10 registers, used 0 barriers, 376 bytes cmem[0]
// ptxas info    : Function properties for a_function_that_k_calls
// ptxas         .     0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
// ptxas info    : (C7508) Potential Performance Loss: ... in the function 'k'
std::vector<KernelResources> ParseResources(std::string_view log) {
  std::vector<KernelResources> kernels;
  std::vector<std::string_view> warnings;
  for (size_t begin = 0; begin < log.size();) {
    size_t end = std::min(log.find('\n', begin), log.size());
    std::string_view line = log.substr(begin, end - begin);
    begin = end + 1;
    if (std::string_view name = Quoted(line, "Compiling entry function"); !name.empty()) {
      kernels.push_back({.kernel = std::string(name)});
    }
    if (line.find("(C75") != std::string_view::npos) warnings.push_back(line);
    if (!kernels.empty()) ReadResources(line, kernels.back());
  }
  for (std::string_view warning : warnings) ReadWarning(warning, kernels);
  return kernels;
}

}  // namespace tcc
