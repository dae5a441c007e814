#include "codegen_cuda/text/gpu_kernel.h"

#include "codegen_cuda/text/size_code.h"
#include "support/check.h"

namespace tcc {
namespace {

GpuArgument::Kind KindOf(KernelArgument::Kind kind) {
  switch (kind) {
    case KernelArgument::Kind::kParameter:
      return GpuArgument::Kind::kBuffer;
    case KernelArgument::Kind::kWorkspace:
      return GpuArgument::Kind::kWorkspace;
    case KernelArgument::Kind::kShape:
      return GpuArgument::Kind::kShape;
    case KernelArgument::Kind::kTickets:
      return GpuArgument::Kind::kTickets;
    case KernelArgument::Kind::kTensorMap:
      return GpuArgument::Kind::kTensorMap;
  }
  TCC_UNREACHABLE();
}

GpuLaunch LaunchOf(const Function& fn, const Launch& launch, uint32_t image) {
  GpuLaunch result;
  result.symbol = launch.kernel;
  result.image = image;
  for (size_t axis = 0; axis < 3; ++axis) {
    result.grid[axis] = SizeCodeOf(launch.grid[axis], fn.vars);
    result.block[axis] = static_cast<uint32_t>(launch.block[axis]);
  }
  result.static_shared_bytes = launch.static_shared_bytes;
  result.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  result.waits = launch.waits;
  result.maps = launch.maps;
  for (const KernelArgument& argument : launch.arguments) {
    result.arguments.push_back({KindOf(argument.kind), static_cast<uint32_t>(argument.index)});
  }
  return result;
}

// Two elements of 4 bits share a byte.
SizeExpr BytesOf(const Buffer& flat, std::span<const Var> shapes) {
  SizeExpr bits =
      Combine(SizeOp::kMul, SizeCodeOf(flat.shape[0], shapes), int64_t{flat.dtype().bits()});
  return Combine(SizeOp::kCeilDiv, bits, 8);
}

}  // namespace

GpuKernel GpuKernelOf(const Function& fn, const LaunchPlan& plan, uint32_t image) {
  GpuKernel kernel;
  kernel.buffers = static_cast<uint32_t>(fn.params.size());
  kernel.shapes = static_cast<uint32_t>(fn.vars.size());
  for (const Launch& launch : plan.launches) kernel.launches.push_back(LaunchOf(fn, launch, image));
  for (const Buffer& workspace : plan.workspaces)
    kernel.workspace_bytes.push_back(BytesOf(workspace, fn.vars));
  return kernel;
}

}  // namespace tcc
