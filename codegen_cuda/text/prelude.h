#pragma once

#include <string_view>

// The prelude of every CUDA C text of tcc: kernels need no CUDA header and hold no asm.
// It has three parts, in this order:
//
//   #ifdef TCC_EMULATOR
//   #include "tcc_emulator.h"     the machine part, as a host compiler sees it
//   #else
//   ...                           the machine part for NVRTC: builtins and PTX
//   #endif
//   ...                           the portable part: plain C++ over the machine part
//
// The machine part, which the emulator defines too (T an element type as stored: bool, signed char,
// short, int, long long, their unsigned twins, float, double, or a struct of one unsigned short or
// unsigned char member `bits`):
//
//   TCC_KERNEL(name, threads)(PARAMS) { ... }   at file scope; threads = the most per block;
//                                               TCC_ONE_BLOCK_KERNEL may take all registers
//   TCC_END_KERNEL(name)                        at file scope, after the body; nothing for NVRTC
//   PARAMS, in the order of Launch::arguments, separated by commas; as an argument a map is 128
//   bytes at a multiple of 64, any other 8 bytes:
//     TCC_INPUT(T, name)     a buffer that this kernel only reads
//     TCC_OUTPUT(T, name)    a buffer that it writes, and may read
//     TCC_SHAPE(name)        a const long long
//     TCC_MAP(name)          a tensor map (GpuTensorMap)
//   TCC_DEVICE               the specifiers of a function of the portable part
//   TCC_SHARED(T, name, count);             static shared memory, uninitialised, 16-byte aligned
//   TCC_SHARED_AT(T, name, offset, count);  the same in dynamic shared memory, from byte `offset`
//   TCC_LOCAL(T, name, count);              an array of the thread's own
//   TCC_FRAGMENTS(T, words, name, count);  fragments of tiles (matrix_prelude.h), a TccVector each
//   name[index]              reads or assigns one element of any of these; index is an int or a
//                            long long
//   #pragma unroll [1]       on loops
//
//   int tcc_thread_x() tcc_thread_y() tcc_thread_z() tcc_block_x() tcc_block_y() tcc_block_z()
//   void tcc_barrier()                      waits for all threads of the block
//   void tcc_wait_for_launch_before()       waits until the launch before this one has ended and
//   its
//                                           writes are seen; from sm_90 on every thread of every
//                                           kernel does, ahead of its first access to a parameter
//
//   struct TccVector<T, N> { T v[N]; }      is aligned to its size, at most 16 bytes
//   TccVector<T, N> tcc_load_vector<N>(buffer, index)       &buffer[index] is so aligned; `buffer`
//   void tcc_store_vector(buffer, index, TccVector<T, N>)   is any of the above names
//
//   void tcc_async_copy<N>(to, to_index, from, from_index)  copies N elements, 4, 8 or 16 bytes in
//   void tcc_async_commit()                                 all and so aligned, from a parameter
//   void tcc_async_wait<pending>()                          to shared memory; see ir/expr/stmt.h.
//                                           With a fifth argument that is false, zeros arrive
//
//   T tcc_shuffle_down<T>(T value, int lanes), tcc_shuffle_xor<T>(T value, int mask)
//   T tcc_shuffle<T>(T value, int from)     returns the value of lane `from` modulo 32; T has 32 or
//                                           64 bits; all 32 lanes of the warp take part
//   unsigned tcc_ballot(bool vote)          bit i is the vote of lane i; all 32 lanes take part
//   T tcc_atomic_add(buffer, index, T value)        adds to an element of an output or of shared
//                                           memory and returns its old value; T is int, unsigned,
//                                           float, double or unsigned long long
//   tensor cores: matrix_prelude.h, group_prelude.h
//   void tcc_store_packed(buffer, index, int bits, int value)    stores element `index` of 2 or 4
//                                           bits (the first of a byte low) of an unsigned char
//                                           buffer; another thread may store the others of the byte
//                                           at the same time
//
//   float tcc_half_to_float(unsigned short), unsigned short tcc_float_to_half(float)     IEEE half
//   unsigned short tcc_float_to_bfloat(float)      conversions round to nearest even
//   float tcc_min(float, float), tcc_max(float, float)           NaN if either is
//   float tcc_bits_to_float(unsigned), unsigned tcc_float_to_bits(float)
//   double tcc_bits_to_double(unsigned long long), unsigned long long tcc_double_to_bits(double)
//   C's functions of <math.h> for float and double: exp log log1p sqrt sin cos tan asin acos atan
//   sinh cosh asinh acosh atanh tanh erf floor ceil rint trunc fabs copysign pow fmod, as expf, exp
namespace tcc {

// Returns all three parts.
std::string_view CudaPrelude();

}  // namespace tcc
