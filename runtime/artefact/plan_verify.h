#pragma once

#include "runtime/artefact/metadata.h"
#include "runtime/artefact/plan.h"
#include "support/status.h"

namespace tcc {

// Checks that every index names something, that every size expression is well formed and reads only
// variables that have a value where it is used, and that every constant extent lies within its
// input, output, weights section or arena. Checks as well that each input and output that the plan
// names has a buffer with all of it, that copies fit, and that no Copy writes to inputs or weights.
// Extents that depend on variables are checked with CheckExtent when they are known. Expects
// VerifyMetadata to have agreed.
Status VerifyPlan(const Plan& plan, const Metadata& metadata, int64_t weights_bytes);

// Checks that offset and bytes are not negative and offset + bytes <= limit.
Status CheckExtent(int64_t offset, int64_t bytes, int64_t limit);

}  // namespace tcc
