#include "runtime/cpu/rate_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cstddef>

namespace tcc {
namespace {

// The additions of a chain: some tenths of a millisecond for all chains.
constexpr int64_t kSteps = 180'000;

using Lanes128 = uint64_t __attribute__((vector_size(16)));
using Lanes256 = uint64_t __attribute__((vector_size(32)));
using Lanes512 = uint64_t __attribute__((vector_size(64)));

// The sums that a loop of loads adds to in turns, so that none waits for its addition.
constexpr size_t kSums = 8;
static_assert(kReadStep == kSums * sizeof(Lanes512));

// Sums up vectors; the asm uses the sum. Inlined, so that it gets the caller's instructions.
template <typename Lanes>
__attribute__((always_inline)) inline void SumUp(const uint8_t* bytes, int64_t count) {
  Lanes sums[kSums] = {};
  const auto* vectors = reinterpret_cast<const Lanes*>(bytes);
  const size_t size = static_cast<size_t>(count) / sizeof(Lanes);
  for (size_t at = 0; at < size; at += kSums) {
#pragma GCC unroll 8
    for (size_t i = 0; i < kSums; ++i) sums[i] += vectors[at + i];
  }
  Lanes total = {};
  for (const Lanes& sum : sums) total += sum;
  uint64_t result = 0;
  for (size_t lane = 0; lane < sizeof(Lanes) / sizeof(uint64_t); ++lane) result += total[lane];
  asm volatile("" : : "r"(result) : "memory");
}

#if defined(__x86_64__)

// A latency of 4 cycles times two a cycle wants 8 at least; 12 leave the scheduler room
// (reference: cpu_perf, 1.1).
constexpr int kChains = 12;

// The asm keeps each chain in a register and every step in the loop.
__attribute__((target("avx512f"))) double FmaLoop512() {
  __m512 sums[kChains];
  for (__m512& sum : sums) sum = _mm512_set1_ps(1.0F);
  __m512 factor = _mm512_set1_ps(0.9999F), term = _mm512_set1_ps(1e-4F);
  for (int64_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (__m512& sum : sums) {
      sum = _mm512_fmadd_ps(sum, factor, term);
      asm volatile("" : "+v"(sum));
    }
  }
  return 2.0 * 16 * kChains * kSteps;
}

__attribute__((target("avx2,fma"))) double FmaLoop256() {
  __m256 sums[kChains];
  for (__m256& sum : sums) sum = _mm256_set1_ps(1.0F);
  __m256 factor = _mm256_set1_ps(0.9999F), term = _mm256_set1_ps(1e-4F);
  for (int64_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (__m256& sum : sums) {
      sum = _mm256_fmadd_ps(sum, factor, term);
      asm volatile("" : "+x"(sum));
    }
  }
  return 2.0 * 8 * kChains * kSteps;
}

void Read128(const uint8_t* bytes, int64_t count) {
  SumUp<Lanes128>(bytes, count);
}
__attribute__((target("avx2"))) void Read256(const uint8_t* bytes, int64_t count) {
  SumUp<Lanes256>(bytes, count);
}
__attribute__((target("avx512f"))) void Read512(const uint8_t* bytes, int64_t count) {
  SumUp<Lanes512>(bytes, count);
}

#endif

}  // namespace

#if defined(__x86_64__)

double RunFmaChains() {
  if (__builtin_cpu_supports("avx512f")) return FmaLoop512();
  bool has_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has_fma ? FmaLoop256() : 0;
}

void ReadInVectors(const uint8_t* bytes, int64_t count) {
  auto read = __builtin_cpu_supports("avx512f") ? Read512
              : __builtin_cpu_supports("avx2")  ? Read256
                                                : Read128;
  read(bytes, count);
}

#elif defined(__aarch64__)

// A latency of 4 cycles times four a cycle (Neoverse V1) wants 16.
double RunFmaChains() {
  constexpr int kChains = 16;
  float32x4_t sums[kChains];
  for (float32x4_t& sum : sums) sum = vdupq_n_f32(1.0F);
  float32x4_t factor = vdupq_n_f32(0.9999F), term = vdupq_n_f32(1e-4F);
  for (int64_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 16
    for (float32x4_t& sum : sums) {
      sum = vfmaq_f32(sum, factor, term);
      asm volatile("" : "+w"(sum));
    }
  }
  return 2.0 * 4 * kChains * kSteps;
}

void ReadInVectors(const uint8_t* bytes, int64_t count) {
  SumUp<Lanes128>(bytes, count);
}

#endif

}  // namespace tcc
