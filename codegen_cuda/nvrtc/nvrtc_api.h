#pragma once

#include <cstddef>

// The part of NVRTC's interface (11.2 and newer) that tcc uses, declared here so that no toolkit is
// needed to build; a test compares it with nvrtc.h where there is one.
namespace tcc {

using NvrtcProgram = struct NvrtcProgramObject*;
using NvrtcResult = int;
inline constexpr NvrtcResult kNvrtcSuccess = 0;
inline constexpr NvrtcResult kNvrtcOutOfMemory = 1;
inline constexpr NvrtcResult kNvrtcCompilation = 6;
inline constexpr NvrtcResult kNvrtcBuiltinFailure = 7;
inline constexpr NvrtcResult kNvrtcInternalError = 11;

// CALL(symbol in the library, its result, its parameters) for each function.
// clang-format off
#define TCC_NVRTC_CALLS(CALL) \
  CALL(nvrtcVersion, NvrtcResult, (int* major, int* minor)) \
  CALL(nvrtcGetErrorString, const char*, (NvrtcResult result)) \
  CALL(nvrtcGetNumSupportedArchs, NvrtcResult, (int* count)) \
  CALL(nvrtcGetSupportedArchs, NvrtcResult, (int* archs)) \
  CALL(nvrtcCreateProgram, NvrtcResult, \
       (NvrtcProgram* program, const char* text, const char* name, int header_count, \
        const char* const* headers, const char* const* header_names)) \
  CALL(nvrtcDestroyProgram, NvrtcResult, (NvrtcProgram* program)) \
  CALL(nvrtcCompileProgram, NvrtcResult, \
       (NvrtcProgram program, int option_count, const char* const* options)) \
  CALL(nvrtcGetProgramLogSize, NvrtcResult, (NvrtcProgram program, size_t* bytes)) \
  CALL(nvrtcGetProgramLog, NvrtcResult, (NvrtcProgram program, char* log)) \
  CALL(nvrtcGetCUBINSize, NvrtcResult, (NvrtcProgram program, size_t* bytes)) \
  CALL(nvrtcGetCUBIN, NvrtcResult, (NvrtcProgram program, char* cubin)) \
  CALL(nvrtcGetPTXSize, NvrtcResult, (NvrtcProgram program, size_t* bytes)) \
  CALL(nvrtcGetPTX, NvrtcResult, (NvrtcProgram program, char* ptx))
// clang-format on

struct NvrtcCalls {
#define TCC_NVRTC_POINTER(name, result, parameters) result(*name) parameters = nullptr;
  TCC_NVRTC_CALLS(TCC_NVRTC_POINTER)
#undef TCC_NVRTC_POINTER
};

}  // namespace tcc
