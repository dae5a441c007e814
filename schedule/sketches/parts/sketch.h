#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedule/analysis/loop_tree.h"
#include "schedule/sketches/parts/shared_log.h"
#include "schedule/space/space.h"
#include "support/target.h"

namespace tcc {

// A program with the limits of its target, and its points.
struct LimitedProgram {
  SymbolicProgram program;
  SearchSpace points;
};

// One way to run a task: a trace for one of its variants whose sizes are free, and an initial
// point: a value for every size, chosen from extents and the target alone. A search point is a
// sketch with other values.
struct Sketch {
  std::string name;    // the rules that made it, "tile, map"
  size_t variant = 0;  // of the task
  Trace trace;
  Decisions start;
  // The function after the steps, and what they require; null: Instantiate has to make it.
  std::shared_ptr<const SymbolicProgram> program = {};
  // Where StartWithinLimits looked for the start, and the same as with the limits at that start:
  // they are wider only for a start beyond them. null: WithinLimits has to make it.
  std::shared_ptr<const LimitedProgram> limited = {};
};

// Returns the program of a sketch of `fn`, without the limits of a target. Error: Instantiate's; a
// size beyond all bounds (ExpectNoOverflow).
StatusOr<SymbolicProgram> Instantiate(const Function& fn, const Sketch& sketch);

// A schedule under construction: the function after the steps so far.
class SketchState {
 public:
  explicit SketchState(const Function& fn);

  const Function& fn() const { return *fn_; }
  Sketch sketch() const;
  Decisions start() const;

  // Applies a step; the rule guarantees that it is legal.
  void Do(const Step& step);
  // Applies the step if it is legal. Returns whether it did.
  bool Try(const Step& step);

  // Adds a free size in [1, high] for the extent of `loop`, named after the loop, "mm.i.1" for
  // "mm/i.1", so that points move between sketches. `start` is moved to the nearest allowed value.
  // Returns the size's variable, or the value itself if the range has only one.
  Expr Size(const LoopRef& loop, int64_t high, Domain domain, int64_t start);

  // Returns the first block that no rule has scheduled, or nullptr after the last. A rule marks the
  // blocks that it schedules besides its own: copies, consumers, initialisations.
  const Block* Next() const;
  void MarkDone(const std::string& block);
  bool IsDone(const std::string& block) const;
  void AddRuleName(std::string_view rule);

 private:
  // Returns the function, no longer shared with other states.
  Function& Own();
  // Applies a step that requires the constraints.
  void Take(const Step& step, const Constraints& constraints);

  // The state is copied once per block of a function, of which there may be thousands, so its
  // members are cheap to copy.
  std::shared_ptr<Function> fn_;
  std::string name_;
  SharedLog<Step> steps_;
  SharedLog<Constraint> constraints_;
  SharedLog<FreeSize> sizes_;
  SharedLog<std::pair<std::string, int64_t>> start_;
  SharedLog<std::string> done_;
  // The indices of names in done_, including those that other copies have appended to it.
  std::shared_ptr<std::unordered_map<std::string, size_t>> places_;
};

// A composite schedule: it maps a state and its next block to the states that may follow. No state:
// the rule does not fit the block. Several states: the sketch forks.
struct SketchRule {
  std::string_view name;
  std::vector<SketchState> (*apply)(const SketchState& state, const Block& block,
                                    const Target& target);
  std::string_view fits;
};

// Returns the rules for a target, in order: the first that fits a block schedules it. The last row
// fits every block, so that nothing is left unbound.
std::span<const SketchRule> SketchRules(const Target& target);
std::span<const SketchRule> CpuSketchRules();
std::span<const SketchRule> GpuSketchRules();
// Returns the rules for a CPU with VDLA: one for its products before those for the CPU.
std::span<const SketchRule> VdlaSketchRules();

// Returns every sketch of `fn` (kTensor, static extents), at least one and at most kMaxSketches;
// none for the reference target, which runs functions as they are. `rules` may be a caller's own; a
// block that none of them fits stays as it is.
std::vector<Sketch> GenerateSketches(const Function& fn, const Target& target,
                                     std::span<const SketchRule> rules);
std::vector<Sketch> GenerateSketches(const Function& fn, const Target& target);

// Returns the first sketch, without the work for the others: its initial point is always legal and
// decent, and is the schedule of an untuned kernel. The reference target's sketch has no steps.
Sketch FirstSketch(const Function& fn, const Target& target, std::span<const SketchRule> rules);
Sketch FirstSketch(const Function& fn, const Target& target);

// Returns the program of a sketch of `fn` with the limits of the target, in which a search looks
// for points. The initial point is one of them.
SymbolicProgram ProgramOf(const Function& fn, const Target& target, const Sketch& sketch);

// Returns ProgramOf's program and its points. Error: Instantiate's; SearchSpace::Create's.
StatusOr<std::shared_ptr<const LimitedProgram>> WithinLimits(const Function& fn,
                                                             const Target& target,
                                                             const Sketch& sketch);

// Moves a sketch's initial point to a nearby one that breaks no constraint and no limit of the
// target. Returns false, with the sketch unchanged, if none is found.
bool StartWithinLimits(const Function& fn, const Target& target, Sketch& sketch);

}  // namespace tcc
