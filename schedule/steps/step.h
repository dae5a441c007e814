#pragma once

#include <map>
#include <string>
#include <variant>

#include "ir/expr/substitute.h"
#include "schedule/steps/blockize.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/compute_inline.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/decompose_tuple.h"
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
#include "schedule/steps/storage_align.h"
#include "schedule/steps/tensorize.h"
#include "schedule/steps/transform_layout.h"

namespace tcc {

// struct, name in the text of a trace. Check##struct and Apply##struct belong to each.
#define TCC_STEPS(X)                                \
  X(Split, "split")                                 \
  X(Fuse, "fuse")                                   \
  X(Rasterize, "rasterize")                         \
  X(Reorder, "reorder")                             \
  X(Parallel, "parallel")                           \
  X(Vectorize, "vectorize")                         \
  X(Unroll, "unroll")                               \
  X(Partition, "partition")                         \
  X(Bind, "bind")                                   \
  X(CacheRead, "cache_read")                        \
  X(CacheWrite, "cache_write")                      \
  X(ReIndex, "reindex")                             \
  X(Pad, "pad")                                     \
  X(SetScope, "set_scope")                          \
  X(ComputeAt, "compute_at")                        \
  X(ReverseComputeAt, "reverse_compute_at")         \
  X(ComputeInline, "compute_inline")                \
  X(ReverseComputeInline, "reverse_compute_inline") \
  X(DecomposeReduction, "decompose_reduction")      \
  X(DecomposeTuple, "decompose_tuple")              \
  X(RFactor, "rfactor")                             \
  X(RFactorTile, "rfactor_tile")                    \
  X(TransformLayout, "transform_layout")            \
  X(StorageAlign, "storage_align")                  \
  X(Swizzle, "swizzle")                             \
  X(Prepack, "prepack")                             \
  X(RollingBuffer, "rolling_buffer")                \
  X(Prefetch, "prefetch")                           \
  X(SoftwarePipeline, "pipeline")                   \
  X(Blockize, "blockize")                           \
  X(Tensorize, "tensorize")

template <typename First, typename... Rest>
using VariantAfter = std::variant<Rest...>;
#define TCC_STEP_TYPE(step, name) , step
using Step = VariantAfter<void TCC_STEPS(TCC_STEP_TYPE)>;
#undef TCC_STEP_TYPE

// Whether the step is legal on `fn`, or why not; and what must hold where sizes are free. What a
// step that is accepted with free sizes does is right at every point that satisfies the
// constraints.
StatusOr<Constraints> Check(const Function& fn, const Step& step);

// Total where Check agreed. Never consults a prover and never looks at the value of a size, so that
// it commutes with Substitute.
Function Apply(const Function& fn, const Step& step);
// The same without a copy of the declarations, where the step leaves them as they are.
Function Apply(Function&& fn, const Step& step);

// The same kind of step with the same fields; sizes have the same structure over the same
// variables.
bool operator==(const Step& a, const Step& b);

// One line: "split mm/i [ti, 4]". Names and keys hold no white space or brackets.
std::string Print(const Step& step);
StatusOr<Step> ParseStep(const std::string& line, const std::map<std::string, Var>& vars);

// Every size in the step replaced.
Step Substitute(const Step& step, const Substitution& values);

}  // namespace tcc
