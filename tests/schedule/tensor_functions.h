#pragma once

#include <span>
#include <string>

#include "support/random.h"

// Texts of kTensor functions as networks have them, with extents that do and do not divide tiles.
namespace tcc {

struct TensorFunctionKind {
  const char* name;
  std::string (*text)(Random& random);
};

std::span<const TensorFunctionKind> TensorFunctionKinds();

// C = A * B; with an epilogue ("max(x, 0.0)", over x) a block of its own applies it.
std::string MatmulText(int64_t rows, int64_t columns, int64_t depth, const std::string& epilogue);

}  // namespace tcc
