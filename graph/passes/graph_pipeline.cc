#include "graph/passes/graph_pipeline.h"

#include "graph/passes/control_flow.h"
#include "graph/passes/infer_shapes.h"
#include "graph/passes/passes.h"
#include "support/stop.h"

namespace tcc {
namespace {

// clang-format off
constexpr GraphPass kPasses[] = {
    // name                        function                  why here, who visits bodies, targets
    {"infer_shapes",               InferShapes,              "all others ask for shapes and types", Bodies::kVisited},
    {"remove_dead",                RemoveDead,               "shape arithmetic is left over"},
    {"rewrite_quantized",          RewriteQuantized,         "while weights are bytes", Bodies::kEach, PassTargets::kCpu},
    {"rewrite_narrow_weights",     RewriteNarrowWeights,     "before they are folded", Bodies::kEach, PassTargets::kCpu},
    {"simplify_to_fixed_point",    SimplifyToFixedPoint,     "weights may be computed, readers are counted from here on", Bodies::kVisited},
    {"rewrite_normalizations",     RewriteNormalizations,    "epsilons and axes are constants by now"},
    {"rewrite_activations",        RewriteActivations,       "while Clip is not Relu yet"},
    {"rewrite_rotary_embeddings",  RewriteRotaryEmbeddings,  "while slices and tables are as exporters write them", Bodies::kVisited},
    {"rewrite_attentions",         RewriteAttentions,        "while views are as exporters write them"},
    {"rewrite_movements",          RewriteMovements,         "the patterns before count on what exporters write"},
    {"cut_splits",                 CutSplits,                "once no pass asks which Split a value comes from"},
    {"sink_movements",             SinkMovements,            "while every value is in ONNX's order"},
    {"join_products",              JoinProducts,             "while every value is in ONNX's order, and attentions are known"},
    {"slice_heads",                SliceHeads,               "once attentions are known and picks are slices"},
    {"fold_batch_normalizations",  FoldBatchNormalizations,  "while a Conv's weights are in ONNX's order"},
    {"simplify_activations",       SimplifyActivations,      "before fusion names tasks after them"},
    {"transpose_gemm_weights",     TransposeGemmWeights,     "before layouts permute the rows"},
    {"assign_layouts",             AssignLayouts,            "the last to change what nodes compute"},
    {"fold_moved_constants",       FoldConstants,            "layouts may have transposed a constant", Bodies::kVisited},
    {"count_iterations",           CountIterations,          "no later pass sees that a body no longer reads it"},
    {"remove_dead_weights",        RemoveDead,               "original weights are not stored"},
};
// clang-format on

}  // namespace

std::span<const GraphPass> GraphPasses() {
  return kPasses;
}

namespace {

// Runs the pass on the graph, then on its bodies. Values that it made constant outside are constant
// inside by then.
Status RunPass(const GraphPass& pass, Graph& graph) {
  TCC_RETURN_IF_ERROR(pass.run(graph));
  if (pass.bodies == Bodies::kVisited) return OkStatus();
  for (Node& node : graph.nodes) {
    if (node.bodies.empty()) continue;
    SinkConstants(graph, node);
    for (Graph& body : node.bodies) TCC_RETURN_IF_ERROR(RunPass(pass, body));
  }
  return OkStatus();
}

}  // namespace

Status RunGraphPasses(Graph& graph, TargetKind target, const std::stop_token& stop,
                      const PassHook& ended) {
  for (const GraphPass& pass : GraphPasses()) {
    if (pass.targets == PassTargets::kCpu && target != TargetKind::kCpu) continue;
    TCC_RETURN_IF_ERROR(StopIfRequested(stop));
    TCC_RETURN_IF_ERROR(RunPass(pass, graph));
    if (ended) ended(pass, graph);
  }
  return OkStatus();
}

}  // namespace tcc
