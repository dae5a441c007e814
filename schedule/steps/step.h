#pragma once

#include <map>
#include <memory>
#include <string>

#include "ir/expr/function.h"
#include "ir/expr/substitute.h"
#include "schedule/analysis/constraint.h"
#include "support/status.h"

namespace tcc {

// The part of a function that a step changes. kLoops: loops and the guards of blocks, without a
// look at the parameters. kProgram: also blocks and buffers.
enum class StepScope : uint8_t { kLoops, kProgram };

// The steps: struct, name in the text of a trace, scope. Each has Check##struct and Apply##struct.
#define TCC_STEPS(X)                                                \
  X(Split, "split", StepScope::kLoops)                              \
  X(Fuse, "fuse", StepScope::kLoops)                                \
  X(Rasterize, "rasterize", StepScope::kLoops)                      \
  X(Reorder, "reorder", StepScope::kLoops)                          \
  X(Parallel, "parallel", StepScope::kLoops)                        \
  X(Vectorize, "vectorize", StepScope::kLoops)                      \
  X(Unroll, "unroll", StepScope::kLoops)                            \
  X(Partition, "partition", StepScope::kLoops)                      \
  X(Bind, "bind", StepScope::kLoops)                                \
  X(CacheRead, "cache_read", StepScope::kProgram)                   \
  X(CacheWrite, "cache_write", StepScope::kProgram)                 \
  X(ReIndex, "reindex", StepScope::kProgram)                        \
  X(Pad, "pad", StepScope::kProgram)                                \
  X(SetScope, "set_scope", StepScope::kProgram)                     \
  X(ComputeAt, "compute_at", StepScope::kProgram)                   \
  X(ReverseComputeAt, "reverse_compute_at", StepScope::kProgram)    \
  X(ComputeInline, "compute_inline", StepScope::kProgram)           \
  X(DecomposeReduction, "decompose_reduction", StepScope::kProgram) \
  X(RFactor, "rfactor", StepScope::kProgram)                        \
  X(RFactorTile, "rfactor_tile", StepScope::kProgram)               \
  X(TransformLayout, "transform_layout", StepScope::kProgram)       \
  X(StorageAlign, "storage_align", StepScope::kProgram)             \
  X(Swizzle, "swizzle", StepScope::kProgram)                        \
  X(Prepack, "prepack", StepScope::kProgram)                        \
  X(RollingBuffer, "rolling_buffer", StepScope::kProgram)           \
  X(Prefetch, "prefetch", StepScope::kProgram)                      \
  X(SoftwarePipeline, "pipeline", StepScope::kProgram)              \
  X(Tensorize, "tensorize", StepScope::kProgram)

#define TCC_STEP_KIND(step, name, scope) k##step,
enum class StepKind : uint8_t { TCC_STEPS(TCC_STEP_KIND) };
#undef TCC_STEP_KIND

// The kind of each step struct.
template <typename S>
struct StepKindOf;
#define TCC_STEP_KIND_OF(step, name, scope)              \
  struct step;                                           \
  template <>                                            \
  struct StepKindOf<step> {                              \
    static constexpr StepKind kKind = StepKind::k##step; \
  };
TCC_STEPS(TCC_STEP_KIND_OF)
#undef TCC_STEP_KIND_OF

// A step of any kind, immutable. Code that makes or inspects a step of one kind includes that
// kind's header; other code does not see it. all_steps.h has them all.
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

// Checks whether the step is legal on `fn`. Returns the constraints on free sizes, or the reason
// for refusing the step. A step that is accepted with free sizes is right at every point that
// satisfies the constraints.
StatusOr<Constraints> Check(const Function& fn, const Step& step);

// Applies the step; never fails if Check agreed. It never consults a prover and never looks at the
// value of a size, so that it commutes with Substitute.
Function Apply(const Function& fn, const Step& step);
// Applies the step in place: declarations that the step does not change are not copied.
Function Apply(Function&& fn, const Step& step);

// Returns one line: "split mm/i [ti, 4]". Names and keys hold no white space or brackets.
std::string Print(const Step& step);
StatusOr<Step> ParseStep(const std::string& line, const std::map<std::string, Var>& vars);

// Returns the step with `values` substituted in every size.
Step Substitute(const Step& step, const Substitution& values);

}  // namespace tcc
