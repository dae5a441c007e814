#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/artefact/gpu_program.h"
#include "support/status.h"

// The sizes of a launch, once the shapes of its Call are known.
namespace tcc {

// The size of a counter of blocks (GpuArgument::Kind::kTickets).
inline constexpr int64_t kTicketBytes = 4;

// Returns the blocks along x, y, z, or nothing if there are none. InvalidArgument if there are more
// than `limits`.
StatusOr<std::optional<std::array<unsigned, 3>>> GridOf(const GpuLaunch& launch,
                                                        std::span<const int64_t> shapes,
                                                        const std::array<int64_t, 3>& limits);

bool HasTickets(const GpuLaunch& launch);

// The layout of a kernel's workspaces, one after the other, each at a multiple of 256 in memory of
// `end` bytes.
struct GpuWorkspaces {
  std::vector<int64_t> begins;
  std::vector<int64_t> sizes;
  int64_t end = 0;
};
StatusOr<GpuWorkspaces> LayOutWorkspaces(const GpuKernel& kernel, std::span<const int64_t> shapes);

// Fails with InvalidArgument if a Call passes another number of buffers or shapes than the kernel
// takes.
Status CheckCall(const GpuKernel& kernel, size_t buffers, size_t shapes);

}  // namespace tcc
