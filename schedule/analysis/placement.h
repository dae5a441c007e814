#pragma once

#include <functional>

#include "schedule/analysis/loop_tree.h"
#include "schedule/analysis/region.h"

// Checks and edits that ComputeAt and ReverseComputeAt share.
namespace tcc {

// The block's iteration variables by dimension. Error: the access's indices are not distinct
// spatial variables.
StatusOr<std::vector<size_t>> PlainIndices(const Block& block, const Access& access);

// A buffer can get a window only while it has no layout, whose strides depend on the extents stored
// so far, and if it is not computed when the model is linked.
Status ExpectMovable(const char* step, const Buffer& buffer);

// No loop keyed after the block stays behind when its nest moves: the fresh nest reuses the keys.
Status ExpectWholeNest(const char* step, const Path& path);

// A fresh serial nest of `block` in which iteration variable i runs over boxes[i] (origin + loop),
// or over its whole domain where boxes[i] has no size.
struct IterBox {
  Expr origin;
  Expr size;
};
Stmt NestOver(const Block& block, const std::vector<IterBox>& boxes,
              const std::vector<LoopGuard>& guards);

// `root` with the body of `loop` replaced by place(body).
Stmt MapBodyOf(const Stmt& root, const LoopRef& loop,
               const std::function<Stmt(const Stmt& body)>& place);

// `body` with `nest` inserted, inside its allocations, before the first statement that reads one of
// the buffers, or after the last statement that writes one.
Stmt InsertBeforeReaders(const Stmt& body, const std::vector<Var>& buffers, const Stmt& nest);
Stmt InsertAfterWriters(const Stmt& body, const std::vector<Var>& buffers, const Stmt& nest);

// `root` without the allocation of `buffer` and without its prefetches, which may stand where the
// buffer no longer lives.
Stmt RemoveAllocation(const Stmt& root, const Var& buffer);

// `fn` with the declaration of an allocated buffer changed.
Function WithBuffer(const Function& fn, const Var& buffer,
                    const std::function<Buffer(const Buffer&)>& change);

// The paths of all blocks for which `wanted` holds.
std::vector<Path> PathsOf(const Function& fn, const std::function<bool(const Block&)>& wanted);
bool IsUnder(const Path& path, const LoopRef& loop);
bool IsParameter(const Function& fn, const Var& buffer);

// Every buffer that `block` accesses, other than `except`, lives at the loop where `loop_path` ends
// and is not placed yet.
Status ExpectVisible(const Function& fn, const Block& block, const Path& loop_path,
                     const std::vector<Var>& except);

}  // namespace tcc
