#include "codegen_cuda/nvrtc/nvrtc.h"

#include <dlfcn.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <span>

#include "codegen_cuda/cubin/cubin.h"
#include "codegen_cuda/nvrtc/nvrtc_api.h"
#include "support/cuda/cuda_library.h"
#include "support/target.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

constexpr Symbol<NvrtcCalls> kSymbols[] = {
#define TCC_NVRTC_SYMBOL(name, result, parameters) SymbolFor<&NvrtcCalls::name>(#name),
    TCC_NVRTC_CALLS(TCC_NVRTC_SYMBOL)
#undef TCC_NVRTC_SYMBOL
};

// The NVRTC that was found.
struct Compiler {
  std::string name;  // "NVRTC 13.0 (libnvrtc.so.13)"
  NvrtcCalls calls;
};

// The results that are about the text: another text may compile. All others are about NVRTC and
// would come with any text.
constexpr NvrtcResult kAboutTheText[] = {kNvrtcOutOfMemory, kNvrtcCompilation, kNvrtcInternalError};

// The names of the library, newest first.
constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
constexpr const char* kWheels[] = {"cuda_nvrtc/lib"};
constexpr CudaLibrary kNvrtc = {
    .variable = "TCC_NVRTC", .names = kNames, .toolkit_folders = {}, .wheel_folders = kWheels};

std::string ArchitectureOf(int sm) {
  return sm == 90 ? "sm_90a" : fmt::format("sm_{}", sm);
}

// Returns the number before `after` in the line; 0 if there is none.
int64_t NumberBefore(std::string_view line, std::string_view after) {
  size_t end = line.find(after);
  if (end == std::string_view::npos) return 0;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int64_t value = 0;
  std::from_chars(line.data() + begin, line.data() + end, value);
  return value;
}

// Returns the quoted text after `before`; "" if there is none.
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
  Compiler compiler;
  std::vector<int> archs;
};

namespace {

// The owner of a program, which its destructor destroys.
class ProgramOwner {
 public:
  explicit ProgramOwner(const NvrtcCalls& calls) : calls_(calls) {}
  ~ProgramOwner() {
    if (program_) calls_.nvrtcDestroyProgram(&program_);
  }
  ProgramOwner(const ProgramOwner&) = delete;
  ProgramOwner& operator=(const ProgramOwner&) = delete;
  NvrtcProgram get() const { return program_; }
  NvrtcProgram* address() { return &program_; }

 private:
  const NvrtcCalls& calls_;
  NvrtcProgram program_ = nullptr;
};

// Returns a text or image of the program.
std::string Fetch(NvrtcProgram program, decltype(NvrtcCalls::nvrtcGetPTXSize) size,
                  decltype(NvrtcCalls::nvrtcGetPTX) get) {
  size_t bytes = 0;
  if (size(program, &bytes) != kNvrtcSuccess || bytes == 0) return "";
  std::string result(bytes, '\0');
  if (get(program, result.data()) != kNvrtcSuccess) return "";
  return result;
}

std::string WithoutFinalZero(std::string text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

// The options, except for the architecture. Each -Xptxas takes one word.
constexpr const char* kOptions[] = {"-default-device", "--std=c++17", "-Xptxas=-v",
                                    "-Xptxas=-warn-spills"};
// Turns off the cache that NVRTC has beside a driver. Its code is the same, so Settings lacks it.
constexpr const char* kNoCache = "--no-cache";

int64_t SpilledBytes(const KernelResources& kernel) {
  return kernel.spill_stores + kernel.spill_loads;
}

int64_t SpilledBytes(const Cubin& cubin) {
  int64_t bytes = 0;
  for (const KernelResources& kernel : cubin.kernels) bytes += SpilledBytes(kernel);
  return bytes;
}

// Returns the text with a request for one block per multiprocessor on each kernel that spills below
// the maximum of registers. Without it ptxas spills a few bytes to make room for another block.
std::string AskingForOneBlock(std::string text, const Cubin& cubin) {
  for (const KernelResources& kernel : cubin.kernels) {
    if (SpilledBytes(kernel) == 0 || kernel.registers >= kCudaLimits.registers) continue;
    size_t at = text.find("TCC_KERNEL(" + kernel.kernel + ",");
    if (at != std::string::npos) text.insert(at + std::string_view("TCC_").size(), "ONE_BLOCK_");
  }
  return text;
}

// Returns the error for a result that every text would give.
Status BrokenCompiler(const Compiler& compiler, NvrtcResult result, const std::string& log) {
  return Missing(
      "{} compiles nothing: {}{}{}; expected a whole NVRTC, with libnvrtc-builtins beside it; "
      "install it again or set TCC_NVRTC",
      compiler.name, compiler.calls.nvrtcGetErrorString(result), log.empty() ? "" : ": ", log);
}

// `arch` is sm_NN for machine code, compute_NN for PTX. `more` are options beside kOptions.
Status CompileProgram(const Compiler& compiler, const std::string& text, const std::string& arch,
                      std::span<const char* const> more, ProgramOwner& program, std::string& log) {
  const NvrtcCalls& calls = compiler.calls;
  NvrtcResult created =
      calls.nvrtcCreateProgram(program.address(), text.c_str(), "tcc.cu", 0, nullptr, nullptr);
  if (created != kNvrtcSuccess) return BrokenCompiler(compiler, created, "");
  std::string gpu = "--gpu-architecture=" + arch;
  std::vector<const char*> options = {gpu.c_str()};
  options.insert(options.end(), std::begin(kOptions), std::end(kOptions));
  options.insert(options.end(), more.begin(), more.end());
  NvrtcResult compiled =
      calls.nvrtcCompileProgram(program.get(), static_cast<int>(options.size()), options.data());
  log = WithoutFinalZero(
      Fetch(program.get(), calls.nvrtcGetProgramLogSize, calls.nvrtcGetProgramLog));
  if (compiled == kNvrtcSuccess) return OkStatus();
  if (std::ranges::find(kAboutTheText, compiled) == std::end(kAboutTheText)) {
    return BrokenCompiler(compiler, compiled, log);
  }
  return absl::InternalError(
      fmt::format("NVRTC for {}: {}: {}", arch, calls.nvrtcGetErrorString(compiled), log));
}

// A program for `sm`, and the names of the kernels in its image.
struct CompiledProgram {
  Cubin cubin;
  std::vector<std::string> kernels;
};

StatusOr<CompiledProgram> CompileWith(std::span<const char* const> more, const Compiler& compiler,
                                      const std::string& text, int sm) {
  const NvrtcCalls& calls = compiler.calls;
  ProgramOwner program(calls);
  CompiledProgram made;
  Cubin& cubin = made.cubin;
  TCC_RETURN_IF_ERROR(CompileProgram(compiler, text, ArchitectureOf(sm), more, program, cubin.log));
  std::string image = Fetch(program.get(), calls.nvrtcGetCUBINSize, calls.nvrtcGetCUBIN);
  cubin.image.assign(image.begin(), image.end());
  // The image is checked before it reaches a cache.
  StatusOr<std::vector<CubinKernel>> kernels = ReadCubin(cubin.image, sm);
  if (!kernels.ok()) {
    return Missing("{} gave no cubin for {} that can be read: {}; set TCC_NVRTC to another one",
                   compiler.name, ArchitectureOf(sm), Message(kernels.status()));
  }
  for (CubinKernel& kernel : *kernels) made.kernels.push_back(std::move(kernel.name));
  cubin.ptx = WithoutFinalZero(Fetch(program.get(), calls.nvrtcGetPTXSize, calls.nvrtcGetPTX));
  cubin.kernels = ParseResources(cubin.log);
  return made;
}

bool TellsOf(const Cubin& cubin, const std::string& kernel) {
  return std::ranges::find(cubin.kernels, kernel, &KernelResources::kernel) != cubin.kernels.end();
}

// Compiles once more where the log lacks a kernel: what NVRTC takes from its cache has no log.
StatusOr<Cubin> CompileOnce(const Compiler& compiler, const std::string& text, int sm) {
  TCC_ASSIGN_OR_RETURN(CompiledProgram made, CompileWith({}, compiler, text, sm));
  auto tells_of = [&](const std::string& kernel) { return TellsOf(made.cubin, kernel); };
  if (std::ranges::all_of(made.kernels, tells_of)) return std::move(made.cubin);
  const char* const more[] = {kNoCache};
  TCC_ASSIGN_OR_RETURN(made, CompileWith(more, compiler, text, sm));
  return std::move(made.cubin);
}

// Returns the file that a library was loaded from; empty if unknown.
fs::path FileOf(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return {};
  std::error_code error;
  fs::path file = fs::canonical(map->l_name, error);
  return error ? fs::path() : file;
}

size_t FileBytes(const fs::path& file) {
  std::error_code error;
  uintmax_t bytes = fs::file_size(file, error);
  return error ? 0 : bytes;
}

// Opens NVRTC's second library, which lies beside it. NVRTC opens it by its bare name, which only a
// search path would find, and a Python package is on none; the dynamic linker then returns the
// library that is already open under that name. If the file is missing, NVRTC says so when it
// compiles.
void OpenBuiltins(const fs::path& nvrtc, const std::string& version) {
  fs::path builtins = nvrtc.parent_path() / ("libnvrtc-builtins.so." + version);
  dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

StatusOr<Nvrtc> Nvrtc::Open() {
  TCC_ASSIGN_OR_RETURN(OpenedLibrary opened, OpenCudaLibrary(kNvrtc));
  TCC_ASSIGN_OR_RETURN(NvrtcCalls calls, BindAll(opened, kSymbols, "NVRTC 11.2 or newer"));
  int major = 0, minor = 0, count = 0;
  if (calls.nvrtcVersion(&major, &minor) != kNvrtcSuccess ||
      calls.nvrtcGetNumSupportedArchs(&count) != kNvrtcSuccess) {
    return Missing(
        "{} does not tell its version and its architectures; expected NVRTC 11.2 or newer",
        opened.path);
  }
  auto library = std::make_shared<Library>();
  library->compiler.calls = calls;
  library->archs.resize(static_cast<size_t>(count));
  calls.nvrtcGetSupportedArchs(library->archs.data());
  library->path = opened.path;
  library->version = fmt::format("{}.{}", major, minor);
  fs::path file = FileOf(opened.handle);
  library->file_bytes = FileBytes(file);
  OpenBuiltins(file, library->version);
  library->compiler.name = fmt::format("NVRTC {} ({})", library->version, library->path);
  return Nvrtc(std::move(library));
}

const std::string& Nvrtc::version() const {
  return library_->version;
}

const std::string& Nvrtc::path() const {
  return library_->path;
}

// NVRTC does not report its patch release; the size of the library's file tells those apart.
std::string Nvrtc::Identity() const {
  return fmt::format("NVRTC {} of {} bytes", version(), library_->file_bytes);
}

std::string Nvrtc::Settings(const std::string& identity, int sm) {
  return fmt::format("{}, {}, {}", identity, ArchitectureOf(sm), fmt::join(kOptions, " "));
}

Status Nvrtc::ExpectArch(int sm) const {
  const std::vector<int>& archs = library_->archs;
  if (std::ranges::find(archs, sm) != archs.end()) return OkStatus();
  return Missing("NVRTC {} has no sm_{}; it has {}; set TCC_NVRTC to another one", version(), sm,
                 fmt::join(archs, ", "));
}

StatusOr<Cubin> Nvrtc::Compile(const std::string& text, int sm) const {
  TCC_RETURN_IF_ERROR(ExpectArch(sm));
  const Compiler& compiler = library_->compiler;
  TCC_ASSIGN_OR_RETURN(Cubin cubin, CompileOnce(compiler, text, sm));
  std::string asking = AskingForOneBlock(text, cubin);
  if (asking != text) {
    TCC_ASSIGN_OR_RETURN(Cubin other, CompileOnce(compiler, asking, sm));
    if (SpilledBytes(other) < SpilledBytes(cubin)) cubin = std::move(other);
  }
  cubin.settings = Settings(Identity(), sm);
  return cubin;
}

StatusOr<std::string> Nvrtc::CompileToPtx(const std::string& text, int sm) const {
  TCC_RETURN_IF_ERROR(ExpectArch(sm));
  const Compiler& compiler = library_->compiler;
  const NvrtcCalls& calls = compiler.calls;
  ProgramOwner program(calls);
  std::string log;
  std::string arch = "compute" + ArchitectureOf(sm).substr(2);
  TCC_RETURN_IF_ERROR(CompileProgram(compiler, text, arch, {}, program, log));
  return WithoutFinalZero(Fetch(program.get(), calls.nvrtcGetPTXSize, calls.nvrtcGetPTX));
}

namespace {

// Adds the numbers of one line to the kernel that an earlier line named. Spills of its callees
// count as spills of the kernel.
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

// Assigns a warning to the kernel that it names, or to all kernels if it names none.
void ReadWarning(std::string_view line, std::vector<KernelResources>& kernels) {
  auto named = std::ranges::find_if(kernels, [&](const KernelResources& kernel) {
    return line.find("'" + kernel.kernel + "'") != std::string_view::npos;
  });
  for (auto kernel = kernels.begin(); kernel != kernels.end(); ++kernel) {
    if (named == kernels.end() || kernel == named) kernel->warning = line;
  }
}

}  // namespace

// An example of a log:
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
