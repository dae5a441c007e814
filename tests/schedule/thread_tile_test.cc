#include "schedule/sketches/gpu/thread_tile.h"

#include <catch2/catch.hpp>

#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/gpu/tile_time.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/schedule.h"
#include "support/integer_division.h"
#include "tests/programs/spike_programs.h"

using namespace tcc;

namespace {

// Returns the product of [rows, k] and [k, columns], with axes of a batch in front.
TiledProduct ProductOf(int64_t rows, int64_t columns, int64_t k,
                       const std::vector<int64_t>& batch = {}) {
  TiledProduct product{.spatial = batch, .reduce = {k}, .operands = {}};
  product.spatial.insert(product.spatial.end(), {rows, columns});
  std::vector<bool> a(batch.size(), true), b(batch.size(), true);
  a.insert(a.end(), {true, false});
  b.insert(b.end(), {false, true});
  const size_t last = batch.size() + 1;
  product.operands = {{.has = a, .last = std::nullopt, .cell_bytes = 4, .lanes = 4},
                      {.has = b, .last = last, .cell_bytes = 4, .lanes = 4}};
  return product;
}

// Returns the choice that a sketch starts from: with parts or without.
ThreadTile StartOf(const TiledProduct& product, const Target& target) {
  const auto [whole, in_parts] = ChooseThreadTile(product, target);
  return in_parts && in_parts->seconds < whole.seconds ? *in_parts : whole;
}

int64_t LengthOf(const ThreadLevels& level) {
  return level.vthreads * level.threads * level.inner;
}

int64_t BlocksOf(const ThreadTile& tile, const TiledProduct& product) {
  int64_t blocks = tile.parts;
  for (size_t axis = 0; axis < product.spatial.size(); ++axis) {
    blocks *= CeilDivision(product.spatial[axis], LengthOf(tile.spatial[axis]));
  }
  return blocks;
}

int64_t ThreadsOf(const ThreadTile& tile) {
  int64_t threads = 1;
  for (const ThreadLevels& level : tile.spatial) threads *= level.threads;
  return threads;
}

std::vector<Target> GpuTargets() {
  std::vector<Target> targets;
  for (const Target& target : AllTargets()) {
    if (target.kind == TargetKind::kGpu) targets.push_back(target);
  }
  return targets;
}

struct Shape {
  int64_t rows, columns, k;
};
// Square products, layers of BERT-base and ViT-B/16, and convolutions of 1x1 of ResNet-50.
constexpr Shape kShapes[] = {
    {512, 512, 512},  {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096}, {128, 768, 768},
    {128, 3072, 768}, {128, 768, 3072},   {197, 768, 768},    {3136, 256, 64},    {3136, 64, 256},
    {196, 256, 1024}, {49, 2048, 512},    {784, 512, 128},
};

// Returns the work of a product of `size` x `size` matrices in tiles of `tile` x `tile` results, of
// 256 threads each, in steps of 8 terms.
TileWork SquareProduct(int64_t size, int64_t tile, int64_t stages) {
  const int64_t rows = tile / 16;
  return {.blocks = (size / tile) * (size / tile),
          .threads = 256,
          .steps = size / 8,
          .multiply_adds = rows * rows * 8,
          .loads = 4.0 * static_cast<double>(rows),
          .load_cycles = 8.0 * static_cast<double>(rows),
          .copies = static_cast<double>(tile) / 64,
          .copied_bytes = static_cast<double>(2 * tile * 8 * 4),
          .registers = rows * rows + 5 * rows + 24,
          .shared_bytes = stages * 2 * tile * 8 * 4};
}

}  // namespace

TEST_CASE("starts of products fill three quarters of their waves, with parts of eight steps",
          "[schedule][tiles]") {
  Target target = FindTarget("sm_90a").value();
  for (const Shape& shape : kShapes) {
    INFO(shape.rows << " x " << shape.k << " x " << shape.columns);
    TiledProduct product = ProductOf(shape.rows, shape.columns, shape.k);
    ThreadTile start = StartOf(product, target);
    int64_t blocks = BlocksOf(start, product);
    int64_t places = RoundUp(blocks, target.multiprocessors);
    CHECK(4 * blocks >= 3 * places);
    CHECK(CeilDivision(shape.k, start.parts) >= 8 * kReductionStep);
    CHECK(ThreadsOf(start) % Target::kWarp == 0);
  }
}

TEST_CASE("products of half a million operations get a quarter of the multiprocessors",
          "[schedule][tiles]") {
  for (const Target& target : GpuTargets()) {
    for (int64_t rows : {1, 7, 16, 49, 64, 100, 197, 1000}) {
      for (int64_t columns : {10, 48, 64, 96, 200, 512, 1000}) {
        for (int64_t k : {8, 32, 64, 100, 147, 256, 1024, 4096}) {
          if (2 * rows * columns * k <= 500'000) continue;
          INFO(target.name << ": " << rows << " x " << k << " x " << columns);
          TiledProduct product = ProductOf(rows, columns, k);
          CHECK(4 * BlocksOf(StartOf(product, target), product) >= target.multiprocessors);
        }
      }
    }
  }
}

TEST_CASE("large products have 8 x 8 results a thread, in two vectors of columns",
          "[schedule][tiles]") {
  Target target = FindTarget("sm_90a").value();
  ThreadTile start = StartOf(ProductOf(4096, 4096, 4096), target);
  CHECK(start.parts == 1);
  CHECK(start.spatial[0].inner == 8);
  CHECK(start.spatial[1].inner == 4);
  CHECK(start.spatial[1].vthreads == 2);
  CHECK(start.reduce[0].inner == 8);
}

TEST_CASE("rows of a prime number have several results a thread and little padding",
          "[schedule][tiles]") {
  Target target = FindTarget("sm_86").value();
  for (int64_t rows : {197, 331, 577}) {
    INFO(rows);
    ThreadTile start = StartOf(ProductOf(rows, 768, 768), target);
    CHECK(start.spatial[0].inner * start.spatial[1].inner >= 8);
    int64_t part = LengthOf(start.spatial[0]);
    CHECK(100 * RoundUp(rows, part) <= 115 * rows);
    CHECK(ThreadsOf(start) % Target::kWarp == 0);
  }
}

TEST_CASE("tiles hold no two members of a batch", "[schedule][tiles]") {
  for (const Target& target : GpuTargets()) {
    ThreadTile start = StartOf(ProductOf(197, 64, 64, {12}), target);
    CHECK(LengthOf(start.spatial[0]) == 1);
    // Rows of single numbers have nothing to share either way.
    ThreadTile rows = StartOf(ProductOf(1, 64, 64, {100}), target);
    CHECK(ThreadsOf(rows) >= Target::kWarp);
  }
}

TEST_CASE("few channels leave threads to the rows", "[schedule][tiles]") {
  Target target = FindTarget("sm_86").value();
  TiledProduct product = ProductOf(56, 24, 64);
  product.spatial = {1, 56, 56, 24};
  product.operands[0].has = {true, true, true, false};
  product.operands[1].has = {false, false, false, true};
  product.operands[1].last = 3;
  ThreadTile start = StartOf(product, target);
  CHECK(LengthOf(start.spatial[3]) <= 24);
  CHECK(start.spatial[1].threads * start.spatial[2].threads >= 16);
}

TEST_CASE("parts of a reduction are eight steps, and whole ones where it has such parts",
          "[schedule][tiles]") {
  Target target = FindTarget("sm_86").value();
  CHECK_FALSE(ChooseThreadTile(ProductOf(64, 64, 64), target).in_parts);
  for (int64_t k : {128, 300, 768, 1000, 4096}) {
    INFO(k);
    std::optional<ThreadTile> tile = ChooseThreadTile(ProductOf(64, 64, k), target).in_parts;
    REQUIRE(tile);
    CHECK(tile->parts >= 2);
    int64_t part = CeilDivision(k, tile->parts);
    CHECK(part >= kMinPartTerms);
    if (k % 128 == 0) CHECK(part % (tile->reduce[0].turns * tile->reduce[0].inner) == 0);
  }
}

TEST_CASE("a long reduction to few results is in parts on every device that it leaves idle",
          "[schedule][tiles]") {
  for (const Target& target : GpuTargets()) {
    INFO(target.name);
    // Four units have enough blocks without.
    CHECK((StartOf(ProductOf(64, 64, 4096), target).parts > 1) == (target.multiprocessors > 4));
    CHECK(StartOf(ProductOf(4096, 4096, 64), target).parts == 1);
  }
}

TEST_CASE("where shared memory is memory, operands are loaded into few threads' registers",
          "[schedule][tiles]") {
  const Target mali = FindTarget("opencl-mali-t860").value();
  for (const auto& [rows, columns, k] : kShapes) {
    ThreadTile tile = StartOf(ProductOf(rows, columns, k), mali);
    CHECK(ThreadsOf(tile) <= kHeldThreads);
    CHECK(tile.reduce[0].inner <= kHeldTerms);
  }
  Function fn = MatmulFunction(64, 64, 64);
  SymbolicProgram program = Instantiate(fn, FirstSketch(fn, mali).trace).value();
  for (const Buffer& buffer : DeclaredBuffers(program.fn)) CHECK(buffer.scope != Scope::kShared);
}

// bench/results/NVIDIA_H200/report.md, suite matmul; the fit saw them.
TEST_CASE("strict products on an H200 take what was measured", "[schedule][tiles]") {
  const GpuProfile& gpu = GpuProfileOf(90);
  auto microseconds = [&](const TileWork& work) {
    return 1e6 * (SecondsOf(work, gpu) + gpu.launch_seconds);
  };
  CHECK(microseconds(SquareProduct(2048, 64, 3)) == Approx(574).epsilon(0.1));
  CHECK(microseconds(SquareProduct(4096, 128, 3)) == Approx(3688).epsilon(0.1));
}

TEST_CASE("a tile takes longer with more of anything", "[schedule][tiles]") {
  for (int sm : {75, 80, 86, 89, 90}) {
    const GpuProfile& gpu = GpuProfileOf(sm);
    const TileWork base = SquareProduct(1024, 64, 2);
    const double seconds = SecondsOf(base, gpu);
    CHECK(seconds > 0);
    auto longer = [&](auto change) {
      TileWork work = base;
      change(work);
      return SecondsOf(work, gpu) > seconds;
    };
    CHECK(longer([](TileWork& work) { work.blocks *= 16; }));
    CHECK(longer([](TileWork& work) { work.steps *= 2; }));
    CHECK(longer([](TileWork& work) { work.multiply_adds *= 2; }));
    CHECK(longer([](TileWork& work) { work.loads *= 2; }));
    CHECK(longer([](TileWork& work) { work.load_cycles *= 2; }));
    CHECK(longer([](TileWork& work) { work.copies *= 2; }));
    CHECK(longer([](TileWork& work) { work.copied_bytes *= 2; }));
    CHECK(longer([](TileWork& work) { work.registers = 250; }));
    CHECK(longer([&](TileWork& work) { work.shared_bytes = gpu.shared_bytes / 2; }));
  }
}

TEST_CASE("a block beyond whole waves takes as long as another wave", "[schedule][tiles]") {
  const GpuProfile& gpu = GpuProfileOf(90);
  auto seconds = [&](int64_t blocks) {
    TileWork work = SquareProduct(1024, 128, 3);
    work.blocks = blocks;
    work.copied_bytes = 0;
    return SecondsOf(work, gpu);
  };
  CHECK(seconds(gpu.multiprocessors) == seconds(1));
  CHECK(seconds(gpu.multiprocessors + 1) == seconds(2 * gpu.multiprocessors));
  CHECK(seconds(gpu.multiprocessors + 1) > 1.3 * seconds(gpu.multiprocessors));
}

TEST_CASE("parts cost a launch and the bytes of all of them", "[schedule][tiles]") {
  const GpuProfile& gpu = GpuProfileOf(90);
  CHECK(SecondsOfParts(1, 1 << 20, gpu) == 0);
  const double few = SecondsOfParts(2, 1 << 20, gpu) - gpu.launch_seconds;
  CHECK(few > 0);
  CHECK(SecondsOfParts(6, 1 << 20, gpu) - gpu.launch_seconds == Approx(3 * few));
  // 512 MB do not stay in L2.
  CHECK(SecondsOfParts(2, 1 << 26, gpu) - gpu.launch_seconds > 64 * 1.2 * few);
}
