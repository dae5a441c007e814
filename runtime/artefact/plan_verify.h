#pragma once

#include "runtime/artefact/metadata.h"
#include "runtime/artefact/plan.h"
#include "support/status.h"

namespace tcc {

// Every index names something, every size expression is well formed and reads only variables that
// have a value where it is used, every extent that is constant lies within its input, output,
// weights section or arena, a buffer of each input and output that the plan names has all of it,
// copies fit, nothing writes to inputs or weights by Copy. Extents that depend on variables are
// checked with CheckExtent when they are known. Expects VerifyMetadata to have agreed.
Status VerifyPlan(const Plan& plan, const Metadata& metadata, int64_t weights_bytes);

// offset and bytes are not negative and offset + bytes <= limit.
Status CheckExtent(int64_t offset, int64_t bytes, int64_t limit);

}  // namespace tcc
