#pragma once

#include <cstdint>
#include <map>

#include "ir/expr/stmt.h"
#include "support/status.h"

namespace tcc {

// Returns, by id, the number of threads per block that meet at each named barrier (id != 0) inside
// roles: the warps of all roles that hold it. At the other barriers the whole block meets, which
// has `threads` threads. Unsupported: an id that the hardware has no barrier for, a barrier of the
// whole block that only some of its warps reach, a role of warps that the block does not have.
StatusOr<std::map<int, int64_t>> ThreadsAtBarriers(const Stmt& body, int64_t threads);

}  // namespace tcc
