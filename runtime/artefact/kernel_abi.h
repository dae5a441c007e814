#pragma once

#include <stdint.h>

// The interface between generated CPU code and the runtime. It is plain C, so that a kernel may
// also be written by hand. A change here is a new artefact version (artefact/artefact.h).
//
// Generated code is position independent, uses no libc and reaches the runtime only through the
// table that it is handed. Kernels may run on several threads at once with different buffers.
#ifdef __cplusplus
extern "C" {
#endif

// Runs iterations [begin, end) of a parallel loop. `closure` is what the kernel passed to
// parallel_for.
typedef void (*TccLoopBody)(void* closure, int64_t begin, int64_t end);

// The scalar functions that kernels call in the runtime: all of float64 and the rare ones of
// float32; the rest is generated code. Append only. TCC_MATH_SIN is sin(x), TCC_MATH_POW is pow(x,
// y), ...
// clang-format off
#define TCC_MATH_FUNCTIONS(X)                                                    \
  X(EXP) X(LOG) X(LOG1P) X(SIN) X(COS) X(TAN) X(ASIN) X(ACOS) X(ATAN) X(SINH)    \
  X(COSH) X(ASINH) X(ACOSH) X(ATANH) X(TANH) X(ERF) X(POW) X(FMOD)
// clang-format on

enum {
#define TCC_MATH_CODE(name) TCC_MATH_##name,
  TCC_MATH_FUNCTIONS(TCC_MATH_CODE)
#undef TCC_MATH_CODE
};

// The runtime's entry points. `context` is their first argument.
typedef struct TccRuntime {
  void* context;
  // Calls `body` on disjoint ranges that together are [0, count), on several threads, and returns
  // when all have returned. Which thread gets which range is not determined. A call from inside a
  // body runs on the calling thread. count <= 0 calls nothing.
  void (*parallel_for)(void* context, int64_t count, TccLoopBody body, void* closure);
  // Allocates scratch memory of the calling thread, aligned to 64 bytes and not cleared; NULL when
  // there is none left. The same thread frees it, the latest allocation first.
  void* (*alloc)(void* context, int64_t bytes);
  void (*free)(void* context, void* memory);
  // Returns function(x), or function(x, y) for functions of two arguments: TccMath of
  // kernel_calls.h.
  double (*math)(int32_t function, double x, double y);
} TccRuntime;

// A kernel. A buffer lies at a multiple of its element's size and of nothing more: inputs and
// outputs of the model are where its caller has them, and a buffer may be a part of another one.
// Buffers and shape arguments are in the order of the plan's Call. Returns TCC_KERNEL_OK or what
// went wrong.
typedef int32_t (*TccKernel)(const TccRuntime* runtime, void* const* buffers,
                             const int64_t* shape_args);

enum { TCC_KERNEL_OK = 0, TCC_KERNEL_OUT_OF_MEMORY = 1 };

#ifdef __cplusplus
}
#endif
