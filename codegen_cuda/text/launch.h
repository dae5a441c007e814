#pragma once

#include <array>
#include <string>
#include <vector>

#include "codegen_cuda/text/place_shared.h"
#include "ir/expr/function.h"
#include "ir/simplify/interval.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

// What one kernel is started with. Arguments are 8 bytes each: a pointer, aligned to 16 bytes, or a
// shape as a long long.
struct KernelArgument {
  enum class Kind : uint8_t { kParameter, kWorkspace, kShape };
  Kind kind = Kind::kParameter;
  size_t index = 0;      // into Function::params, the plan's workspaces, or Function::vars
  bool written = false;  // by this kernel
};

struct Launch {
  std::string kernel;        // the name of the __global__ function
  std::array<Expr, 3> grid;  // over the function's Shape variables; 0 anywhere: nothing to do
  std::array<int64_t, 3> block = {1, 1, 1};
  int64_t static_shared_bytes = 0;
  int64_t dynamic_shared_bytes = 0;  // above 48 KiB only after the driver is told so
  // The most rows of a matrix that ldmatrix meets in one bank. 1: no conflicts; 0: no ldmatrix.
  int64_t rows_per_bank = 0;
  // A thread's own buffers have places that the text does not know: they may not be registers.
  bool indexes_locals = false;
  std::vector<KernelArgument> arguments;

  int64_t Threads() const { return block[0] * block[1] * block[2]; }
};

// How a kLowered GPU function runs: its launches one after the other, each after all of the one
// before. A workspace is a buffer in global memory that lives between them.
struct LaunchPlan {
  std::vector<Launch> launches;
  std::vector<Buffer> workspaces;
};

// A launch and the statement that its threads run.
struct LaunchBody {
  Launch launch;
  Stmt body;
  std::vector<Buffer> shared;  // buffers of the body in shared memory
  SharedPlaces places;         // theirs
  Bounds bounds;               // of the variables of its block and thread loops, and of shapes
};

struct LaunchBodies {
  std::vector<LaunchBody> launches;
  std::vector<Buffer> workspaces;
};

// 0 for x, 1 for y, 2 for z of a blockIdx or threadIdx loop.
int AxisOf(ForKind kind);

// Finds the launches: each statement below the sequences and global Allocates at the top is one.
// The number of threads along an axis is the most that its loops have, blocks along an axis those
// of its loop. Error (Unsupported): a launch beyond the target's limits of threads, blocks or
// shared memory, all of them by name; blocks inside a loop in order, or two loops of one axis with
// different extents; shared memory of unknown size; buffers of a warp where it is not a row of
// threads along x.
StatusOr<LaunchBodies> FindLaunches(const Function& fn, const Target& target);

}  // namespace tcc
