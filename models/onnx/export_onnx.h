#pragma once

#include <cstdint>
#include <string>

#include "ir/graph/graph.h"

namespace tcc {

// The opset of exported models.
inline constexpr int kExportOpset = 17;

struct ExportOptions {
  // The place of weights. kInline: in the model's file. kExternal: weights of 1 KiB and more in a
  // file beside it, with the model's name plus ".data". kAuto: inline below 1 GiB of weights in
  // all.
  enum class Weights : uint8_t { kAuto, kInline, kExternal };
  Weights weights = Weights::kAuto;
};

// Writes the graph as an ONNX model; reading it back gives the same graph. A computed output whose
// shape is not known must be of rank 0, since the format wants a shape.
//
// Fails with Unimplemented, naming the node, for anything that the opset cannot express: Repack and
// channels-last nodes, a dilated AveragePool, Pad with axes, reductions other than ReduceSum over
// computed axes.
Status ExportOnnx(const Graph& graph, const std::string& path, const ExportOptions& options = {});
// Returns the model with its weights inline.
StatusOr<std::string> ExportOnnxBytes(const Graph& graph);

}  // namespace tcc
