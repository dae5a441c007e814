#pragma once

#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/compute_inline.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/fuse.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/pad.h"
#include "schedule/steps/prefetch.h"
#include "schedule/steps/prepack.h"
#include "schedule/steps/re_index.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/rfactor.h"
#include "schedule/steps/rfactor_tile.h"
#include "schedule/steps/rolling_buffer.h"
#include "schedule/steps/software_pipeline.h"
#include "schedule/steps/split.h"
#include "schedule/steps/step.h"
#include "schedule/steps/storage_align.h"
#include "schedule/steps/tensorize.h"
#include "schedule/steps/transform_layout.h"

namespace tcc {

// Calls `visit` with the struct of the step, whatever its kind is.
template <typename Visit>
auto VisitStep(const Step& step, const Visit& visit) {
  switch (step.kind()) {
#define TCC_STEP_CASE(type, name, scope) \
  case StepKind::k##type:                \
    return visit(*step.as<type>());
    TCC_STEPS(TCC_STEP_CASE)
#undef TCC_STEP_CASE
  }
  __builtin_unreachable();
}

}  // namespace tcc
