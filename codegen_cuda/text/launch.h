#pragma once

#include <array>
#include <string>
#include <vector>

#include "codegen_cuda/text/place_shared.h"
#include "ir/expr/function.h"
#include "ir/simplify/interval.h"
#include "runtime/artefact/gpu_program.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

// An argument of a kernel: a pointer, aligned to 16 bytes, a shape as an int64, or a tensor map.
struct KernelArgument {
  // kTickets: a counter of 32 bits for each block along x, zero before and after the launch.
  enum class Kind : uint8_t { kParameter, kWorkspace, kShape, kTickets, kTensorMap };
  Kind kind = Kind::kParameter;
  // Into Function::params, the plan's workspaces, Function::vars, or Launch::maps.
  size_t index = 0;
  bool written = false;  // whether this kernel writes it
  bool read = false;     // whether this kernel reads it
  bool handed = false;   // whether its last block reads what its other blocks write
};

struct Launch {
  std::string kernel;        // the name of its function in the text
  std::array<Expr, 3> grid;  // over the function's Shape variables; a 0 means nothing to do
  std::array<int64_t, 3> block = {1, 1, 1};
  int64_t static_shared_bytes = 0;
  int64_t dynamic_shared_bytes = 0;  // the driver must be told of more than 48 KiB
  // The most rows of a matrix that ldmatrix meets in one bank. 1: no conflicts; 0: no ldmatrix.
  int64_t rows_per_bank = 0;
  // Whether an index into a thread's own buffer is not constant, so that the buffer may not become
  // registers.
  bool indexes_locals = false;
  // Whether every thread waits for the launch before (GpuLaunch::waits).
  bool waits = false;
  std::vector<KernelArgument> arguments;
  // Their arrays have the numbers of KernelArgument: a buffer's is its place in Function::params.
  std::vector<GpuTensorMap> maps;

  int64_t Threads() const { return block[0] * block[1] * block[2]; }
};

// The execution plan of a kLowered GPU function. Its launches run in order; each begins when the
// one before has ended. A workspace is a buffer in global memory that lives between launches.
struct LaunchPlan {
  std::vector<Launch> launches;
  std::vector<Buffer> workspaces;
};

// A launch and the statement that its threads run.
struct LaunchBody {
  Launch launch;
  Stmt body;
  std::vector<Buffer> shared;  // the buffers of the body in shared memory
  SharedPlaces places;         // where they lie
  Bounds bounds;               // the bounds of block and thread loop variables, and of shapes
};

struct LaunchBodies {
  std::vector<LaunchBody> launches;
  std::vector<Buffer> workspaces;
};

// Returns the cells of a flat shared buffer: of a free size, the most that it may have.
int64_t SharedCells(const Buffer& flat);

// Returns the axis of a blockIdx or threadIdx loop: 0 for x, 1 for y, 2 for z.
int AxisOf(ForKind kind);

// Finds the launches: each statement below the sequences and global Allocates at the top is one.
// The number of threads along an axis is the maximum over its loops; the number of blocks is the
// extent of its loop. Error (Unsupported): a launch beyond the target's limits of threads, blocks
// or shared memory, all of them by name; a block loop inside a serial loop, or two block loops of
// one axis with different extents; statements behind block loops (ir/expr/behind_blocks.h) that
// are not along y, inside those along x, or for OpenCL, whose blocks do not see what others wrote;
// a thread's or warp's buffer of free size; warp buffers where a warp is not a row of threads along
// x, or the target has no warps.
StatusOr<LaunchBodies> FindLaunches(const Function& fn, const Target& target);

}  // namespace tcc
