#include "bench/cpu/kernel_operator.h"

#include "graph/passes/graph_pipeline.h"
#include "support/check.h"

namespace tcc {
namespace {

ConvolutionOp ConvolutionOf(const BenchKernel& kernel) {
  int64_t around = kernel.taps / 2;
  return {.window = {.channels = kernel.in,
                     .height = kernel.side,
                     .width = kernel.side,
                     .kernel = kernel.taps,
                     .top = around,
                     .left = around,
                     .bottom = around,
                     .right = around},
          .filters = kernel.out,
          .groups = kernel.kind == KernelKind::kDepthwise ? kernel.in : 1,
          .channels_last = true};
}

OperatorKind KindOf(const BenchKernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::kGemm:
      return MatmulOp{.rows = kernel.rows, .columns = kernel.columns, .depth = kernel.depth};
    case KernelKind::kConvolution:
    case KernelKind::kDepthwise:
      return ConvolutionOf(kernel);
    case KernelKind::kSoftmax:
      return SoftmaxOp{.rows = kernel.rows, .columns = kernel.columns};
  }
  TCC_UNREACHABLE();
}

// Returns the extents of a parameter without those that are 1.
std::vector<int64_t> ExtentsOf(const Buffer& param) {
  std::vector<int64_t> extents;
  for (const Expr& extent : param.shape) {
    int64_t value = AsConstant(extent).value();
    if (value != 1) extents.push_back(value);
  }
  return extents;
}

bool HaveSameParameters(const Function& a, const Function& b) {
  if (a.params.size() != b.params.size()) return false;
  for (size_t p = 0; p < a.params.size(); ++p) {
    if (ExtentsOf(a.params[p]) != ExtentsOf(b.params[p])) return false;
  }
  return true;
}

}  // namespace

BenchOperator OperatorOf(const BenchKernel& kernel) {
  return {.name = std::string(kernel.name), .kind = KindOf(kernel)};
}

StatusOr<KernelStages> CompilerKernelOf(const BenchKernel& kernel, const Target& target) {
  CompileOptions options{.target = target};
  TCC_ASSIGN_OR_RETURN(Graph graph, GraphOf(OperatorOf(kernel)));
  TCC_RETURN_IF_ERROR(RunGraphPasses(graph, target.kind, options.stop));
  const FusedGraph fused = FuseSubgraphs(std::move(graph), target, NumericMode::kStrict);
  TCC_ASSIGN_OR_RETURN(KernelSet set, CollectKernels({&fused, 1}, options));
  if (set.kernels.size() != 1 ||
      !HaveSameParameters(set.kernels[0].variants[0], TensorFunction(kernel))) {
    return absl::InternalError(fmt::format(
        "kernel '{}': its operator became {} kernels; expected one with the same parameters",
        kernel.name, set.kernels.size()));
  }
  set.kernels[0].symbol = kernel.name;
  return std::move(set.kernels[0]);
}

StatusOr<Workload> TunedWorkloadOf(const BenchKernel& kernel, const Target& target) {
  TCC_ASSIGN_OR_RETURN(KernelStages stages, CompilerKernelOf(kernel, target));
  return WorkloadOf(stages);
}

}  // namespace tcc
