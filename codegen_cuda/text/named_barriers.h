#pragma once

#include <cstdint>
#include <map>

#include "ir/expr/stmt.h"
#include "support/status.h"

namespace tcc {

// How many threads of a launch's blocks meet at each of its named barriers (id != 0) that stands in
// roles, by id: the warps of all roles that hold it. The others are of the whole block, which has
// `threads`. Unsupported: ids that the hardware has no barrier for, a barrier of the whole block
// that only some of its warps reach, a role of warps that the block does not have.
StatusOr<std::map<int, int64_t>> ThreadsAtBarriers(const Stmt& body, int64_t threads);

}  // namespace tcc
