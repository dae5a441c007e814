#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/status.h"

namespace tcc {

// What ptxas said of a kernel.
struct KernelResources {
  std::string kernel;
  int64_t registers = 0;     // of a thread
  int64_t shared_bytes = 0;  // static
  int64_t stack_bytes = 0;   // of a thread's local memory; with its callees', as spills are
  int64_t spill_stores = 0;  // bytes
  int64_t spill_loads = 0;
  std::string warning = {};  // of number C75xx: the code loses performance
};

struct Cubin {
  std::vector<uint8_t> image;
  std::string ptx;                       // what the image was made of
  std::vector<KernelResources> kernels;  // in the order of the log
  std::string log;
  std::string settings = {};  // Nvrtc::Settings
};

// NVIDIA's compiler of CUDA C, opened at run time. May be used by many threads at once.
class Nvrtc {
 public:
  // Sought as support/cuda/cuda_library.h says; the variable is TCC_NVRTC. Error (Unavailable):
  // what was looked for, and where. The library stays open.
  static StatusOr<Nvrtc> Open();

  // "13.0".
  const std::string& version() const;
  const std::string& path() const;

  // Tells it from other versions and builds, "NVRTC 13.0 of 104857600 bytes"; one line.
  std::string Identity() const;
  // What a result of Compile depends on beside the text, of the NVRTC with that identity: the
  // architecture and the options too; one line.
  static std::string Settings(const std::string& identity, int sm);

  // Machine code for `sm` (86; 90 means sm_90a). Kernels that spill although there are registers
  // (TCC_KERNEL in the text) are asked for again with one block on a multiprocessor, and what
  // spills less is kept. Error (Internal): the log. Unavailable, whatever the text: this NVRTC has
  // no such architecture, lacks a part of it, or gives what cannot be read.
  StatusOr<Cubin> Compile(const std::string& text, int sm) const;
  // Unavailable where this NVRTC has no such architecture.
  Status ExpectArch(int sm) const;
  // PTX of the same; the same errors.
  StatusOr<std::string> CompileToPtx(const std::string& text, int sm) const;

 private:
  struct Library;
  explicit Nvrtc(std::shared_ptr<const Library> library) : library_(std::move(library)) {}
  std::shared_ptr<const Library> library_;
};

// The lines of ptxas (-v) in a log.
std::vector<KernelResources> ParseResources(std::string_view log);

}  // namespace tcc
