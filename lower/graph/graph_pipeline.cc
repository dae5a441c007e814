#include "lower/graph/graph_pipeline.h"

#include "ir/support/stop.h"
#include "lower/graph/infer_shapes.h"
#include "lower/graph/passes.h"

namespace tcc {
namespace {

// clang-format off
constexpr GraphPass kPasses[] = {
    // name                        function                  why here
    {"infer_shapes",               InferShapes,              "all others ask for shapes and types"},
    {"remove_dead",                RemoveDead,               "shape arithmetic is left over"},
    {"simplify_to_fixed_point",    SimplifyToFixedPoint,     "weights may be computed, readers are counted from here on"},
    {"rewrite_activations",        RewriteActivations,       "while Clip is not Relu yet"},
    {"fold_batch_normalizations",  FoldBatchNormalizations,  "while a Conv's weights are in ONNX's order"},
    {"simplify_activations",       SimplifyActivations,      "before fusion names tasks after them"},
    {"transpose_gemm_weights",     TransposeGemmWeights,     "before layouts permute the rows"},
    {"assign_layouts",             AssignLayouts,            "the last to change what nodes compute"},
    {"fold_moved_constants",       FoldConstants,            "layouts may have transposed a constant"},
    {"remove_dead_weights",        RemoveDead,               "original weights are not stored"},
};
// clang-format on

}  // namespace

std::span<const GraphPass> GraphPasses() {
  return kPasses;
}

Status RunGraphPasses(Graph& graph, const std::stop_token& stop) {
  for (const GraphPass& pass : GraphPasses()) {
    TCC_RETURN_IF_ERROR(StopIfRequested(stop));
    TCC_RETURN_IF_ERROR(pass.run(graph));
  }
  return OkStatus();
}

}  // namespace tcc
