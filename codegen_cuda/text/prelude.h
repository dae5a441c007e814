#pragma once

#include <string_view>

// What every CUDA C text of tcc begins with, so that kernels need no CUDA header and hold no asm.
// Three parts, in this order:
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
//   TCC_KERNEL(name, threads)(PARAMS) { ... }   at file scope; threads = most of a block
//   TCC_END_KERNEL(name)                        at file scope, after the body; nothing for NVRTC
//   PARAMS, in the order of Launch::arguments, separated by commas; each is 8 bytes as an argument:
//     TCC_INPUT(T, name)     only read by this kernel
//     TCC_OUTPUT(T, name)    written, perhaps read as well
//     TCC_SHAPE(name)        const long long
//   TCC_DEVICE               what stands before a function of the portable part
//   TCC_SHARED(T, name, count);             static shared memory, uninitialised, 16-byte aligned
//   TCC_SHARED_AT(T, name, offset, count);  the same in dynamic shared memory, from byte `offset`
//   TCC_LOCAL(T, name, count);              a thread's own
//   TCC_FRAGMENTS(T, words, name, count);  fragments of tiles (matrix_prelude.h), a TccVector each
//   name[index]              of all of these: read, or assigned to, one element; index int or
//                            long long
//   #pragma unroll [1]       on loops
//
//   int tcc_thread_x() tcc_thread_y() tcc_thread_z() tcc_block_x() tcc_block_y() tcc_block_z()
//   int tcc_warp()                          index of the thread's warp in its block
//   void tcc_barrier()                      all threads of the block
//   void tcc_named_barrier<id>()            the same with another barrier, 1 <= id <= 15
//   void tcc_named_barrier<id, threads>()   the next so many to come, whole warps, wherever their
//                                           text calls it
//
//   struct TccVector<T, N> { T v[N]; }      aligned to its size, at most 16 bytes
//   TccVector<T, N> tcc_load_vector<N>(buffer, index)       &buffer[index] is so aligned; `buffer`
//   void tcc_store_vector(buffer, index, TccVector<T, N>)   is any of the above names
//
//   void tcc_async_copy<N>(to, to_index, from, from_index)  N elements, of 4, 8 or 16 bytes in all
//   void tcc_async_commit()                                 and so aligned, from a parameter to
//   void tcc_async_wait<pending>()                          shared memory; see ir/expr/stmt.h
//
//   T tcc_shuffle_down<T>(T value, int lanes), tcc_shuffle_xor<T>(T value, int mask)
//   T tcc_shuffle<T>(T value, int from)     of the lane `from` modulo 32; 32- and 64-bit T; all 32
//                                           lanes of the warp take part
//   unsigned tcc_ballot(bool vote)          bit i is the vote of lane i; all 32 lanes take part
//   T tcc_atomic_add(buffer, index, T value)        adds to an element of an output or of shared
//                                           memory, returns what it was; T int, unsigned, float,
//                                           double or unsigned long long
//   tensor cores: matrix_prelude.h
//   void tcc_store_nibble(buffer, index, int value)  of an unsigned char buffer, the nibble `index`
//                                           (even ones low); other threads may store the other one
//
//   float tcc_half_to_float(unsigned short), unsigned short tcc_float_to_half(float)     IEEE half
//   unsigned short tcc_float_to_bfloat(float)      all round to nearest even
//   float tcc_min(float, float), tcc_max(float, float)           NaN if either is
//   float tcc_bits_to_float(unsigned), unsigned tcc_float_to_bits(float)
//   double tcc_bits_to_double(unsigned long long), unsigned long long tcc_double_to_bits(double)
//   C's functions of <math.h> for float and double: exp log log1p sqrt sin cos tan asin acos atan
//   sinh cosh asinh acosh atanh tanh erf floor ceil rint trunc fabs copysign pow fmod, as expf, exp
namespace tcc {

// All three parts.
std::string_view CudaPrelude();

}  // namespace tcc
