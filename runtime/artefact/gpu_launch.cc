#include "runtime/artefact/gpu_launch.h"

#include <algorithm>

#include "support/integer_division.h"

namespace tcc {
namespace {

// The alignment of workspaces.
constexpr int64_t kAlignment = 256;

}  // namespace

StatusOr<std::optional<std::array<unsigned, 3>>> GridOf(const GpuLaunch& launch,
                                                        std::span<const int64_t> shapes,
                                                        const std::array<int64_t, 3>& limits) {
  std::array<unsigned, 3> grid{};
  bool empty = false;
  for (size_t i = 0; i < grid.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(int64_t blocks, Evaluate(launch.grid[i], shapes));
    if (blocks < 0 || blocks > limits[i]) {
      return InvalidInput("a grid has {} blocks in {}; expected at most {}", blocks, "xyz"[i],
                          limits[i]);
    }
    empty = empty || blocks == 0;
    grid[i] = static_cast<unsigned>(blocks);
  }
  if (empty) return std::optional<std::array<unsigned, 3>>();
  return std::optional(grid);
}

bool HasTickets(const GpuLaunch& launch) {
  return std::ranges::any_of(launch.arguments, [](const GpuArgument& argument) {
    return argument.kind == GpuArgument::Kind::kTickets;
  });
}

StatusOr<GpuWorkspaces> LayOutWorkspaces(const GpuKernel& kernel, std::span<const int64_t> shapes) {
  GpuWorkspaces workspaces;
  int64_t& end = workspaces.end;
  for (const SizeExpr& expr : kernel.workspace_bytes) {
    TCC_ASSIGN_OR_RETURN(int64_t bytes, Evaluate(expr, shapes));
    workspaces.begins.push_back(end);
    workspaces.sizes.push_back(bytes);
    if (bytes < 0 || __builtin_add_overflow(end, bytes, &end) || end > INT64_MAX - kAlignment) {
      return InvalidInput("a workspace has {} bytes", bytes);
    }
    end = RoundUp(end, kAlignment);
  }
  return workspaces;
}

Status CheckCall(const GpuKernel& kernel, size_t buffers, size_t shapes) {
  if (buffers == kernel.buffers && shapes == kernel.shapes) return OkStatus();
  return InvalidInput("the plan passes {} buffers and {} shapes; the kernel takes {} and {}",
                      buffers, shapes, kernel.buffers, kernel.shapes);
}

}  // namespace tcc
