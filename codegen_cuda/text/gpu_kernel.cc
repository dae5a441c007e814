#include "codegen_cuda/text/gpu_kernel.h"

#include "ir/text/printer.h"
#include "support/check.h"

namespace tcc {
namespace {

template <typename Node>
bool CombineAs(SizeOp op, const Expr& expr, std::span<const Var> shapes, SizeExpr& result) {
  const auto* node = expr.as<Node>();
  if (node) result = Combine(op, SizeCodeOf(node->a, shapes), SizeCodeOf(node->b, shapes));
  return node != nullptr;
}

// x mod y == x - floor(x / y) * y
SizeExpr Remainder(const FloorMod& mod, std::span<const Var> shapes) {
  SizeExpr a = SizeCodeOf(mod.a, shapes), b = SizeCodeOf(mod.b, shapes);
  SizeExpr multiple = Combine(SizeOp::kMul, Combine(SizeOp::kFloorDiv, a, b), b);
  return Combine(SizeOp::kSub, a, multiple);
}

GpuArgument::Kind KindOf(KernelArgument::Kind kind) {
  switch (kind) {
    case KernelArgument::Kind::kParameter:
      return GpuArgument::Kind::kBuffer;
    case KernelArgument::Kind::kWorkspace:
      return GpuArgument::Kind::kWorkspace;
    case KernelArgument::Kind::kShape:
      return GpuArgument::Kind::kShape;
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

SizeExpr SizeCodeOf(const Expr& expr, std::span<const Var> shapes) {
  if (std::optional<int64_t> constant = AsConstant(expr)) return *constant;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (expr.get() == shapes[i].get()) return SizeExpr::Variable(static_cast<int64_t>(i));
  }
  SizeExpr result;
  bool known = CombineAs<CeilDiv>(SizeOp::kCeilDiv, expr, shapes, result) ||
               CombineAs<Add>(SizeOp::kAdd, expr, shapes, result) ||
               CombineAs<Sub>(SizeOp::kSub, expr, shapes, result) ||
               CombineAs<Mul>(SizeOp::kMul, expr, shapes, result) ||
               CombineAs<FloorDiv>(SizeOp::kFloorDiv, expr, shapes, result) ||
               CombineAs<Min>(SizeOp::kMin, expr, shapes, result) ||
               CombineAs<Max>(SizeOp::kMax, expr, shapes, result);
  if (known) return result;
  const auto* mod = expr.as<FloorMod>();
  TCC_CHECK(mod != nullptr) << "no size: " << Print(expr);
  return Remainder(*mod, shapes);
}

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
