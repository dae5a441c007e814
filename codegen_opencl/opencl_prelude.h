#pragma once

#include <string>
#include <string_view>

namespace tcc {

// Returns the prelude of a text of kernels in OpenCL C 1.2 (opencl_dialect.h): the macros that
// kernels consist of, and of the functions those that they call. Functions have the names and the
// meaning of CUDA's (codegen_cuda/text/prelude.h), except that one of several types has them in its
// name: tcc_floor_div_int.
//
//   TCC_KERNEL(name, x, y, z)(PARAMS) { ... }  has blocks of x * y * z threads
//   PARAMS, in the order of GpuLaunch::arguments, separated by commas:
//     TCC_INPUT(T, name)     a buffer that this kernel only reads: two arguments, a buffer and the
//     TCC_OUTPUT(T, name)    place in it, a long in bytes, at a multiple of 16
//     TCC_SHAPE(name)        a long
//   TCC_INPUT_AT(T, name);              declares the array of a parameter; the same for outputs
//   TCC_SHARED(T, name, count);         memory of the block, uninitialised, 16-byte aligned
//   TCC_SHARED_BYTES(count);            the memory in which these lie, from byte `offset`:
//   TCC_SHARED_AT(T, name, offset, count);
//   TCC_LOCAL(T, name, count);          an array of the thread's own
//   tcc_barrier()                       waits for all threads of the block; their accesses to
//   tcc_global_barrier()                shared memory are ordered, or to global memory, too
//
// f16, bf16 and f8 lie in memory as ushort and uchar, without the extension cl_khr_fp16.
std::string OpenClPrelude(std::string_view kernels);

}  // namespace tcc
