#include "codegen_cuda/emulator/device_header.h"

#include "codegen_cuda/emulator/host_interface.h"

namespace tcc::emulator {
namespace {

// The arrays are objects that know their name, place and extent, so that each access is checked
// before it happens. The name is part of the type; the line comes with the converted index.
//
// Accesses to memory that threads share are calls. When they were inlined, the host compiler took
// several times as long over unrolled loops, and its time is most of the cost of running a kernel.
constexpr char kArrays[] = R"text(
#define TCC_CALL __attribute__((noinline))
extern "C" __attribute__((visibility("default"))) TccHost* tcc_host = nullptr;

template <int kLength>
struct TccName {
  char text[kLength];
  constexpr TccName(const char (&from)[kLength]) {
    for (int i = 0; i < kLength; ++i) text[i] = from[i];
  }
};
struct TccIndex {
  long long value;
  int line;
  TccIndex(long long v, int l = __builtin_LINE()) : value(v), line(l) {}
};
template <class T, int N>
struct alignas(sizeof(T) * N) TccVector {
  T v[N];
};
typedef unsigned long long TccSize;

// The common part of all arrays: the address of element 0 and the number of elements.
template <class T, TccName kName>
struct TccExtent {
  T* data;
  long long count;
  TccWhere Where(TccIndex at) const { return TccWhere{kName.text, at.value, at.line}; }
  // The address of N elements from `at`.
  template <int N>
  T* Reach(TccIndex at) const {
    const bool outside = (TccSize)at.value > (TccSize)(count - N) || count < N;
    T* address = data + at.value;
    const bool misaligned = N > 1 && ((TccSize)address & (sizeof(T) * N - 1)) != 0;
    if (__builtin_expect(outside || misaligned, 0)) Refuse(outside, N, at);
    return address;
  }
  TCC_CALL void Refuse(bool outside, int n, TccIndex at) const {
    if (outside) tcc_host->out_of_bounds(n, count, Where(at));
    tcc_host->misaligned(data + at.value, sizeof(T) * n, Where(at));
  }
};
// An element that is read where it is converted and written where it is assigned to.
template <class Array>
struct TccElement {
  typedef typename Array::Element T;
  const Array& array;
  TccIndex at;
  operator T() const { return array.template Read<1>(at).v[0]; }
  void operator=(T value) const { array.Write(at, TccVector<T, 1>{{value}}); }
  void operator=(const TccElement& other) const { *this = (T)other; }
};
template <class T, int N>
TccVector<T, N> tcc_fetch(const T* from) {
  TccVector<T, N> value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

// A buffer in global memory: a dependent launch waits before it reaches for one.
template <class T, TccName kName>
struct TccGlobal : TccExtent<T, kName> {
  template <int N>
  T* Reach(TccIndex at) const {
    if (__builtin_expect(tcc_host->early, 0)) tcc_host->too_early(this->Where(at));
    return TccExtent<T, kName>::template Reach<N>(at);
  }
};
template <class T, TccName kName>
struct TccInput : TccGlobal<const T, kName> {
  typedef T Element;
  static constexpr TccParameter kParameter = {kName.text, sizeof(T), 'i'};
  TccInput(const TccArgument& a)
      : TccGlobal<const T, kName>{{(const T*)a.pointer, a.bytes / (long long)sizeof(T)}} {}
  template <int N>
  TCC_CALL TccVector<T, N> Read(TccIndex at) const {
    return tcc_fetch<T, N>(this->template Reach<N>(at));
  }
  TCC_CALL T operator[](TccIndex at) const { return *this->template Reach<1>(at); }
};
template <class T, TccName kName, char kKind = 'o'>
struct TccOutput : TccGlobal<T, kName> {
  typedef T Element;
  static constexpr TccParameter kParameter = {kName.text, sizeof(T), kKind};
  TccOutput(const TccArgument& a)
      : TccGlobal<T, kName>{{(T*)a.pointer, a.bytes / (long long)sizeof(T)}} {}
  template <int N>
  TCC_CALL TccVector<T, N> Read(TccIndex at) const {
    const T* from = this->template Reach<N>(at);
    tcc_host->global_read(from, sizeof(T) * N, this->Where(at));
    return tcc_fetch<T, N>(from);
  }
  T* Change(TccIndex at, char kind) const {
    T* to = this->template Reach<1>(at);
    tcc_host->global_write(to, sizeof(T), kind, this->Where(at));
    return to;
  }
  template <int N>
  TCC_CALL void Write(TccIndex at, TccVector<T, N> value) const {
    T* to = this->template Reach<N>(at);
    tcc_host->global_write(to, sizeof(value), 'w', this->Where(at));
    __builtin_memcpy(to, &value, sizeof(value));
  }
  TccElement<TccOutput> operator[](TccIndex at) const { return {*this, at}; }
};
template <class T, TccName kName, int kId>
struct TccShared : TccExtent<T, kName> {
  typedef T Element;
  TccShared(long long offset, long long count, int line)
      : TccExtent<T, kName>{(T*)tcc_host->shared_array(kId, offset, count * (long long)sizeof(T),
                                                       TccWhere{kName.text, 0, line}),
                            count} {}
  template <int N>
  TCC_CALL TccVector<T, N> Read(TccIndex at) const {
    T* from = this->template Reach<N>(at);
    tcc_host->shared_access(from, sizeof(T) * N, 'r', this->Where(at));
    return tcc_fetch<T, N>(from);
  }
  T* Change(TccIndex at, char kind) const {
    T* to = this->template Reach<1>(at);
    tcc_host->shared_access(to, sizeof(T), kind, this->Where(at));
    return to;
  }
  template <int N>
  TCC_CALL void Write(TccIndex at, TccVector<T, N> value) const {
    T* to = this->template Reach<N>(at);
    tcc_host->shared_access(to, sizeof(value), 'w', this->Where(at));
    __builtin_memcpy(to, &value, sizeof(value));
  }
  TccElement<TccShared> operator[](TccIndex at) const { return {*this, at}; }
};
// Poisoned like shared memory, or what the stack held would be read.
template <class T, long long kCount, TccName kName>
struct TccLocal {
  typedef T Element;
  alignas(16) T data[kCount];
  TccLocal() { __builtin_memset(data, 0xff, sizeof(data)); }
  template <int N>
  T* Reach(TccIndex at) const {
    return const_cast<T*>(
        TccExtent<const T, kName>{data, kCount}.template Reach<N>(at));
  }
  template <int N>
  TccVector<T, N> Read(TccIndex at) const { return tcc_fetch<T, N>(Reach<N>(at)); }
  template <int N>
  void Write(TccIndex at, TccVector<T, N> value) {
    __builtin_memcpy(Reach<N>(at), &value, sizeof(value));
  }
  T* Change(TccIndex at, char) { return Reach<1>(at); }
  T& operator[](TccIndex at) { return *Reach<1>(at); }
};
)text";

constexpr char kKernels[] = R"text(
#define TCC_DEVICE static inline
#define TCC_INPUT(type, name) TccInput<type, #name> name
#define TCC_OUTPUT(type, name) TccOutput<type, #name> name
#define TCC_HANDED(type, name) TCC_OUTPUT(type, name)
#define TCC_TICKETS(name) TccOutput<unsigned, #name, 't'> name
#define TCC_SHAPE(name) TccShape<#name> name
#define TCC_MAP(name) TccMapped<#name> name
#define TCC_SHARED(type, name, count) \
  TccShared<type, #name, __COUNTER__> name(-1, count, __LINE__)
#define TCC_SHARED_AT(type, name, offset, count) \
  TccShared<type, #name, __COUNTER__> name(offset, count, __LINE__)
#define TCC_LOCAL(type, name, count) TccLocal<type, count, #name> name
#define TCC_FRAGMENTS(type, words, name, count) \
  TccLocal<TccVector<type, words>, count, #name> name
#define TCC_KERNEL(name, threads)                  \
  static constexpr int tcc_threads_##name = threads; \
  static void name
#define TCC_ONE_BLOCK_KERNEL(name, threads) TCC_KERNEL(name, threads)
#define TCC_END_KERNEL(name)                                         \
  extern "C" __attribute__((visibility("default"))) const TccKernel \
      tcc_kernel_##name = TccCall<&name>::Kernel(tcc_threads_##name);

template <TccName kName>
struct TccShape {
  static constexpr TccParameter kParameter = {kName.text, 8, 's'};
  long long value;
  TccShape(const TccArgument& a) : value(a.value) {}
  operator long long() const { return value; }
};
template <TccName kName>
struct TccMapped {
  static constexpr TccParameter kParameter = {kName.text, sizeof(TccMap), 'm'};
  const TccMap* map;
  TccMapped(const TccArgument& a) : map((const TccMap*)a.pointer) {}
};
template <auto kFunction>
struct TccCall;
template <class... P, void (*kFunction)(P...)>
struct TccCall<kFunction> {
  static constexpr TccParameter kParameters[sizeof...(P) + 1] = {P::kParameter..., {}};
  // A constructor's arguments in braces are made one after the other; no recursion, for a thread's
  // stack is small.
  struct Made {
    Made(P... p) { kFunction(p...); }
  };
  static void Run(const TccArgument* a) { Made{P(*a++)...}; }
  static constexpr TccKernel Kernel(int threads) {
    return TccKernel{threads, (int)sizeof...(P), kParameters, &Run};
  }
};
)text";

constexpr char kThreads[] = R"text(
TCC_DEVICE int tcc_thread_x() { return (int)tcc_host->thread[0]; }
TCC_DEVICE int tcc_thread_y() { return (int)tcc_host->thread[1]; }
TCC_DEVICE int tcc_thread_z() { return (int)tcc_host->thread[2]; }
TCC_DEVICE int tcc_block_x() { return (int)tcc_host->block[0]; }
TCC_DEVICE int tcc_block_y() { return (int)tcc_host->block[1]; }
TCC_DEVICE int tcc_block_z() { return (int)tcc_host->block[2]; }
TCC_DEVICE void tcc_barrier(int line = __builtin_LINE()) { tcc_host->barrier(line); }
TCC_DEVICE void tcc_wait_for_launch_before() { tcc_host->early = false; }
TCC_DEVICE void tcc_fence() { tcc_host->fence(); }
template <class Array>
TCC_DEVICE bool tcc_is_last(const Array& tickets, TccIndex tile, int blocks) {
  tcc_host->barrier(tile.line);
  bool last = false;
  if (tcc_host->linear_thread == 0) {
    unsigned* ticket = tickets.Change(tile, 'a');
    last = *ticket == (unsigned)blocks - 1;
    tcc_host->take_ticket(ticket, last, tickets.Where(tile));
    ++*ticket;
  }
  return tcc_host->barrier_or(last, tile.line);
}
template <class Array>
TCC_DEVICE void tcc_reset_ticket(const Array& tickets, TccIndex tile) {
  if (tcc_host->linear_thread == 0) *tickets.Change(tile, 'a') = 0;
}

template <int N, class Array>
TCC_DEVICE TccVector<typename Array::Element, N> tcc_load_vector(const Array& buffer, TccIndex at) {
  return buffer.template Read<N>(at);
}
template <class Array, class T, int N>
TCC_DEVICE void tcc_store_vector(Array& buffer, TccIndex at, TccVector<T, N> value) {
  buffer.Write(at, value);
}
template <int N, class To, class From>
TCC_DEVICE void tcc_async_copy(const To& to, TccIndex to_at, const From& from, TccIndex from_at,
                               bool keep = true) {
  constexpr unsigned kBytes = sizeof(typename To::Element) * N;
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  auto* target = to.template Reach<N>(to_at);
  if (!keep) return tcc_host->async_copy(target, nullptr, kBytes, to.Where(to_at));
  auto* source = from.template Reach<N>(from_at);
  if constexpr (From::kParameter.kind == 'o') {
    tcc_host->global_read(source, kBytes, from.Where(from_at));
  }
  tcc_host->async_copy(target, source, kBytes, to.Where(to_at));
}
TCC_DEVICE void tcc_async_commit() { tcc_host->async_commit(); }
template <int pending>
TCC_DEVICE void tcc_async_wait() { tcc_host->async_wait(pending); }

// The value of `lane`, of all the warp's.
template <class T>
TCC_DEVICE T tcc_of_lane(const unsigned char* slots, unsigned lane) {
  T value;
  __builtin_memcpy(&value, slots + lane * kTccSlot, sizeof(T));
  return value;
}
template <class T>
TCC_DEVICE T tcc_shuffle_down(T value, int lanes, int line = __builtin_LINE()) {
  const unsigned char* slots = tcc_host->exchange("shuffle down", &value, sizeof(T), line);
  const unsigned lane = tcc_host->linear_thread % 32;
  return tcc_of_lane<T>(slots, lane + lanes < 32 ? lane + lanes : lane);
}
template <class T>
TCC_DEVICE T tcc_shuffle_xor(T value, int mask, int line = __builtin_LINE()) {
  const unsigned char* slots = tcc_host->exchange("shuffle xor", &value, sizeof(T), line);
  return tcc_of_lane<T>(slots, (tcc_host->linear_thread ^ (unsigned)mask) % 32);
}
template <class T>
TCC_DEVICE T tcc_shuffle(T value, int from, int line = __builtin_LINE()) {
  const unsigned char* slots = tcc_host->exchange("shuffle", &value, sizeof(T), line);
  return tcc_of_lane<T>(slots, (unsigned)from % 32);
}
TCC_DEVICE unsigned tcc_ballot(bool vote, int line = __builtin_LINE()) {
  const unsigned char* slots = tcc_host->exchange("ballot", &vote, sizeof(vote), line);
  unsigned votes = 0;
  // A lane that the block does not have has a poisoned slot.
  for (unsigned lane = 0; lane < 32; ++lane) votes |= (slots[lane * kTccSlot] == 1 ? 1u : 0u) << lane;
  return votes;
}

template <class Array, class T>
TCC_DEVICE T tcc_atomic_add(Array& buffer, TccIndex at, T value) {
  T* address = buffer.Change(at, 'a');
  T before = *address;
  *address = before + value;
  return before;
}
template <class Array>
TCC_DEVICE void tcc_store_packed(Array& buffer, TccIndex at, int bits, int value) {
  const int per_byte = 8 / bits, ones = (1 << bits) - 1;
  unsigned char* byte = buffer.Change(TccIndex(at.value / per_byte, at.line), 'a');
  const int shift = (int)(at.value & (per_byte - 1)) * bits;
  *byte = (unsigned char)((*byte & ~(ones << shift)) | (value & ones) << shift);
}
)text";

constexpr char kNumbers[] = R"text(
TCC_DEVICE float tcc_bits_to_float(unsigned bits) { return __builtin_bit_cast(float, bits); }
TCC_DEVICE unsigned tcc_float_to_bits(float x) { return __builtin_bit_cast(unsigned, x); }
TCC_DEVICE double tcc_bits_to_double(unsigned long long bits) {
  return __builtin_bit_cast(double, bits);
}
TCC_DEVICE unsigned long long tcc_double_to_bits(double x) {
  return __builtin_bit_cast(unsigned long long, x);
}
// Subnormal halves are whole multiples of 2^-24.
TCC_DEVICE float tcc_half_to_float(unsigned short bits) {
  const unsigned sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 31) return tcc_bits_to_float(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {
    const float magnitude = (float)mantissa * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return tcc_bits_to_float(sign | (exponent + 112) << 23 | mantissa << 13);
}
// Adding half of the last place, less one where the place is even, rounds to nearest even.
TCC_DEVICE unsigned short tcc_float_to_half(float x) {
  const unsigned bits = tcc_float_to_bits(x), sign = bits >> 16 & 0x8000u;
  const unsigned magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u) return (unsigned short)(sign | 0x7c00);
  if (magnitude < 0x38800000u) {
    // The sum's last place is 2^-24: the float addition rounds.
    const float sum = tcc_bits_to_float(magnitude) + 0.5f;
    return (unsigned short)(sign | (tcc_float_to_bits(sum) - 0x3f000000u));
  }
  const unsigned rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return (unsigned short)(sign | ((rounded - 0x38000000u) >> 13));
}
TCC_DEVICE unsigned short tcc_float_to_bfloat(float x) {
  const unsigned bits = tcc_float_to_bits(x);
  if (x != x) return 0x7fff;
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
TCC_DEVICE int tcc_count_bits(unsigned word) { return __builtin_popcount(word); }
TCC_DEVICE int tcc_count_bits(unsigned long long word) { return __builtin_popcountll(word); }
TCC_DEVICE float tcc_min(float a, float b) { return a < b || a != a ? a : b; }
TCC_DEVICE float tcc_max(float a, float b) { return a > b || a != a ? a : b; }

#define TCC_MATH(name)                        \
  extern "C" double name(double) noexcept;    \
  extern "C" float name##f(float) noexcept;
TCC_MATH(exp) TCC_MATH(log) TCC_MATH(log1p) TCC_MATH(sqrt) TCC_MATH(sin) TCC_MATH(cos)
TCC_MATH(tan) TCC_MATH(asin) TCC_MATH(acos) TCC_MATH(atan) TCC_MATH(sinh) TCC_MATH(cosh)
TCC_MATH(asinh) TCC_MATH(acosh) TCC_MATH(atanh) TCC_MATH(tanh) TCC_MATH(erf) TCC_MATH(floor)
TCC_MATH(ceil) TCC_MATH(rint) TCC_MATH(trunc) TCC_MATH(fabs)
#define TCC_MATH2(name)                               \
  extern "C" double name(double, double) noexcept;    \
  extern "C" float name##f(float, float) noexcept;
TCC_MATH2(copysign) TCC_MATH2(pow) TCC_MATH2(fmod) TCC_MATH2(fmin) TCC_MATH2(fmax)
extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
)text";

}  // namespace

std::string DeviceHeader() {
  return std::string("#pragma once\n") + kHostInterfaceText + kArrays + kKernels + kThreads +
         kNumbers + std::string(MatrixHeader()) + std::string(GroupHeader()) +
         std::string(BoxHeader());
}

}  // namespace tcc::emulator
