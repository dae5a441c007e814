#include "codegen_cuda/nvrtc/nvrtc_api.h"

#include <catch2/catch.hpp>

#include "tests/runtime/passed_alike.h"

#if __has_include(<nvrtc.h>)
#include <nvrtc.h>

// Where a toolkit is, or the wheel of NVRTC, its declarations are held against ours.
namespace {

using tcc::test::Alike;
using tcc::test::Same;

#define TCC_HOLD_AGAINST_HEADER(name, result, parameters) \
  static_assert(Alike<decltype(tcc::NvrtcCalls::name), decltype(&::name)>::value, #name);
TCC_NVRTC_CALLS(TCC_HOLD_AGAINST_HEADER)
#undef TCC_HOLD_AGAINST_HEADER

static_assert(Same(tcc::kNvrtcSuccess, NVRTC_SUCCESS));
static_assert(Same(tcc::kNvrtcOutOfMemory, NVRTC_ERROR_OUT_OF_MEMORY));
static_assert(Same(tcc::kNvrtcCompilation, NVRTC_ERROR_COMPILATION));
static_assert(Same(tcc::kNvrtcBuiltinFailure, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE));
static_assert(Same(tcc::kNvrtcInternalError, NVRTC_ERROR_INTERNAL_ERROR));

}  // namespace

TEST_CASE("our declarations of NVRTC are those of its header", "[codegen_cuda][nvrtc_api]") {
  SUCCEED("held when this file was compiled");
}
#else
TEST_CASE("our declarations of NVRTC are those of its header", "[codegen_cuda][nvrtc_api]") {
  WARN("no nvrtc.h on this machine: nothing to hold them against");
}
#endif
