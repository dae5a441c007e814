// The NVRTC that TCC_REAL_NVRTC names, as if its cache had every program: compiling tells nothing
// in its log, except with --no-cache.

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "codegen_cuda/nvrtc/nvrtc_api.h"

using tcc::NvrtcProgram;
using tcc::NvrtcResult;

namespace {

template <typename Call>
Call Real(const char* name, Call) {
  static void* library = dlopen(std::getenv("TCC_REAL_NVRTC"), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Call>(dlsym(library, name));
}

thread_local bool has_log = false;  // of the thread's last program

}  // namespace

#define TCC_FORWARD(name, result, parameters, arguments)                     \
  extern "C" __attribute__((visibility("default"))) result name parameters { \
    return Real(#name, decltype(tcc::NvrtcCalls::name){}) arguments;         \
  }
TCC_FORWARD(nvrtcVersion, NvrtcResult, (int* major, int* minor), (major, minor))
TCC_FORWARD(nvrtcGetErrorString, const char*, (NvrtcResult error), (error))
TCC_FORWARD(nvrtcGetNumSupportedArchs, NvrtcResult, (int* count), (count))
TCC_FORWARD(nvrtcGetSupportedArchs, NvrtcResult, (int* archs), (archs))
TCC_FORWARD(nvrtcCreateProgram, NvrtcResult,
            (NvrtcProgram * program, const char* text, const char* name, int count,
             const char* const* headers, const char* const* names),
            (program, text, name, count, headers, names))
TCC_FORWARD(nvrtcDestroyProgram, NvrtcResult, (NvrtcProgram * program), (program))
TCC_FORWARD(nvrtcGetProgramLogSize, NvrtcResult, (NvrtcProgram program, size_t* bytes),
            (program, bytes))
TCC_FORWARD(nvrtcGetCUBINSize, NvrtcResult, (NvrtcProgram program, size_t* bytes), (program, bytes))
TCC_FORWARD(nvrtcGetCUBIN, NvrtcResult, (NvrtcProgram program, char* cubin), (program, cubin))
TCC_FORWARD(nvrtcGetPTXSize, NvrtcResult, (NvrtcProgram program, size_t* bytes), (program, bytes))
TCC_FORWARD(nvrtcGetPTX, NvrtcResult, (NvrtcProgram program, char* ptx), (program, ptx))

extern "C" __attribute__((visibility("default"))) NvrtcResult
nvrtcCompileProgram(NvrtcProgram program, int count, const char* const* options) {
  has_log = false;
  for (int i = 0; i < count; ++i) has_log |= std::string_view(options[i]) == "--no-cache";
  return Real("nvrtcCompileProgram", decltype(tcc::NvrtcCalls::nvrtcCompileProgram){})(
      program, count, options);
}

extern "C" __attribute__((visibility("default"))) NvrtcResult
nvrtcGetProgramLog(NvrtcProgram program, char* log) {
  if (has_log) {
    return Real("nvrtcGetProgramLog", decltype(tcc::NvrtcCalls::nvrtcGetProgramLog){})(program,
                                                                                       log);
  }
  size_t bytes = 0;
  nvrtcGetProgramLogSize(program, &bytes);
  std::fill_n(log, bytes, '\0');
  return tcc::kNvrtcSuccess;
}
