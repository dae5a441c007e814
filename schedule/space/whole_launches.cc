#include "schedule/space/whole_launches.h"

#include <algorithm>
#include <functional>
#include <map>

#include "ir/analysis/accesses.h"
#include "ir/analysis/cross_thread.h"
#include "ir/analysis/privatize.h"
#include "ir/expr/behind_blocks.h"
#include "ir/expr/visitor.h"
#include "ir/expr/warp_instruction.h"
#include "ir/simplify/simplify.h"
#include "support/target.h"

namespace tcc {
namespace {

bool IsSeenByAll(const Buffer& buffer) {
  return buffer.scope == Scope::kGlobal || buffer.scope == Scope::kConstant;
}

bool Holds(const std::vector<Var>& vars, const Var& var) {
  return std::ranges::find(vars, var) != vars.end();
}

// Returns the first loop in `stmt`, outermost first, that `wanted` accepts.
const For* FindInside(const Stmt& stmt, const std::function<bool(const For&)>& wanted) {
  const For* found = nullptr;
  PreOrder(stmt, [&](const Stmt& s) {
    const auto* loop = s.as<For>();
    if (!found && loop && wanted(*loop)) found = loop;
  });
  return found;
}

// Returns whether the threads of `loop` write `buffer` separately. A reduction across these threads
// gives its result to all of them, so it does not count.
bool WritesApart(const For& loop, const Var& buffer) {
  for (const Ref<Block>& block : BlocksOf(loop.body)) {
    if (Writes(Stmt(*block), buffer) && !(block->body.as<Reduce>() && MeetsIn(loop, *block))) {
      return true;
    }
  }
  return false;
}

// Returns the largest extent of the axis; nullopt if one is not known.
std::optional<int64_t> ThreadsAlong(const Stmt& nest, ForKind axis) {
  std::optional<int64_t> threads = 1;
  PreOrder(nest, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (!loop || loop->for_kind != axis) return;
    std::optional<int64_t> extent = AsConstant(Simplify(loop->extent));
    threads = threads && extent ? std::optional(std::max(*threads, *extent)) : std::nullopt;
  });
  return threads;
}

// Returns the axes that number the lanes of a warp: x if it has 32 threads, or else x and y if they
// have 32 together; nullopt if neither does.
std::optional<std::vector<ForKind>> LaneAxes(const Stmt& nest) {
  std::optional<int64_t> x = ThreadsAlong(nest, ForKind::kThreadIdxX);
  if (x == Target::kWarp) return std::vector{ForKind::kThreadIdxX};
  std::optional<int64_t> y = ThreadsAlong(nest, ForKind::kThreadIdxY);
  if (!x || !y || *x * *y != Target::kWarp) return std::nullopt;
  return std::vector{ForKind::kThreadIdxX, ForKind::kThreadIdxY};
}

bool IsHardware(const For& loop) {
  return IsBlockIdx(loop.for_kind) || IsThreadIdx(loop.for_kind) ||
         loop.for_kind == ForKind::kVthread;
}

Status ExpectInsideLaunch(const Allocate& allocate, const std::vector<ForKind>& lane_axes) {
  const Buffer& buffer = allocate.buffer;
  if (buffer.scope == Scope::kShared) {
    const For* block =
        FindInside(allocate.body, [](const For& f) { return IsBlockIdx(f.for_kind); });
    if (!block) return OkStatus();
    return InvalidInput("shared buffer '{}' lives round loop '{}', which is bound to {}",
                        buffer.var->name, block->key, ToString(block->for_kind));
  }
  bool warp = buffer.scope == Scope::kWarp;
  if (!warp && buffer.scope != Scope::kLocal) return OkStatus();
  std::vector<ForKind> privatized = PrivatizedAxes(allocate);
  const For* thread = FindInside(allocate.body, [&](const For& loop) {
    bool lanes = warp && std::ranges::find(lane_axes, loop.for_kind) != lane_axes.end();
    return IsThreadIdx(loop.for_kind) && !lanes && WritesApart(loop, buffer.var) &&
           std::ranges::find(privatized, loop.for_kind) == privatized.end();
  });
  if (!thread) return OkStatus();
  return InvalidInput("{} buffer '{}' is written by the threads of loop '{}', each its own copy",
                      ToString(buffer.scope), buffer.var->name, thread->key);
}

// Returns the buffer if the statement allocates one of a warp, or nullptr.
const Buffer* WarpBufferOf(const Stmt& stmt) {
  const auto* allocate = stmt.as<Allocate>();
  return allocate && allocate->buffer.scope == Scope::kWarp ? &allocate->buffer : nullptr;
}

const Buffer* FindWarpBuffer(const Stmt& stmt) {
  const Buffer* found = nullptr;
  PreOrder(stmt, [&](const Stmt& s) {
    if (const Buffer* buffer = WarpBufferOf(s)) found = buffer;
  });
  return found;
}

// Returns the loop over lanes, one of `lane_axes`, that holds what `wanted` accepts, or nullptr.
const For* LanesAround(const Stmt& nest, const std::vector<ForKind>& lane_axes,
                       const std::function<bool(const Stmt&)>& wanted) {
  return FindInside(nest, [&](const For& loop) {
    bool lanes = std::ranges::find(lane_axes, loop.for_kind) != lane_axes.end();
    return lanes && Contains(loop.body, wanted);
  });
}

bool IsWarpInstruction(const Stmt& stmt) {
  const auto* call = stmt.as<IntrinsicCall>();
  return call && FindWarpInstruction(call->intrinsic);
}

// Checks that the threads of a warp are numbered along x, or x and y, and that they share its
// buffers and instructions. Otherwise they would differ in their indices along other axes.
Status ExpectWholeWarps(const Stmt& nest, const std::optional<std::vector<ForKind>>& lane_axes) {
  const Buffer* buffer = FindWarpBuffer(nest);
  if (!buffer) return OkStatus();
  const std::vector<ForKind> axes = lane_axes.value_or(std::vector{ForKind::kThreadIdxX});
  const For* round =
      LanesAround(nest, axes, [](const Stmt& stmt) { return WarpBufferOf(stmt) != nullptr; });
  if (round) {
    return InvalidInput("warp buffer '{}' lives inside loop '{}', which is bound to {}",
                        FindWarpBuffer(round->body)->var->name, round->key,
                        ToString(round->for_kind));
  }
  if (!lane_axes) {
    std::optional<int64_t> lanes = ThreadsAlong(nest, ForKind::kThreadIdxX);
    return InvalidInput("warp buffer '{}' is in a launch with {} threads along x; expected {}",
                        buffer->var->name, lanes ? std::to_string(*lanes) : "a free number of",
                        Target::kWarp);
  }
  const For* apart = LanesAround(nest, axes, IsWarpInstruction);
  if (!apart) return OkStatus();
  return InvalidInput("loop '{}', which is bound to {}, holds an instruction of whole warps",
                      apart->key, ToString(apart->for_kind));
}

bool UsesSharedMemory(const Stmt& stmt) {
  return Contains(stmt, [&](const Stmt& s) {
    const auto* allocate = s.as<Allocate>();
    const auto* loop = s.as<For>();
    return (allocate && allocate->buffer.scope == Scope::kShared) ||
           (loop && MatchCrossThread(*loop));
  });
}

// Rejects parallel loops round shared memory: the threads of a launch run their iterations in
// order, so the iterations would share what they write.
Status ExpectSharedInOrder(const Stmt& nest) {
  const For* loop = FindInside(nest, [](const For& f) {
    return f.for_kind == ForKind::kParallel && UsesSharedMemory(f.body);
  });
  if (!loop) return OkStatus();
  return InvalidInput(
      "loop '{}' of a launch is parallel, round shared memory; expected one in order", loop->key);
}

// Expects a nest with hardware indices. Its workspaces alone may be global.
Status ExpectPrivateMemory(const Stmt& nest, const std::vector<Var>& workspaces) {
  const std::optional<std::vector<ForKind>> lane_axes = LaneAxes(nest);
  TCC_RETURN_IF_ERROR(ExpectWholeWarps(nest, lane_axes));
  TCC_RETURN_IF_ERROR(ExpectSharedInOrder(nest));
  Status status;
  PreOrder(nest, [&](const Stmt& stmt) {
    const auto* allocate = stmt.as<Allocate>();
    if (!status.ok() || !allocate || Holds(workspaces, allocate->buffer.var)) return;
    status = ExpectInsideLaunch(*allocate, lane_axes.value_or(std::vector<ForKind>()));
    if (!IsSeenByAll(allocate->buffer)) return;
    status =
        InvalidInput("global buffer '{}' lives inside a launch; expected a shared or local one",
                     allocate->buffer.var->name);
  });
  return status;
}

struct Leaf {
  const Block* block;
  std::vector<const For*> grid;  // the blockIdx loops round the block
};

void CollectLeaves(const Stmt& stmt, std::vector<const For*>& grid, std::vector<Leaf>& leaves) {
  if (const auto* block = stmt.as<Block>()) return leaves.push_back({block, grid});
  const auto* loop = stmt.as<For>();
  bool bound = loop && IsBlockIdx(loop->for_kind);
  if (bound) grid.push_back(loop);
  ForEachChild(stmt, [&](const Stmt& child) { CollectLeaves(child, grid, leaves); });
  if (bound) grid.pop_back();
}

// Returns the workspaces of a launch that goes on behind its blocks along y; none for any other
// launch. Error: it goes on behind blocks, but its form is not
//
//   for x blockIdx.x { alloc .. { for p blockIdx.y { parts } rest } }
StatusOr<std::vector<Var>> WorkspacesOf(const Stmt& nest) {
  std::vector<Var> workspaces;
  if (!GoesOnBehindBlocks(nest)) return workspaces;
  const auto* tiles = nest.as<For>();
  bool legal = tiles && tiles->for_kind == ForKind::kBlockIdxX;
  Stmt body = legal ? tiles->body : nest;
  for (; const auto* allocate = body.as<Allocate>(); body = allocate->body) {
    if (allocate->buffer.scope == Scope::kGlobal) workspaces.push_back(allocate->buffer.var);
  }
  const auto* seq = body.as<Seq>();
  legal = legal && seq;
  for (size_t i = 0; legal && i < FirstBehindBlocks(*seq); ++i) {
    const auto* parts = seq->stmts[i].as<For>();
    legal = parts && parts->for_kind == ForKind::kBlockIdxY && !HoldsBlocks(parts->body);
  }
  if (legal) return workspaces;
  return InvalidInput(
      "block '{}' is in a launch that goes on behind loops over blocks; expected loops along y, "
      "directly inside one along x",
      BlocksOf(nest).back()->name);
}

// Checks that other leaves of a launch touch global memory that a leaf writes only from the same
// thread block: thread blocks do not wait for each other.
Status ExpectIndependentBlocks(const Stmt& nest, const std::vector<Buffer>& global) {
  std::vector<const For*> grid;
  std::vector<Leaf> leaves;
  CollectLeaves(nest, grid, leaves);
  for (const Buffer& buffer : global) {
    for (const Leaf& writer : leaves) {
      if (!Writes(Stmt(*writer.block), buffer.var)) continue;
      for (const Leaf& other : leaves) {
        if (other.grid == writer.grid) continue;
        Stmt body(*other.block);
        if (!Accesses(body, buffer.var)) continue;
        return InvalidInput(
            "blocks '{}' and '{}' of one launch share buffer '{}', but not all of their blockIdx "
            "loops",
            writer.block->name, other.block->name, buffer.var->name);
      }
    }
  }
  return OkStatus();
}

Status ExpectAtRoot(const Stmt& stmt, const std::vector<Buffer>& global) {
  if (const auto* seq = stmt.as<Seq>()) {
    for (const Stmt& child : seq->stmts) TCC_RETURN_IF_ERROR(ExpectAtRoot(child, global));
  } else if (stmt.as<For>() && FindInside(stmt, IsHardware)) {
    std::vector<Buffer> outside = global;
    std::erase_if(outside, [&](const Buffer& buffer) { return IsAllocatedIn(stmt, buffer.var); });
    TCC_RETURN_IF_ERROR(ExpectIndependentBlocks(stmt, outside));
    TCC_ASSIGN_OR_RETURN(const std::vector<Var> workspaces, WorkspacesOf(stmt));
    return ExpectPrivateMemory(stmt, workspaces);
  } else if (const auto* allocate = stmt.as<Allocate>()) {
    if (!IsSeenByAll(allocate->buffer)) {
      return InvalidInput("{} buffer '{}' lives round the launches; place it in a loop of one",
                          ToString(allocate->buffer.scope), allocate->buffer.var->name);
    }
    return ExpectAtRoot(allocate->body, global);
  }
  return OkStatus();
}

}  // namespace

Status ExpectWholeLaunches(const Function& fn) {
  if (!FindInside(fn.body, IsHardware)) return OkStatus();
  std::vector<Buffer> global = DeclaredBuffers(fn);
  std::erase_if(global, [](const Buffer& buffer) { return !IsSeenByAll(buffer); });
  return ExpectAtRoot(fn.body, global);
}

}  // namespace tcc
