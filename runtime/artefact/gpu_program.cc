#include "runtime/artefact/gpu_program.h"

#include <algorithm>

#include "runtime/artefact/gpu_tensor_map.h"
#include "support/integer_division.h"
#include "support/target.h"

namespace tcc {
namespace {

// The limits that no device exceeds; the loader compares with the device at hand.
constexpr uint64_t kMaxThreads = kCudaLimits.max_threads;
constexpr uint32_t kMaxThreadsInZ = kCudaLimits.max_threads_in_z;
constexpr int64_t kMaxSharedBytes = kCudaLimits.max_shared_bytes;
constexpr size_t kMaxArgumentBytes = 4096;
// The oldest arch that has tensor maps.
constexpr int kSmOfTensorMaps = 90;

bool IsSymbol(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

Status CheckBlock(const GpuLaunch& launch) {
  const auto& [x, y, z] = launch.block;
  bool fits = std::ranges::all_of(
      launch.block, [](uint32_t threads) { return threads >= 1 && threads <= kMaxThreads; });
  if (fits && uint64_t{x} * y * z <= kMaxThreads && z <= kMaxThreadsInZ) return OkStatus();
  return InvalidInput("a block has {} x {} x {} threads; expected at most {}, {} in z", x, y, z,
                      kMaxThreads, kMaxThreadsInZ);
}

Status CheckShared(const GpuLaunch& launch) {
  const int64_t fixed = launch.static_shared_bytes, more = launch.dynamic_shared_bytes;
  if (fixed >= 0 && fixed <= kCudaLimits.default_shared_bytes && more >= 0 &&
      more <= kMaxSharedBytes - fixed) {
    return OkStatus();
  }
  return InvalidInput(
      "shared memory has {} static and {} dynamic bytes; expected at most {} in all", fixed, more,
      kMaxSharedBytes);
}

size_t ArgumentLimit(GpuArgument::Kind kind, const GpuLaunch& launch, const GpuKernel& kernel) {
  switch (kind) {
    case GpuArgument::Kind::kBuffer:
      return kernel.buffers;
    case GpuArgument::Kind::kWorkspace:
      return kernel.workspace_bytes.size();
    case GpuArgument::Kind::kShape:
      return kernel.shapes;
    case GpuArgument::Kind::kTickets:
      return 1;
    case GpuArgument::Kind::kTensorMap:
      return launch.maps.size();
  }
  __builtin_unreachable();
}

Status CheckArgument(const std::string& what, const GpuArgument& argument, const GpuLaunch& launch,
                     const GpuKernel& kernel) {
  size_t limit = ArgumentLimit(argument.kind, launch, kernel);
  if (argument.index < limit) return OkStatus();
  return InvalidInput("{} is number {} of its kind; there are {}", what, argument.index, limit);
}

Status CheckArguments(const GpuLaunch& launch, const GpuKernel& kernel) {
  size_t bytes = 0;
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const GpuArgument& argument = launch.arguments[i];
    TCC_RETURN_IF_ERROR(CheckArgument(fmt::format("argument {}", i), argument, launch, kernel));
    const bool is_map = argument.kind == GpuArgument::Kind::kTensorMap;
    bytes = is_map ? RoundUp(bytes, size_t{64}) + 128 : bytes + 8;
  }
  if (bytes <= kMaxArgumentBytes) return OkStatus();
  return InvalidInput("the arguments of a launch take {} bytes; expected at most {}", bytes,
                      kMaxArgumentBytes);
}

Status CheckMap(const GpuTensorMap& map, const GpuLaunch& launch, const GpuKernel& kernel) {
  const GpuArgument& array = map.array;
  if (array.kind != GpuArgument::Kind::kBuffer && array.kind != GpuArgument::Kind::kWorkspace) {
    return InvalidInput("its array is an argument of kind {}; expected a buffer or workspace",
                        static_cast<int>(array.kind));
  }
  TCC_RETURN_IF_ERROR(CheckArgument("its array", array, launch, kernel));
  TCC_RETURN_IF_ERROR(CheckTensorMap(map, kernel.shapes));
  const int64_t bytes = launch.static_shared_bytes + launch.dynamic_shared_bytes;
  if (BoxBytes(map) <= bytes) return OkStatus();
  return InvalidInput("a box has {} bytes; the launch has {} of shared memory", BoxBytes(map),
                      bytes);
}

Status CheckMaps(const GpuLaunch& launch, const GpuKernel& kernel, int sm) {
  if (!launch.maps.empty() && sm < kSmOfTensorMaps) {
    return InvalidInput("'{}' has tensor maps, which sm_{} lacks", launch.symbol, sm);
  }
  for (size_t i = 0; i < launch.maps.size(); ++i) {
    TCC_RETURN_IF_ERROR(
        Annotate(CheckMap(launch.maps[i], launch, kernel), fmt::format("tensor map {}", i)));
  }
  return OkStatus();
}

Status CheckLaunch(const GpuLaunch& launch, const GpuKernel& kernel, const GpuProgram& program) {
  const size_t images = program.images.size();
  if (!IsSymbol(launch.symbol)) return InvalidInput("a launch's symbol is not a word");
  if (launch.image >= images) {
    return InvalidInput("'{}' is in image {}; there are {}", launch.symbol, launch.image, images);
  }
  for (const SizeExpr& blocks : launch.grid) {
    TCC_RETURN_IF_ERROR(Annotate(CheckSizeExpr(blocks, kernel.shapes), "grid"));
  }
  TCC_RETURN_IF_ERROR(CheckBlock(launch));
  TCC_RETURN_IF_ERROR(CheckShared(launch));
  TCC_RETURN_IF_ERROR(CheckMaps(launch, kernel, program.sm));
  return CheckArguments(launch, kernel);
}

Status CheckKernel(const GpuKernel& kernel, const GpuProgram& program) {
  for (const SizeExpr& bytes : kernel.workspace_bytes) {
    TCC_RETURN_IF_ERROR(Annotate(CheckSizeExpr(bytes, kernel.shapes), "workspace"));
  }
  for (const GpuLaunch& launch : kernel.launches) {
    TCC_RETURN_IF_ERROR(CheckLaunch(launch, kernel, program));
  }
  return OkStatus();
}

}  // namespace

Status VerifyGpuProgram(const GpuProgram& program, const Metadata& metadata) {
  if (program.sm < 10 || program.sm > 999) {
    return InvalidInput("kernels are for arch sm_{}, which does not exist", program.sm);
  }
  if (program.kernels.size() != metadata.kernels.size()) {
    return InvalidInput("kernels section has {} kernels; the metadata has {}",
                        program.kernels.size(), metadata.kernels.size());
  }
  for (size_t i = 0; i < program.images.size(); ++i) {
    if (program.images[i].code.empty())
      return InvalidInput("kernels section: image {} is empty", i);
  }
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    TCC_RETURN_IF_ERROR(Annotate(CheckKernel(program.kernels[i], program),
                                 fmt::format("kernel '{}'", metadata.kernels[i].name)));
  }
  return OkStatus();
}

}  // namespace tcc
