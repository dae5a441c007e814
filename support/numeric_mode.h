#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "support/dtype.h"
#include "support/status.h"

namespace tcc {

// What contractions of f32 operands (MatMul, Gemm, Conv, Einsum, ...) may do to them. They are
// rounded, products are added in f32; whatever else a model computes keeps its types.
enum class NumericMode : uint8_t { kStrict, k3xTf32, kTf32, kBf16, kFp16 };

struct NumericModeRow {
  NumericMode mode;
  std::string_view name;  // on the command line, in metadata
  // |error of a product| <= product_error * |a * b|, for operands that the type has in range.
  double product_error;
  std::optional<DType> type;  // what operands are stored as; nullopt: they stay f32
  std::string_view summary;
};

// The strictest first.
std::span<const NumericModeRow> NumericModes();
const NumericModeRow& RowOf(NumericMode mode);
// Fails with FailedPrecondition and the list of names.
StatusOr<NumericMode> FindNumericMode(std::string_view name);

}  // namespace tcc
