#include "runtime/cpu/cpu_device.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/artefact/kernel_abi.h"
#include "runtime/cpu/cpu_features.h"
#include "runtime/cpu/kernel_calls.h"
#include "support/check.h"
#include "support/file.h"

namespace tcc {
namespace {

// From Linux 6.3 on, executable anonymous files want to be named so; older ones refuse the flag.
constexpr unsigned kExecutable = 0x0010;

// The dynamic linker would find out too, in its own words and for some files only by crashing.
Status CheckElf(std::span<const uint8_t> object) {
  Elf64_Ehdr header;
  if (object.size() < sizeof(header)) return InvalidInput("kernels are not a shared object");
  std::memcpy(&header, object.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_type != ET_DYN) {
    return InvalidInput("kernels are not a 64-bit ELF shared object");
  }
  const CpuArchRow* arch = FindElfMachine(header.e_machine);
  if (arch && arch->arch == kHostArch) return OkStatus();
  return Missing("kernels are for {}; this CPU is {}",
                 arch ? arch->name : fmt::format("ELF machine {}", header.e_machine),
                 RowOf(kHostArch).name);
}

// A loaded shared object. Its file stays open as long: the linker knows libraries by their path,
// and a second one at a path of the same number would be taken for the first.
class SharedObject {
 public:
  SharedObject(int file, void* handle) : file_(file), handle_(handle) {}
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  ~SharedObject() {
    if (handle_ != nullptr) ::dlclose(handle_);
    ::close(file_);
  }
  void* Find(const std::string& symbol) const { return ::dlsym(handle_, symbol.c_str()); }

 private:
  int file_;
  void* handle_;
};

int AnonymousFile() {
  int file = ::memfd_create("tcc-kernels", MFD_CLOEXEC | kExecutable);
  return file >= 0 ? file : ::memfd_create("tcc-kernels", MFD_CLOEXEC);
}

// Loads an object that CheckElf accepts.
StatusOr<std::shared_ptr<const SharedObject>> LoadObject(std::span<const uint8_t> bytes) {
  int file = AnonymousFile();
  if (file < 0) return Missing("cannot make an anonymous file: {}", std::strerror(errno));
  if (!WriteAll(file, bytes)) {
    std::string reason = std::strerror(errno);
    ::close(file);
    return Missing("cannot fill an anonymous file: {}", reason);
  }
  void* handle = ::dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL);
  auto object = std::make_shared<const SharedObject>(file, handle);
  if (handle == nullptr) return InvalidInput("cannot load the kernels: {}", ::dlerror());
  return object;
}

void RunParallel(void* context, int64_t count, TccLoopBody body, void* closure) {
  static_cast<ThreadPool*>(context)->ParallelFor(count, body, closure);
}
void* AllocateForKernel(void*, int64_t bytes) {
  return AllocateScratch(bytes);
}
void FreeForKernel(void*, void* memory) {
  FreeScratch(memory);
}

class CpuDevice : public Device {
 public:
  explicit CpuDevice(std::shared_ptr<ThreadPool> pool)
      : pool_(std::move(pool)),
        runtime_{.context = pool_.get(),
                 .parallel_for = RunParallel,
                 .alloc = AllocateForKernel,
                 .free = FreeForKernel,
                 .math = TccMath} {}

  StatusOr<LoadedKernels> LoadKernels(const Artefact& artefact) const override {
    const Metadata& metadata = artefact.metadata;
    // A model that only passes values on has no code.
    if (!metadata.kernels.empty()) TCC_RETURN_IF_ERROR(CheckElf(artefact.kernels.bytes));
    TCC_RETURN_IF_ERROR(CheckCpuFeatures(metadata.cpu_features));
    if (metadata.kernels.empty()) return LoadedKernels{};
    TCC_ASSIGN_OR_RETURN(std::shared_ptr<const SharedObject> object,
                         LoadObject(artefact.kernels.bytes));
    LoadedKernels kernels;
    for (const KernelInfo& kernel : metadata.kernels) {
      kernels.entries.push_back(object->Find(kernel.name));
      if (kernels.entries.back() == nullptr) {
        return InvalidInput("kernel '{}' is not in the shared object", kernel.name);
      }
    }
    kernels.module = std::move(object);
    return kernels;
  }

  // Generated code loads and stores vectors at their element's alignment (kernel_abi.h).
  int64_t TensorAlignment(DType dtype) const override {
    return std::max<int64_t>(dtype.bits() / 8, 1);
  }

  Status Launch(const LoadedKernels& kernels, size_t kernel,
                const LaunchArguments& arguments) const override {
    auto entry = reinterpret_cast<TccKernel>(const_cast<void*>(kernels.entries[kernel]));
    int32_t result = entry(&runtime_, arguments.buffers.data(), arguments.shape_args.data());
    if (result == TCC_KERNEL_OK) return OkStatus();
    if (result == TCC_KERNEL_OUT_OF_MEMORY) {
      return absl::ResourceExhaustedError("a kernel found no memory for its workspace");
    }
    return absl::InternalError(fmt::format("a kernel failed with code {}", result));
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
  TccRuntime runtime_;
};

}  // namespace

std::shared_ptr<const Device> MakeCpuDevice(std::shared_ptr<ThreadPool> pool) {
  return std::make_shared<const CpuDevice>(std::move(pool));
}

}  // namespace tcc
