#pragma once

#include <cstdint>
#include <string>

#include "ir/graph/graph.h"

namespace tcc {

// The opset that is written.
inline constexpr int kExportOpset = 17;

struct ExportOptions {
  // Where weights go: into the model's file; or those of 1 KiB and more into a file beside it,
  // named as the model with ".data" after it. kAuto: inline below 1 GiB of weights in all.
  enum class Weights : uint8_t { kAuto, kInline, kExternal };
  Weights weights = Weights::kAuto;
};

// Writes the graph as an ONNX model; reading it back gives the same graph. A computed output whose
// shape is not known must be of rank 0, since the format wants a shape.
//
// Unimplemented, naming the node, for what the opset cannot say: Repack and channels-last nodes, a
// dilated AveragePool, Pad with axes, reductions other than ReduceSum over computed axes.
Status ExportOnnx(const Graph& graph, const std::string& path, const ExportOptions& options = {});
// The model with its weights inline.
StatusOr<std::string> ExportOnnxBytes(const Graph& graph);

}  // namespace tcc
