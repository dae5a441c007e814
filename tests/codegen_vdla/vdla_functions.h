#pragma once

#include <string>

#include "ir/expr/function.h"

// Functions with the intrinsic of VDLA, scheduled by hand and lowered.
namespace tcc {

// Parses a function, applies the steps of a trace and lowers it.
Function LoweredBy(const std::string& text, const std::string& steps);

// C[64, 4 * 16] = A[64, 4 * 16] * B, in tiles of 8 rows, 2 blocks of outputs and 2 of inputs.
Function TiledProduct();

// A convolution of 2 * 16 channels and filters, padded by 1.
struct VdlaConv {
  int rows = 14, columns = 14;  // of the image
  int kernel = 3;
  int stride = 2;
  int tile = 4;                 // rows of the result
  int inputs = 2, outputs = 2;  // blocks of 16
  int out(int extent) const { return (extent + 2 - kernel) / stride + 1; }
};
Function PaddedConv(const VdlaConv& conv);

}  // namespace tcc
