#include <cstdlib>
#include <mutex>
#include <string>

#include "codegen_cuda/emulator/driver.h"
#include "support/check.h"

// The emulated driver under libcuda's own names, for programs that open a driver by its path
// (TCC_CUDA_DRIVER).
namespace tcc::emulator {
namespace {

// Injects the fault that TCC_EMULATED_FAULT names, once for each value: a process that is forked
// from one which has used the driver may have another.
void TakeFault() {
  static std::mutex mutex;
  static std::string taken;
  const char* text = std::getenv("TCC_EMULATED_FAULT");
  const std::string wanted = text != nullptr ? text : "";
  std::lock_guard lock(mutex);
  if (wanted == taken) return;
  const Status injected = InjectDriverFault(wanted);
  TCC_CHECK(injected.ok()) << Message(injected);
  taken = wanted;
}

const CudaDriver& Driver() {
  static const CudaDriver driver = EmulatedDriver();
  TakeFault();
  return driver;
}

}  // namespace
}  // namespace tcc::emulator

#define TCC_EXPORT(name, parameters, names)                                           \
  extern "C" __attribute__((visibility("default"))) tcc::CudaResult name parameters { \
    return tcc::emulator::Driver().name names;                                        \
  }
using tcc::CudaAddress;
using tcc::CudaContextHandle;
using tcc::CudaDeviceHandle;
using tcc::CudaEventHandle;
using tcc::CudaFunctionHandle;
using tcc::CudaGraphExecHandle;
using tcc::CudaGraphHandle;
using tcc::CudaLaunchConfig;
using tcc::CudaModuleHandle;
using tcc::CudaPoolHandle;
using tcc::CudaPoolProperties;
using tcc::CudaResult;
using tcc::CudaStreamHandle;
using tcc::CudaTensorMap;
TCC_CUDA_CALLS(TCC_EXPORT)

// kCudaTakesNotes.
// NOLINTBEGIN(readability-identifier-naming): the symbol's name
extern "C" {
extern __attribute__((visibility("default"))) const char tcc_takes_argument_notes;
const char tcc_takes_argument_notes = 1;
}
// NOLINTEND(readability-identifier-naming)
