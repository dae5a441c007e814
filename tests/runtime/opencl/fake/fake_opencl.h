#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/opencl/opencl_api.h"

namespace tcc::test {

// The settings of a fake OpenCL driver, and its record. The driver is a shared library that
// exports OpenCL's functions. It has one device. "Compiling" a text finds the names of kernels in
// it, and kernels run on the host, known by name (opencl_artefacts.h); work is done when it is
// enqueued. Handles that it does not know, arguments that are missing and ranges outside of a
// buffer end the process. It is for one thread.
struct FakeOpenCl {
  // Call number `failing_call`, counted from 0, fails with `error`; -1: none. A call that releases
  // something still does so.
  int64_t failing_call = -1;
  OpenClResult error = kOpenClSuccess;
  // Kernel launch number `failing_launch` ends with `error`, which its event says.
  int64_t failing_launch = -1;

  uint32_t platforms = 1;
  uint32_t devices = 1;
  size_t max_threads = 256;
  size_t max_threads_along = 256;
  size_t kernel_max_threads = 256;
  uint64_t local_bytes = 32768;
  size_t argument_bytes = 1024;
  uint64_t max_allocation_bytes = uint64_t{1} << 30;
  const char* version = "OpenCL 1.2 fake";
  const char* driver_version = "7";
  bool refuses_binaries = false;

  std::vector<std::string> calls;  // made since they were cleared
  int64_t launches = 0;
  int64_t objects = 0;  // that were not released
  int64_t compilations = 0;
  std::string options;  // of the latest build
};

// The symbol in the library that returns the one FakeOpenCl.
inline constexpr char kFakeOpenCl[] = "tcc_fake_opencl";

}  // namespace tcc::test
