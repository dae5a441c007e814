#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "support/vdla_config.h"

namespace tcc {

// An operand that a product reads along one axis of pixels: `extent` results, each from a window of
// `taps` cells, `stride` cells after the one before, `dilation` cells apart.
struct VdlaPixels {
  int64_t extent = 1;
  int64_t taps = 1;
  int64_t stride = 1;
  int64_t dilation = 1;

  // Returns the cells that `results` neighbours read.
  int64_t Cells(int64_t results) const {
    return (results - 1) * stride + (taps - 1) * dilation + 1;
  }
};

// A product of blocks of 16 inputs and 16 outputs, for all pixels of an image.
struct VdlaWork {
  int64_t images = 1;
  VdlaPixels rows, columns;
  int64_t other_taps = 1;  // of further dimensions of the window
  int64_t input_blocks = 1;
  int64_t output_blocks = 1;
  int64_t result_bytes = 4;  // of an element
  int64_t operands = 0;      // floats that the output stage reads for each channel
};

// The axis along which two tiles are done side by side, in a context each: while one multiplies,
// the operands of the other are copied. kNone: one context.
enum class VdlaContexts : uint8_t { kNone, kRows, kColumns, kOutputs };
int64_t CountOf(VdlaContexts contexts);

// The part of the work whose operands and sums are on the chip at once, for a context; each extent
// divides the work's, an even number of times along the axis of contexts.
struct VdlaTile {
  int64_t rows = 1, columns = 1;  // pixels
  int64_t input_blocks = 1;
  int64_t output_blocks = 1;
  VdlaContexts contexts = VdlaContexts::kNone;
};

// Returns whether the tiles of all contexts, and their micro-ops, fit the chip.
bool Fits(const VdlaWork& work, const VdlaTile& tile, const VdlaConfig& config);

// Returns the cycles that the work takes by tiles: copies take the memory's latency and their
// bytes, the output stage's among them, and a GEMM its issue and a cycle a product. One context
// does one after the other; with two, the copies of one overlap the products of the other.
double EstimateCycles(const VdlaWork& work, const VdlaTile& tile, const VdlaConfig& config);

// Returns the tile with these contexts that fits and takes the least cycles; nullopt if none fits.
std::optional<VdlaTile> ChooseVdlaTile(const VdlaWork& work, VdlaContexts contexts,
                                       const VdlaConfig& config);
// Returns the best tile for each way of having contexts, the fastest first; none if no tile fits.
std::vector<VdlaTile> ChooseVdlaTiles(const VdlaWork& work, const VdlaConfig& config);

}  // namespace tcc
