#pragma once

#include <map>
#include <memory>
#include <string>

#include "ir/expr/function.h"
#include "ir/expr/substitute.h"
#include "schedule/analysis/constraint.h"
#include "support/status.h"

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

#define TCC_STEP_KIND(step, name) k##step,
enum class StepKind : uint8_t { TCC_STEPS(TCC_STEP_KIND) };
#undef TCC_STEP_KIND
#define TCC_STEP_ONE(step, name) +1
inline constexpr size_t kStepKinds = 0 TCC_STEPS(TCC_STEP_ONE);
#undef TCC_STEP_ONE

// The kind of each step struct.
template <typename S>
struct StepKindOf;
#define TCC_STEP_KIND_OF(step, name)                     \
  struct step;                                           \
  template <>                                            \
  struct StepKindOf<step> {                              \
    static constexpr StepKind kKind = StepKind::k##step; \
  };
TCC_STEPS(TCC_STEP_KIND_OF)
#undef TCC_STEP_KIND_OF

// A step of any kind, immutable. Whoever makes or looks into a step of one kind includes that
// kind's header; nobody else sees it. all_steps.h has them all.
class Step {
 public:
  template <typename S>
  Step(S step)  // NOLINT(google-explicit-constructor)
    requires requires { StepKindOf<S>::kKind; }
      : kind_(StepKindOf<S>::kKind), fields_(std::make_shared<const S>(std::move(step))) {}

  StepKind kind() const { return kind_; }
  // Returns nullptr if the step is of another kind.
  template <typename S>
  const S* as() const {
    return kind_ == StepKindOf<S>::kKind ? static_cast<const S*>(fields_.get()) : nullptr;
  }

 private:
  StepKind kind_;
  std::shared_ptr<const void> fields_;
};

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
