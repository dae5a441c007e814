#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "support/target.h"

// The initial sizes of a GPU's tiles of contractions and windows, picked from extents alone.
namespace tcc {

// A buffer that a contraction or window reads.
struct TiledOperand {
  std::vector<bool> has;  // by spatial axis: whether an index uses it
  std::optional<size_t>
      last;  // the spatial axis along which memory is contiguous; else a reduce axis
  int64_t cell_bytes = 4;
  int64_t lanes = 1;  // cells that a copy moves at once
};

// A contraction or window: the extents of its axes, results contiguous along the last spatial one,
// and its operands.
struct TiledProduct {
  std::vector<int64_t> spatial, reduce;
  std::vector<TiledOperand> operands;
};

// The number of elements along one axis that a thread block computes: virtual threads * threads *
// inner.
struct ThreadLevels {
  int64_t vthreads = 1;
  int64_t threads = 1;
  int64_t inner = 1;
};

// The terms along one axis that a step of the reduction takes: `turns` of `inner` unrolled ones.
struct StepLevels {
  int64_t turns = 1;
  int64_t inner = 1;
};

struct ThreadTile {
  std::vector<ThreadLevels> spatial;
  std::vector<StepLevels> reduce;
  int64_t parts = 1;   // of the longest reduce axis, each a tile's worth of blocks
  double seconds = 0;  // that all its launches are expected to take (tile_time.h)
};

// Returns the position of the reduce axis that is dealt to parts: the longest one.
size_t LongestAxis(std::span<const int64_t> reduce);

// The tiles that are expected to take least time, with one part and with more.
struct ThreadTileChoice {
  ThreadTile whole;
  // Parts have at least kMinPartTerms terms, and are whole steps where the axis has such parts.
  // nullopt: the reduction is too short.
  std::optional<ThreadTile> in_parts;
};

// Chooses tiles for the target's typical device: rows along the other axes from the right and
// columns along the last axis, up to 256 threads of up to 16 x 8 results each. Axes that all
// operands share, as in a batch, are tiled only where there are no others beside the last one.
ThreadTileChoice ChooseThreadTile(const TiledProduct& product, const Target& target);

}  // namespace tcc
