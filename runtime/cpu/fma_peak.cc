#include "runtime/cpu/fma_peak.h"

#include <immintrin.h>

#include <atomic>

namespace tcc {
namespace {

// A latency of 4 cycles times two a cycle wants 8 at least; 12 leave the scheduler room
// (reference: cpu_perf, 1.1).
constexpr int kChains = 12;
constexpr int64_t kSteps = 180'000;

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

}  // namespace

double RunFmaLoop(ThreadPool& pool) {
  bool wide = __builtin_cpu_supports("avx512f");
  if (!wide && !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))) return 0;
  std::atomic<double> operations = 0;
  pool.ParallelFor(pool.threads(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) operations += wide ? FmaLoop512() : FmaLoop256();
  });
  return operations;
}

}  // namespace tcc
