#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/artefact/artefact.h"
#include "runtime/artefact/plan.h"
#include "support/status.h"

namespace tcc {

// Everything in a run of a plan that the inputs' shapes alone decide.
struct RunSizes {
  struct Extent {
    int64_t offset = 0;
    int64_t bytes = 0;
  };

  std::vector<int64_t> variables;  // the plan's fixed ones: shape variables, then lets
  int64_t arena_bytes = 0;
  std::vector<Extent> extents;  // by buffer; of one that depends on a loop counter: 0
};

// A call or copy of a plan, and how often a run executes it.
struct RepeatedStep {
  const Instruction* step = nullptr;
  int64_t times = 0;  // at most INT64_MAX: more count as that
};
// Returns the steps of a run in order, each step of a loop once, given the values of the plan's
// fixed variables. Returns nullopt if more than shapes decides them: a condition, a trip count, a
// branch, the counter of another loop. Expects a plan that VerifyPlan accepted.
std::optional<std::vector<RepeatedStep>> StepsOfRun(const Plan& plan,
                                                    std::span<const int64_t> variables);

// Returns whether a run with these values can be recorded and replayed: shapes decide its steps,
// which are at most kMostRecordedSteps, since a graph takes memory for each.
inline constexpr int64_t kMostRecordedSteps = 4096;
bool MayBeRecorded(const Plan& plan, std::span<const int64_t> variables);
// Returns the same for a run at the usual sizes.
bool MayBeRecorded(const Artefact& artefact);

// Returns for each buffer whether its place depends on a loop counter.
std::vector<bool> MovingBuffers(const Plan& plan);

// The sizes of a plan's latest runs, so that a shape that comes again costs no evaluation.
class RunSizesByShape {
 public:
  // Expects a plan that VerifyPlan accepted and that lives as long.
  explicit RunSizesByShape(const Plan& plan) : plan_(&plan), moves_(MovingBuffers(plan)) {}

  // Returns the sizes for these values of the shape variables. Fails with the message of a check
  // that does not hold, and where a formula overflows.
  StatusOr<std::shared_ptr<const RunSizes>> For(std::span<const int64_t> shape_variables);

  // The shapes that are kept; the one that was used least recently goes first.
  static constexpr size_t kMostShapes = 8;

 private:
  StatusOr<RunSizes> Evaluated(std::span<const int64_t> shape_variables) const;

  const Plan* plan_;
  std::vector<bool> moves_;                              // by buffer
  std::vector<std::shared_ptr<const RunSizes>> latest_;  // most recent first
};

}  // namespace tcc
