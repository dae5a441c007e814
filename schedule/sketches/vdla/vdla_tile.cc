#include "schedule/sketches/vdla/vdla_tile.h"

#include <algorithm>
#include <vector>

#include "support/check.h"

namespace tcc {
namespace {

std::vector<int64_t> Divisors(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= number; ++d) {
    if (number % d == 0) divisors.push_back(d);
  }
  return divisors;
}

int64_t Taps(const VdlaWork& work) {
  return work.rows.taps * work.columns.taps * work.other_taps;
}

// The bytes of a tile's operands of one step, of its sums, and of its results with what the output
// stage reads.
struct TileBytes {
  int64_t activations = 0, weights = 0, sums = 0, results = 0;
};

TileBytes BytesOf(const VdlaWork& work, const VdlaTile& tile) {
  const int64_t cells =
      work.rows.Cells(tile.rows) * work.columns.Cells(tile.columns) * work.other_taps;
  const int64_t channels = tile.output_blocks * kVdlaBlock;
  const int64_t sums = tile.rows * tile.columns * channels;
  return {cells * tile.input_blocks * kVdlaBlock,
          Taps(work) * tile.input_blocks * kVdlaBlock * channels, sums * 4,
          sums * work.result_bytes + channels * work.operands * 4};
}

// Returns the micro-ops of a step. Two loops become the hardware's, the longest ones.
int64_t MicroOps(const VdlaWork& work, const VdlaTile& tile) {
  std::vector<int64_t> loops = {tile.rows,         tile.columns,       work.rows.taps,
                                work.columns.taps, tile.output_blocks, tile.input_blocks};
  std::ranges::sort(loops);
  int64_t ops = work.other_taps;
  for (size_t i = 0; i + 2 < loops.size(); ++i) ops *= loops[i];
  return ops;
}

// Returns the number of tiles along the axis of contexts.
int64_t TilesAlong(const VdlaWork& work, const VdlaTile& tile) {
  switch (tile.contexts) {
    case VdlaContexts::kNone:
      return 1;
    case VdlaContexts::kRows:
      return work.rows.extent / tile.rows;
    case VdlaContexts::kColumns:
      return work.columns.extent / tile.columns;
    case VdlaContexts::kOutputs:
      return work.output_blocks / tile.output_blocks;
  }
  TCC_UNREACHABLE();
}

}  // namespace

int64_t CountOf(VdlaContexts contexts) {
  return contexts == VdlaContexts::kNone ? 1 : 2;
}

bool Fits(const VdlaWork& work, const VdlaTile& tile, const VdlaConfig& config) {
  const int64_t contexts = CountOf(tile.contexts);
  const TileBytes bytes = BytesOf(work, tile);
  return TilesAlong(work, tile) % contexts == 0 &&
         bytes.activations * contexts <= config.activation_bytes &&
         bytes.weights * contexts <= config.weight_bytes &&
         bytes.sums * contexts <= config.sum_bytes &&
         // The initialisation of the sums has micro-ops of its own, at most as many.
         2 * MicroOps(work, tile) * contexts <= config.micro_ops;
}

double EstimateCycles(const VdlaWork& work, const VdlaTile& tile, const VdlaConfig& config) {
  const TileBytes bytes = BytesOf(work, tile);
  const auto copy = [&](int64_t size) {
    return static_cast<double>(config.memory_latency) +
           static_cast<double>(size) / static_cast<double>(config.bytes_per_cycle);
  };
  const auto issue = static_cast<double>(config.issue_cycles);
  const auto sums = static_cast<double>(tile.rows * tile.columns * tile.output_blocks);
  const double products = sums * static_cast<double>(Taps(work) * tile.input_blocks);
  const int64_t step_count = work.input_blocks / tile.input_blocks;
  const auto steps = static_cast<double>(step_count);
  const double memory =
      steps * (copy(bytes.activations) + copy(bytes.weights)) + copy(bytes.results);
  const double compute = steps * (issue + products) + issue + sums;
  const int64_t tile_count = work.images * (work.rows.extent / tile.rows) *
                             (work.columns.extent / tile.columns) *
                             (work.output_blocks / tile.output_blocks);
  const auto tiles = static_cast<double>(tile_count);
  const bool overlap = tile.contexts != VdlaContexts::kNone;
  return tiles * (overlap ? std::max(memory, compute) : memory + compute);
}

std::optional<VdlaTile> ChooseVdlaTile(const VdlaWork& work, VdlaContexts contexts,
                                       const VdlaConfig& config) {
  std::optional<VdlaTile> best;
  double least = 0;
  for (int64_t rows : Divisors(work.rows.extent)) {
    for (int64_t columns : Divisors(work.columns.extent)) {
      for (int64_t inputs : Divisors(work.input_blocks)) {
        for (int64_t outputs : Divisors(work.output_blocks)) {
          const VdlaTile tile = {rows, columns, inputs, outputs, contexts};
          if (!Fits(work, tile, config)) continue;
          const double cycles = EstimateCycles(work, tile, config);
          if (best && cycles >= least) continue;
          best = tile;
          least = cycles;
        }
      }
    }
  }
  return best;
}

std::vector<VdlaTile> ChooseVdlaTiles(const VdlaWork& work, const VdlaConfig& config) {
  std::vector<VdlaTile> tiles;
  for (VdlaContexts contexts :
       {VdlaContexts::kRows, VdlaContexts::kColumns, VdlaContexts::kOutputs, VdlaContexts::kNone}) {
    if (auto tile = ChooseVdlaTile(work, contexts, config)) tiles.push_back(*tile);
  }
  std::ranges::stable_sort(
      tiles, {}, [&](const VdlaTile& tile) { return EstimateCycles(work, tile, config); });
  return tiles;
}

}  // namespace tcc
