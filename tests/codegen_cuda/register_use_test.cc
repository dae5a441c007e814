#include <catch2/catch.hpp>

#include "ir/simplify/simplify.h"
#include "lower/pipeline.h"
#include "schedule/space/schedule.h"
#include "tests/codegen_cuda/nvrtc_rig.h"

using namespace tcc;
using namespace tcc::test;

namespace {

// A tall product: each of 29 threads has 72 rows of a column.
constexpr const char* kProduct = R"(
fn tall(A: f32[224, 224], B: f32[224, 2], C: f32[224, 2]) tensor {
  for i in 0..224 @mm/i { for j in 0..2 @mm/j { for k in 0..224 @mm/k {
    block mm(i: spatial 224 = i, j: spatial 2 = j, k: reduce 224 = k) {
      reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
    }
  } } }
})";

constexpr const char* kTallTiles = R"(
cache_write mm C local mm.out
split mm/i [29, 8, 9]
split mm/k [3, 4]
reorder [mm/i.0, mm/j, mm/i.1, mm/k.0, mm/k.1, mm/i.2, mm/k.2, mm/i.3]
fuse mm/i.0 mm/j
bind mm/(i.0*j) blockIdx.x
bind mm/i.1 threadIdx.x
decompose_reduction mm mm/k.0
reverse_compute_at mm.out mm/i.1
cache_read A [mm] shared mm.A
compute_at mm.A mm/k.0
split mm.A/ax1 [4]
vectorize mm.A/ax1.1
fuse mm.A/ax0 mm.A/ax1.0
split mm.A/(ax0*ax1.0) [29]
bind mm.A/(ax0*ax1.0).1 threadIdx.x
cache_read B [mm] shared mm.B
compute_at mm.B mm/k.0
fuse mm.B/ax0 mm.B/ax1
split mm.B/(ax0*ax1) [29]
bind mm.B/(ax0*ax1).1 threadIdx.x
unroll mm/i.2
unroll mm.init/i.2
unroll mm/i.3
unroll mm.init/i.3
unroll mm/k.2
unroll mm.out/ax0
unroll mm.out/ax1
)";

Function Lowered(const std::string& text, const std::string& steps) {
  StatusOr<Schedule> schedule = ParseSchedule(steps);
  INFO(Message(schedule.status()));
  REQUIRE(schedule.ok());
  StatusOr<Function> scheduled = Replay(MustParse(text), schedule->trace, schedule->decisions);
  INFO(Message(scheduled.status()));
  REQUIRE(scheduled.ok());
  StatusOr<Function> lowered = RunPipeline(Simplify(*scheduled));
  REQUIRE(lowered.ok());
  return *lowered;
}

}  // namespace

// ptxas kept to 128 registers, which 16 blocks of 32 threads have, and spilt 20 bytes for it.
TEST_CASE("a kernel with registers left does not spill to make room for another block",
          "[codegen_cuda][nvrtc]") {
  Function lowered = Lowered(kProduct, kTallTiles);
  for (const std::string target : {"sm_86", "sm_90a"}) {
    std::optional<Cubin> cubin = MustCompile(SourceOf({lowered}, target), target);
    if (!cubin) return;
    INFO(target);
    CHECK(cubin->kernels[0].spill_stores == 0);
    CHECK(cubin->kernels[0].spill_loads == 0);
  }
}

TEST_CASE("a kernel that spills around a sine of f64 is known to spill", "[codegen_cuda][nvrtc]") {
  if (!FindNvrtc()) return;
  // 130 numbers of two registers each are alive at once.
  const char* text = R"(
extern "C" __global__ void __launch_bounds__(256) k(const double* x, double* y, int n) {
  double a[130];
#pragma unroll
  for (int i = 0; i < 130; ++i) a[i] = x[i * 1024 + threadIdx.x];
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
#pragma unroll
    for (int i = 0; i < 130; ++i) a[i] = a[i] * x[k] + x[7];
  }
#pragma unroll
  for (int i = 0; i < 130; ++i) y[1024 * (i + 1) + threadIdx.x] = a[i];
  __syncthreads();
  y[threadIdx.x] = sin(y[threadIdx.x + 99]);
})";
  StatusOr<Cubin> cubin = CompileOnce(text, "sm_86");
  INFO(Message(cubin.status()));
  REQUIRE(cubin.ok());
  INFO(cubin->log);
  REQUIRE(cubin->kernels.size() == 1);
  CHECK(cubin->log.find("Function properties for __internal_trig") != std::string::npos);
  CHECK(cubin->kernels[0].spill_stores > 0);
  CHECK(cubin->kernels[0].spill_loads > 0);
}
