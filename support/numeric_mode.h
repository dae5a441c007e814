#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "support/dtype.h"
#include "support/status.h"

namespace tcc {

// How contractions (MatMul, Gemm, Conv, Einsum, ...) may round their f32 operands. Products are
// still summed in f32, and all other operators keep their types.
enum class NumericMode : uint8_t { kStrict, k3xTf32, kTf32, kBf16, kFp16 };

struct NumericModeRow {
  NumericMode mode;
  std::string_view name;  // on the command line and in metadata
  // The bound |error of a product| <= product_error * |a * b|, for operands within the type's
  // range.
  double product_error;
  std::optional<DType> type;  // the type that operands are stored as; nullopt: f32
  std::string_view summary;
};

// Returns all modes, the strictest first.
std::span<const NumericModeRow> NumericModes();
const NumericModeRow& RowOf(NumericMode mode);
// Fails with FailedPrecondition and the list of names.
StatusOr<NumericMode> FindNumericMode(std::string_view name);

}  // namespace tcc
