#include "runtime/artefact/gpu_program.h"

#include <algorithm>

#include "runtime/artefact/gpu_tensor_map.h"
#include "support/integer_division.h"
#include "support/target.h"

namespace tcc {
namespace {

// The limits that no device of an interface exceeds; the loader compares with the device at hand.
struct LaunchLimits {
  uint64_t max_threads = 0;
  uint32_t max_threads_in_z = 0;
  int64_t max_static_shared_bytes = 0;
  int64_t max_shared_bytes = 0;
  size_t max_argument_bytes = 0;
  bool has_tensor_maps = false;
};
constexpr LaunchLimits kCuda = {.max_threads = kCudaLimits.max_threads,
                                .max_threads_in_z = kCudaLimits.max_threads_in_z,
                                .max_static_shared_bytes = kCudaLimits.default_shared_bytes,
                                .max_shared_bytes = kCudaLimits.max_shared_bytes,
                                .max_argument_bytes = 4096,
                                .has_tensor_maps = true};
// OpenCL has no such limits. Of the drivers known, those for CPUs have the largest: 8192 threads,
// and local memory as large as a cache; NVIDIA's has the most room for arguments, 32764 bytes.
constexpr LaunchLimits kOpenCl = {.max_threads = 65536,
                                  .max_threads_in_z = 65536,
                                  .max_static_shared_bytes = int64_t{1} << 30,
                                  .max_shared_bytes = int64_t{1} << 30,
                                  .max_argument_bytes = 32768};

const LaunchLimits& LimitsOf(GpuCode code) {
  switch (code) {
    case GpuCode::kCubin:
    case GpuCode::kCudaText:
      return kCuda;
    case GpuCode::kOpenClText:
      return kOpenCl;
  }
  __builtin_unreachable();
}

// The oldest arch that has tensor maps.
constexpr int kSmOfTensorMaps = 90;

bool IsSymbol(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

Status CheckBlock(const GpuLaunch& launch, const LaunchLimits& limits) {
  const auto& [x, y, z] = launch.block;
  const bool fits = std::ranges::all_of(launch.block, [&](uint32_t threads) {
    return threads >= 1 && threads <= limits.max_threads;
  });
  if (fits && uint64_t{x} * y * z <= limits.max_threads && z <= limits.max_threads_in_z) {
    return OkStatus();
  }
  const bool has_z = limits.max_threads_in_z < limits.max_threads;
  return InvalidInput("a block has {} x {} x {} threads; expected at most {}{}", x, y, z,
                      limits.max_threads,
                      has_z ? fmt::format(", {} in z", limits.max_threads_in_z) : "");
}

Status CheckShared(const GpuLaunch& launch, const LaunchLimits& limits) {
  const int64_t fixed = launch.static_shared_bytes, more = launch.dynamic_shared_bytes;
  if (fixed >= 0 && fixed <= limits.max_static_shared_bytes && more >= 0 &&
      more <= limits.max_shared_bytes - fixed) {
    return OkStatus();
  }
  return InvalidInput(
      "shared memory has {} static and {} dynamic bytes; expected at most {} in all", fixed, more,
      limits.max_shared_bytes);
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

// Returns where the next argument begins if this one begins behind `bytes` others.
size_t EndOf(const GpuArgument& argument, size_t bytes, GpuCode code) {
  if (argument.kind == GpuArgument::Kind::kTensorMap) return RoundUp(bytes, size_t{64}) + 128;
  const bool has_offset =
      code == GpuCode::kOpenClText && argument.kind != GpuArgument::Kind::kShape;
  return bytes + (has_offset ? 16 : 8);
}

Status CheckArguments(const GpuLaunch& launch, const GpuKernel& kernel, GpuCode code) {
  const LaunchLimits& limits = LimitsOf(code);
  size_t bytes = 0;
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const GpuArgument& argument = launch.arguments[i];
    TCC_RETURN_IF_ERROR(CheckArgument(fmt::format("argument {}", i), argument, launch, kernel));
    bytes = EndOf(argument, bytes, code);
  }
  if (bytes <= limits.max_argument_bytes) return OkStatus();
  return InvalidInput("the arguments of a launch take {} bytes; expected at most {}", bytes,
                      limits.max_argument_bytes);
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

// Returns the machine that a program's code is for, as messages name it.
std::string ArchOf(const GpuProgram& program) {
  return program.code == GpuCode::kOpenClText ? "OpenCL" : fmt::format("sm_{}", program.sm);
}

// A launch without maps has no argument that is one: it would be number 0 of none.
Status CheckMaps(const GpuLaunch& launch, const GpuKernel& kernel, const GpuProgram& program) {
  const bool has_maps = LimitsOf(program.code).has_tensor_maps && program.sm >= kSmOfTensorMaps;
  if (!launch.maps.empty() && !has_maps) {
    return InvalidInput("'{}' has tensor maps, which {} lacks", launch.symbol, ArchOf(program));
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
  TCC_RETURN_IF_ERROR(CheckBlock(launch, LimitsOf(program.code)));
  TCC_RETURN_IF_ERROR(CheckShared(launch, LimitsOf(program.code)));
  TCC_RETURN_IF_ERROR(CheckMaps(launch, kernel, program));
  return CheckArguments(launch, kernel, program.code);
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

Status CheckArch(const GpuProgram& program) {
  if (program.code == GpuCode::kOpenClText) {
    if (program.sm == 0) return OkStatus();
    return InvalidInput("kernels in OpenCL C are for arch sm_{}; expected none", program.sm);
  }
  if (program.sm >= 10 && program.sm <= 999) return OkStatus();
  return InvalidInput("kernels are for arch sm_{}, which does not exist", program.sm);
}

Status CheckImages(const GpuProgram& program) {
  for (size_t i = 0; i < program.images.size(); ++i) {
    if (program.images[i].code.empty())
      return InvalidInput("kernels section: image {} is empty", i);
    if (program.code == GpuCode::kOpenClText && !program.images[i].ptx.empty())
      return InvalidInput("kernels section: image {} has PTX beside OpenCL C", i);
  }
  return OkStatus();
}

}  // namespace

std::string_view NameOf(GpuCode code) {
  switch (code) {
    case GpuCode::kCubin:
      return "machine code";
    case GpuCode::kCudaText:
      return "CUDA C";
    case GpuCode::kOpenClText:
      return "OpenCL C";
  }
  __builtin_unreachable();
}

Status VerifyGpuProgram(const GpuProgram& program, const Metadata& metadata) {
  TCC_RETURN_IF_ERROR(CheckArch(program));
  if (program.kernels.size() != metadata.kernels.size()) {
    return InvalidInput("kernels section has {} kernels; the metadata has {}",
                        program.kernels.size(), metadata.kernels.size());
  }
  TCC_RETURN_IF_ERROR(CheckImages(program));
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    TCC_RETURN_IF_ERROR(Annotate(CheckKernel(program.kernels[i], program),
                                 fmt::format("kernel '{}'", metadata.kernels[i].name)));
  }
  return OkStatus();
}

}  // namespace tcc
