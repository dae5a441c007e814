#pragma once

#include <cstdint>
#include <vector>

#include "codegen_llvm/object_code.h"
#include "support/status.h"

namespace tcc {

// Links objects, in their order, by LLD into one shared object that exports each kernel by its
// name, needs no other library and leaves no symbol undefined. The same objects give the same
// bytes. No file is written, unless the system refuses a thread: then one in $TMPDIR, or else /tmp.
// Unavailable if /proc is not mounted.
StatusOr<std::vector<uint8_t>> LinkSharedObject(const std::vector<KernelObject>& objects);

}  // namespace tcc
