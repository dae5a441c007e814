#include "codegen_cuda/text/prelude.h"

#include <string>

#include "codegen_cuda/text/group_prelude.h"
#include "codegen_cuda/text/matrix_prelude.h"

namespace tcc {
namespace {

// The machine part; it, MatrixPrelude and GroupPrelude hold all asm. `volatile` and "memory" keep
// the copies in order.
constexpr std::string_view kMachinePart = R"(#ifdef TCC_EMULATOR
#define TCC_MACHINE_HEADER "tcc_emulator.h"
#include TCC_MACHINE_HEADER
#else
#define TCC_DEVICE static __device__ __forceinline__
#define TCC_KERNEL(name, threads) extern "C" __global__ void __launch_bounds__(threads) name
#define TCC_ONE_BLOCK_KERNEL(name, threads) \
  extern "C" __global__ void __launch_bounds__(threads, 1) name
#define TCC_END_KERNEL(name)
#define TCC_INPUT(type, name) const type* __restrict__ name
#define TCC_OUTPUT(type, name) type* __restrict__ name
#define TCC_HANDED(type, name) type* name
#define TCC_TICKETS(name) unsigned* name
#define TCC_SHAPE(name) const long long name
#define TCC_MAP(name) const __grid_constant__ TccMap name
#define TCC_SHARED(type, name, count) __shared__ __align__(16) type name[count]
#define TCC_SHARED_AT(type, name, offset, count) \
  type* const name = reinterpret_cast<type*>(tcc_dynamic_shared + (offset))
#define TCC_LOCAL(type, name, count) type name[count]
#define TCC_FRAGMENTS(type, words, name, count) TccVector<type, words> name[count]
struct __align__(64) TccMap { unsigned long long words[16]; };
extern __shared__ __align__(1024) unsigned char tcc_dynamic_shared[];

TCC_DEVICE int tcc_thread_x() { return (int)threadIdx.x; }
TCC_DEVICE int tcc_thread_y() { return (int)threadIdx.y; }
TCC_DEVICE int tcc_thread_z() { return (int)threadIdx.z; }
TCC_DEVICE int tcc_block_x() { return (int)blockIdx.x; }
TCC_DEVICE int tcc_block_y() { return (int)blockIdx.y; }
TCC_DEVICE int tcc_block_z() { return (int)blockIdx.z; }
TCC_DEVICE void tcc_barrier() { __syncthreads(); }
#if __CUDA_ARCH__ >= 900
TCC_DEVICE void tcc_wait_for_launch_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
#endif
TCC_DEVICE void tcc_fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
TCC_DEVICE bool tcc_is_first_thread() { return (threadIdx.x | threadIdx.y | threadIdx.z) == 0; }
// Returns whether this is the last of the tile's blocks to come here, the same to all its threads.
// PTX lets a thread's release cover what others wrote before a barrier, and its acquire what they
// read behind one.
TCC_DEVICE bool tcc_is_last(unsigned* tickets, int tile, int blocks) {
  __syncthreads();
  bool last = false;
  if (tcc_is_first_thread()) {
    unsigned before;
    asm volatile("atom.acq_rel.gpu.add.u32 %0, [%1], 1;"
                 : "=r"(before)
                 : "l"(tickets + tile)
                 : "memory");
    last = before == (unsigned)blocks - 1;
  }
  return __syncthreads_or(last);
}
TCC_DEVICE void tcc_reset_ticket(unsigned* tickets, int tile) {
  if (tcc_is_first_thread()) tickets[tile] = 0;
}

template <class T, int N>
struct __align__(sizeof(T) * N) TccVector {
  T v[N];
};
// The builtin vector types are what makes one instruction of an access.
template <int bytes>
struct TccWord;
template <>
struct TccWord<1> { typedef unsigned char Type; };
template <>
struct TccWord<2> { typedef unsigned short Type; };
template <>
struct TccWord<4> { typedef unsigned Type; };
template <>
struct TccWord<8> { typedef uint2 Type; };
template <>
struct TccWord<16> { typedef uint4 Type; };
template <int N, class T, class Index>
TCC_DEVICE TccVector<T, N> tcc_load_vector(const T* buffer, Index index) {
  typedef typename TccWord<sizeof(T) * N>::Type Word;
  union U {
    Word word;
    TccVector<T, N> vector;
    __device__ U() {}
  } u;
  u.word = *reinterpret_cast<const Word*>(buffer + index);
  return u.vector;
}
template <class T, int N, class Index>
TCC_DEVICE void tcc_store_vector(T* buffer, Index index, TccVector<T, N> value) {
  typedef typename TccWord<sizeof(T) * N>::Type Word;
  union U {
    Word word;
    TccVector<T, N> vector;
    __device__ U() {}
  } u;
  u.vector = value;
  *reinterpret_cast<Word*>(buffer + index) = u.word;
}

// Before sm_80 a copy is done at once, and nothing is waited for.
template <int N, class T, class I, class J>
TCC_DEVICE void tcc_async_copy(T* to, I to_index, const T* from, J from_index) {
#if __CUDA_ARCH__ >= 800
  unsigned shared = (unsigned)__cvta_generic_to_shared(to + to_index);
  if (sizeof(T) * N == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from + from_index)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from + from_index),
                 "n"(sizeof(T) * N < 16 ? sizeof(T) * N : 8)
                 : "memory");
  }
#else
  typedef typename TccWord<sizeof(T) * N>::Type Word;
  *reinterpret_cast<Word*>(to + to_index) = *reinterpret_cast<const Word*>(from + from_index);
#endif
}
// A copy that is not kept reads nothing; its address is the array's first all the same.
template <int N, class T, class I, class J>
TCC_DEVICE void tcc_async_copy(T* to, I to_index, const T* from, J from_index, bool keep) {
  J index = keep ? from_index : 0;
  // Without this the compiler selects both halves of a wide index.
  if constexpr (sizeof(J) == 4) asm("" : "+r"(index));
  const T* source = from + index;
#if __CUDA_ARCH__ >= 800
  unsigned shared = (unsigned)__cvta_generic_to_shared(to + to_index);
  if (sizeof(T) * N == 16) {
    asm volatile(
        "{\n.reg .pred ignored;\nsetp.eq.u32 ignored, %2, 0;\n"
        "cp.async.cg.shared.global [%0], [%1], 16, ignored;\n}" ::"r"(shared),
        "l"(source), "r"((unsigned)keep)
        : "memory");
  } else {
    asm volatile(
        "{\n.reg .pred ignored;\nsetp.eq.u32 ignored, %3, 0;\n"
        "cp.async.ca.shared.global [%0], [%1], %2, ignored;\n}" ::"r"(shared),
        "l"(source), "n"(sizeof(T) * N < 16 ? sizeof(T) * N : 8), "r"((unsigned)keep)
        : "memory");
  }
#else
  typedef typename TccWord<sizeof(T) * N>::Type Word;
  Word word = {};
  if (keep) word = *reinterpret_cast<const Word*>(source);
  *reinterpret_cast<Word*>(to + to_index) = word;
#endif
}
TCC_DEVICE void tcc_async_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int pending>
TCC_DEVICE void tcc_async_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

template <class T>
TCC_DEVICE T tcc_shuffle_down(T value, int lanes) {
  return __shfl_down_sync(0xffffffffu, value, lanes);
}
template <class T>
TCC_DEVICE T tcc_shuffle_xor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
template <class T>
TCC_DEVICE T tcc_shuffle(T value, int from) {
  return __shfl_sync(0xffffffffu, value, from);
}
TCC_DEVICE unsigned tcc_ballot(bool vote) { return __ballot_sync(0xffffffffu, vote); }
template <class T, class Index>
TCC_DEVICE T tcc_atomic_add(T* buffer, Index index, T value) {
  return atomicAdd(buffer + index, value);
}
// Two atomic steps suffice: nobody else touches the element.
template <class Index>
TCC_DEVICE void tcc_store_packed(unsigned char* buffer, Index index, int bits, int value) {
  const int per_byte = 8 / bits;
  const unsigned ones = (1u << bits) - 1u;
  unsigned long long address = reinterpret_cast<unsigned long long>(buffer + index / per_byte);
  unsigned* word = reinterpret_cast<unsigned*>(address & ~3ull);
  int shift = (int)(address & 3) * 8 + (int)(index & (per_byte - 1)) * bits;
  atomicAnd(word, ~(ones << shift));
  atomicOr(word, ((unsigned)value & ones) << shift);
}

TCC_DEVICE float tcc_bits_to_float(unsigned bits) { return __int_as_float((int)bits); }
TCC_DEVICE unsigned tcc_float_to_bits(float x) { return (unsigned)__float_as_int(x); }
TCC_DEVICE double tcc_bits_to_double(unsigned long long bits) {
  return __longlong_as_double((long long)bits);
}
TCC_DEVICE unsigned long long tcc_double_to_bits(double x) {
  return (unsigned long long)__double_as_longlong(x);
}
TCC_DEVICE float tcc_half_to_float(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
TCC_DEVICE unsigned short tcc_float_to_half(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
TCC_DEVICE unsigned short tcc_float_to_bfloat(float x) {
#if __CUDA_ARCH__ >= 800
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
#else
  unsigned bits = tcc_float_to_bits(x);
  if (x != x) return (unsigned short)(bits >> 16 | 0x40);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
}
TCC_DEVICE int tcc_count_bits(unsigned word) { return __popc((int)word); }
TCC_DEVICE int tcc_count_bits(unsigned long long word) { return __popcll((long long)word); }
TCC_DEVICE float tcc_min(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float x;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b));
  return x;
#else
  return a < b || a != a ? a : b;
#endif
}
TCC_DEVICE float tcc_max(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float x;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b));
  return x;
#else
  return a > b || a != a ? a : b;
#endif
}
)";

// The storage types and the operations that CUDA C lacks; ir/expr/expr.h and ir/expr/scalar_op.h
// define them.
constexpr std::string_view kPortablePart = R"(struct TccF16 { unsigned short bits; };
struct TccBF16 { unsigned short bits; };
struct TccF8E4M3 { unsigned char bits; };
struct TccF8E5M2 { unsigned char bits; };
struct TccTF32 { unsigned bits; };

TCC_DEVICE TccF16 tcc_f16(float x) {
  TccF16 half;
  half.bits = tcc_float_to_half(x);
  return half;
}
TCC_DEVICE TccBF16 tcc_bf16(float x) {
  TccBF16 narrow;
  narrow.bits = tcc_float_to_bfloat(x);
  return narrow;
}
// Halves away from zero. A NaN is made quiet, or it could lose all its bits.
TCC_DEVICE TccTF32 tcc_tf32(float x) {
  const unsigned bits = tcc_float_to_bits(x);
  TccTF32 rounded;
  rounded.bits = (x != x ? bits | 0x400000u : bits + 0x1000u) & ~0x1fffu;
  return rounded;
}
// The word of two elements of 16 bits.
template <class T>
TCC_DEVICE unsigned tcc_pair(T low, T high) {
  return (unsigned)high.bits << 16 | low.bits;
}
// To odd: a second rounding, to a narrower float, then gives the same as one from double would.
TCC_DEVICE float tcc_to_odd(double x) {
  float nearest = (float)x;
  if ((double)nearest == x || x != x) return nearest;
  unsigned bits = tcc_float_to_bits(nearest);
  if (fabs((double)nearest) > fabs(x)) bits -= 1;
  return tcc_bits_to_float(bits | 1u);
}
TCC_DEVICE float tcc_widen(TccF16 x) { return tcc_half_to_float(x.bits); }
TCC_DEVICE float tcc_widen(TccBF16 x) { return tcc_bits_to_float((unsigned)x.bits << 16); }
TCC_DEVICE float tcc_widen(TccTF32 x) { return tcc_bits_to_float(x.bits); }
// The upper half of an f16.
TCC_DEVICE float tcc_widen(TccF8E5M2 x) {
  return tcc_half_to_float((unsigned short)(x.bits << 8));
}
// A bias of 7, no infinity, one NaN: an f16 of the same fields is 2^8 too small.
TCC_DEVICE float tcc_widen(TccF8E4M3 x) {
  if ((x.bits & 0x7f) == 0x7f) return tcc_bits_to_float(0x7fc00000u);
  unsigned fields = (x.bits & 0x80u) << 8 | (x.bits & 0x7fu) << 7;
  return tcc_half_to_float((unsigned short)fields) * 256.0f;
}
// Saturates at `largest`; adding 2^23 spacings of the narrow format rounds to one of them.
TCC_DEVICE unsigned char tcc_narrow_f8(float x, int mantissa, int smallest, float largest,
                                       float scale) {
  unsigned sign = tcc_float_to_bits(x) >> 24 & 0x80u;
  if (x != x) return (unsigned char)(sign | 0x7fu);
  float magnitude = fabsf(x);
  if (magnitude > largest) magnitude = largest;
  int exponent = (int)(tcc_float_to_bits(magnitude) >> 23) - 127;
  if (exponent < smallest) exponent = smallest;
  float shifter = tcc_bits_to_float((unsigned)(exponent + 127 + 23 - mantissa) << 23);
  volatile float sum = magnitude + shifter;
  float rounded = sum - shifter;
  if (rounded > largest) rounded = largest;
  unsigned fields = (unsigned)tcc_float_to_half(rounded * scale) >> (10 - mantissa);
  return (unsigned char)(sign | fields);
}
TCC_DEVICE TccF8E4M3 tcc_f8e4m3(float x) {
  TccF8E4M3 narrow;
  narrow.bits = tcc_narrow_f8(x, 3, -6, 448.0f, 0.00390625f);
  return narrow;
}
// A loaded infinity stays; a cast makes none.
TCC_DEVICE float tcc_finite_e5m2(float x) {
  return x > 57344.0f ? 57344.0f : x < -57344.0f ? -57344.0f : x;
}
TCC_DEVICE TccF8E5M2 tcc_f8e5m2(float x) {
  TccF8E5M2 narrow;
  const unsigned bits = tcc_float_to_bits(x);
  const bool infinite = (bits & 0x7fffffffu) == 0x7f800000u;
  narrow.bits = infinite ? (unsigned char)(bits >> 24 & 0x80u | 0x7cu)
                         : tcc_narrow_f8(x, 2, -14, 57344.0f, 1.0f);
  return narrow;
}
// The place of an element of 2 or 4 bits in its byte, the first low.
template <class Index>
TCC_DEVICE int tcc_packed_shift(Index index, int bits) {
  return (int)(index & (8 / bits - 1)) * bits;
}
// The byte with another element `index`.
template <class Index>
TCC_DEVICE unsigned char tcc_with_packed(unsigned char byte, Index index, int bits, int value) {
  const int shift = tcc_packed_shift(index, bits), ones = (1 << bits) - 1;
  return (unsigned char)((byte & ~(ones << shift)) | (value & ones) << shift);
}
// The low bits of x as a value of a packed type.
TCC_DEVICE signed char tcc_i4(int x) { return (signed char)(((x & 15) ^ 8) - 8); }
TCC_DEVICE unsigned char tcc_u4(int x) { return (unsigned char)(x & 15); }
TCC_DEVICE signed char tcc_i2(int x) { return (signed char)(((x & 3) ^ 2) - 2); }
TCC_DEVICE unsigned char tcc_u2(int x) { return (unsigned char)(x & 3); }

// Truncates; saturates out of range; NaN gives 0. low and high are the type's range [low, high) as
// floats, both exact.
template <class Integer, class Float>
TCC_DEVICE Integer tcc_to_integer(Float x, Float low, Float high, Integer least, Integer most) {
  if (x != x) return 0;
  if (x <= low) return least;
  if (x >= high) return most;
  return (Integer)x;
}

// For y > 0.
template <class T>
TCC_DEVICE T tcc_floor_div(T x, T y) {
  T quotient = x / y;
  return x - quotient * y < 0 ? quotient - 1 : quotient;
}
template <class T>
TCC_DEVICE T tcc_floor_mod(T x, T y) {
  T rest = x % y;
  return rest < 0 ? rest + y : rest;
}
template <class T>
TCC_DEVICE T tcc_ceil_div(T x, T y) {
  T quotient = x / y;
  return x - quotient * y > 0 ? quotient + 1 : quotient;
}
// The halves are signed; the sum wraps.
template <class T>
TCC_DEVICE T tcc_dot_i16x2(T x, T y) {
  const int low = (int)(short)x * (int)(short)y;
  const int high = (int)(short)(x >> 16) * (int)(short)(y >> 16);
  return (T)((unsigned)low + (unsigned)high);
}
template <class T>
TCC_DEVICE T tcc_dot_u8i8x4(T x, T y) {
  int sum = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    sum += (int)(unsigned char)(x >> shift) * (int)(signed char)(y >> shift);
  }
  return (T)sum;
}
template <class T>
TCC_DEVICE T tcc_dot_i8i8x4(T x, T y) {
  int sum = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    sum += (int)(signed char)(x >> shift) * (int)(signed char)(y >> shift);
  }
  return (T)sum;
}
TCC_DEVICE int tcc_pack_bf16x2(float low, float high) {
  return (int)(tcc_float_to_bfloat(low) | (unsigned)tcc_float_to_bfloat(high) << 16);
}
template <class T>
TCC_DEVICE float tcc_dot_bf16x2(T x, T y) {
  const float low = tcc_bits_to_float((unsigned)x << 16) * tcc_bits_to_float((unsigned)y << 16);
  return tcc_bits_to_float((unsigned)x & 0xffff0000u) * tcc_bits_to_float((unsigned)y & 0xffff0000u) + low;
}
// The smallest value by -1 wraps.
template <class T>
TCC_DEVICE T tcc_trunc_div(T x, T y) {
  return y == (T)-1 && (T)-1 < (T)0 ? (T)(0ull - (unsigned long long)x) : (T)(x / y);
}
template <class T>
TCC_DEVICE T tcc_trunc_mod(T x, T y) {
  return y == (T)-1 && (T)-1 < (T)0 ? (T)0 : (T)(x % y);
}
// Bits are those of the type T, as an unsigned number.
template <class T>
TCC_DEVICE T tcc_shift_left(T x, T count) {
  const unsigned long long width = sizeof(T) * 8;
  return (unsigned long long)count < width ? (T)((unsigned long long)x << count) : (T)0;
}
template <class T>
TCC_DEVICE T tcc_shift_right(T x, T count) {
  const unsigned long long width = sizeof(T) * 8;
  const unsigned long long mask = ~0ull >> (64 - width);
  return (unsigned long long)count < width ? (T)(((unsigned long long)x & mask) >> count) : (T)0;
}
template <class T>
TCC_DEVICE T tcc_integer_min(T a, T b) { return b < a ? b : a; }
template <class T>
TCC_DEVICE T tcc_integer_max(T a, T b) { return b > a ? b : a; }
TCC_DEVICE double tcc_min(double a, double b) { return a < b || a != a ? a : b; }
TCC_DEVICE double tcc_max(double a, double b) { return a > b || a != a ? a : b; }
template <class T>
TCC_DEVICE T tcc_popcount(T x) {
  if constexpr (sizeof(T) == 8) {
    return (T)tcc_count_bits((unsigned long long)x);
  } else {
    return (T)tcc_count_bits((unsigned)x & (~0u >> (32 - sizeof(T) * 8)));
  }
}
template <class T>
TCC_DEVICE T tcc_integer_sign(T x) { return (T)((x > 0) - (x < 0)); }
template <class T>
TCC_DEVICE T tcc_integer_abs(T x) { return x < 0 ? (T)(0ull - (unsigned long long)x) : x; }

TCC_DEVICE float tcc_sign(float x) { return x == 0 ? 0.0f : x != x ? x : copysignf(1.0f, x); }
TCC_DEVICE double tcc_sign(double x) { return x == 0 ? 0.0 : x != x ? x : copysign(1.0, x); }
TCC_DEVICE float tcc_sigmoid(float x) {
  float decay = expf(-fabsf(x));
  return (x < 0 ? decay : 1.0f) / (1.0f + decay);
}
TCC_DEVICE double tcc_sigmoid(double x) {
  double decay = exp(-fabs(x));
  return (x < 0 ? decay : 1.0) / (1.0 + decay);
}
// Without a branch, so that equal calls become one.
TCC_DEVICE float tcc_exp_diff(float x, float y) { return expf(x == y ? 0.0f : x - y); }
TCC_DEVICE double tcc_exp_diff(double x, double y) { return exp(x == y ? 0.0 : x - y); }
TCC_DEVICE bool tcc_is_nan(float x) { return x != x; }
TCC_DEVICE bool tcc_is_nan(double x) { return x != x; }
TCC_DEVICE bool tcc_is_inf(float x) { return fabsf(x) == tcc_bits_to_float(0x7f800000u); }
TCC_DEVICE bool tcc_is_inf(double x) {
  return fabs(x) == tcc_bits_to_double(0x7ff0000000000000ull);
}

)";

}  // namespace

std::string_view CudaPrelude() {
  static const std::string text = std::string(kMachinePart) + std::string(MatrixPrelude()) +
                                  std::string(GroupPrelude()) + "#endif\n\n" +
                                  std::string(kPortablePart) + std::string(PortableMatrixPrelude());
  return text;
}

}  // namespace tcc
