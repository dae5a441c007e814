#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/artefact/size_expr.h"
#include "support/dtype.h"
#include "support/status.h"

// The information in an artefact about itself and its model.
namespace tcc {

// A model's free dimension, e.g. N; its values are within [low, high]. Kernels are made for the
// usual one, and reports without inputs tell of it.
struct ShapeVariable {
  std::string name;
  int64_t low = 0;
  int64_t high = 0;
  int64_t usual = 0;
};

// An input or output. A dimension is a constant or an expression over the shape variables. An
// input's dimension that is a single variable binds it; one that is a formula is compared.
struct TensorInfo {
  std::string name;
  DType dtype;
  std::vector<SizeExpr> shape;
};

// The least and the greatest value of a size.
struct SizeRange {
  int64_t low = 0;
  int64_t high = 0;
};

struct KernelInfo {
  std::string name;                // its symbol in the kernels section
  std::vector<std::string> nodes;  // names of the model's nodes that it computes
  int64_t flops = 0;               // of one call, at the usual sizes
  // The ranges of the sizes that a call passes; the machine code relies on them.
  std::vector<SizeRange> shape_args = {};
  // Facts that the code generator knows of the machine code, in the order of the keys: "code_bytes"
  // -> n. "moved_bytes" are the bytes of the elements that one call reads or writes at the usual
  // sizes, each once. A CPU's kernel has "math_functions", bit f if it calls TCC_MATH code f
  // (kernel_abi.h), and "scratch_bytes", the most that one thread holds of TccRuntime::alloc,
  // INT64_MAX if unbounded.
  std::vector<std::pair<std::string, int64_t>> statistics = {};
  // The facts that are not whole numbers, in the same order: "waves" -> 1.5.
  std::vector<std::pair<std::string, double>> ratios = {};
};

struct Metadata {
  std::string model;
  std::vector<ShapeVariable> shape_variables;
  // The sizes that the model was compiled for, each the values of the shape variables in their
  // order. Empty: all sizes within their ranges.
  std::vector<std::vector<int64_t>> sizes;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::vector<KernelInfo> kernels;
  // Features that the kernels need, in LLVM's names ("avx2"); a CPU that lacks one is refused.
  std::vector<std::string> cpu_features;
  // Further facts: "numeric" -> "strict", "compiler" -> "0.1.0"; then the model's own metadata,
  // "onnx.author" -> "...", whose values may have line breaks.
  std::vector<std::pair<std::string, std::string>> properties;

  std::vector<std::string> ShapeVariableNames() const;
  std::vector<int64_t> UsualSizes() const;  // of the shape variables
};

// Returns the shape as numbers; nothing if a dimension is not constant.
std::optional<std::vector<int64_t>> StaticShape(const TensorInfo& info);
// Makes the info of a tensor with a static shape.
TensorInfo StaticTensor(std::string name, DType dtype, const std::vector<int64_t>& shape);
// Returns the property under a key, "" if there is none.
std::string_view PropertyOf(const Metadata& metadata, std::string_view key);
// Returns "f32[Nx3x224x224]".
std::string TypeText(const TensorInfo& info, const Metadata& metadata);

// Returns "B=1,S=16": the values of the shape variables.
std::string SizeText(const Metadata& metadata, std::span<const int64_t> size);
// Returns the listed sizes: "B=1,S=16; B=4,S=128".
std::string SizesText(const Metadata& metadata);

// Checks that names are present and distinct, dimensions are well formed and not negative, an input
// binds every shape variable, low <= usual <= high, and each listed size is within these ranges.
Status VerifyMetadata(const Metadata& metadata);

std::vector<uint8_t> MetadataBytes(const Metadata& metadata);
// Decodes metadata. The caller still has to call VerifyMetadata.
StatusOr<Metadata> ParseMetadata(std::span<const uint8_t> bytes);

}  // namespace tcc
