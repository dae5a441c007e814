#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/artefact/artefact.h"
#include "runtime/artefact/gpu_program.h"
#include "runtime/opencl/opencl_context.h"
#include "runtime/opencl/opencl_memory.h"
#include "support/status.h"

namespace tcc {

// The kernels and weights of an artefact on a device. A program may be used from several threads at
// once.
class OpenClProgram {
 public:
  // Has the driver compile an artefact's text for the memory's device, and keep the binary in the
  // folder (BuildOpenClText). Unavailable if the device's thread blocks, local
  // memory or arguments are too small for a kernel; the message names the kernel and both numbers.
  // InvalidArgument for a bad section, and for text that does not compile, with the compiler's log;
  // ResourceExhausted if memory is short.
  static StatusOr<std::shared_ptr<const OpenClProgram>> Load(std::shared_ptr<OpenClMemory> memory,
                                                             const Artefact& artefact,
                                                             const std::string& cache_folder);

  const std::shared_ptr<const OpenClContext>& context() const { return memory_->context(); }
  // Returns the memory from which all executors of the program allocate.
  const std::shared_ptr<OpenClMemory>& memory() const { return memory_; }
  const std::vector<GpuKernel>& kernels() const { return program_.kernels; }
  uint8_t* weights() const { return weights_.data(); }

  // Makes a kernel object for each launch of each kernel. The arguments are set in the object, so
  // each queue needs objects of its own.
  StatusOr<std::vector<std::vector<OpenClKernel>>> MakeKernels() const;

 private:
  OpenClProgram() = default;
  Status BuildImages(const std::string& cache_folder);
  Status CheckKernels() const;

  std::shared_ptr<OpenClMemory> memory_;
  GpuProgram program_;  // without the images' bytes
  std::vector<OpenClModule> modules_;
  OpenClBlock weights_;
};

}  // namespace tcc
