// An NVRTC with a fault, which TCC_FAKE_NVRTC names, under NVRTC's own names (TCC_NVRTC):
//   arch      it has only one that tcc has no target for
//   builtins  it lacks its second library
//   cubin     what it makes is no machine code

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "codegen_cuda/nvrtc/nvrtc_api.h"

using tcc::NvrtcProgram;
using tcc::NvrtcResult;

namespace {

constexpr char kLog[] = "nvrtc: error: failed to open libnvrtc-builtins.so.13.0";

bool Has(std::string_view fault) {
  const char* named = std::getenv("TCC_FAKE_NVRTC");
  return named != nullptr && named == fault;
}

template <typename T>
NvrtcResult Give(T* result, T value) {
  *result = value;
  return tcc::kNvrtcSuccess;
}

}  // namespace

#define TCC_DECLARE(name, result, parameters) \
  extern "C" __attribute__((visibility("default"))) result name parameters;
TCC_NVRTC_CALLS(TCC_DECLARE)

NvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 13;
  return Give(minor, 0);
}
const char* nvrtcGetErrorString(NvrtcResult result) {
  return result == tcc::kNvrtcBuiltinFailure ? "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE"
                                             : "NVRTC_ERROR";
}
NvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  return Give(count, 1);
}
NvrtcResult nvrtcGetSupportedArchs(int* archs) {
  return Give(archs, Has("arch") ? 50 : 86);
}
NvrtcResult nvrtcCreateProgram(NvrtcProgram*, const char*, const char*, int, const char* const*,
                               const char* const*) {
  return tcc::kNvrtcSuccess;
}
NvrtcResult nvrtcDestroyProgram(NvrtcProgram*) {
  return tcc::kNvrtcSuccess;
}
NvrtcResult nvrtcCompileProgram(NvrtcProgram, int, const char* const*) {
  return Has("builtins") ? tcc::kNvrtcBuiltinFailure : tcc::kNvrtcSuccess;
}
NvrtcResult nvrtcGetProgramLogSize(NvrtcProgram, size_t* bytes) {
  return Give(bytes, sizeof(kLog));
}
NvrtcResult nvrtcGetProgramLog(NvrtcProgram, char* log) {
  std::memcpy(log, kLog, sizeof(kLog));
  return tcc::kNvrtcSuccess;
}
NvrtcResult nvrtcGetCUBINSize(NvrtcProgram, size_t* bytes) {
  return Give(bytes, sizeof(kLog));
}
NvrtcResult nvrtcGetCUBIN(NvrtcProgram, char* cubin) {
  std::memcpy(cubin, kLog, sizeof(kLog));
  return tcc::kNvrtcSuccess;
}
NvrtcResult nvrtcGetPTXSize(NvrtcProgram, size_t* bytes) {
  return Give(bytes, size_t{1});
}
NvrtcResult nvrtcGetPTX(NvrtcProgram, char* ptx) {
  return Give(ptx, '\0');
}
