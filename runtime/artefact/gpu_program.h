#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/artefact/metadata.h"
#include "runtime/artefact/size_expr.h"
#include "support/status.h"

// The kernels section of an artefact for device "cuda" or "opencl".
namespace tcc {

// The code in the images: machine code, CUDA C for the emulated driver, which no real driver takes,
// or OpenCL C 1.2, which OpenCL's drivers compile.
enum class GpuCode : uint8_t { kCubin, kCudaText, kOpenClText };

// A loadable module. `ptx` serves devices newer than the program's; it may be empty.
struct GpuImage {
  std::vector<uint8_t> code;
  std::vector<uint8_t> ptx = {};
};

// An argument of a launch. It takes 8 bytes: the address of a buffer or workspace, at a multiple of
// 16, or a shape as an int64; only a tensor map takes 128 bytes, at a multiple of 64. Tickets are a
// counter of 32 bits for each block along x, all zero before and after the launch; launches that
// run one after the other may share them.
//
// A kernel in OpenCL C takes two arguments for each buffer, workspace and tickets, a pointer to
// global memory and the offset, a long, at which they begin behind it in bytes, and a long for each
// shape. It has no tensor maps.
struct GpuArgument {
  enum class Kind : uint8_t { kBuffer, kWorkspace, kShape, kTickets, kTensorMap };
  Kind kind = Kind::kBuffer;
  // Into the buffers of the Call, the kernel's workspaces, its shapes, the launch's maps; or 0.
  uint32_t index = 0;
};

// The type of a tensor map's elements. kTf32 is float32 that a copy rounds to tf32.
enum class GpuMapType : uint8_t { kU8, kU16, kF16, kBF16, kF32, kTf32 };

// The order of a box in shared memory: its rows as they are, or rows of 32, 64 or 128 bytes whose
// chunks of 16 bytes change places: n = 1, 2 or 3 bits of the address from bit 4 on are XORed with
// those from bit 7 on.
enum class GpuSwizzle : uint8_t { kNone, k32Bytes, k64Bytes, k128Bytes };

// A view of an array in global memory, of which a kernel copies boxes to shared memory; elements
// outside of the extents are copied as zeros. The runtime has the driver encode it before each
// launch. Dimensions are in the driver's order: the innermost one, whose elements are neighbours,
// is the first.
struct GpuTensorMap {
  GpuArgument array = {};  // a buffer or a workspace
  SizeExpr byte_offset = 0;
  GpuMapType type = GpuMapType::kU8;
  std::vector<SizeExpr> extents = {};
  std::vector<SizeExpr> byte_strides = {};  // of all dimensions but the innermost
  std::vector<uint32_t> box = {};
  GpuSwizzle swizzle = GpuSwizzle::kNone;
};

struct GpuLaunch {
  std::string symbol;  // in images[image]
  uint32_t image = 0;
  std::array<SizeExpr, 3> grid = {1, 1, 1};  // 0 anywhere: nothing to do
  std::array<uint32_t, 3> block = {1, 1, 1};
  // OpenCL C has all of it in the text, which asks for as much as both say.
  int64_t static_shared_bytes = 0;
  int64_t dynamic_shared_bytes = 0;
  // Every thread waits for the end of the launch before it, ahead of its first access to global
  // memory (griddepcontrol.wait), so that this launch may begin while that one ends.
  bool waits = false;
  std::vector<GpuArgument> arguments = {};
  std::vector<GpuTensorMap> maps = {};
};

// The kernel that a plan's Call runs: the launches in order, each after all of the one before.
// Workspaces are memory that lives between them. Variables of every SizeExpr are the Call's
// shape_args.
struct GpuKernel {
  uint32_t buffers = 0;  // how many a Call passes
  uint32_t shapes = 0;
  std::vector<GpuLaunch> launches = {};
  std::vector<SizeExpr> workspace_bytes = {};
};

struct GpuProgram {
  int sm = 0;  // the arch that CUDA's code is for: 86; 90 for sm_90a; 0 of OpenCL's text
  GpuCode code = GpuCode::kCubin;
  std::vector<GpuImage> images;
  std::vector<GpuKernel> kernels;  // kernels[i] belongs to metadata.kernels[i]
};

// Returns "machine code", "CUDA C" or "OpenCL C".
std::string_view NameOf(GpuCode code);

std::vector<uint8_t> GpuProgramBytes(const GpuProgram& program);
// Decodes a program. The caller still has to call VerifyGpuProgram.
StatusOr<GpuProgram> ParseGpuProgram(std::span<const uint8_t> bytes);

// Checks that there is one kernel for each of the metadata's, that every index names something,
// that sizes are well formed, and that launches are within what any device of their interface
// allows. Messages name the kernel.
Status VerifyGpuProgram(const GpuProgram& program, const Metadata& metadata);

}  // namespace tcc
