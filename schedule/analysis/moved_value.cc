#include "schedule/analysis/moved_value.h"

#include "ir/analysis/accesses.h"
#include "schedule/analysis/guard.h"

namespace tcc {

Status ExpectNotTensorized(const char* step, const Path& path) {
  for (const Stmt& stmt : path) {
    const auto* call = stmt.as<IntrinsicCall>();
    if (!call) continue;
    return InvalidInput("{}: block '{}' is emitted by intrinsic '{}'", step, BlockAt(path)->name,
                        call->intrinsic);
  }
  return OkStatus();
}

Status ExpectElementwise(const char* step, const Path& path) {
  Ref<Block> block = BlockAt(path);
  const auto* store = block->body.as<Store>();
  if (!store) {
    return InvalidInput("{}: block '{}' is {}; expected one that stores a value", step, block->name,
                        block->body.as<Reduce>() ? "a reduction" : "no single store");
  }
  for (const IterVar& iter : block->iters) {
    if (iter.kind == IterKind::kSpatial) continue;
    return InvalidInput("{}: variable '{}' of block '{}' runs in order; expected spatial ones",
                        step, iter.var->name, block->name);
  }
  if (!IsConstant(block->predicate, 1)) {
    return InvalidInput(
        "{}: block '{}' has a predicate; the cells that it leaves out have no value", step,
        block->name);
  }
  if (Reads(block->body, store->buffer)) {
    return InvalidInput("{}: block '{}' reads what it writes", step, block->name);
  }
  return ExpectNotTensorized(step, path);
}

Status ExpectRemovable(const char* step, const Function& fn, const Buffer& buffer) {
  if (IsParameter(fn, buffer.var)) {
    return InvalidInput("{}: buffer '{}' is a parameter of the function", step, buffer.var->name);
  }
  if (buffer.circular >= 0) {
    return InvalidInput("{}: buffer '{}' is circular", step, buffer.var->name);
  }
  TCC_RETURN_IF_ERROR(ExpectUnversioned(step, buffer));
  return ExpectNotPrepacked(step, buffer);
}

}  // namespace tcc
