#include "tests/programs/spike_programs.h"

#include "support/check.h"

namespace tcc {
namespace {

int64_t Extent(Random& random) {
  constexpr int64_t kExtents[] = {1, 2, 3, 4, 5, 7, 8, 11, 13};
  return kExtents[random.Below(std::size(kExtents))];
}

constexpr const char* kTiles = R"(
tile i1 1 15
tile i2 1 15
tile j1 1 15
tile j2 1 15
tile k1 1 15
tile k2 1 15
tile s 1 6
)";

struct Row {
  const char* name;
  Function (*build)(Random& random);
  const char* trace;  // after the tiles above
};

Function RandomMatmul(Random& random) {
  return MatmulFunction(Extent(random), Extent(random), Extent(random));
}

Function RandomConv(Random& random) {
  ConvShape shape;
  shape.kernel_h = random.Between(1, 3);
  shape.kernel_w = random.Between(1, 3);
  shape.stride = random.Between(1, 2);
  shape.dilation = random.Between(1, 2);
  shape.pad = random.Between(0, 2);
  shape.height = random.Between(5, 8);
  shape.width = random.Between(5, 8);
  shape.channels = random.Between(1, 3);
  shape.filters = random.Between(1, 5);
  return ConvFunction(shape);
}

Function RandomAttention(Random& random) {
  constexpr double kThresholds[] = {-1e9, 0, 0.7, 1e9};
  AttentionShape shape{.queries = random.Between(1, 6),
                       .keys = Extent(random),
                       .depth = random.Between(1, 3),
                       .width = random.Between(1, 5)};
  shape.blind = random.OneIn(2) ? random.Between(0, shape.keys) : 0;
  shape.threshold = kThresholds[random.Below(std::size(kThresholds))];
  return AttentionFunction(shape);
}

// What brings the reduction of attention into the loop over queries, with its keys in tiles.
#define TCC_ATTENTION_TILES   \
  "split out/i [i1]\n"        \
  "compute_at core out/i.0\n" \
  "split core/t [k1]\n"       \
  "reorder [core/d, core/t.0, core/i, core/t.1]\n"

constexpr Row kRows[] = {
    {"matmul, caches at two depths", RandomMatmul, R"(
split mm/i [i1, i2]
split mm/j [j1, j2]
split mm/k [k1, k2]
reorder [mm/i.0, mm/j.0, mm/i.1, mm/j.1, mm/k.0, mm/k.1, mm/i.2, mm/j.2, mm/k.2]
cache_write mm C local C_l
reverse_compute_at C_l mm/j.1
cache_read A [mm] global A_s
cache_read A_s [mm] local A_l
cache_read B [] global B_s
compute_at A_l mm/k.1
compute_at A_s mm/k.0
compute_at B_s mm/j.0
decompose_reduction mm mm/k.0
unroll mm/k.2
vectorize mm.init/j.2
)"},
    {"matmul, inexact splits after placement", RandomMatmul, R"(
split mm/i [i1, i2]
split mm/j [j1, j2]
split mm/k [k1, k2]
reorder [mm/i.0, mm/j.0, mm/i.1, mm/j.1, mm/k.0, mm/k.1, mm/i.2, mm/j.2, mm/k.2]
cache_write mm C local C_l
reverse_compute_at C_l mm/j.0
cache_read A [mm] global A_s
compute_at A_s mm/k.0
split mm/i.1 [s]
split mm/j.2 [s]
split mm/k.2 [s]
split A_s/ax0 [s]
split C_l/ax1 [2]
decompose_reduction mm mm/i.1.0
vectorize C_l/ax1.1
)"},
    {"matmul, fuse and split above and below the caches", RandomMatmul, R"(
split mm/i [i1]
split mm/j [j1]
split mm/k [k1]
reorder [mm/i.0, mm/j.0, mm/k.0, mm/i.1, mm/j.1, mm/k.1]
fuse mm/i.0 mm/j.0
split mm/(i.0*j.0) [s]
cache_write mm C global C_l
reverse_compute_at C_l mm/(i.0*j.0).1
cache_read B [mm] global B_s
compute_at B_s mm/k.0
fuse mm/i.1 mm/j.1
split mm/(i.1*j.1) [3]
fuse C_l/ax0 C_l/ax1
split C_l/(ax0*ax1) [s]
parallel mm/(i.0*j.0).0
)"},
    {"convolution, staged input and filters", RandomConv, R"(
split conv/y [i1, i2]
split conv/x [j1]
split conv/o [j2]
split conv/c [k1]
reorder [conv/y.0, conv/x.0, conv/o.0, conv/y.1, conv/c.0, conv/ky, conv/kx, conv/y.2, conv/x.1, conv/o.1, conv/c.1]
cache_write conv Y local Y_l
reverse_compute_at Y_l conv/y.1
cache_read X [conv] global X_s
cache_read W [conv] global W_s
cache_read X_s [conv] local X_l
compute_at X_l conv/kx
compute_at X_s conv/c.0
compute_at W_s conv/ky
split conv/y.2 [s]
decompose_reduction conv conv/c.0
unroll conv/x.1
vectorize conv/o.1
vectorize Y_l/ax2
)"},
    {"convolution, fused rows in parallel", RandomConv, R"(
split conv/x [j1]
split conv/ky [k1]
fuse conv/y conv/x.0
parallel conv/(y*x.0)
reorder [conv/ky.0, conv/x.1]
unroll conv/kx
)"},
    {"softmax, one reduction of a pair",
     [](Random& random) { return SoftmaxFunction(Extent(random), Extent(random)); }, R"(
split stat/j [k1, k2]
split stat/i [i1]
reorder [stat/j.2, stat/j.1]
decompose_reduction stat stat/j.0
split out/j [j1]
reorder [out/j.0, out/i]
vectorize out/j.1
parallel stat/i.0
)"},
    {"softmax, statistics computed where they are read",
     [](Random& random) { return SoftmaxFunction(Extent(random), Extent(random)); }, R"(
split out/i [i1]
split out/j [j1]
reorder [out/i.0, out/j.0, out/i.1, out/j.1]
compute_at stat out/i.0
split stat/j [s]
decompose_reduction stat stat/j.0
)"},
    {"matmul, padded to tiles that are laid out apart", RandomMatmul, R"(
cache_write mm C local C_l
cache_read A [mm] global A_s
cache_read B [mm] global B_s
pad mm i i1
pad mm j j1
pad mm k k1
split mm/i [i1]
split mm/j [j1]
split mm/k [k1]
reorder [mm/i.0, mm/j.0, mm/k.0, mm/k.1, mm/i.1, mm/j.1]
reverse_compute_at C_l mm/j.0
compute_at A_s mm/k.0
compute_at B_s mm/k.0
storage_align A_s 0 8 4
swizzle B_s 2 1 2
decompose_reduction mm mm/k.0
vectorize mm/j.1
)"},
    {"convolution, windows copied out", RandomConv, R"(
reindex conv X global X_r
reindex conv W global W_r
reindex conv Y local Y_r
split conv/y [i1]
split conv/o [j1]
split conv/kx [k1]
reorder [conv/y.0, conv/o.0, conv/kx.0, conv/y.1, conv/x, conv/c, conv/o.1]
reverse_compute_at Y_r conv/o.0
compute_at W_r conv/kx.0
compute_at X_r conv/kx.0
swizzle X_r 1 0 2
)"},
    {"two readers, the sum inlined",
     [](Random& random) { return TwoReadersFunction(Extent(random)); },
     R"(
cache_read A [sum] global A_s
split out/i [i1]
compute_inline sum
compute_at A_s out/i.0
)"},
    {"two readers of one buffer", [](Random& random) { return TwoReadersFunction(Extent(random)); },
     R"(
split out/i [i1, i2]
compute_at sum out/i.0
cache_read A [] global A_s
compute_at A_s out/i.0
split A_s/ax0 [s]
split sum/i [2]
)"},
    {"empty reduction", [](Random& random) { return EmptyReductionFunction(Extent(random)); }, R"(
split total/i [i1]
split total/k [k1]
split total.init/i [i2]
)"},
    {"matmul on virtual threads, pipelined", RandomMatmul, R"(
split mm/i [i1, i2]
split mm/j [j1, j2]
split mm/k [k1]
reorder [mm/i.0, mm/j.0, mm/i.1, mm/j.1, mm/i.2, mm/j.2, mm/k.0, mm/k.1]
bind mm/i.0 blockIdx.y
bind mm/j.0 blockIdx.x
bind mm/i.1 vthread
bind mm/j.1 vthread
bind mm/i.2 threadIdx.y
bind mm/j.2 threadIdx.x
cache_write mm C local C_l
reverse_compute_at C_l mm/j.2
cache_read A [mm] shared A_s
cache_read B [mm] shared B_s
compute_at A_s mm/k.0
compute_at B_s mm/k.0
split A_s/ax1 [4]
bind A_s/ax0 threadIdx.y
bind A_s/ax1.1 threadIdx.x
fuse B_s/ax0 B_s/ax1
split B_s/(ax0*ax1) [i2, j2]
bind B_s/(ax0*ax1).1 threadIdx.y
bind B_s/(ax0*ax1).2 threadIdx.x
decompose_reduction mm mm/k.0
pipeline mm/k.0 s pipelined_async
)"},
    {"matmul on rasterized blocks, operands that threads fetch alike", RandomMatmul, R"(
split mm/i [i1, i2]
split mm/j [j1, j2]
split mm/k [k1]
reorder [mm/i.0, mm/j.0, mm/i.1, mm/j.1, mm/k.0, mm/k.1, mm/i.2, mm/j.2]
rasterize mm/i.0 mm/j.0 s
bind mm/(i.0*j.0) blockIdx.x
bind mm/i.1 threadIdx.y
bind mm/j.1 vthread
cache_write mm C local C_l
reverse_compute_at C_l mm/j.1
cache_read A [mm] shared A_s
cache_read B [mm] shared B_s
compute_at A_s mm/k.0
compute_at B_s mm/k.0
bind B_s/ax1 threadIdx.y
decompose_reduction mm mm/k.0
pipeline mm/k.0 2 pipelined
)"},
    {"matmul on threads, staged in shared memory", RandomMatmul, R"(
split mm/i [i1, i2]
split mm/j [j1, j2]
split mm/k [k1]
reorder [mm/i.0, mm/j.0, mm/i.1, mm/j.1, mm/k.0, mm/k.1, mm/i.2, mm/j.2]
bind mm/i.0 blockIdx.y
bind mm/j.0 blockIdx.x
bind mm/i.1 threadIdx.y
bind mm/j.1 threadIdx.x
cache_write mm C local C_l
reverse_compute_at C_l mm/j.1
cache_read A [mm] shared A_s
cache_read B [mm] shared B_s
compute_at A_s mm/k.0
compute_at B_s mm/k.0
split A_s/ax1 [4]
bind A_s/ax0 threadIdx.y
bind A_s/ax1.1 threadIdx.x
fuse B_s/ax0 B_s/ax1
split B_s/(ax0*ax1) [i1, j1]
bind B_s/(ax0*ax1).1 threadIdx.y
bind B_s/(ax0*ax1).2 threadIdx.x
decompose_reduction mm mm/k.0
)"},
    {"matmul on threads, rows of shared memory apart and swizzled", RandomMatmul, R"(
cache_write mm C local C_l
cache_read A [mm] shared A_s
cache_read B [mm] shared B_s
pad mm k k1
split mm/i [i1, i2]
split mm/j [j1, j2]
split mm/k [k1]
reorder [mm/i.0, mm/j.0, mm/i.1, mm/j.1, mm/k.0, mm/k.1, mm/i.2, mm/j.2]
bind mm/i.0 blockIdx.y
bind mm/j.0 blockIdx.x
bind mm/i.1 threadIdx.y
bind mm/j.1 threadIdx.x
reverse_compute_at C_l mm/j.1
compute_at A_s mm/k.0
compute_at B_s mm/k.0
storage_align A_s 0 32 s
swizzle B_s 3 2 3
fuse A_s/ax0 A_s/ax1
split A_s/(ax0*ax1) [i1, j1]
bind A_s/(ax0*ax1).1 threadIdx.y
bind A_s/(ax0*ax1).2 threadIdx.x
bind B_s/ax0 threadIdx.y
decompose_reduction mm mm/k.0
pipeline mm/k.0 2 pipelined_async
)"},
    {"matmul on threads, parts summed by the last block", RandomMatmul, R"(
split mm/k [k1, k2]
rfactor mm mm/k.0 0 global mm_p
split mm_p/i [i1]
split mm_p/j [j1]
reorder [mm_p/i.0, mm_p/j.0, mm_p/k.0, mm_p/i.1, mm_p/j.1, mm_p/k.1, mm_p/k.2]
fuse mm_p/i.0 mm_p/j.0
bind mm_p/(i.0*j.0) blockIdx.x
bind mm_p/k.0 blockIdx.y
bind mm_p/i.1 threadIdx.y
bind mm_p/j.1 threadIdx.x
decompose_reduction mm_p mm_p/k.1
reverse_compute_at mm mm_p/(i.0*j.0)
fuse mm/i mm/j
split mm/(i*j) [j2, s]
reorder [mm/(i*j).1, mm/p, mm/(i*j).0, mm/(i*j).2]
bind mm/(i*j).1 threadIdx.x
decompose_reduction mm mm/p
unroll mm/(i*j).2
)"},
    {"softmax, partial results for lanes",
     [](Random& random) { return SoftmaxFunction(Extent(random), Extent(random)); }, R"(
split out/i [i1]
compute_at stat out/i.0
split stat/j [k1, k2]
rfactor stat stat/j.2 -1 local stat_p
rfactor stat_p stat_p/j.0 0 global stat_q
vectorize stat_q/j.2
vectorize stat_q.init/j.2
parallel stat_q/j.0
unroll stat/j.2
split out/j [j1]
vectorize out/j.1
parallel out/i.0
)"},
    {"softmax, a tile's direct result",
     [](Random& random) { return SoftmaxFunction(Extent(random), Extent(random)); }, R"(
split stat/j [k1, k2]
split stat/i [i1]
reorder [stat/i.0, stat/j.0, stat/i.1, stat/j.1, stat/j.2]
rfactor_tile stat stat/j.0 direct local stat_p
rfactor stat_p.1 stat_p.1/j.2 -1 local stat_l
vectorize stat_l/j.2
split stat_p.0/i.1 [s]
reorder [stat_p.0/j.1, stat_p.0/i.1.1]
)"},
    {"matmul, a tile's combined result", RandomMatmul, R"(
split mm/i [i1]
split mm/j [j1]
split mm/k [k1, k2]
reorder [mm/i.0, mm/j.0, mm/k.0, mm/k.1, mm/k.2, mm/i.1, mm/j.1]
rfactor_tile mm mm/k.0 combined local mm_p
vectorize mm_p/j.1
rfactor mm_p mm_p/k.2 0 local mm_q
)"},
    {"softmax across threads",
     [](Random& random) { return SoftmaxFunction(Extent(random), Extent(random)); }, R"(
split stat/j [k1]
split stat/i [i1]
reorder [stat/i.0, stat/i.1, stat/j.1, stat/j.0]
bind stat/i.0 blockIdx.x
bind stat/i.1 threadIdx.y
rfactor stat stat/j.1 0 shared stat_p
bind stat_p/j.1 threadIdx.x
bind stat_p.init/j.1 threadIdx.x
fuse out/i out/j
split out/(i*j) [j1]
bind out/(i*j).0 blockIdx.x
bind out/(i*j).1 threadIdx.x
)"},
    {"softmax in one launch, rows across threads",
     [](Random& random) { return SoftmaxFunction(Extent(random), Extent(random)); }, R"(
bind out/i blockIdx.x
set_scope m shared
set_scope l shared
split out/j [j1]
bind out/j.1 threadIdx.x
compute_at stat out/i
split stat/j [k1]
rfactor stat stat/j.1 0 shared stat_p
bind stat_p/j.1 threadIdx.x
bind stat_p.init/j.1 threadIdx.x
)"},
    {"softmax, threads of a row exchange what they have",
     [](Random& random) { return SoftmaxFunction(Extent(random), Extent(random)); }, R"(
tile w 2 33
set_scope m local
set_scope l local
split out/i [i1]
compute_at stat out/i.0
bind stat/i threadIdx.y
split stat/j [k1, w, s]
bind stat/j.2 threadIdx.x
vectorize stat/j.3
unroll stat/j.1
bind out/i.1 threadIdx.y
split out/j [w]
bind out/j.1 threadIdx.x
bind out/i.0 blockIdx.x
)"},
    {"attention, flash", RandomAttention, TCC_ATTENTION_TILES R"(
rfactor_tile core core/t.0 direct local core_p
compute_at logits core/t.0
compute_at scores core/t.0
split core_p.2/d [s]
reorder [core_p.2/i, core_p.2/d.0, core_p.2/t.1, core_p.2/d.1]
vectorize core_p.2/d.1
vectorize core.0/i
split core_p.map0/t.1 [j1]
vectorize core_p.map0/t.1.1
split core_p.0/t.1 [j2]
rfactor core_p.0 core_p.0/t.1.1 -1 local core_m
vectorize core_m/t.1.1
split scores/t [s]
decompose_reduction scores scores/e
parallel out/i.0
)"},
    {"attention, flash on threads, a row a thread", RandomAttention, R"(
split out/i [i1]
bind out/i.0 blockIdx.x
bind out/i.1 threadIdx.x
set_scope m local
set_scope l local
set_scope acc local
compute_at core out/i.1
split core/t [k1]
reorder [core/d, core/t.0]
rfactor_tile core core/t.0 direct local core_p
set_scope logits local
compute_at logits core/t.0
set_scope scores local
compute_at scores core/t.0
)"},
    {"attention, flash on threads, all in shared memory", RandomAttention, R"(
split out/i [i1]
bind out/i.0 blockIdx.x
bind out/i.1 threadIdx.y
bind out/d threadIdx.x
set_scope m shared
set_scope l shared
set_scope acc shared
compute_at core out/i.0
split core/t [k1]
reorder [core/d, core/t.0, core/i, core/t.1]
rfactor_tile core core/t.0 direct shared core_p
set_scope logits shared
compute_at logits core/t.0
set_scope scores shared
compute_at scores core/t.0
bind scores/i threadIdx.y
bind logits/t threadIdx.x
bind core.0/i threadIdx.y
bind core/i threadIdx.y
bind core/d threadIdx.x
bind core_p.2/i threadIdx.y
bind core_p.2/d threadIdx.x
bind core_p.2.init/d threadIdx.x
bind core_p.map0/t.1 threadIdx.x
bind core_p.0/i threadIdx.x
bind core.init/d threadIdx.x
)"},
};

}  // namespace

size_t SpikeCount() {
  return std::size(kRows);
}

SpikeProgram BuildSpike(size_t index, Random& random) {
  const Row& row = kRows[index];
  StatusOr<Trace> trace = ParseTrace(std::string(kTiles) + row.trace);
  TCC_CHECK(trace.ok()) << row.name << ": " << Message(trace.status());
  return {row.name, row.build(random), *trace};
}

}  // namespace tcc
