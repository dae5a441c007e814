#pragma once

#include <functional>

#include "schedule/analysis/loop_tree.h"
#include "schedule/analysis/region.h"

// Checks and edits that ComputeAt and ReverseComputeAt share.
namespace tcc {

// Returns the block's iteration variables by dimension. Error: the access's indices are not
// distinct spatial variables; for DistinctIndices, not distinct variables.
StatusOr<std::vector<size_t>> PlainIndices(const Block& block, const Access& access);
StatusOr<std::vector<size_t>> DistinctIndices(const Block& block, const Access& access);

// Checks that the buffer can get a window: it must have no layout, since the layout's strides
// depend on the extents stored so far, and must not be computed when the model is linked.
Status ExpectMovable(const char* step, const Buffer& buffer);

// Checks that no loop keyed after the block stays behind when its nest moves: the fresh nest reuses
// the keys.
Status ExpectWholeNest(const char* step, const Path& path);

// The range of one iteration variable: origin + loop, where the loop has `size` iterations. Without
// a size the variable runs over its whole domain. NestOver makes a fresh serial nest of `block` in
// which iteration variable i runs over boxes[i].
struct IterBox {
  Expr origin;
  Expr size;
};
Stmt NestOver(const Block& block, const std::vector<IterBox>& boxes,
              const std::vector<LoopGuard>& guards);
// Returns the boxes of the spatial variables, in order: the initialisation of a reduction has
// these.
std::vector<IterBox> SpatialBoxes(const Block& block, const std::vector<IterBox>& boxes);

// Returns `root` with the body of `loop` replaced by place(body).
Stmt MapBodyOf(const Stmt& root, const LoopRef& loop,
               const std::function<Stmt(const Stmt& body)>& place);

// These two return `body` with `nest` inserted, inside its allocations, before the first statement
// that reads one of the buffers, or after the last statement that writes one.
Stmt InsertBeforeReaders(const Stmt& body, const std::vector<Var>& buffers, const Stmt& nest);
Stmt InsertAfterWriters(const Stmt& body, const std::vector<Var>& buffers, const Stmt& nest);

// Returns `root` without the allocation of `buffer` and without its prefetches, which may be
// outside the buffer's new live range.
Stmt RemoveAllocation(const Stmt& root, const Var& buffer);

// Returns `fn` with the declaration of an allocated buffer changed.
Function WithBuffer(const Function& fn, const Var& buffer,
                    const std::function<Buffer(const Buffer&)>& change);

// Returns the paths of all blocks for which `wanted` holds.
std::vector<Path> PathsOf(const Function& fn, const std::function<bool(const Block&)>& wanted);
bool IsUnder(const Path& path, const LoopRef& loop);
bool IsParameter(const Function& fn, const Var& buffer);

// Checks that every buffer that `block` accesses, other than `except`, is live at the loop where
// `loop_path` ends and is not placed yet.
Status ExpectVisible(const Function& fn, const Block& block, const Path& loop_path,
                     const std::vector<Var>& except);

}  // namespace tcc
