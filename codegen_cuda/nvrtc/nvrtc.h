#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/status.h"

namespace tcc {

// The resources of a kernel as ptxas reports them.
struct KernelResources {
  std::string kernel;
  int64_t registers = 0;     // per thread
  int64_t shared_bytes = 0;  // static
  int64_t stack_bytes = 0;   // local memory per thread; callees included, as for spills
  int64_t spill_stores = 0;  // bytes
  int64_t spill_loads = 0;
  std::string warning = {};  // the last warning C75xx: the code loses performance
};

struct Cubin {
  std::vector<uint8_t> image;
  std::string ptx;                       // the PTX that the image was made from
  std::vector<KernelResources> kernels;  // in the order of the log
  std::string log;
  std::string settings = {};  // Nvrtc::Settings
  bool cached = false;        // read from a ProgramCache
};

// NVIDIA's compiler of CUDA C, opened at run time. Thread-safe.
class Nvrtc {
 public:
  // Opens the library, found as support/cuda/cuda_library.h says; the variable is TCC_NVRTC. Error
  // (Unavailable): the message lists the names and places searched. The library stays open.
  static StatusOr<Nvrtc> Open();

  // "13.0".
  const std::string& version() const;
  const std::string& path() const;

  // Returns one line that identifies the version and build: "NVRTC 13.0 of 104857600 bytes".
  std::string Identity() const;
  // Returns one line with all that a result of Compile depends on beside the text: the identity of
  // the NVRTC, the architecture and the options.
  static std::string Settings(const std::string& identity, int sm);

  // Compiles to machine code for `sm` (86; 90 means sm_90a). If kernels (TCC_KERNEL in the text)
  // spill although registers are left, it compiles again for one block per multiprocessor, and
  // keeps the result that spills less. Error: Internal with the log, if the text is refused;
  // Unavailable, whatever the text, if this NVRTC lacks the architecture or a part of itself, or
  // its result cannot be read.
  StatusOr<Cubin> Compile(const std::string& text, int sm) const;
  // Returns Unavailable if this NVRTC has no such architecture.
  Status ExpectArch(int sm) const;
  // Compiles to PTX, with the same errors.
  StatusOr<std::string> CompileToPtx(const std::string& text, int sm) const;

 private:
  struct Library;
  explicit Nvrtc(std::shared_ptr<const Library> library) : library_(std::move(library)) {}
  std::shared_ptr<const Library> library_;
};

// Parses the lines of ptxas (-v) in a log.
std::vector<KernelResources> ParseResources(std::string_view log);

}  // namespace tcc
