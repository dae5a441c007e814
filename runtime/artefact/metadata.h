#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/artefact/size_expr.h"
#include "support/dtype.h"
#include "support/status.h"

// What an artefact says about itself and its model.
namespace tcc {

// A model's free dimension, e.g. N; its values are within [low, high].
struct ShapeVariable {
  std::string name;
  int64_t low = 0;
  int64_t high = 0;
};

// An input or output. A dimension is a constant or an expression over the shape variables; an
// input's is a constant or a single variable, which it binds.
struct TensorInfo {
  std::string name;
  DType dtype;
  std::vector<SizeExpr> shape;
};

struct KernelInfo {
  std::string name;                // its symbol in the kernels section
  std::vector<std::string> nodes;  // names of the model's nodes that it computes
  int64_t flops = 0;               // of one call, at the low end of the shape variables
  // In the order of the keys: what the code generator knows of the machine code, "code_bytes" -> n;
  // "moved_bytes": of the elements that one call reads or writes, each once.
  std::vector<std::pair<std::string, int64_t>> statistics = {};
  // The same of what is no whole number: "waves" -> 1.5.
  std::vector<std::pair<std::string, double>> ratios = {};
};

struct Metadata {
  std::string model;
  std::vector<ShapeVariable> shape_variables;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::vector<KernelInfo> kernels;
  // Features that the kernels need, in LLVM's names ("avx2"); a CPU that lacks one is refused.
  std::vector<std::string> cpu_features;
  // Further facts in the order of their keys: "numeric" -> "strict", "compiler" -> "0.1.0".
  std::vector<std::pair<std::string, std::string>> properties;

  std::vector<std::string> ShapeVariableNames() const;
};

// The shape as numbers; nothing if a dimension is not constant.
std::optional<std::vector<int64_t>> StaticShape(const TensorInfo& info);
// A tensor of a static shape.
TensorInfo StaticTensor(std::string name, DType dtype, const std::vector<int64_t>& shape);
// What the properties say under a key, "" for nothing.
std::string_view PropertyOf(const Metadata& metadata, std::string_view key);
// "f32[Nx3x224x224]"
std::string TypeText(const TensorInfo& info, const Metadata& metadata);

// Names that are there and unlike, dimensions that are well formed and not negative, every shape
// variable bound by an input and low <= high.
Status VerifyMetadata(const Metadata& metadata);

std::vector<uint8_t> MetadataBytes(const Metadata& metadata);
// Decodes; VerifyMetadata is the caller's.
StatusOr<Metadata> ParseMetadata(std::span<const uint8_t> bytes);

}  // namespace tcc
